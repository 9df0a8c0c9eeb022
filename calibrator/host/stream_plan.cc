#include "calibrator/host/stream_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "calibrator/bake/memory_plan.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/host/place_in_two.h"
#include "calibrator/host/stream_segments.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

constexpr int32_t kMostNodes = 128;  // of a segment
constexpr int32_t kMostBand = 32;
constexpr int32_t kMostBandAlone = 512;  // of a single node, which has no line buffer

// A cut of the nodes: pieces of one node run as a whole, others by rows.
using Cut = std::vector<PlannedSegment>;

struct Placed {
  uint64_t bytes = UINT64_MAX;
  uint64_t fast_bytes = 0;        // of these
  std::vector<uint64_t> offsets;  // one a tensor
};

class StreamPlanner {
 public:
  StreamPlanner(const Model& model, OpList ops, bool feeds_rows, Arena& arena)
      : model_(model), network_(model, ops, feeds_rows), arena_(arena) {
    for (int32_t n = 0; n < network_.node_count(); ++n) around_.push_back(network_.bytes_around(n));
  }

  // All that can be: what the cuts below choose from. `over_inputs`: a node alone may overwrite rows of its input.
  void find_segments(bool over_inputs) {
    const int32_t nodes = network_.node_count();
    for (int32_t first = 0; first < nodes; ++first)
      for (int32_t past = first + 1; past <= std::min(nodes, first + kMostNodes); ++past) {
        if (!network_.node(past - 1).access.by_rows) break;
        auto segment =
            past - first == 1 ? plan_segment(network_, first, past, 1, false) : best_segment(first, past, 1);
        if (segment && (past - first > 1 || (over_inputs && segment->under >= 0)))
          segments_[{first, past}] = *segment;
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

  // The cut within `bytes` that costs the fewest calls for bands. `wide`: each in the highest bands that fit, else in bands
  // of one row. Nothing: there is none.
  std::optional<Cut> cut_within(uint64_t bytes, bool wide) {
    const size_t nodes = around_.size();
    std::vector<uint64_t> best(nodes + 1, UINT64_MAX);
    std::vector<size_t> from(nodes + 1, 0);
    best[0] = 0;
    for (size_t past = 1; past <= nodes; ++past)
      for (size_t first = past; first-- > 0 && past - first <= kMostNodes;) {
        if (best[first] == UINT64_MAX || cost(first, past) > bytes) continue;
        const uint64_t calls = best[first] + (past - first == 1 && whole_cost(first) <= bytes
                                                  ? network_.node(static_cast<int32_t>(first)).call_cost
                                                  : chosen(segment(first, past), bytes, wide).calls);
        if (calls >= best[past]) continue;
        best[past] = calls;
        from[past] = first;
      }
    if (best[nodes] == UINT64_MAX) return {};
    Cut cut;
    for (size_t past = nodes; past > 0; past = from[past])
      if (past - from[past] > 1 || whole_cost(from[past]) > bytes)
        cut.push_back(chosen(segment(from[past], past), bytes, wide));
    std::reverse(cut.begin(), cut.end());
    return cut;
  }

  std::optional<PlannedSegment> segment_of(const StreamedNodes& nodes) const {
    return best_segment(nodes.first, nodes.past, nodes.band);
  }

  // The segment's nodes in other bands.
  const std::optional<PlannedSegment>& in_bands(const PlannedSegment& segment, int32_t band) {
    const auto past = segment.first + static_cast<int32_t>(segment.rows.size());
    const bool feeds = segment.picture_rows > 0;
    const auto [found, is_new] = wide_.try_emplace({segment.first, past, band, feeds});
    if (is_new) found->second = plan_segment(network_, segment.first, past, band, feeds);
    return found->second;
  }

  // A single node whose output stands apart from its input after all runs as a whole.
  void drop_idle(Cut* cut, const Placed& placed) const {
    const auto stands_apart = [&](const PlannedSegment& s) {
      if (s.rows.size() > 1) return false;
      const auto out = static_cast<size_t>(network_.node(s.first).output), in = static_cast<size_t>(s.under);
      return s.under < 0 || placed.offsets[in] >= placed.offsets[out] + network_.tensors()[out].bytes ||
             placed.offsets[out] >= placed.offsets[in] + network_.tensors()[in].bytes;
    };
    const auto kept = std::remove_if(cut->begin(), cut->end(), stands_apart);
    if (kept != cut->begin()) cut->erase(kept, cut->end());
  }

  int32_t most_band(const PlannedSegment& segment) const {
    return segment.rows.size() > 1 ? kMostBand
                                   : std::min(network_.node(segment.first).height, kMostBandAlone);
  }

  // `two`: the sizes of two memories; nullptr: there is one.
  Placed place(const Cut& cut, OpList ops, const TwoSizes* two = nullptr) {
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
      if (s.picture_rows > 0) bytes[static_cast<size_t>(model_.inputs()[0])] = s.picture_place;
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
    std::vector<BlockOverlap> overlaps;
    for (const PlannedSegment& s : cut)
      if (s.under >= 0)
        overlaps.push_back({block_of[static_cast<size_t>(network_.node(s.first).output)],
                            block_of[static_cast<size_t>(s.under)], s.below});
    Placed placed;
    if (two == nullptr) {
      placed.bytes = place_blocks({blocks.data(), blocks.size()}, network_.node_count(), arena_,
                                  {overlaps.data(), overlaps.size()});
    } else {
      std::vector<uint64_t> traffic(blocks.size(), 0);
      for (size_t t = 0; t < tensors.size(); ++t)
        if (block_of[t] >= 0)
          traffic[static_cast<size_t>(block_of[t])] += traffic_of(static_cast<int32_t>(t));
      const TwoSizes sizes = place_in_two(blocks, traffic, overlaps, network_.node_count(), *two, arena_);
      placed.bytes = sizes.fast + sizes.slow;
      placed.fast_bytes = sizes.fast;
    }
    for (size_t t = 0; t < tensors.size(); ++t)
      placed.offsets.push_back(block_of[t] < 0 ? Model::kNoOffset
                                               : blocks[static_cast<size_t>(block_of[t])].offset);
    return placed;
  }

 private:
  // Bytes that are written and read of a tensor: a window of several rows reads each as often as it comes over it.
  uint64_t traffic_of(int32_t tensor) const {
    const uint64_t bytes = network_.tensors()[static_cast<size_t>(tensor)].bytes;
    uint64_t all = bytes;
    for (int32_t n = 0; n < network_.node_count(); ++n)
      for (const RowNetwork::Input& input : network_.node(n).inputs) {
        if (input.tensor != tensor) continue;
        const int32_t rows = input.by_rows ? input.window.extent * input.window.per : 1,
                      step = input.by_rows ? input.window.stride : 1;
        all += rows > step ? bytes * static_cast<uint64_t>(rows) / static_cast<uint64_t>(step) : bytes;
      }
    return all;
  }

  int32_t alias_of(int32_t n, OpList ops) const {
    const NodeInfo info = model_.node(n);
    return info.inputs[static_cast<size_t>(find_op(ops, model_, info)->alias_input)];
  }

  const PlannedSegment& segment(size_t first, size_t past) const {
    return segments_.at({static_cast<int32_t>(first), static_cast<int32_t>(past)});
  }

  // Bytes while nodes [first, past) run; UINT64_MAX where they cannot run together.
  uint64_t cost(size_t first, size_t past) const {
    const auto found = segments_.find({static_cast<int32_t>(first), static_cast<int32_t>(past)});
    const uint64_t by_rows = found == segments_.end() ? UINT64_MAX : around_[first] + found->second.bytes;
    return past - first > 1 ? by_rows : std::min(by_rows, whole_cost(first));
  }

  // Bytes while node `n` runs as a whole.
  uint64_t whole_cost(size_t n) const {
    const NodeInfo info = model_.node(static_cast<int32_t>(n));
    uint64_t made = 0;
    for (const int32_t output : info.outputs) made += network_.tensors()[static_cast<size_t>(output)].bytes;
    return around_[n] + (network_.node(static_cast<int32_t>(n)).in_place ? 0 : made);
  }

  // With a picture that is fed, if that takes less.
  std::optional<PlannedSegment> best_segment(int32_t first, int32_t past, int32_t band) const {
    auto whole = plan_segment(network_, first, past, band, false);
    auto fed = plan_segment(network_, first, past, band, true);
    const bool feeds =
        fed && (!whole || static_cast<int64_t>(fed->bytes) < static_cast<int64_t>(whole->bytes));
    return feeds ? fed : whole;
  }

  // The same nodes, with `wide` in the bands with the fewest calls that fit, of these the lowest.
  const PlannedSegment& chosen(const PlannedSegment& narrow, uint64_t bytes, bool wide) {
    const PlannedSegment* best = &narrow;
    for (int32_t band = 2; wide && band <= most_band(narrow); ++band) {
      const std::optional<PlannedSegment>& other = in_bands(narrow, band);
      if (other && other->calls < best->calls &&
          around_[static_cast<size_t>(narrow.first)] + other->bytes <= bytes)
        best = &*other;
    }
    return *best;
  }

  const Model& model_;
  const RowNetwork network_;
  Arena& arena_;
  std::vector<uint64_t> around_;  // bytes_around(), one a node
  std::map<std::pair<int32_t, int32_t>, PlannedSegment> segments_;
  std::map<std::tuple<int32_t, int32_t, int32_t, bool>, std::optional<PlannedSegment>>
      wide_;  // by nodes, band, and whether they are fed
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
  graph.streamed.fast_bytes = static_cast<size_t>(placed.fast_bytes);
  for (const PlannedSegment& s : cut)
    graph.streamed.segments.push(
        arena, {s.first, s.band, copied(s.strides, arena), copied(s.leads, arena), copied(s.rows, arena),
                s.picture_stride, s.picture_lead, s.picture_rows});
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

// The flat plan where it is one for two memories.
Error plan_in_one(Graph& graph, OpList ops, Arena& arena) {
  return graph.fast_bytes == 0 ? Error() : plan_memory(graph, ops, arena);
}

struct FoundPlan {
  Cut cut;
  Placed placed;
};

// Segments whose bands can be higher in the same memory, or within `bytes`, get them: whether any did.
bool widen(StreamPlanner& planner, OpList ops, uint64_t bytes, FoundPlan* plan) {
  const uint64_t most = std::max(bytes, plan->placed.bytes);
  bool widened = false;
  for (PlannedSegment& segment : plan->cut)
    for (int32_t band = planner.most_band(segment); band > segment.band; --band) {
      std::optional<PlannedSegment> higher = planner.in_bands(segment, band);
      if (!higher || higher->calls >= segment.calls) continue;
      std::swap(segment, *higher);
      if (Placed placed = planner.place(plan->cut, ops); placed.bytes <= most) {
        plan->placed = std::move(placed);
        widened = true;
        break;
      }
      std::swap(segment, *higher);
    }
  return widened;
}

// As StreamGoal says; where nothing fits, the least that there is.
FoundPlan find_plan(const Model& model, OpList ops, std::optional<uint64_t> most_bytes, bool over_inputs,
                    bool feeds_rows, Arena& arena) {
  StreamPlanner planner(model, ops, feeds_rows, arena);
  planner.find_segments(over_inputs);
  const uint64_t least = planner.least_bytes(), wanted = most_bytes.value_or(least);
  FoundPlan best;
  const auto look = [&](uint64_t within, bool wide) {
    const auto cut = planner.cut_within(within, wide);
    Placed placed = planner.place(*cut, ops);
    if (placed.bytes < best.placed.bytes) best = {*cut, std::move(placed)};
  };
  // The tensors that are needed at once may not fit without gaps: then a cut that needs less may, or another one. Narrow bands cost far
  // more calls than a cut that needs a little less, so they come last.
  const auto step = [](uint64_t bytes) { return std::max<uint64_t>(bytes / 64, kTensorAlignment); };
  for (const bool wide : {true, false})
    for (uint64_t within = std::max(wanted, least); within >= least && best.placed.bytes > wanted;
         within -= step(within))
      look(within, wide);
  for (uint64_t within = least + step(least); within < best.placed.bytes && best.placed.bytes > wanted;
       within += step(within))
    for (const bool wide : {true, false})
      if (best.placed.bytes > wanted) look(within, wide);
  while (widen(planner, ops, wanted, &best)) {  // others have moved, too
  }
  planner.drop_idle(&best.cut, best.placed);
  return best;
}

// Layer by layer where that fits two memories of these sizes. Else by rows, within less of one memory until both keep to theirs.
FoundPlan find_plan_in_two(const Model& model, OpList ops, const TwoSizes& two, bool feeds_rows,
                           Arena& arena) {
  const auto slow_of = [](const Placed& placed) { return placed.bytes - placed.fast_bytes; };
  FoundPlan best;
  const auto look = [&](FoundPlan found, StreamPlanner& planner) {
    found.placed = planner.place(found.cut, ops, &two);
    planner.drop_idle(&found.cut, found.placed);
    if (slow_of(found.placed) < slow_of(best.placed)) best = std::move(found);
  };
  StreamPlanner flat(model, ops, false, arena);
  if (!feeds_rows) look({}, flat);
  constexpr uint64_t kSteps = 16;
  const uint64_t most = two.fast + two.slow;
  uint64_t least = UINT64_MAX;
  for (uint64_t within = most; within > 0 && slow_of(best.placed) > two.slow;
       within -= std::max<uint64_t>(most / kSteps, 1)) {
    for (const bool feeds : {true, false}) {
      if ((feeds && !feeds_rows) || slow_of(best.placed) <= two.slow) continue;
      FoundPlan found = find_plan(model, ops, within, true, feeds, arena);
      least = std::min(least, found.placed.bytes);
      StreamPlanner planner(model, ops, feeds, arena);
      look(std::move(found), planner);
    }
    if (least > within || within <= most / kSteps) break;  // nothing takes less
  }
  if (feeds_rows && slow_of(best.placed) > two.slow) look({}, flat);
  return best;
}

}  // namespace

Result<Span<const uint8_t>> stream_model(const Model& model, OpList ops, const StreamGoal& goal,
                                         Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  if (goal.fast_bytes > 0) {
    const TwoSizes two{goal.fast_bytes, goal.most_bytes.value_or(UINT32_MAX) - goal.fast_bytes};
    const FoundPlan found = find_plan_in_two(model, ops, two, goal.feeds_rows, arena);
    const Placed& placed = found.placed;
    if (placed.bytes - placed.fast_bytes > two.slow)
      return Error{Status::kActivationsTooSmall, -1, -1, static_cast<int64_t>(two.slow),
                   static_cast<int64_t>(placed.bytes - placed.fast_bytes)};
    graph.streamed = {};
    if (!found.cut.empty()) {
      ITG_TRY(plan_in_one(graph, ops, arena));
      set_plan(found.cut, placed, graph, arena);
    } else {
      for (size_t t = 0; t < graph.offsets.size; ++t)
        graph.offsets[t] = static_cast<uint32_t>(placed.offsets[t]);
      graph.activation_bytes = static_cast<size_t>(placed.bytes);
      graph.fast_bytes = static_cast<size_t>(placed.fast_bytes);
    }
    return write_model(graph, arena);
  }
  ITG_TRY(plan_in_one(graph, ops, arena));
  FoundPlan best;
  const std::optional<uint64_t> most_bytes = goal.most_bytes;
  // A plan may have gaps, so what allows less may give more.
  const auto look = [&](std::optional<uint64_t> within) {
    for (const bool over_inputs : {true, false})
      for (const bool feeds_rows : {true, false}) {
        if ((feeds_rows && !goal.feeds_rows) || best.placed.bytes <= most_bytes.value_or(0)) continue;
        FoundPlan found = find_plan(model, ops, within, over_inputs, feeds_rows, arena);
        if (found.placed.bytes < best.placed.bytes) best = std::move(found);
      }
  };
  look(most_bytes);
  // So the least plan may keep to a number all the same.
  if (most_bytes && best.placed.bytes > *most_bytes) look({});
  if (most_bytes && best.placed.bytes > *most_bytes)
    return Error{Status::kActivationsTooSmall, -1, -1, static_cast<int64_t>(*most_bytes),
                 static_cast<int64_t>(best.placed.bytes)};
  graph.streamed = {};
  if (!best.cut.empty() && best.placed.bytes < model.activation_bytes())
    set_plan(best.cut, best.placed, graph, arena);
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> stream_segments(const Model& model, OpList ops,
                                            Span<const StreamedNodes> segments, bool feeds_rows,
                                            Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  StreamPlanner planner(model, ops, feeds_rows, arena);
  Cut cut;
  for (const StreamedNodes& nodes : segments) {
    const auto segment = planner.segment_of(nodes);
    if (!segment) return Error{Status::kNotByRows, nodes.first};
    cut.push_back(*segment);
  }
  set_plan(cut, planner.place(cut, ops), graph, arena);
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> unfed_model(const Model& model, OpList ops, Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  const Result<Model> streamed = StreamedModel::open(model);
  if (!streamed) return streamed.error();
  StreamPlanner planner(model, ops, false, arena);
  Cut cut;
  for (int32_t s = 0; s < StreamedModel::segment_count(*streamed); ++s) {
    const SegmentInfo info = StreamedModel::segment(*streamed, s);
    PlannedSegment segment;
    segment.first = info.first;
    segment.band = info.band;
    segment.strides.assign(info.strides.begin(), info.strides.end());
    segment.leads.assign(info.leads.begin(), info.leads.end());
    segment.rows.assign(info.rows.begin(), info.rows.end());
    for (int32_t n = info.first; n < info.first + info.count; ++n)
      segment.places.push_back(
          align_block(StreamedModel::place_bytes(*streamed, StreamedModel::outputs(*streamed, n)[0], n)));
    const auto alone = info.count == 1 ? planner.segment_of({info.first, info.first + 1, info.band})
                                       : std::optional<PlannedSegment>();
    cut.push_back(alone ? *alone : segment);
  }
  set_plan(cut, planner.place(cut, ops), graph, arena);
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> with_ceiling(const Model& model, uint32_t bytes, Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  graph.memory_ceiling = bytes;
  return write_model(graph, arena);
}

Result<Span<const uint8_t>> unstream_model(const Model& model, OpList ops, Arena& arena) {
  Graph graph;
  ITG_TRY(open_graph(model, graph, arena));
  ITG_TRY(plan_in_one(graph, ops, arena));
  graph.streamed = {};
  return write_model(graph, arena);
}

}  // namespace intaglio
