// What moves elements and need not.
#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

// Transpose that moves nothing becomes Reshape; Reshape of Reshape becomes one; Reshape to the same shape
// goes.
bool simplify_reshapes(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kTranspose ||
        !moves_no_data(draft.tensor(node.input()).shape,
                       to_vector(node.options.as<TransposeOptions>().permutation)))
      continue;
    node.become(Op::kReshape);
    changed = true;
  }
  std::vector<int32_t> source(draft.tensors.size(), -1);  // of a Reshape's output: what it reads
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kReshape) continue;
    int32_t& input = node.inputs[0];
    if (source[static_cast<size_t>(input)] >= 0) {
      input = source[static_cast<size_t>(input)];
      changed = true;
    }
    source[static_cast<size_t>(node.output())] = input;
  }
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode& node = draft.nodes[n];
    if (node.op != Op::kReshape) continue;
    const int32_t input = node.input(), output = node.output();
    if (draft.tensor(input).shape != draft.tensor(output).shape || !replace_tensor(draft, output, input))
      continue;
    draft.nodes.erase(draft.nodes.begin() + static_cast<std::ptrdiff_t>(n--));
    changed = true;
  }
  return changed;
}

// An operand that is repeated along an axis of size 1 (Expand, Tile) before an operator that repeats it
// itself goes in as it is.
bool drop_repeats(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (!traits(node.op).is(kBroadcasts)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t index = links.producer_of(node.inputs[i]);
      if (index < 0 || draft.nodes[static_cast<size_t>(index)].op != Op::kGather) continue;
      const DraftNode& gather = draft.nodes[static_cast<size_t>(index)];
      const auto axis = static_cast<size_t>(gather.options.as<GatherOptions>().axis);
      const Shape& other = draft.tensor(node.inputs[1 - i]).shape;
      const Shape& repeated = draft.tensor(gather.output()).shape;
      if (draft.tensor(gather.input()).shape[axis] != 1 || other.size() != repeated.size() ||
          other[axis] != repeated[axis])
        continue;
      node.inputs[i] = gather.input();
      changed = true;
    }
  }
  return changed;
}

// A channel shuffle that is taken apart at once: Reshape [c, 2, h * w], Transpose, Reshape [2, 1, c, h, w], a
// piece of the first axis. Each piece is every second channel: a StridedSlice, and no picture is transposed.

namespace {

const DraftNode* producer(const Draft& draft, const Links& links, int32_t tensor, Op op) {
  const int32_t index = links.producer_of(tensor);
  if (index < 0 || draft.nodes[static_cast<size_t>(index)].op != op) return nullptr;
  return &draft.nodes[static_cast<size_t>(index)];
}

// Which piece of the first axis a StridedSlice takes; -1 where it is none.
int32_t piece_of(const Draft& draft, const DraftNode& slice) {
  const Shape& from = draft.tensor(slice.input()).shape;
  Shape one = from;
  one[0] = 1;
  if (draft.tensor(slice.output()).shape != one) return -1;
  for (size_t i = 1; i < from.size(); ++i)
    if (slice.options.as<StridedSliceOptions>().begin[i] != 0 ||
        slice.options.as<StridedSliceOptions>().strides[i] != 1)
      return -1;
  return slice.options.as<StridedSliceOptions>().begin[0];
}

}  // namespace

bool slice_shuffled_channels(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& last : draft.nodes) {
    if (last.op != Op::kReshape) continue;
    const Shape out = draft.tensor(last.output()).shape;
    const DraftNode* const slice = producer(draft, links, last.input(), Op::kStridedSlice);
    const int32_t piece = slice == nullptr ? -1 : piece_of(draft, *slice);
    if (piece < 0 || out.size() != 4 || out[0] != 1) continue;
    const DraftNode* const apart = producer(draft, links, slice->input(), Op::kReshape);
    const DraftNode* const turn =
        producer(draft, links, apart == nullptr ? slice->input() : apart->input(), Op::kTranspose);
    const DraftNode* const first =
        turn == nullptr ? nullptr : producer(draft, links, turn->input(), Op::kReshape);
    if (first == nullptr ||
        to_vector(turn->options.as<TransposeOptions>().permutation) != Permutation{1, 0, 2})
      continue;
    const Shape from = draft.tensor(first->input()).shape;
    const Shape halves = draft.tensor(turn->input()).shape;  // [c, groups, h * w]
    const int32_t groups = halves[1];
    // The slice must cut where the groups meet.
    if (draft.tensor(slice->input()).shape[0] != groups || from.size() != 4 || from[0] != 1 ||
        from[1] != halves[0] * groups || from[2] * from[3] != halves[2] || out[1] != halves[0] ||
        out[2] != from[2] || out[3] != from[3])
      continue;
    last.become(Op::kStridedSlice);
    last.inputs = {first->input()};
    last.options.as<StridedSliceOptions>().begin = draft.list({0, piece, 0, 0});
    last.options.as<StridedSliceOptions>().strides = draft.list({1, groups, 1, 1});
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
