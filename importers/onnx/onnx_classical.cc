// Linear models and scalers of classical machine learning, ai.onnx.ml.
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

constexpr char kDomain[] = "ai.onnx.ml";

// Rows [n, features]; integers as reals.
int32_t read_rows(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.as_real(op.any_activation(0));
  const Shape& shape = op.draft().tensor(x).shape;
  if (shape.size() != 2) fail("its input has the shape ", shape_text(shape), "; rank 2 is expected");
  return x;
}

std::vector<float> finite_reals(const OnnxOp& op, const char* name) {
  std::vector<float> values = op.reals(name);
  for (const float value : values)
    if (!std::isfinite(value)) fail("its attribute ", name, " holds ", value);
  return values;
}

// y = x * coefficients + intercepts, coefficients [targets, features]
void import_linear_regressor(OnnxOp& op) {
  const int32_t x = read_rows(op);
  const Shape shape = op.draft().tensor(x).shape;
  const int64_t targets = op.integer("targets", 1);
  if (targets < 1 || targets > kMaxTensorBytes) fail("its attribute targets is ", targets);
  if (const std::string transform = op.string("post_transform", "NONE"); transform != "NONE")
    fail("post_transform ", quoted(transform), " is not supported; NONE is");
  const auto outputs = static_cast<int32_t>(targets);
  const std::vector<float> weights = finite_reals(op, "coefficients");
  std::vector<float> bias = finite_reals(op, "intercepts");
  if (static_cast<int64_t>(weights.size()) != targets * shape[1])
    fail("it has ", weights.size(), " coefficients for ", targets, " targets of ", shape[1], " features");
  if (bias.empty()) bias.assign(static_cast<size_t>(targets), 0.0f);
  if (static_cast<int64_t>(bias.size()) != targets)
    fail("it has ", bias.size(), " intercepts for ", targets, " targets");
  const int32_t w =
      add_constant(op.draft(), op.name() + "/coefficients", DType::kF32, {outputs, shape[1]}, weights);
  const int32_t b = add_constant(op.draft(), op.name() + "/intercepts", DType::kF32, {outputs}, bias);
  const int32_t y = op.new_tensor({shape[0], outputs});
  op.add(Op::kFullyConnected, {x, w, b}, y);
  op.set_output(y, 0, false);
}

// y = (x - offset) * scale, each one number or one a feature
void import_scaler(OnnxOp& op) {
  int32_t x = read_rows(op);
  const int32_t features = op.draft().tensor(x).shape[1];
  const auto by = [&](const char* name, Op kind) {
    const std::vector<float> values = finite_reals(op, name);
    if (values.empty()) return;
    if (values.size() != 1 && values.size() != static_cast<size_t>(features))
      fail("its attribute ", name, " has ", values.size(), " numbers for ", features, " features");
    x = add_binary(op, kind, x,
                   add_constant(op.draft(), op.name() + "/" + name, DType::kF32,
                                {1, static_cast<int32_t>(values.size())}, values));
  };
  by("offset", Op::kSub);
  by("scale", Op::kMul);
  op.set_output(x, 0, false);
}

constexpr OnnxOperator kOnnxClassicalOperators[] = {
    {"LinearRegressor", import_linear_regressor, {Op::kFullyConnected}, "Without a post_transform.", kDomain},
    {"Scaler", import_scaler, {Op::kSub, Op::kMul}, "Of rank 2.", kDomain},
};

}  // namespace

Span<const OnnxOperator> onnx_classical_operators() { return kOnnxClassicalOperators; }

}  // namespace intaglio::importers
