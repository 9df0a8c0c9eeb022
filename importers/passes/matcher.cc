#include "importers/passes/matcher.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {

namespace {

constexpr int kMaxDepth = 8;  // of nested products

// The number that a constant is; NaN for others.
float single_value(const DraftTensor& tensor) {
  if (!tensor.constant || tensor.dtype != DType::kF32 || elements(tensor.shape) != 1) return NAN;
  return values_of<float>(tensor)[0];
}

}  // namespace

bool near(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

const DraftNode* Matcher::writer(int32_t tensor, Op op) const { return links_.writer(draft_, tensor, op); }

const DraftNode* Matcher::only(int32_t tensor, Op op) const {
  return tensor >= 0 && links_.single_use(tensor) ? writer(tensor, op) : nullptr;
}

bool Matcher::is_value(int32_t tensor, float value) const {
  return std::fabs(single_value(draft_.tensor(tensor)) - value) <= 1e-6f * std::fabs(value);
}

int32_t Matcher::beside(const DraftNode& node, float value) const {
  if (is_value(node.inputs[1], value)) return node.inputs[0];
  return is_value(node.inputs[0], value) ? node.inputs[1] : -1;
}

bool Matcher::Product::take(int32_t tensor) {
  const auto found = std::find(factors.begin(), factors.end(), tensor);
  if (found == factors.end()) return false;
  factors.erase(found);
  return true;
}

void Matcher::multiply(int32_t tensor, Product& product, int depth) const {
  const float value = single_value(draft_.tensor(tensor));
  if (!std::isnan(value)) {
    product.constant *= static_cast<double>(value);
    return;
  }
  const DraftNode* const mul = depth < kMaxDepth ? only(tensor, Op::kMul) : nullptr;
  if (mul == nullptr || has_clamp(*mul)) {
    product.factors.push_back(tensor);
    return;
  }
  for (const int32_t input : mul->inputs) multiply(input, product, depth + 1);
}

Matcher::Product Matcher::product(int32_t tensor) const {
  Product product;
  multiply(tensor, product, 0);
  return product;
}

Matcher::Product Matcher::product_of(const DraftNode& mul) const {
  Product product;
  for (const int32_t input : mul.inputs) multiply(input, product, 1);
  return product;
}

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

// The constant's values in steps of its one scale; empty where one is no whole number of them, or not within the ends.
std::vector<int32_t> steps_of(const DraftTensor& constant, float least, float most) {
  if (constant.scales.size() != 1 || !is_scale(constant.scales[0])) return {};
  const float scale = constant.scales[0];
  std::vector<int32_t> steps;
  for (const float v : values_of<float>(constant)) {
    const float step = std::nearbyint(v / scale);
    if (!(step >= least && step <= most) || step * scale != v) return {};
    steps.push_back(static_cast<int32_t>(step));
  }
  return steps;
}

template <typename Code>
DraftTensor with_codes(DraftTensor constant, const std::vector<int32_t>& steps, int32_t zero_point) {
  constant.dtype = kDTypeOf<Code>;
  constant.zero_point = zero_point;
  constant.axis = -1;
  std::vector<Code> codes;
  codes.reserve(steps.size());
  for (const int32_t step : steps) codes.push_back(static_cast<Code>(step + zero_point));
  set_values(constant, codes);
  return constant;
}

}  // namespace

std::optional<DraftTensor> exact_codes(const DraftTensor& constant) {
  const std::vector<int32_t> steps = steps_of(constant, -255.0f, 255.0f);
  if (steps.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(steps.begin(), steps.end());
  const int32_t zero_point = *low < -128 ? -128 - *low : std::min(127 - *high, 0);
  if (zero_point < -128 || zero_point > 127 || *low + zero_point < -128 || *high + zero_point > 127)
    return std::nullopt;
  return with_codes<int8_t>(constant, steps, zero_point);
}

std::optional<DraftTensor> exact_codes_s16(const DraftTensor& constant) {
  constexpr float kMost = 32767.0f;
  const std::vector<int32_t> steps = steps_of(constant, -kMost - 1, kMost);
  if (!steps.empty()) return with_codes<int16_t>(constant, steps, 0);
  const auto values = values_of<float>(constant);
  if (values.size() != 1 || !std::isfinite(values[0])) return std::nullopt;
  DraftTensor one = constant;
  const float size = std::fabs(values[0]);
  one.scales = {std::clamp(size / kMost, kMinScale, kMaxScale)};
  const float code = std::nearbyint(values[0] / one.scales[0]);
  if (std::fabs(code) > kMost || (code != 0.0f) != (size != 0.0f)) return std::nullopt;
  return with_codes<int16_t>(one, {static_cast<int32_t>(code)}, 0);
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
