#include "kernels/gemm_s8_pairs.h"

namespace intaglio {
namespace {

// A part of a code for each of eight columns: what every machine with vectors has in one.
typedef int16_t Eight __attribute__((vector_size(16)));
constexpr int32_t kVectors = kPairsColumns / 8;

// Weights of up to sixteen depths, their positive and negative parts, and which depths may be summed with
// which.
struct Block {
  int32_t size;
  int16_t weights[kPairsDepths][kPairsColumns];
  Eight positive[kPairsDepths][kVectors], negative[kPairsDepths][kVectors];
  uint32_t partners[kPairsDepths];  // bit j: j is safe beside it
};

void split_signs(Block* block) {
  for (int32_t i = 0; i < block->size; ++i)
    for (int32_t v = 0; v < kVectors; ++v) {
      Eight w;
      memcpy(&w, block->weights[i] + 8 * v, sizeof w);
      block->positive[i][v] = w & (w > 0);
      block->negative[i][v] = -(w & (w < 0));
    }
}

bool is_safe(const Block& block, int32_t a, int32_t b) {
  Eight over = {};
  for (int32_t v = 0; v < kVectors; ++v)
    over |= (block.positive[a][v] + block.positive[b][v] > 128) |
            (block.negative[a][v] + block.negative[b][v] > 128);
  uint64_t words[2];
  memcpy(words, &over, sizeof over);
  return (words[0] | words[1]) == 0;
}

bool is_natural(const Block& block) {
  for (int32_t i = 0; i < block.size; i += 2)
    if (!is_safe(block, i, i + 1)) return false;
  return true;
}

void find_partners(Block* block) {
  for (uint32_t& mask : block->partners) mask = 0;
  for (int32_t i = 0; i < block->size; ++i)
    for (int32_t j = i + 1; j < block->size; ++j)
      if (is_safe(*block, i, j)) {
        block->partners[i] |= uint32_t{1} << j;
        block->partners[j] |= uint32_t{1} << i;
      }
}

int32_t count_bits(uint32_t mask) {
  int32_t count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

// Of the depths in `among`, the one with the fewest partners in `left`.
int32_t scarcest(const Block& block, uint32_t among, uint32_t left) {
  int32_t best = -1, fewest = kPairsDepths + 1;
  for (int32_t i = 0; i < block.size; ++i) {
    if ((among >> i & 1) == 0) continue;
    const int32_t count = count_bits(block.partners[i] & left);
    if (count < fewest) {
      fewest = count;
      best = i;
    }
  }
  return best;
}

// Pairs, those that are not safe last; returns how many are safe. Whoever has the fewest partners chooses
// first, and the one of these that has the fewest.
int32_t match(const Block& block, uint8_t* order) {
  uint32_t left = (uint32_t{1} << block.size) - 1;
  int32_t safe = 0, unsafe = block.size;
  while (left != 0) {
    const int32_t a = scarcest(block, left, left);
    left &= ~(uint32_t{1} << a);
    const uint32_t choice = block.partners[a] & left;
    if (choice == 0) {
      order[--unsafe] = static_cast<uint8_t>(a);
      continue;
    }
    const int32_t b = scarcest(block, choice, left);
    left &= ~(uint32_t{1} << b);
    order[2 * safe] = static_cast<uint8_t>(a);
    order[2 * safe + 1] = static_cast<uint8_t>(b);
    ++safe;
  }
  return safe;
}

}  // namespace

void pack_pairs(const GemmS8Kernel& kernel, const int8_t* weights, int32_t first, int32_t n, int32_t taps,
                int32_t k, uint8_t* panel) {
  const PairsLayout layout = pairs_layout(taps, k);
  const int32_t tap_depth = layout.depth / taps;
  const int8_t* columns[kPairsColumns];
  bool all = true;
  for (int32_t p = 0; p < kPairsColumns; ++p) {
    const int32_t c = first + gemm_s8_panel_column(kernel, kPairsColumns, p);
    columns[p] = c < n ? weights + static_cast<ptrdiff_t>(c) * taps * k : nullptr;
    all = all && c < n;
  }
  // Safe quads from the front on, the others from the back.
  int32_t safe = 0, other = layout.depth / 4;
  uint8_t* order = panel + layout.order;
  for (int32_t start = 0; start < layout.depth; start += kPairsDepths) {
    Block block;
    block.size = layout.depth - start < kPairsDepths ? layout.depth - start : kPairsDepths;
    for (int32_t i = 0; i < block.size; ++i) {
      const int32_t tap = (start + i) / tap_depth, depth = (start + i) % tap_depth;
      const ptrdiff_t at = static_cast<ptrdiff_t>(tap) * k + depth;
      int16_t* const row = block.weights[i];
      if (all && depth < k) {
        for (int32_t p = 0; p < kPairsColumns; ++p) row[p] = columns[p][at];
      } else {
        for (int32_t p = 0; p < kPairsColumns; ++p)
          row[p] = columns[p] != nullptr && depth < k ? columns[p][at] : int16_t{0};
      }
    }
    split_signs(&block);
    for (int32_t i = 0; i < kPairsDepths; ++i) order[i] = static_cast<uint8_t>(i);
    int32_t pairs = block.size / 2;
    if (!is_natural(block)) {
      find_partners(&block);
      pairs = match(block, order);
    }
    for (int32_t q = 0; q < block.size / 4; ++q) {
      const int32_t to = 2 * q + 2 <= pairs ? safe++ : --other, from = start + 4 * q;
      memcpy(panel + layout.quads + ptrdiff_t{4} * to, &from, sizeof from);
      uint8_t* out = panel + layout.weights + ptrdiff_t{4} * kPairsColumns * to;
      const int16_t* rows[4];
      for (int32_t j = 0; j < 4; ++j) rows[j] = block.weights[order[4 * q + j]];
      for (int32_t p = 0; p < kPairsColumns; ++p, out += 4)
        for (int32_t j = 0; j < 4; ++j) out[j] = static_cast<uint8_t>(rows[j][p]);
    }
    order += kPairsDepths;
  }
  uint8_t* const end = panel + layout.quads;
  memset(order, 0, static_cast<size_t>(end - order));
  memset(panel + layout.safe, 0, static_cast<size_t>(layout.order - layout.safe));
  memcpy(panel + layout.safe, &safe, sizeof safe);
}

PairsProof count_safe_pairs(const GemmS8Kernel& kernel, const void* packed, int32_t n, int32_t taps,
                            int32_t k) {
  const PairsLayout layout = pairs_layout(taps, k);
  PairsProof proof = {0, 0};
  const auto* panel = static_cast<const uint8_t*>(packed);
  for (int32_t first = 0; first < n; first += kernel.nr, panel += layout.bytes) {
    int32_t safe;
    memcpy(&safe, panel + layout.safe, sizeof safe);
    proof.quads += layout.depth / 4;
    proof.safe += safe;
  }
  return proof;
}

}  // namespace intaglio
