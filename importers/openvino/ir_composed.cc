// Layers of an OpenVINO IR that ONNX has in another form, or that are made of several nodes: attention, spectra, pools to a
// size, normalizations.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

// Queries, keys, values [batch, heads, rows, columns], or without one of the first two; a mask; a scale.
void import_attention(IrOp& op) {
  op.check_inputs(3, 5);
  const size_t rank = op.input_shape(0).size();
  if (rank != 3 && rank != 4) fail("its queries have ", rank, " axes; 3 or 4 are expected");
  const auto whole = [&](size_t i) {
    return rank == 3 && op.input_shape(i).size() == 3 ? op.with_axis(op.input(i), 1) : op.input(i);
  };
  const bool is_causal = op.flag("causal", false);
  std::vector<std::string> inputs{whole(0), whole(1), whole(2)};
  IrOp::Attributes attributes;
  attributes.push_back({"is_causal", is_causal});
  if (op.has_input(4)) {
    const IrConstant scale = op.constant(4);
    if (scale.values.size() != 1) fail("its scale has ", scale.values.size(), " numbers where 1 is expected");
    attributes.push_back({"scale", static_cast<float>(scale.values[0])});
  }
  // A single 0 is no mask; and with `causal` a mask is not looked at.
  const bool has_mask =
      op.has_input(3) && !is_causal && !(op.is_constant(op.source(3)) && op.input_shape(3).empty());
  if (has_mask) inputs.push_back(whole(3));
  if (rank == 4) {
    op.add("Attention", inputs, attributes);
    return;
  }
  op.add("Squeeze", {op.add_inner("Attention", inputs, attributes), op.integers_constant({1})});
}

// Transforms over axes in turn; of complex numbers, whose two parts are the last axis, which is counted for none of them.
std::string add_transforms(IrOp& op, std::string x, int64_t rank, bool inverse, bool one_sided) {
  std::vector<int64_t> axes = op.whole_numbers(1), sizes(axes.size(), -1);
  if (op.has_input(2)) sizes = op.whole_numbers(2);
  if (axes.empty() || sizes.size() != axes.size())
    fail("it has ", sizes.size(), " sizes for ", axes.size(), " axes");
  for (size_t i = axes.size(); i-- > 0;) {  // the last one first: of reals it alone becomes one side
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) fail("axis ", axes[i], " is not one of ", rank);
    std::vector<std::string> inputs{x, sizes[i] < 0 ? std::string() : op.integers_constant({sizes[i]}),
                                    op.integers_constant({axis})};
    const bool is_first = i + 1 == axes.size();
    x = op.add_inner("DFT", inputs, {{"inverse", inverse}, {"onesided", one_sided && is_first}});
  }
  return x;
}

void import_transform(IrOp& op) {
  op.check_inputs(2, 3);
  const std::string& type = op.layer().type;
  const bool of_reals = type == "RDFT";
  const auto rank = static_cast<int64_t>(op.input_shape(0).size());
  const std::string x = of_reals ? op.with_axis(op.input(0), rank) : op.input(0);
  op.add("Identity", {add_transforms(op, x, of_reals ? rank : rank - 1, type == "IDFT", of_reals)});
}

// Frames of a signal, [frames, bins, 2] or with the first two exchanged.
void import_stft(IrOp& op) {
  op.check_inputs(4, 4);
  const size_t rank = op.input_shape(0).size();
  if (rank != 1 && rank != 2) fail("its signal has ", rank, " axes; 1 or 2 are expected");
  const IrConstant given = op.constant(1);
  const int64_t length = op.whole_number(2), step = op.whole_number(3);
  const auto own = static_cast<int64_t>(given.values.size());
  constexpr int64_t kMostLength = 1 << 24;
  if (own < 1 || length < own || length > kMostLength)
    fail("it has a window of ", own, " samples for frames of ", length);
  std::vector<float> window(static_cast<size_t>(length), 0.0f);  // a shorter one stands in the middle
  for (int64_t i = 0; i < own; ++i)
    window[static_cast<size_t>((length - own) / 2 + i)] =
        static_cast<float>(given.values[static_cast<size_t>(i)]);
  const std::string signal = rank == 1 ? op.with_axis(op.input(0), 0) : op.input(0);
  std::string y = op.add_inner(
      "STFT",
      {signal, op.integers_constant({step}), op.floats(window, {length}), op.integers_constant({length})},
      {{"onesided", 1}});
  if (op.flag("transpose_frames", false)) y = op.transposed(y, {0, 2, 1, 3});
  if (rank == 1)
    op.add("Squeeze", {y, op.integers_constant({0})});
  else
    op.add("Identity", {y});
}

// Patches beside each other become a picture, their overlaps sums.
void import_col2im(IrOp& op) {
  op.check_inputs(3, 3);
  std::vector<int64_t> pads = op.integers("pads_begin");
  const std::vector<int64_t> ends = op.integers("pads_end");
  pads.insert(pads.end(), ends.begin(), ends.end());
  IrOp::Attributes attributes;
  for (const char* const name : {"strides", "dilations"})
    if (const auto list = op.integers(name); !list.empty()) attributes.push_back({name, list});
  if (!pads.empty()) attributes.push_back({"pads", pads});
  op.add("Col2Im",
         {op.input(0), op.integers_constant(op.whole_numbers(1)), op.integers_constant(op.whole_numbers(2))},
         attributes);
}

// To a size that divides the map's: windows of one size beside each other.
void import_adaptive_pool(IrOp& op) {
  op.check_inputs(2, 2);
  op.ignore("index_element_type");
  const std::vector<int64_t> sides = op.whole_numbers(1);
  const IrShape& shape = op.input_shape(0);
  if (shape.size() < 3 || sides.size() + 2 != shape.size())
    fail("it has ", sides.size(), " sides for ", shape.size(), " axes");
  std::vector<int64_t> window;
  for (size_t d = 0; d < sides.size(); ++d) {
    const int64_t from = shape[d + 2];
    if (sides[d] < 1 || from < sides[d] || from % sides[d] != 0)
      fail(from, " elements do not divide into ", sides[d], " windows of one size");
    window.push_back(from / sides[d]);
  }
  op.add(op.layer().type == "AdaptiveMaxPool" ? "MaxPool" : "AveragePool", {op.input(0)},
         {{"kernel_shape", window}, {"strides", window}});
}

void import_lrn(IrOp& op) {
  op.check_inputs(2, 2);
  if (op.whole_numbers(1) != std::vector<int64_t>{1}) fail("it is supported across channels alone");
  op.add("LRN", {op.input(0)},
         {{"size", op.integer("size", 1)},
          {"alpha", static_cast<float>(op.real("alpha", 1e-4))},
          {"beta", static_cast<float>(op.real("beta", 0.75))},
          {"bias", static_cast<float>(op.real("bias", 1.0))}});
}

void import_group_normalization(IrOp& op) {
  op.check_inputs(3, 3);
  op.add("GroupNormalization", {op.input(0), op.input(1), op.input(2)},
         {{"num_groups", op.integer("num_groups", 0)},
          {"epsilon", static_cast<float>(op.real("epsilon", 1e-5))}});
}

// Truth values are the numbers 1 and 0.
void import_logical_reduce(IrOp& op) {
  op.check_inputs(2, 2);
  op.add(op.layer().type == "ReduceLogicalAnd" ? "ReduceMin" : "ReduceMax",
         {op.input(0), op.integers_constant(op.whole_numbers(1))},
         {{"keepdims", op.flag("keep_dims", false)}});
}

constexpr IrOperator kIrComposedOperators[] = {
    {"AdaptiveAvgPool", import_adaptive_pool},
    {"AdaptiveMaxPool", import_adaptive_pool},
    {"Col2Im", import_col2im},
    {"DFT", import_transform},
    {"GroupNormalization", import_group_normalization},
    {"IDFT", import_transform},
    {"LRN", import_lrn},
    {"RDFT", import_transform},
    {"ReduceLogicalAnd", import_logical_reduce},
    {"ReduceLogicalOr", import_logical_reduce},
    {"STFT", import_stft},
    {"ScaledDotProductAttention", import_attention},
};

}  // namespace

Span<const IrOperator> ir_composed_operators() { return kIrComposedOperators; }

}  // namespace intaglio::importers
