#include "kernels/gemm/gemm_s8_pairs.h"

namespace intaglio {
namespace {

// A part of a code for each column of a panel: what every machine with vectors has in one.
typedef uint8_t Sixteen __attribute__((vector_size(16)));

// Sums of positive and of negative weights, each at most 128.
struct Parts {
  Sixteen positive, negative;

  Parts swapped() const { return {negative, positive}; }
};

// Weights of up to sixteen depths.
struct Block {
  int32_t size;
  int8_t weights[kPairsDepths][kPairsColumns];
  Parts parts[kPairsDepths];
  uint32_t pinned;  // bit i: depth i keeps its sign, since 128 is no weight
};

// How a block's depths are summed: groups of four, then pairs, the safe ones first.
struct Arrangement {
  int32_t double_quads, safe;  // safe: of the other quads
  uint8_t order[kPairsDepths];
  uint32_t swapped;  // bit i: depth i has its sign changed
};

bool fits(const Parts& a, const Parts& b) {
  const auto over = (b.positive > 128 - a.positive) | (b.negative > 128 - a.negative);
  uint64_t words[2];
  memcpy(words, &over, sizeof over);
  return (words[0] | words[1]) == 0;
}

// Whether depth j can be added, and with which sign.
bool fits_with_sign(const Block& block, const Parts& sum, int32_t j, bool* swapped) {
  *swapped = false;
  if (fits(sum, block.parts[j])) return true;
  *swapped = true;
  return (block.pinned >> j & 1) == 0 && fits(sum, block.parts[j].swapped());
}

// Sets what follows from the weights; `by_size` gets the depths, those with the largest weight first.
void prepare(Block* block, uint8_t* by_size) {
  int32_t largest[kPairsDepths];
  block->pinned = 0;
  for (int32_t i = 0; i < block->size; ++i) {
    typedef int8_t Signed __attribute__((vector_size(16)));
    Signed w;
    memcpy(&w, block->weights[i], sizeof w);
    const Signed positive = w & (w > 0), negative = w & (w < 0);
    block->parts[i] = {(Sixteen)positive, -(Sixteen)negative};
    const Sixteen sizes = block->parts[i].positive | block->parts[i].negative;  // one of them is 0
    uint8_t bytes[kPairsColumns], greatest = 0;
    memcpy(bytes, &sizes, sizeof sizes);
    for (const uint8_t size : bytes) greatest = size > greatest ? size : greatest;
    if (greatest == 128) block->pinned |= uint32_t{1} << i;
    const int32_t most = greatest;
    int32_t at = i;
    for (; at > 0 && largest[at - 1] < most; --at) {
      largest[at] = largest[at - 1];
      by_size[at] = by_size[at - 1];
    }
    largest[at] = most;
    by_size[at] = static_cast<uint8_t>(i);
  }
}

// Groups of four whose weights are safe together, the first that fit; returns how many.
int32_t find_fours(const Block& block, const uint8_t* by_size, uint8_t fours[][4], uint32_t* swapped) {
  int32_t count = 0;
  uint32_t taken = 0;
  for (int32_t first = 0; first + 4 <= block.size; ++first) {
    if ((taken >> by_size[first] & 1) != 0) continue;
    Parts sum = block.parts[by_size[first]];
    uint8_t* const four = fours[count];
    four[0] = by_size[first];
    uint32_t members = uint32_t{1} << four[0], signs = 0;
    int32_t size = 1;
    for (int32_t i = first + 1; i < block.size && size < 4; ++i) {
      const int32_t j = by_size[i];
      bool swaps;
      if ((taken >> j & 1) != 0 || !fits_with_sign(block, sum, j, &swaps)) continue;
      const Parts more = swaps ? block.parts[j].swapped() : block.parts[j];
      sum.positive += more.positive;
      sum.negative += more.negative;
      members |= uint32_t{1} << j;
      if (swaps) signs |= uint32_t{1} << j;
      four[size++] = static_cast<uint8_t>(j);
    }
    if (size < 4) continue;
    taken |= members;
    *swapped |= signs;
    ++count;
  }
  return count;
}

int32_t count_bits(uint32_t mask) {
  int32_t count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

// Adds to `partners` which of the depths `left` each one of them is safe beside.
void find_partners(const Block& block, uint32_t left, uint32_t* partners) {
  for (int32_t i = 0; i < block.size; ++i) {
    if ((left >> i & 1) == 0) continue;
    for (int32_t j = i + 1; j < block.size; ++j) {
      bool swaps;
      if ((left >> j & 1) == 0 || !fits_with_sign(block, block.parts[i], j, &swaps)) continue;
      partners[i] |= uint32_t{1} << j;
      partners[j] |= uint32_t{1} << i;
    }
  }
}

// The depth in `among`, which has some, with the fewest partners in `left`.
int32_t scarcest(const Block& block, const uint32_t* partners, uint32_t among, uint32_t left) {
  int32_t best = 0, fewest = kPairsDepths + 1;
  for (int32_t i = 0; i < block.size; ++i) {
    if ((among >> i & 1) == 0) continue;
    const int32_t count = count_bits(partners[i] & left);
    if (count < fewest) {
      fewest = count;
      best = i;
    }
  }
  return best;
}

// Pairs of the depths `left`, those that are not safe last; returns how many are safe. Whoever has the fewest
// partners chooses first, and the one of these that has the fewest.
int32_t match(const Block& block, uint32_t left, uint8_t* order, uint32_t* swapped) {
  uint32_t partners[kPairsDepths] = {};
  find_partners(block, left, partners);
  int32_t safe = 0, unsafe = count_bits(left);
  while (left != 0) {
    const int32_t a = scarcest(block, partners, left, left);
    left &= ~(uint32_t{1} << a);
    const uint32_t choice = partners[a] & left;
    if (choice == 0) {
      order[--unsafe] = static_cast<uint8_t>(a);
      continue;
    }
    const int32_t b = scarcest(block, partners, choice, left);
    left &= ~(uint32_t{1} << b);
    // The sign that was found above, of the later one of the two.
    const int32_t early = a < b ? a : b, late = a < b ? b : a;
    bool swaps;
    fits_with_sign(block, block.parts[early], late, &swaps);
    if (swaps) *swapped |= uint32_t{1} << late;
    order[2 * safe] = static_cast<uint8_t>(a);
    order[2 * safe + 1] = static_cast<uint8_t>(b);
    ++safe;
  }
  return safe;
}

// As many double quads as save more time than the pairs cost that they leave unsafe.
Arrangement arrange(Block* block) {
  constexpr int32_t kDoubleQuadTime = 27, kSafeTime = 16, kOtherTime = 32;  // measured, of a tile
  uint8_t by_size[kPairsDepths], fours[kPairsDepths / 4][4];
  prepare(block, by_size);
  uint32_t signs = 0;
  const int32_t count = find_fours(*block, by_size, fours, &signs);
  Arrangement best = {};
  int32_t least = INT32_MAX;
  for (int32_t double_quads = count / 2; double_quads >= 0; --double_quads) {
    Arrangement a = {};
    a.double_quads = double_quads;
    uint32_t left = (uint32_t{1} << block->size) - 1;
    for (int32_t f = 0; f < 2 * double_quads; ++f)
      for (int32_t i = 0; i < 4; ++i) {
        // A quad has half of two fours, the next one their other halves.
        a.order[f / 2 * 8 + i / 2 * 4 + f % 2 * 2 + i % 2] = fours[f][i];
        left &= ~(uint32_t{1} << fours[f][i]);
      }
    a.swapped = signs & ~left;
    const int32_t quads = block->size / 4 - 2 * double_quads;
    a.safe = match(*block, left, a.order + 8 * double_quads, &a.swapped) / 2;
    const int32_t time = double_quads * kDoubleQuadTime + a.safe * kSafeTime + (quads - a.safe) * kOtherTime;
    if (time < least) {
      least = time;
      best = a;
    }
    if (a.safe == quads) break;
  }
  return best;
}

// The depths in the order that they have.
Arrangement arrange_once(Block* block) {
  uint8_t by_size[kPairsDepths];
  prepare(block, by_size);
  Arrangement a = {};
  int32_t back = block->size / 4;
  for (int32_t q = 0; q < block->size / 4; ++q) {
    const Parts* const p = block->parts + 4 * q;
    const int32_t at = fits(p[0], p[1]) && fits(p[2], p[3]) ? a.safe++ : --back;
    for (int32_t i = 0; i < 4; ++i) a.order[4 * at + i] = static_cast<uint8_t>(4 * q + i);
  }
  return a;
}

}  // namespace

void pack_pairs(const GemmS8Kernel& kernel, const GemmS8Weights& plain, int32_t first, uint8_t* panel) {
  const int32_t n = plain.n, taps = plain.taps, k = plain.k;
  const PairsLayout layout = pairs_layout(taps, k);
  const int32_t tap_depth = layout.depth / taps;
  const int8_t* columns[kPairsColumns];
  bool all = true;
  const bool half = n - first <= kPairsColumns / 2;
  for (int32_t p = 0; p < kPairsColumns; ++p) {
    const int32_t c = first + (half ? p : gemm_s8_panel_column(kernel, kPairsColumns, p));
    columns[p] = c < n ? plain.weights + static_cast<ptrdiff_t>(c) * taps * k : nullptr;
    all = all && c < n;
  }
  uint32_t bias[kPairsColumns];
  memcpy(bias, panel, sizeof bias);
  memset(panel + layout.counts, 0, static_cast<size_t>(layout.weights - layout.counts));
  uint8_t *order = panel + layout.order, *signs = panel + layout.signs;
  // Double quads from the front on. From the back the others, those that are not safe last.
  PairsCounts counts = {0, 0};
  int32_t back = layout.depth / 4, others = back;
  const auto quad_weights = [&](int32_t at) {
    return panel + layout.weights + ptrdiff_t{4} * kPairsColumns * at;
  };
  const auto quad_start = [&](int32_t at) { return panel + layout.quads + ptrdiff_t{4} * at; };
  for (int32_t start = 0; start < layout.depth; start += kPairsDepths) {
    Block block;
    block.size = layout.depth - start < kPairsDepths ? layout.depth - start : kPairsDepths;
    for (int32_t i = 0; i < block.size; ++i) {
      const int32_t tap = (start + i) / tap_depth, depth = (start + i) % tap_depth;
      const ptrdiff_t at = static_cast<ptrdiff_t>(tap) * k + depth;
      int8_t* const row = block.weights[i];
      if (all && depth < k) {
        for (int32_t p = 0; p < kPairsColumns; ++p) row[p] = columns[p][at];
      } else {
        for (int32_t p = 0; p < kPairsColumns; ++p)
          row[p] = columns[p] != nullptr && depth < k ? columns[p][at] : int8_t{0};
      }
    }
    const Arrangement arranged = plain.used_once ? arrange_once(&block) : arrange(&block);
    for (int32_t i = 0; i < block.size; ++i) {
      const int32_t depth = arranged.order[i];
      const bool swapped = (arranged.swapped >> depth & 1) != 0;
      order[i] = static_cast<uint8_t>(depth);
      signs[i] = swapped ? 0x7f : 0x80;
      if (!swapped) continue;
      for (int32_t p = 0; p < kPairsColumns; ++p) {
        bias[half && p >= 4 ? (p + 4) % kPairsColumns : p] +=
            255u * static_cast<uint32_t>(block.weights[depth][p]);
        block.weights[depth][p] = static_cast<int8_t>(-block.weights[depth][p]);
      }
    }
    for (int32_t q = 0; q < block.size / 4; ++q) {
      int32_t to;
      if (q < 2 * arranged.double_quads) {
        to = 2 * counts.double_quads + q % 2;
        counts.double_quads += q % 2;
      } else {
        to = --back;
        if (q - 2 * arranged.double_quads >= arranged.safe) {  // the last safe one makes room
          if (--others != to) {
            memcpy(quad_start(to), quad_start(others), 4);
            memcpy(quad_weights(to), quad_weights(others), 4 * kPairsColumns);
          }
          to = others;
        }
      }
      const int32_t from = start + 4 * q;
      memcpy(quad_start(to), &from, sizeof from);
      uint8_t* out = quad_weights(to);
      const int8_t* rows[4];
      for (int32_t j = 0; j < 4; ++j) rows[j] = block.weights[order[4 * q + j]];
      for (int32_t p = 0; p < kPairsColumns; ++p, out += 4)
        for (int32_t j = 0; j < 4; ++j) out[j] = static_cast<uint8_t>(rows[j][p]);
    }
    order += kPairsDepths;
    signs += kPairsDepths;
  }
  counts.safe = others - back;
  memcpy(panel + layout.counts, &counts, sizeof counts);
  memcpy(panel, bias, sizeof bias);
}

PairsProof count_safe_pairs(const GemmS8Kernel& kernel, const void* packed, int32_t n, int32_t taps,
                            int32_t k) {
  const PairsLayout layout = pairs_layout(taps, k);
  PairsProof proof = {0, 0, 0};
  const auto* panel = static_cast<const uint8_t*>(packed);
  for (int32_t first = 0; first < n; first += kernel.nr, panel += layout.bytes) {
    PairsCounts counts;
    memcpy(&counts, panel + layout.counts, sizeof counts);
    proof.quads += layout.depth / 4;
    proof.safe += 2 * counts.double_quads + counts.safe;
    proof.by_fours += 2 * counts.double_quads;
  }
  return proof;
}

}  // namespace intaglio
