#include "importers/draft/draft.h"

#include <cmath>

#include "importers/draft/op_traits.h"
#include "intaglio/describe.h"

namespace intaglio::importers {
namespace {

std::string quantization_text(const DraftTensor& tensor) {
  if (tensor.scales.empty()) return "";
  if (tensor.scales.size() > 1) return text(" ", tensor.scales.size(), " scales along axis ", tensor.axis);
  return text(" scale ", tensor.scales[0], " zero_point ", tensor.zero_point);
}

std::string type_text(const DraftTensor& tensor) {
  return text(dtype_name(tensor.dtype), " ", shape_text(tensor.shape), quantization_text(tensor));
}

std::string operand_text(const Draft& draft, int32_t index) {
  if (index < 0) return "none";
  const DraftTensor& tensor = draft.tensor(index);
  return tensor.constant ? text("%", index, " ", type_text(tensor), " constant") : text("%", index);
}

void add_list(std::string& line, const char* name, const std::vector<int32_t>& list) {
  if (!list.empty()) line += text(" ", name, " ", shape_text(list));
}

std::string window_text(const Window2d& w) {
  std::string line;
  const auto add_pair = [&](const char* name, int32_t h, int32_t wide) {
    if (h != 1 || wide != 1) line += text(" ", name, " ", h, "x", wide);
  };
  add_pair("window", w.kernel_h, w.kernel_w);
  add_pair("stride", w.stride_h, w.stride_w);
  add_pair("dilation", w.dilation_h, w.dilation_w);
  if (w.pad_top != 0 || w.pad_left != 0 || w.pad_bottom != 0 || w.pad_right != 0)
    line += text(" pads ", shape_text({w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}));
  if (w.count_include_pad) line += " count_include_pad";
  return line;
}

// The options that differ from those of a new node.
std::string options_text(const DraftNode& node) {
  const NodeOptions& o = node.options;
  std::string line = window_text(o.value<Window2d>());
  const auto add = [&](const char* name, auto value, auto otherwise) {
    if (value != otherwise) line += text(" ", name, " ", value);
  };
  const auto slice = o.value<StridedSliceOptions>();
  const auto pad = o.value<PadOptions>();
  const auto unary = o.value<UnaryOptions>();
  const auto clamp = o.value<Clamp>();
  add("groups", o.value<Conv2dOptions>().groups, 1);
  add_list(line, "axes", to_vector(o.value<ReduceOptions>().axes));
  add_list(line, "permutation", to_vector(o.value<TransposeOptions>().permutation));
  add("axis", o.value<ConcatOptions>().axis, 0);
  add("axis", o.value<GatherOptions>().axis, 0);
  add("axis", o.value<TopKOptions>().axis, 0);
  add("axis", o.value<OneHotOptions>().axis, 0);
  if (o.value<TopKOptions>().smallest) line += " smallest";
  add_list(line, "before", to_vector(pad.before));
  add_list(line, "begin", to_vector(slice.begin));
  add_list(line, "strides", to_vector(slice.strides));
  add_list(line, "pads_after", node.pads_after);
  add("value", pad.value, 0.0f);
  add("alpha", unary.alpha, 0.0f);
  add("beta", unary.beta, 0.0f);
  if (o.value<BatchMatMulOptions>().transpose_b) line += " transpose_b";
  add("scale", o.value<BatchMatMulOptions>().scale, 1.0f);
  add("min_norm", o.value<L2NormalizeOptions>().min_norm, 0.0f);
  add("epsilon", node.epsilon, 0.0f);
  if (const auto* const resize = o.get<ResizeOptions>())
    line += resize->interpolation == Interpolation::kNearest ? " nearest" : " bilinear";
  if (std::isfinite(clamp.min) || std::isfinite(clamp.max))
    line += text(" clamp ", clamp.min, " to ", clamp.max);
  if (clamp.lo != -128 || clamp.hi != 127) line += text(" codes ", clamp.lo, " to ", clamp.hi);
  return line;
}

std::string node_text(const Draft& draft, const DraftNode& node) {
  std::string line;
  for (const int32_t output : node.outputs)
    line += text(line.empty() ? "" : ", ", "%", output, " ", quoted(draft.tensor(output).name), " ",
                 type_text(draft.tensor(output)));
  line += text(" = ", draft_op_name(node.op), "(");
  for (size_t i = 0; i < node.inputs.size(); ++i)
    line += text(i == 0 ? "" : ", ", operand_text(draft, node.inputs[i]));
  return text(line, ")", options_text(node), "  # ", quoted(node.name), " (", shown(node.source), ")\n");
}

}  // namespace

std::string draft_text(const Draft& draft) {
  std::string lines;
  for (const int32_t input : draft.inputs)
    lines += text("input %", input, " ", quoted(draft.tensor(input).name), " ",
                  type_text(draft.tensor(input)), "\n");
  for (const DraftNode& node : draft.nodes) lines += node_text(draft, node);
  for (const int32_t output : draft.outputs)
    lines += text("output %", output, " ", quoted(draft.tensor(output).name), "\n");
  return lines;
}

}  // namespace intaglio::importers
