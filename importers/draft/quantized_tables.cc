#include "importers/draft/quantized_tables.h"

#include <algorithm>
#include <cmath>

#include "calibrator/bake/lookup_tables.h"
#include "calibrator/quantization/int8_nodes.h"
#include "intaglio/ops.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {
namespace {

QuantParams params(const DraftTensor& tensor) {
  return {tensor.scales[0], tensor.zero_point, least_code(tensor), greatest_code(tensor)};
}

void add_lookup(const Origin& at, int32_t input, const std::vector<int8_t>& table, int32_t output) {
  const int32_t constant = add_constant(at.draft, at.name + "/table", DType::kS8, {256}, table);
  add_node(at, Op::kLookup, {input, constant}, output);
}

}  // namespace

QuantRule quant_rule(Op op) {
  const int32_t index = find_op_index(all_ops(), {op, DType::kF32, DType::kF32});
  return index < 0 ? QuantRule{} : all_ops()[static_cast<size_t>(index)]->quant;
}

int32_t least_code(const DraftTensor& tensor) { return tensor.dtype == DType::kS16 ? -32768 : -128; }
int32_t greatest_code(const DraftTensor& tensor) { return tensor.dtype == DType::kS16 ? 32767 : 127; }
int32_t quantize(float x, const DraftTensor& tensor) { return quantize_value(x, params(tensor)); }
float real_of(int32_t code, const DraftTensor& tensor) {
  return tensor.scales[0] * static_cast<float>(code - tensor.zero_point);
}

std::vector<int8_t> requantize_table(const DraftTensor& input, const DraftTensor& output, int32_t lo,
                                     int32_t hi) {
  std::vector<int8_t> table(256);
  const auto same_real = [](const NodeOptions&, double x) { return x; };
  make_unary_table(same_real, {}, params(input), params(output), {table.data(), table.size()});
  for (int8_t& code : table) code = static_cast<int8_t>(std::clamp<int32_t>(code, lo, hi));
  return table;
}

void take_near_grid(DraftTensor& weights, int32_t axis) {
  const size_t behind = elements_behind(weights.shape, axis);
  const auto channels = static_cast<size_t>(weights.shape[static_cast<size_t>(axis)]);
  const auto values = values_of<float>(weights);
  std::vector<float> scales(channels, 0.0f);
  for (size_t i = 0; i < values.size(); ++i) {
    float& scale = scales[i / behind % channels];
    scale = std::max(scale, std::fabs(values[i]) / 127.0f);
  }
  weights.scales = scales;
  weights.axis = channels > 1 ? axis : -1;
}

std::vector<int32_t> near_codes(const std::vector<double>& numbers) {
  std::vector<int32_t> codes;
  std::vector<std::pair<double, size_t>> missing;
  double sum = 0.0;
  for (const double exact : numbers) {
    codes.push_back(static_cast<int32_t>(std::nearbyint(exact)));
    missing.emplace_back(exact - codes.back(), missing.size());
    sum += missing.back().first;
  }
  const int32_t step = sum < 0.0 ? -1 : 1;
  std::sort(missing.begin(), missing.end());
  if (step > 0) std::reverse(missing.begin(), missing.end());
  for (size_t i = 0; i < missing.size() && std::fabs(sum) > 0.5; ++i) {
    int32_t& code = codes[missing[i].second];
    if (code + step < -128 || code + step > 127) continue;
    code += step;
    sum -= step;
  }
  return codes;
}

void set_weight_codes(DraftTensor& weights, const std::vector<int32_t>& codes) {
  const bool are_int8 =
      std::all_of(codes.begin(), codes.end(), [](int32_t code) { return code >= -128 && code <= 127; });
  weights.dtype = are_int8 ? DType::kS8 : DType::kS16;
  if (are_int8)
    set_values(weights, std::vector<int8_t>(codes.begin(), codes.end()));
  else
    set_values(weights, std::vector<int16_t>(codes.begin(), codes.end()));
}

std::vector<int32_t> weight_codes(const DraftTensor& weights) {
  const auto widened = [](const auto& codes) { return std::vector<int32_t>(codes.begin(), codes.end()); };
  return weights.dtype == DType::kS8 ? widened(values_of<int8_t>(weights))
                                     : widened(values_of<int16_t>(weights));
}

DraftTensor dequantized(DraftTensor constant) {
  if (constant.dtype == DType::kF32) return constant;
  if (constant.scales.empty()) fail("constant ", quoted(constant.name), " has no scale");
  if (constant.dtype == DType::kS8)
    set_reals(constant, values_of<int8_t>(constant));
  else
    set_reals(constant, values_of<int32_t>(constant));
  return constant;
}

DraftTensor dequantized_on_grid(DraftTensor constant) {
  if (constant.dtype == DType::kS8 && !constant.scales.empty())
    set_reals_on_grid(constant, values_of<int8_t>(constant));
  return dequantized(std::move(constant));
}

int32_t add_rounding_s16(const Origin& at, int32_t x, float scale) {
  const Shape shape = at.draft.tensor(x).shape;
  const int32_t codes = add_activation(at.draft, at.name + "/codes", DType::kS16, shape);
  at.draft.tensor(codes).scales = {scale};
  auto& ends = add_node(at.part("/quantize"), Op::kQuantize, {x}, codes).options.as<Clamp>();
  ends.lo = least_code(at.draft.tensor(codes));
  ends.hi = greatest_code(at.draft.tensor(codes));
  const int32_t y = add_activation(at.draft, at.name, DType::kF32, shape);
  add_node(at.part("/dequantize"), Op::kDequantize, {codes}, y);
  return y;
}

int32_t add_within_s16(const Origin& at, int32_t x, float scale, int64_t zero_point, int64_t middle) {
  if (zero_point == middle) return add_rounding_s16(at, x, scale);
  at.draft.notes.push_back(text("tensor ", quoted(at.name), " (", at.source,
                                "): its codes of 16 bits have the zero point ", zero_point, "; those with ",
                                middle, " alone are codes here, and these are FP32 within their range"));
  const int32_t y = add_activation(at.draft, at.name, DType::kF32, at.draft.tensor(x).shape);
  auto& bounds = add_node(at, Op::kClamp, {x}, y).options.as<Clamp>();
  bounds.min = static_cast<float>(-32768 - (zero_point - middle)) * scale;
  bounds.max = static_cast<float>(32767 - (zero_point - middle)) * scale;
  return y;
}

std::vector<int8_t> unary_table(const Draft& draft, const DraftNode& node) {
  const QuantRule rule = quant_rule(node.op);
  const QuantParams in = params(draft.tensor(node.input())), out = params(draft.tensor(node.output()));
  if (rule.table == TableRule::kUnary) {
    std::vector<int8_t> table(256);
    make_unary_table(rule.unary, node.options, in, out, {table.data(), table.size()});
    return table;
  }
  if (rule.table != TableRule::kUnaryPerChannel) return {};
  const auto slopes = values_of<float>(draft.tensor(node.inputs[1]));
  std::vector<int8_t> tables(256 * slopes.size());
  make_channel_tables(rule.unary_per_channel, node.options, {slopes.data(), slopes.size()}, in, out,
                      {tables.data(), tables.size()});
  return tables;
}

std::vector<int16_t> unary_table_s16(const Draft& draft, const DraftNode& node) {
  const QuantRule rule = quant_rule(node.op);
  if (rule.table != TableRule::kUnary || rule.jumps) return {};
  std::vector<int16_t> table(static_cast<size_t>(kTableS16));
  make_unary_table_s16(rule.unary, node.options, draft.tensor(node.input()).scales[0],
                       params(draft.tensor(node.output())), {table.data(), table.size()});
  return table;
}

Op op_of_s16(const DraftNode& node) {
  NodeInfo info;
  info.op = node.op;
  const Op op = int16_op(info, quant_rule(node.op));
  return op == Op::kNone || find_op_index(all_ops(), {op, DType::kS16, DType::kS16}) < 0 ? Op::kNone : op;
}

std::vector<int32_t> softmax_table(float scale, int32_t count, DType codes) {
  std::vector<int32_t> table(codes == DType::kS8 ? 256 : 512);
  make_softmax_table(scale, count, {table.data(), table.size()});
  return table;
}

void add_requantize(const Origin& at, int32_t input, int32_t output) {
  const DraftTensor &from = at.draft.tensor(input), &to = at.draft.tensor(output);
  for (const DraftTensor* const codes : {&from, &to})
    if (codes->dtype != DType::kF32 && codes->scales.size() != 1)
      fail("tensor ", quoted(codes->name), " holds codes and needs one scale, it has ", codes->scales.size());
  if (from.dtype == DType::kS8 && to.dtype == DType::kS8)
    return add_lookup(at, input, requantize_table(from, to, -128, 127), output);
  auto& codes = add_node(at, Op::kQuantize, {input}, output).options.as<Clamp>();
  codes.lo = least_code(to);
  codes.hi = greatest_code(to);
}

void add_same_codes(const Origin& at, int32_t input, int32_t output) {
  std::vector<int8_t> same;
  for (int32_t code = -128; code <= 127; ++code) same.push_back(static_cast<int8_t>(code));
  add_lookup(at, input, same, output);
}

}  // namespace intaglio::importers
