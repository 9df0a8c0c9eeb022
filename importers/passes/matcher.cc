#include "importers/passes/matcher.h"

#include <algorithm>
#include <cmath>

#include "importers/passes/folding.h"

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

const DraftNode* Matcher::writer(int32_t tensor, Op op) const {
  const int32_t index = links_.producer_of(tensor);
  if (index < 0) return nullptr;
  const DraftNode& node = draft_.nodes[static_cast<size_t>(index)];
  return node.op == op ? &node : nullptr;
}

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

}  // namespace intaglio::importers
