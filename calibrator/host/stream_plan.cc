#include "calibrator/host/stream_plan.h"

#include <algorithm>
#include <map>
#include <vector>

#include "calibrator/bake/block_placement.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/host/stream_segments.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

constexpr int32_t kMostNodes = 128;  // of a segment
constexpr int32_t kBands[] = {32, 16, 8, 4, 2};

// A cut of the nodes: pieces of one node run as a whole, others by rows.
using Cut = std::vector<PlannedSegment>;

struct Placed {
  uint64_t bytes = UINT64_MAX;
  std::vector<uint64_t> offsets;  // one a tensor
};

class StreamPlanner {
 public:
  StreamPlanner(const Model& model, OpList ops, Arena& arena)
      : model_(model), network_(model, ops), arena_(arena) {
    const int32_t nodes = network_.node_count();
    for (int32_t n = 0; n < nodes; ++n) around_.push_back(network_.bytes_around(n));
    for (int32_t first = 0; first < nodes; ++first)
      for (int32_t past = first + 2; past <= std::min(nodes, first + kMostNodes); ++past) {
        if (!network_.node(past - 1).access.by_rows) break;
        if (auto segment = plan_segment(network_, first, past, 1)) segments_[{first, past}] = *segment;
      }
  }

  // The least bytes at any moment.
  uint64_t least_bytes() const {
    std::vector<uint64_t> best(around_.size() + 1, UINT64_MAX);
    best[0] = 0;
    for (size_t past = 1; past < best.size(); ++past)
      for (size_t first = past; first-- > 0 && past - first <= kMostNodes;)
        best[past] = std::min(best[past], std::max(best[first], cost(first, past)));
    return best.back();
  }

  // The cut within `bytes` that runs nodes for bands as seldom as can be; of one segment at least. Nothing: there is none.
  std::optional<Cut> cut_within(uint64_t bytes) const {
    const size_t nodes = around_.size();
    std::vector<uint64_t> best(nodes + 1, UINT64_MAX);
    std::vector<size_t> from(nodes + 1, 0);
    best[0] = 0;
    for (size_t past = 1; past <= nodes; ++past)
      for (size_t first = past; first-- > 0 && past - first <= kMostNodes;) {
        if (best[first] == UINT64_MAX || cost(first, past) > bytes) continue;
        const uint64_t calls = best[first] + (past - first == 1 ? 1 : segment(first, past).calls);
        if (calls >= best[past]) continue;
        best[past] = calls;
        from[past] = first;
      }
    if (best[nodes] == UINT64_MAX) return {};
    Cut cut;
    for (size_t past = nodes; past > 0; past = from[past])
      if (past - from[past] > 1) cut.push_back(widened(segment(from[past], past), bytes));
    std::reverse(cut.begin(), cut.end());
    return cut;
  }

  std::optional<PlannedSegment> segment_of(const StreamedNodes& nodes) const {
    return plan_segment(network_, nodes.first, nodes.past, nodes.band);
  }

  Placed place(const Cut& cut, OpList ops) {
    std::vector<int32_t> begin, end;  // the time at which each node runs
    std::vector<bool> alone(around_.size(), true), sums(network_.tensors().size(), false);
    for (int32_t n = 0; n < network_.node_count(); ++n) {
      begin.push_back(n);
      end.push_back(n);
    }
    std::vector<uint64_t> bytes;
    for (const RowNetwork::Tensor& tensor : network_.tensors()) bytes.push_back(tensor.bytes);
    for (const PlannedSegment& s : cut) {
      const auto count = static_cast<int32_t>(s.rows.size());
      for (int32_t i = 0; i < count; ++i) {
        begin[static_cast<size_t>(s.first + i)] = s.first;
        end[static_cast<size_t>(s.first + i)] = s.first + count - 1;
        alone[static_cast<size_t>(s.first + i)] = false;
        sums[static_cast<size_t>(network_.node(s.first + i).output)] = s.rows[static_cast<size_t>(i)] < 0;
        bytes[static_cast<size_t>(network_.node(s.first + i).output)] = s.places[static_cast<size_t>(i)];
      }
    }
    const std::vector<RowNetwork::Tensor>& tensors = network_.tensors();
    std::vector<int32_t> block_of(tensors.size(), -1);
    std::vector<MemoryBlock> blocks;
    const auto time_of_last = [&](int32_t n) {
      return n < 0 || n >= network_.node_count() ? n : end[static_cast<size_t>(n)];
    };
    // Sources, then outputs in the order in which they are written.
    std::vector<size_t> order;
    for (size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].bytes > 0) order.push_back(t);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tensors[a].writer < tensors[b].writer; });
    for (const size_t t : order) {
      const int32_t writer = tensors[t].writer, last = time_of_last(std::max(tensors[t].last_use, writer));
      if (writer >= 0 && alone[static_cast<size_t>(writer)] && network_.node(writer).in_place &&
          network_.node(writer).output == static_cast<int32_t>(t) &&
          !sums[static_cast<size_t>(alias_of(writer, ops))]) {  // whose place is larger than the tensor
        block_of[t] = block_of[static_cast<size_t>(alias_of(writer, ops))];
        blocks[static_cast<size_t>(block_of[t])].last = last;
        continue;
      }
      block_of[t] = static_cast<int32_t>(blocks.size());
      blocks.push_back({writer < 0 ? -1 : begin[static_cast<size_t>(writer)], last, bytes[t], 0, 0});
    }
    Placed placed;
    placed.bytes = place_blocks({blocks.data(), blocks.size()}, network_.node_count(), arena_);
    for (size_t t = 0; t < tensors.size(); ++t)
      placed.offsets.push_back(block_of[t] < 0 ? Model::kNoOffset
                                               : blocks[static_cast<size_t>(block_of[t])].offset);
    return placed;
  }

 private:
  int32_t alias_of(int32_t n, OpList ops) const {
    const NodeInfo info = model_.node(n);
    return info.inputs[static_cast<size_t>(find_op(ops, model_, info)->alias_input)];
  }

  const PlannedSegment& segment(size_t first, size_t past) const {
    return segments_.at({static_cast<int32_t>(first), static_cast<int32_t>(past)});
  }

  // Bytes while nodes [first, past) run; UINT64_MAX where they cannot run together.
  uint64_t cost(size_t first, size_t past) const {
    if (past - first > 1) {
      const auto found = segments_.find({static_cast<int32_t>(first), static_cast<int32_t>(past)});
      return found == segments_.end() ? UINT64_MAX : around_[first] + found->second.bytes;
    }
    const NodeInfo info = model_.node(static_cast<int32_t>(first));
    uint64_t made = 0;
    for (const int32_t output : info.outputs) made += network_.tensors()[static_cast<size_t>(output)].bytes;
    return around_[first] + (network_.node(static_cast<int32_t>(first)).in_place ? 0 : made);
  }

  // The same nodes in the highest bands that fit.
  PlannedSegment widened(const PlannedSegment& narrow, uint64_t bytes) const {
    const auto past = narrow.first + static_cast<int32_t>(narrow.rows.size());
    for (const int32_t band : kBands) {
      const auto wide = plan_segment(network_, narrow.first, past, band);
      if (wide && around_[static_cast<size_t>(narrow.first)] + wide->bytes <= bytes) return *wide;
    }
    return narrow;
  }

  const Model& model_;
  const RowNetwork network_;
  Arena& arena_;
  std::vector<uint64_t> around_;  // bytes_around(), one a node
  std::map<std::pair<int32_t, int32_t>, PlannedSegment> segments_;
};

Span<const int32_t> copied(const std::vector<int32_t>& values, Arena& arena) {
  return arena.copy(Span<const int32_t>(values.data(), values.size()));
}

void set_plan(const Cut& cut, const Placed& placed, Graph& graph, Arena& arena) {
  graph.streamed = {};
  graph.streamed.offsets = arena.make<uint32_t>(placed.offsets.size());
  for (size_t t = 0; t < graph.streamed.offsets.size; ++t)
    graph.streamed.offsets[t] = static_cast<uint32_t>(placed.offsets[t]);
  graph.streamed.activation_bytes = static_cast<size_t>(placed.bytes);
  for (const PlannedSegment& s : cut)
    graph.streamed.segments.push(
        arena, {s.first, s.band, copied(s.strides, arena), copied(s.leads, arena), copied(s.rows, arena)});
}

Error open_graph(const Model& model, Graph& graph, Arena& arena) {
  graph = graph_of(model, arena);
  ITG_TRY(copy_plans(model, graph, arena));
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const PackInfo pack = model.pack(n);
    if (!pack.data.empty() && pack.layout == kPackLayout)
      graph.packs.push(arena, {n, pack.kernel, pack.data});
  }
  return arena.exhausted() ? Error{Status::kOutOfMemory} : kNoError;
}

}  // namespace

Result<Span<const uint8_t>> stream_model(const Model& model, OpList ops, std::optional<uint64_t> most_bytes,
                                         Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  StreamPlanner planner(model, ops, arena);
  const uint64_t least = planner.least_bytes();
  // What is needed at once may not be placed without gaps: then a plan that needs less may.
  Cut best_cut;
  Placed best;
  const uint64_t goal = most_bytes ? *most_bytes : least;
  for (uint64_t within = std::max(goal, least);;
       within -= std::max<uint64_t>(within / 64, kTensorAlignment)) {
    const auto cut = within < least ? std::nullopt : planner.cut_within(within);
    if (!cut) break;
    const Placed placed = planner.place(*cut, ops);
    if (placed.bytes < best.bytes) {
      best = placed;
      best_cut = *cut;
    }
    if (best.bytes <= goal) break;
  }
  if (most_bytes && best.bytes > *most_bytes)
    return Error{Status::kActivationsTooSmall, -1, -1, static_cast<int64_t>(*most_bytes),
                 static_cast<int64_t>(best.bytes)};
  graph.streamed = {};
  if (!best_cut.empty() && best.bytes < model.activation_bytes()) set_plan(best_cut, best, graph, arena);
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> stream_segments(const Model& model, OpList ops,
                                            Span<const StreamedNodes> segments, Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  StreamPlanner planner(model, ops, arena);
  Cut cut;
  for (const StreamedNodes& nodes : segments) {
    const auto segment = planner.segment_of(nodes);
    if (!segment) return Error{Status::kNotByRows, nodes.first};
    cut.push_back(*segment);
  }
  set_plan(cut, planner.place(cut, ops), graph, arena);
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> unstream_model(const Model& model, Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  graph.streamed = {};
  return write_model(graph, arena);
}

}  // namespace intaglio
