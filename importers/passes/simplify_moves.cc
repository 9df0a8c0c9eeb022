// Removes moves of elements that are not needed.
#include <algorithm>

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

// A Reshape of a picture that only adds or drops axes of size 1 goes behind an operator that computes element by element, where all
// of its operands come so: what is written for one dimension has the nodes of pictures, and Reshapes meet.

namespace {

Shape without_ones(Shape shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

bool computes_elements(const DraftNode& node) {
  const OpTraits& of = traits(node.op);
  return of.is(kBroadcasts) || node.op == Op::kClamp ||
         (of.axes == Axes::kAny && of.int8 == Int8Form::kRescales);
}

// The tensor that the Reshape before each operand reads, or the same of a constant; empty: they do not have one shape.
std::vector<int32_t> pictures_of(Draft& draft, const Links& links, const DraftNode& node) {
  const Shape& out = draft.tensor(node.output()).shape;
  std::vector<int32_t> pictures;
  Shape picture;
  for (const int32_t input : node.inputs) {
    pictures.push_back(-1);
    if (draft.tensor(input).constant) continue;
    const DraftNode* const reshape = links.writer(draft, input, Op::kReshape);
    if (reshape == nullptr) return {};
    pictures.back() = reshape->input();
    const Shape& from = draft.tensor(pictures.back()).shape;
    if (from.size() != 4 || draft.tensor(input).shape != out || without_ones(from) != without_ones(out) ||
        from.back() != out.back() || (!picture.empty() && from != picture))
      return {};
    picture = from;
  }
  if (picture.empty() || picture == out) return {};
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (pictures[i] >= 0) continue;
    const DraftTensor constant = draft.tensor(node.inputs[i]);
    Shape shape(4, 1);
    if (constant.axis >= 0 || constant.shape.empty() || elements(constant.shape) != constant.shape.back())
      return {};
    shape.back() = constant.shape.back();
    draft.tensors.push_back(constant);
    draft.tensors.back().shape = shape;
    pictures[i] = static_cast<int32_t>(draft.tensors.size()) - 1;
  }
  return pictures;
}

}  // namespace

bool sink_reshapes(Draft& draft) {
  bool changed = false;
  const Links links(draft);
  std::deque<DraftNode> old;
  std::vector<std::pair<size_t, DraftNode>> behind;  // Reshapes, and the nodes that they stand behind
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (!computes_elements(node) || node.outputs.size() != 1) continue;
    const std::vector<int32_t> pictures = pictures_of(draft, links, node);
    if (pictures.empty()) continue;
    int32_t from = -1;
    for (size_t i = 0; i < pictures.size() && from < 0; ++i)
      if (!draft.tensor(pictures[i]).constant) from = pictures[i];
    const int32_t output = node.output();
    const std::string name = draft.tensor(output).name;
    const Shape shape = draft.tensor(from).shape;
    node.outputs[0] = add_activation_like(draft, name, output, shape);
    node.inputs = pictures;
    DraftNode reshape;
    reshape.become(Op::kReshape);
    reshape.name = name;
    reshape.source = "Reshape";
    reshape.inputs = {node.outputs[0]};
    reshape.outputs = {output};
    behind.emplace_back(n, std::move(reshape));
    changed = true;
  }
  if (!changed) return false;
  old.swap(draft.nodes);
  size_t next = 0;
  for (size_t n = 0; n < old.size(); ++n) {
    draft.nodes.push_back(std::move(old[n]));
    if (next < behind.size() && behind[next].first == n)
      draft.nodes.push_back(std::move(behind[next++].second));
  }
  return true;
}

// An operand that is repeated along an axis of size 1 (Expand, Tile) before an operator that repeats it
// itself goes in as it is.
bool drop_repeats(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (!traits(node.op).is(kBroadcasts)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const DraftNode* const gather = links.writer(draft, node.inputs[i], Op::kGather);
      if (gather == nullptr) continue;
      const auto axis = static_cast<size_t>(gather->options.as<GatherOptions>().axis);
      const Shape& other = draft.tensor(node.inputs[1 - i]).shape;
      const Shape& repeated = draft.tensor(gather->output()).shape;
      if (draft.tensor(gather->input()).shape[axis] != 1 || other.size() != repeated.size() ||
          other[axis] != repeated[axis])
        continue;
      node.inputs[i] = gather->input();
      changed = true;
    }
  }
  return changed;
}

// A channel shuffle that is taken apart at once: Reshape [c, 2, h * w], Transpose, Reshape [2, 1, c, h, w], a
// piece of the first axis. Each piece is every second channel: a StridedSlice, and no picture is transposed.

namespace {

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
    const DraftNode* const slice = links.writer(draft, last.input(), Op::kStridedSlice);
    const int32_t piece = slice == nullptr ? -1 : piece_of(draft, *slice);
    if (piece < 0 || out.size() != 4 || out[0] != 1) continue;
    const DraftNode* const apart = links.writer(draft, slice->input(), Op::kReshape);
    const DraftNode* const turn =
        links.writer(draft, apart == nullptr ? slice->input() : apart->input(), Op::kTranspose);
    const DraftNode* const first =
        turn == nullptr ? nullptr : links.writer(draft, turn->input(), Op::kReshape);
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
