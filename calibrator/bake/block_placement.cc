#include "calibrator/bake/block_placement.h"

namespace intaglio {
namespace {

bool alive_together(const MemoryBlock& a, const MemoryBlock& b) {
  return a.first <= b.last && b.first <= a.last;
}

using Before = bool (*)(const MemoryBlock& a, const MemoryBlock& b);

constexpr Before kOrders[] = {
    [](const MemoryBlock& a, const MemoryBlock& b) { return a.bytes > b.bytes; },
    [](const MemoryBlock& a, const MemoryBlock& b) {
      return a.crowd != b.crowd ? a.crowd > b.crowd : a.bytes > b.bytes;
    },
    [](const MemoryBlock& a, const MemoryBlock& b) { return a.first < b.first; },
    [](const MemoryBlock& a, const MemoryBlock& b) { return a.last > b.last; },
    [](const MemoryBlock& a, const MemoryBlock& b) {
      const auto area = [](const MemoryBlock& x) {
        return x.bytes * static_cast<uint64_t>(x.last - x.first + 1);
      };
      return area(a) > area(b);
    },
};

class Placement {
 public:
  Placement(Span<MemoryBlock> blocks, Arena& arena)
      : blocks_(blocks),
        order_(arena.make<int32_t>(blocks.size)),
        best_offsets_(arena.make<uint64_t>(blocks.size)) {}

  uint64_t place(int32_t nodes) {
    find_crowds(nodes);
    for (const Before before : kOrders) place_in_order(before);
    for (size_t i = 0; i < blocks_.size; ++i) blocks_[i].offset = best_offsets_[i];
    return best_bytes_;
  }

 private:
  void find_crowds(int32_t nodes) {
    for (int32_t n = -1; n <= nodes; ++n) {
      uint64_t alive = 0;
      for (const MemoryBlock& block : blocks_)
        if (block.first <= n && n <= block.last) alive += block.bytes;
      for (MemoryBlock& block : blocks_)
        if (block.first <= n && n <= block.last && alive > block.crowd) block.crowd = alive;
    }
  }

  void place_in_order(Before before) {
    const size_t count = blocks_.size;
    for (size_t i = 0; i < count; ++i) {  // insertion sort: stable, so the same everywhere
      size_t at = i;
      for (; at > 0 && before(blocks_[i], blocks_[static_cast<size_t>(order_[at - 1])]); --at)
        order_[at] = order_[at - 1];
      order_[at] = static_cast<int32_t>(i);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < count; ++i) {
      MemoryBlock& block = blocks_[static_cast<size_t>(order_[i])];
      block.offset = lowest_gap(block, i);
      end = block.offset + block.bytes > end ? block.offset + block.bytes : end;
    }
    if (end >= best_bytes_) return;
    best_bytes_ = end;
    for (size_t i = 0; i < count; ++i) best_offsets_[i] = blocks_[i].offset;
  }

  // First offset where `block` meets none of the `placed` blocks before it in the order.
  uint64_t lowest_gap(const MemoryBlock& block, size_t placed) const {
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < placed; ++i) {
        const MemoryBlock& other = blocks_[static_cast<size_t>(order_[i])];
        if (!alive_together(block, other)) continue;
        if (offset < other.offset + other.bytes && other.offset < offset + block.bytes) {
          offset = other.offset + other.bytes;
          moved = true;
        }
      }
    }
    return offset;
  }

  Span<MemoryBlock> blocks_;
  Span<int32_t> order_;
  Span<uint64_t> best_offsets_;
  uint64_t best_bytes_ = UINT64_MAX;
};

}  // namespace

uint64_t place_blocks(Span<MemoryBlock> blocks, int32_t nodes, Arena& arena) {
  Placement placement(blocks, arena);
  return arena.exhausted() ? UINT64_MAX : placement.place(nodes);
}

}  // namespace intaglio
