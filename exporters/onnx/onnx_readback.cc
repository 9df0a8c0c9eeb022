#include "exporters/onnx/onnx_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "importers/params/params_layers.h"
#include "intaglio/describe.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {
namespace {

using importers::quoted;
using importers::text;

// Compares the parts of a layer, one after the other, and names the first that differs.
class LayerComparison {
 public:
  LayerComparison(const Model& a, const Model& b, bool is_exact) : a_(a), b_(b), is_exact_(is_exact) {}

  std::string difference(const NodeInfo& x, const NodeInfo& y, const QuantRule& rule) const {
    const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
    const TensorInfo w = a_.tensor(x.inputs[weight]), v = b_.tensor(y.inputs[weight]);
    const bool has_same = w.constant.size == v.constant.size &&
                          std::memcmp(w.constant.data, v.constant.data, w.constant.size) == 0;
    if (!has_same && !(x.op == Op::kFullyConnected && sorted_columns(w) == sorted_columns(v)))
      return "the codes of its weights";
    if (!same_scales(w.quantization.scales, v.quantization.scales)) return "the scales of its weights";
    if (!same_bias(x, a_, y, b_, bias)) return "its bias";
    if (!same_grid(a_.tensor(x.inputs[0]), b_.tensor(y.inputs[0]))) return "the scale of its input";
    if (has_sum(x) != has_sum(y))  // which the other computes apart, with the same roundings
      return same_product(x, y) ? "" : "the scale of its output";
    if (!same_grid(a_.tensor(x.outputs[0]), b_.tensor(y.outputs[0]))) return "the scale of its output";
    const auto p = x.options.value<Clamp>(), q = y.options.value<Clamp>();
    if (is_exact_ && (p.lo != q.lo || p.hi != q.hi)) return "its bounds";
    const auto m = x.options.value<Intermediate>(), n = y.options.value<Intermediate>();
    if (!same_scale(m.scale, n.scale) || m.zero_point != n.zero_point) return "the scale of its sum";
    if (m.scale != 0.0f && add_bits(x) != add_bits(y)) return "the precision of its sum";
    return "";
  }

 private:
  // The import may take a Transpose in front of a fully connected layer into its columns.
  static std::vector<std::string> sorted_columns(const TensorInfo& weights) {
    const auto width = static_cast<size_t>(weights.shape[1]);
    std::vector<std::string> columns(width);
    for (size_t i = 0; i < weights.constant.size; ++i)
      columns[i % width] += static_cast<char>(weights.constant[i]);
    std::sort(columns.begin(), columns.end());
    return columns;
  }
  static int32_t add_bits(const NodeInfo& node) {
    return node.op == Op::kConv2d ? node.options.as<Conv2dOptions>().add_bits : 0;
  }
  static bool has_sum(const NodeInfo& node) { return node.options.value<Intermediate>().scale != 0.0f; }
  // Whether the codes of the products are the same, where one of the two has a sum in the layer and the other behind it.
  bool same_product(const NodeInfo& x, const NodeInfo& y) const {
    const NodeInfo& fused = has_sum(x) ? x : y;
    const TensorInfo out = has_sum(x) ? b_.tensor(y.outputs[0]) : a_.tensor(x.outputs[0]);
    const auto sum = fused.options.value<Intermediate>();
    return out.dtype == DType::kF32 || (same_scale(out.quantization.scales[0], sum.scale) &&
                                        out.quantization.zero_point == sum.zero_point);
  }
  bool same_scale(float a, float b) const { return is_exact_ ? a == b : std::fabs(a - b) <= 1e-5f * a; }
  bool same_scales(Span<const float> a, Span<const float> b) const {
    const size_t count = std::max(a.size, b.size);
    if ((a.size != 1 && a.size != count) || (b.size != 1 && b.size != count)) return false;
    for (size_t i = 0; i < count; ++i)
      if (!same_scale(a[a.size == 1 ? 0 : i], b[b.size == 1 ? 0 : i])) return false;
    return true;
  }
  bool same_grid(const TensorInfo& a, const TensorInfo& b) const {
    if (a.dtype != b.dtype)
      return a.dtype == DType::kF32 || b.dtype == DType::kF32;  // the border lies elsewhere
    return a.dtype != DType::kS8 || (same_scale(a.quantization.scales[0], b.quantization.scales[0]) &&
                                     a.quantization.zero_point == b.quantization.zero_point);
  }
  // An absent bias is zeros. Beyond 2^22 a bias has more digits than an FP32 number: it comes back within 2^-22 of
  // itself.
  bool same_bias(const NodeInfo& x, const Model& a, const NodeInfo& y, const Model& b, size_t input) const {
    const auto codes = [input](const NodeInfo& node, const Model& model) -> Span<const int32_t> {
      if (input >= node.inputs.size || node.inputs[input] < 0) return {};
      const TensorInfo info = model.tensor(node.inputs[input]);
      return {reinterpret_cast<const int32_t*>(info.constant.data),
              static_cast<size_t>(info.shape.elements())};
    };
    const Span<const int32_t> p = codes(x, a), q = codes(y, b);
    if (p.size != q.size && !p.empty() && !q.empty()) return false;
    for (size_t i = 0; i < std::max(p.size, q.size); ++i) {
      const int64_t m = p.empty() ? 0 : p[i], n = q.empty() ? 0 : q[i];
      if (std::abs(m - n) > (std::abs(m) >> (is_exact_ ? 22 : 16)) + (is_exact_ ? 0 : 1)) return false;
    }
    return true;
  }

  const Model &a_, &b_;
  bool is_exact_;
};

// The operator that a node computes in codes, besides the products of a layer; nullopt: none, it moves or converts them. A table of
// a function is no difference: it holds what FP32 and a rounding give.
std::optional<Op> computes_in_codes(const Model& model, const NodeInfo& node) {
  for (const Op op : {Op::kQuantize, Op::kDequantize, Op::kReshape, Op::kTranspose, Op::kStridedSlice,
                      Op::kLookup, Op::kGroupedLookup})
    if (node.op == op) return std::nullopt;
  if (model.tensor(node.outputs[0]).dtype != DType::kS8) return std::nullopt;
  if (layer_rule(model, all_ops(), node) == nullptr) return node.op;
  if (node.options.value<Intermediate>().scale != 0.0f) return Op::kAdd;  // a fused residual
  return std::nullopt;
}

// Nodes that compute in codes in the model have their like in what came back: by name, where the import may have joined
// it with another node, or of the same operator. Others compute in FP32 there, and round where the file does: their codes
// can be others, which is said.
void note_float_nodes(const Model& model, const Model& back, std::vector<std::string>& notes) {
  std::vector<std::pair<Op, std::string>> coded;
  for (int32_t n = 0; n < back.node_count(); ++n)
    if (const auto op = computes_in_codes(back, back.node(n))) coded.emplace_back(*op, back.node(n).name);
  std::vector<std::string> joined;  // of the tables, which the import joins with what they read
  for (int32_t n = 0; n < back.node_count(); ++n)
    if (back.node(n).op == Op::kLookup) joined.push_back(back.node(n).name);
  std::vector<int32_t> left;
  for (int32_t n = 0; n < model.node_count(); ++n) left.push_back(n);
  for (const bool by_name : {true, false}) {
    const auto has_like = [&](int32_t n) {
      const NodeInfo node = model.node(n);
      const auto op = computes_in_codes(model, node);
      if (!op || std::find(joined.begin(), joined.end(), node.name) != joined.end()) return true;
      const auto found = std::find_if(coded.begin(), coded.end(), [&](const auto& other) {
        return by_name ? other.second == node.name : other.first == *op;
      });
      if (found == coded.end()) return false;
      coded.erase(found);
      return true;
    };
    left.erase(std::remove_if(left.begin(), left.end(), has_like), left.end());
  }
  if (left.empty()) return;
  constexpr size_t kMostNamed = 4;
  std::string names;
  for (size_t i = 0; i < std::min(left.size(), kMostNamed); ++i) {
    const NodeInfo node = model.node(left[i]);
    names += (i == 0 ? "" : ", ") + text(quoted(node.name), " (", op_name(node.op), ")");
  }
  if (left.size() > kMostNamed) names += text(" and ", left.size() - kMostNamed, " more");
  notes.push_back(
      text(left.size(), left.size() == 1 ? " node computes" : " nodes compute",
           " in codes in the model, and in FP32 in the file: values can differ by a few steps: ", names));
}

// The first input or output of the model that what came back has not; empty: none.
std::string lost_end(const Model& model, const Model& back) {
  for (const bool is_input : {true, false}) {
    std::set<std::string> names;
    for (const int32_t t : is_input ? back.inputs() : back.outputs()) names.insert(back.tensor(t).name);
    for (const int32_t t : is_input ? model.inputs() : model.outputs())
      if (names.count(model.tensor(t).name) == 0) return model.tensor(t).name;
  }
  return {};
}

}  // namespace

Outcome<Done> read_back(OnnxExport& result, const Model& model, const std::string& path, OnnxForm form) {
  const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(result.bytes.data()), result.bytes.size());
  Reimported back;
  ImportOptions options;
  options.limits = kNoImportLimits;
  if (auto step = import_again(bytes, path + ": the exported file", options, back); !step)
    return step.failure();
  if (const std::string lost = lost_end(model, back.model); !lost.empty())
    return Failure{text(path, ": cannot be written as ONNX: ", quoted(lost),
                        ", an input or output, would come back with another name")};
  std::map<std::string, int32_t> names;
  for (int32_t n = 0; n < back.model.node_count(); ++n) names[back.model.node(n).name] = n;
  const LayerComparison comparison(model, back.model, form != OnnxForm::kFakeQuantize);
  int32_t in_float = 0, layers = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const QuantRule* const rule = layer_rule(model, all_ops(), node);
    if (rule == nullptr ||
        model.tensor(node.inputs[static_cast<size_t>(rule->weight_input)]).dtype != DType::kS8)
      continue;
    ++layers;
    const auto found = names.find(node.name);
    const NodeInfo other = found == names.end() ? NodeInfo{} : back.model.node(found->second);
    if (found == names.end() || layer_rule(back.model, all_ops(), other) == nullptr ||
        back.model.tensor(other.inputs[static_cast<size_t>(rule->weight_input)]).dtype != DType::kS8) {
      ++in_float;
      continue;
    }
    const std::string difference = comparison.difference(node, other, *rule);
    if (!difference.empty())
      return Failure{text(path, ": layer ", quoted(node.name),
                          " cannot be written as ONNX: ", difference,
                          " would not come back; keep it in FP32 with 'intaglio calibrate --keep-float'")};
  }
  note_float_nodes(model, back.model, result.notes);
  if (in_float > 0)
    result.notes.push_back(
        text(in_float, " of ", layers,
             " int8 layers come back in FP32 if intaglio imports the file; their weights are the same"));
  return compare_runs(model, back.model, path, result.notes);
}

}  // namespace intaglio::exporters
