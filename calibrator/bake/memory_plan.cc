#include "calibrator/bake/memory_plan.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

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
  Placement(Span<MemoryBlock> blocks, Span<const BlockOverlap> overlaps, Arena& arena)
      : blocks_(blocks),
        overlaps_(overlaps),
        order_(arena.make<int32_t>(blocks.size)),
        best_offsets_(arena.make<uint64_t>(blocks.size)) {}

  uint64_t place(int32_t nodes) {
    find_crowds(nodes);
    for (const Before before : kOrders) {
      place_in_order(before, false);
      if (!overlaps_.empty()) place_in_order(before, true);
    }
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

  // `upwards`: a block that may stand on another comes before it, so that there is room below.
  void place_in_order(Before before, bool upwards) {
    const size_t count = blocks_.size;
    for (size_t i = 0; i < count; ++i) {  // insertion sort: stable, so the same everywhere
      size_t at = i;
      for (; at > 0 && before(blocks_[i], blocks_[static_cast<size_t>(order_[at - 1])]); --at)
        order_[at] = order_[at - 1];
      order_[at] = static_cast<int32_t>(i);
    }
    uint64_t end = 0;
    for (size_t i = 0; i < count; ++i) {
      while (upwards && bring_forward(i)) {
      }
      MemoryBlock& block = blocks_[static_cast<size_t>(order_[i])];
      block.offset = lowest_gap(order_[i], i);
      sort_in(i);
      end = block.offset + block.bytes > end ? block.offset + block.bytes : end;
    }
    if (end >= best_bytes_) return;
    best_bytes_ = end;
    for (size_t i = 0; i < count; ++i) best_offsets_[i] = blocks_[i].offset;
  }

  // Whether a block that may stand on the one at place `at` of the order stood behind it, and now has its place.
  bool bring_forward(size_t at) {
    for (const BlockOverlap& overlap : overlaps_)
      for (size_t i = at + 1; overlap.under == order_[at] && i < blocks_.size; ++i) {
        if (order_[i] != overlap.over) continue;
        for (; i > at; --i) order_[i] = order_[i - 1];
        order_[at] = overlap.over;
        return true;
      }
    return false;
  }

  // First offset where block `index` meets none of the `placed` blocks, which stand first and by their offsets in the order.
  uint64_t lowest_gap(int32_t index, size_t placed) const {
    const MemoryBlock& block = blocks_[static_cast<size_t>(index)];
    uint64_t offset = 0;
    for (size_t i = 0; i < placed; ++i) {
      const MemoryBlock& other = blocks_[static_cast<size_t>(order_[i])];
      if (other.offset >= offset + block.bytes) break;
      if (!alive_together(block, other) || other.offset >= offset + bytes_below(index, order_[i])) continue;
      const uint64_t end = other.offset + bytes_below(order_[i], index);
      if (offset >= end) continue;
      offset = end;
      if (!overlaps_.empty()) i = static_cast<size_t>(-1);  // it may stand under one of those before
    }
    return offset;
  }

  // How many bytes above block `lower` block `upper` may stand, where both live.
  uint64_t bytes_below(int32_t lower, int32_t upper) const {
    for (const BlockOverlap& overlap : overlaps_)
      if (overlap.over == lower && overlap.under == upper) return overlap.below;
    return blocks_[static_cast<size_t>(lower)].bytes;
  }

  void sort_in(size_t placed) {
    const int32_t index = order_[placed];
    const uint64_t offset = blocks_[static_cast<size_t>(index)].offset;
    size_t at = placed;
    for (; at > 0 && blocks_[static_cast<size_t>(order_[at - 1])].offset > offset; --at)
      order_[at] = order_[at - 1];
    order_[at] = index;
  }

  Span<MemoryBlock> blocks_;
  Span<const BlockOverlap> overlaps_;
  Span<int32_t> order_;
  Span<uint64_t> best_offsets_;
  uint64_t best_bytes_ = UINT64_MAX;
};

}  // namespace

uint64_t place_blocks(Span<MemoryBlock> blocks, int32_t nodes, Arena& arena,
                      Span<const BlockOverlap> overlaps) {
  Placement placement(blocks, overlaps, arena);
  return arena.exhausted() ? UINT64_MAX : placement.place(nodes);
}

namespace {

class Planner {
 public:
  Planner(Graph& graph, OpList ops, Arena& arena) : graph_(graph), ops_(ops), arena_(arena) {}

  Error plan() {
    make_blocks();
    if (arena_.exhausted()) return {Status::kOutOfMemory};
    const uint64_t bytes = place_blocks(blocks_.span(), node_count(), arena_);
    if (arena_.exhausted()) return {Status::kOutOfMemory};
    if (bytes >= Model::kNoOffset)
      return {Status::kTensorTooLarge, -1, -1, static_cast<int64_t>(bytes), Model::kNoOffset};
    for (size_t t = 0; t < block_of_.size; ++t)
      graph_.offsets[t] = block_of_[t] < 0
                              ? Model::kNoOffset
                              : static_cast<uint32_t>(blocks_[static_cast<size_t>(block_of_[t])].offset);
    graph_.activation_bytes = static_cast<size_t>(bytes);
    graph_.fast_bytes = 0;
    uint64_t crowd = 0;
    for (const MemoryBlock& block : blocks_) crowd = block.crowd > crowd ? block.crowd : crowd;
    graph_.activation_lower_bound = static_cast<size_t>(crowd);
    return kNoError;
  }

 private:
  int32_t node_count() const { return static_cast<int32_t>(graph_.nodes.size()); }

  void make_blocks() {
    const size_t tensors = graph_.tensors.size();
    graph_.offsets = arena_.make<uint32_t>(tensors);
    block_of_ = arena_.make<int32_t>(tensors);
    last_use_ = arena_.make<int32_t>(tensors);
    blocks_.reserve(arena_, tensors);
    if (arena_.exhausted()) return;
    for (int32_t& block : block_of_) block = -1;
    find_last_uses();
    for (const int32_t input : graph_.inputs) add_block(input, -1);
    for (const StateInfo& state : graph_.states) add_block(state.input, -1);
    for (int32_t n = 0; n < node_count(); ++n)
      for (const int32_t output : graph_.nodes[static_cast<size_t>(n)].outputs)
        if (!stand_on_input(n, output)) add_block(output, n);
  }

  void find_last_uses() {
    for (int32_t& use : last_use_) use = -1;
    for (int32_t n = 0; n < node_count(); ++n) {
      for (const int32_t output : graph_.nodes[static_cast<size_t>(n)].outputs)
        last_use_[static_cast<size_t>(output)] = n;
      for (const int32_t input : graph_.nodes[static_cast<size_t>(n)].inputs)
        if (input >= 0) last_use_[static_cast<size_t>(input)] = n;
    }
    for (const int32_t output : graph_.outputs) last_use_[static_cast<size_t>(output)] = node_count();
    for (const StateInfo& state : graph_.states) last_use_[static_cast<size_t>(state.output)] = node_count();
  }

  void add_block(int32_t tensor, int32_t first) {
    const auto t = static_cast<size_t>(tensor);
    block_of_[t] = static_cast<int32_t>(blocks_.size());
    blocks_.push(arena_, {first, last_use_[t], align_block(graph_.tensors[t].bytes()), 0, 0});
  }

  // The rule that Session::create checks: see runtime/liveness.cc.
  bool stand_on_input(int32_t n, int32_t output) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    const auto out = static_cast<size_t>(output);
    const int32_t index = find_op_index(ops_, signature_of(graph_, node));
    const int32_t alias = index == kNoOp ? -1 : ops_[static_cast<size_t>(index)]->alias_input;
    if (alias < 0 || output != node.outputs[0] || static_cast<size_t>(alias) >= node.inputs.size)
      return false;
    const int32_t input = node.inputs[static_cast<size_t>(alias)];
    if (input < 0 || graph_.tensors[static_cast<size_t>(input)].is_constant()) return false;
    const auto in = static_cast<size_t>(input);
    if (block_of_[in] < 0) return false;  // nothing has written it: Model::open says so
    if (last_use_[in] != n || graph_.tensors[in].bytes() != graph_.tensors[out].bytes()) return false;
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (static_cast<int32_t>(i) != alias && node.inputs[i] == input) return false;
    block_of_[out] = block_of_[in];
    blocks_[static_cast<size_t>(block_of_[in])].last = last_use_[out];
    return true;
  }

  Graph& graph_;
  OpList ops_;
  Arena& arena_;
  Array<MemoryBlock> blocks_;
  Span<int32_t> block_of_;  // one a tensor; -1: a constant
  Span<int32_t> last_use_;  // one a tensor
};

}  // namespace

Error plan_memory(Graph& graph, OpList ops, Arena& arena) { return Planner(graph, ops, arena).plan(); }

// As Planner::make_blocks() and Placement make them.
uint64_t plan_memory_bytes(uint64_t tensors) {
  constexpr uint64_t kOfABlock = sizeof(MemoryBlock) + sizeof(int32_t) + sizeof(uint64_t);
  return tensors * (sizeof(uint32_t) + 2 * sizeof(int32_t) + kOfABlock) + 2 * alignof(uint64_t);
}

}  // namespace intaglio
