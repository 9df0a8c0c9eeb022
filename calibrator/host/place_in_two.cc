#include "calibrator/host/place_in_two.h"

#include <algorithm>
#include <numeric>

namespace intaglio {
namespace {

struct Placing {
  std::vector<MemoryBlock> blocks;
  std::vector<bool> is_fast;
  TwoSizes sizes;
  uint64_t traffic = 0;  // in the fast memory
};

class TwoPlacer {
 public:
  TwoPlacer(const std::vector<MemoryBlock>& blocks, const std::vector<uint64_t>& traffic,
            const std::vector<BlockOverlap>& overlaps, int32_t nodes, const TwoSizes& most, Arena& arena)
      : blocks_(blocks), traffic_(traffic), overlaps_(overlaps), nodes_(nodes), most_(most), arena_(arena) {}

  // The blocks that come first by `before` are in the fast memory where they have room.
  template <typename Before>
  Placing place(Before&& before) const {
    std::vector<size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), before);
    Placing made{blocks_, std::vector<bool>(blocks_.size(), false), {}, 0};
    std::vector<size_t> fast;  // by their offsets
    for (const size_t i : order) {
      MemoryBlock& block = made.blocks[i];
      block.offset = lowest_gap(made.blocks, fast, block);
      if (block.offset + block.bytes > most_.fast) continue;
      const auto behind = [&](size_t other) { return made.blocks[other].offset > block.offset; };
      fast.insert(std::find_if(fast.begin(), fast.end(), behind), i);
      made.is_fast[i] = true;
      made.traffic += traffic_[i];
      made.sizes.fast = std::max(made.sizes.fast, block.offset + block.bytes);
    }
    place_rest(&made);
    return made;
  }

 private:
  static uint64_t lowest_gap(const std::vector<MemoryBlock>& blocks, const std::vector<size_t>& placed,
                             const MemoryBlock& block) {
    uint64_t offset = 0;
    for (const size_t i : placed) {
      const MemoryBlock& other = blocks[i];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= offset + block.bytes) break;
      offset = std::max(offset, other.offset + other.bytes);
    }
    return offset;
  }

  void place_rest(Placing* made) const {
    std::vector<MemoryBlock> rest;
    std::vector<int32_t> number(blocks_.size(), -1);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (made->is_fast[i]) continue;
      number[i] = static_cast<int32_t>(rest.size());
      rest.push_back(blocks_[i]);
    }
    std::vector<BlockOverlap> overlaps;
    for (const BlockOverlap& overlap : overlaps_) {
      const int32_t over = number[static_cast<size_t>(overlap.over)],
                    under = number[static_cast<size_t>(overlap.under)];
      if (over >= 0 && under >= 0) overlaps.push_back({over, under, overlap.below});
    }
    if (rest.empty()) return;
    made->sizes.slow =
        place_blocks({rest.data(), rest.size()}, nodes_, arena_, {overlaps.data(), overlaps.size()});
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (number[i] >= 0)
        made->blocks[i].offset = made->sizes.fast + rest[static_cast<size_t>(number[i])].offset;
  }

  const std::vector<MemoryBlock>& blocks_;
  const std::vector<uint64_t>& traffic_;
  const std::vector<BlockOverlap>& overlaps_;
  const int32_t nodes_;
  const TwoSizes& most_;
  Arena& arena_;
};

}  // namespace

TwoSizes place_in_two(std::vector<MemoryBlock>& blocks, const std::vector<uint64_t>& traffic,
                      const std::vector<BlockOverlap>& overlaps, int32_t nodes, const TwoSizes& most,
                      Arena& arena) {
  const TwoPlacer placer(blocks, traffic, overlaps, nodes, most, arena);
  // How often a byte is used, by how long it stands there, too.
  const auto density = [&](size_t i) {
    return static_cast<double>(traffic[i]) / static_cast<double>(blocks[i].bytes);
  };
  const auto per_time = [&](size_t i) {
    return density(i) / static_cast<double>(blocks[i].last - blocks[i].first + 1);
  };
  std::vector<Placing> tried;
  tried.push_back(placer.place([&](size_t a, size_t b) { return traffic[a] > traffic[b]; }));
  tried.push_back(placer.place([&](size_t a, size_t b) { return density(a) > density(b); }));
  tried.push_back(placer.place([&](size_t a, size_t b) { return per_time(a) > per_time(b); }));
  tried.push_back(placer.place([&](size_t a, size_t b) { return blocks[a].bytes < blocks[b].bytes; }));
  tried.push_back(placer.place([&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; }));
  tried.push_back(placer.place([&](size_t a, size_t b) { return blocks[a].first < blocks[b].first; }));
  const auto better = [&](const Placing& a, const Placing& b) {
    const bool a_fits = a.sizes.slow <= most.slow, b_fits = b.sizes.slow <= most.slow;
    if (a_fits != b_fits) return a_fits;
    if (a_fits && a.traffic != b.traffic) return a.traffic > b.traffic;
    return a.sizes.slow < b.sizes.slow;
  };
  const Placing& best = *std::min_element(tried.begin(), tried.end(), better);
  blocks = best.blocks;
  return best.sizes;
}

}  // namespace intaglio
