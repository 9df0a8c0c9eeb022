#include "importers/passes/constant_operands.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {
namespace {

constexpr size_t kMostTables = 256;  // 64 KiB of one node

float result(Op op, float a, float b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    default:
      return a / b;
  }
}

}  // namespace

std::optional<DraftTensor> exact_codes(const DraftTensor& constant) {
  if (constant.scales.size() != 1 || !is_scale(constant.scales[0])) return std::nullopt;
  const float scale = constant.scales[0];
  const auto values = values_of<float>(constant);
  std::vector<int32_t> steps;
  for (const float v : values) {
    const float step = std::nearbyint(v / scale);
    if (!(std::fabs(step) <= 255.0f) || step * scale != v) return std::nullopt;
    steps.push_back(static_cast<int32_t>(step));
  }
  if (steps.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(steps.begin(), steps.end());
  const int32_t zero_point = *low < -128 ? -128 - *low : std::min(127 - *high, 0);
  if (zero_point < -128 || zero_point > 127 || *low + zero_point < -128 || *high + zero_point > 127)
    return std::nullopt;
  DraftTensor codes = constant;
  codes.dtype = DType::kS8;
  codes.zero_point = zero_point;
  codes.axis = -1;
  std::vector<int8_t> bytes;
  bytes.reserve(steps.size());
  for (const int32_t step : steps) bytes.push_back(static_cast<int8_t>(step + zero_point));
  set_values(codes, bytes);
  return codes;
}

std::vector<int8_t> operand_tables(const Draft& draft, const DraftNode& node, size_t constant,
                                   const DraftTensor& in, const DraftTensor& out) {
  const DraftTensor& operand = draft.tensor(node.inputs[constant]);
  const auto values = values_of<float>(operand);
  const bool by_channel = !operand.shape.empty() && operand.shape.back() == out.shape.back() &&
                          values.size() == static_cast<size_t>(out.shape.back());
  if ((values.size() != 1 && !by_channel) || values.size() > kMostTables || in.shape != out.shape) return {};
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) return {};
  const auto clamp = node.options.value<Clamp>();
  std::vector<int8_t> tables;
  for (const float value : values) {
    for (int32_t code = -128; code <= 127; ++code) {
      const float x = in.scales[0] * static_cast<float>(code - in.zero_point);
      const float y = constant == 0 ? result(node.op, value, x) : result(node.op, x, value);
      tables.push_back(static_cast<int8_t>(quantize(std::min(std::max(y, clamp.min), clamp.max), out)));
    }
  }
  return tables;
}

}  // namespace intaglio::importers
