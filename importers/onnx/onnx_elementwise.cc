// ONNX operators from element to element, and softmax.
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

void add_clamp(OnnxOp& op, float low, float high) {
  if (!(low <= high)) fail("it clips to ", low, " and ", high, "; the first must not be above the second");
  op.set_output(add_bounded(op, op.activation(0), low, high));
}

template <typename T>
T only_value(int input, const OnnxConstant<T>& constant) {
  if (constant.values.size() != 1)
    fail("input ", input, " must be one value, it has ", constant.values.size());
  return constant.values[0];
}

float scalar(OnnxOp& op, int input, float otherwise) {
  return op.has_input(input) ? only_value(input, op.floats(input)) : otherwise;
}

// A node of one input and one output of its shape.
DraftNode& add_unary(OnnxOp& op, Op kind) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t y = op.new_tensor(op.shape(x));
  DraftNode& node = op.add(kind, {x}, y);
  op.set_output(y);
  return node;
}

void import_relu(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (holds_codes(op, 0)) return set_bounded_codes(op, 0, 0.0, INFINITY);
  add_clamp(op, 0.0f, INFINITY);
}

// A bound of codes.
double code_bound(OnnxOp& op, int input, double otherwise) {
  return op.has_input(input) ? static_cast<double>(only_value(input, op.integers(input))) : otherwise;
}

// A bound of one element that an activation holds, or a constant beside one.
int32_t add_computed_bound(OnnxOp& op, int32_t x, int32_t bound, Op kind) {
  const Shape one(op.shape(x).size(), 1);
  if (elements(op.shape(bound)) != 1)
    fail("its bound has the shape ", shape_text(op.shape(bound)), "; one value is expected");
  if (op.draft().tensor(bound).constant)
    op.shape(bound) = one;
  else
    bound = add_reshape(op.part("/bound"), bound, one);
  return add_binary(op, kind, x, bound);
}

void import_clip(OnnxOp& op) {
  const bool by_inputs = op.opset() >= 11;
  op.check_inputs(1, by_inputs ? 3 : 1);
  if ((op.has_input(1) && !op.is_constant(1)) || (op.has_input(2) && !op.is_constant(2))) {
    int32_t y = op.activation(0);
    for (const int i : {1, 2})
      if (op.has_input(i))
        y = add_computed_bound(op, y, op.activation_or_numbers(i), i == 1 ? Op::kMaximum : Op::kMinimum);
    return op.set_output(y);
  }
  if (by_inputs && holds_codes(op, 0))
    return set_bounded_codes(op, 0, code_bound(op, 1, -INFINITY), code_bound(op, 2, INFINITY));
  const float low = by_inputs ? scalar(op, 1, -INFINITY) : op.real("min", -INFINITY);
  const float high = by_inputs ? scalar(op, 2, INFINITY) : op.real("max", INFINITY);
  add_clamp(op, low, high);
}

template <Op kKind>
void import_unary(OnnxOp& op) {
  add_unary(op, kKind);
}

// Functions with numbers of their own: ONNX's names and defaults of what UnaryOptions holds.
constexpr struct {
  const char* source;
  Op kind;
  const char *alpha, *beta;
  float default_alpha, default_beta;
} kParametric[] = {
    {"Celu", Op::kCelu, "alpha", nullptr, 1.0f, 0.0f},
    {"Elu", Op::kElu, "alpha", nullptr, 1.0f, 0.0f},
    {"HardSigmoid", Op::kHardSigmoid, "alpha", "beta", 0.2f, 0.5f},
    {"LeakyRelu", Op::kLeakyRelu, "alpha", nullptr, 0.01f, 0.0f},
    {"Selu", Op::kSelu, "alpha", "gamma", 1.67326319f, 1.05070102f},
    {"Shrink", Op::kShrink, "lambd", "bias", 0.5f, 0.0f},
    {"ThresholdedRelu", Op::kThresholdedRelu, "alpha", nullptr, 1.0f, 0.0f},
};

void import_parametric(OnnxOp& op) {
  for (const auto& row : kParametric) {
    if (op.source() != row.source) continue;
    const float alpha = op.real(row.alpha, row.default_alpha),
                beta = row.beta == nullptr ? 0.0f : op.real(row.beta, row.default_beta);
    if (row.kind == Op::kCelu && alpha == 0.0f) fail("its alpha is 0");
    add_unary(op, row.kind).options.as<UnaryOptions>() = {alpha, beta};
  }
}

// The Gelu of opset 20, and onnxruntime's own.
void import_gelu(OnnxOp& op) {
  const std::string kind = op.string("approximate", "none");
  if (kind != "none" && kind != "tanh") fail("approximate ", quoted(kind), " is not known");
  add_unary(op, kind == "tanh" ? Op::kGeluTanh : Op::kGelu);
}

// Slopes of any shape that repeats to the input's, also computed ones: max(x, 0) + slope * min(x, 0).
void import_broadcast_prelu(OnnxOp& op) {
  const OnnxPair pair = read_pair(op);
  const Shape shape = op.shape(pair.first);
  const int32_t below = add_bounded(op, pair.first, -INFINITY, 0.0f);
  const int32_t scaled = add_binary(op, Op::kMul, below, pair.second);
  if (op.shape(scaled) != shape)
    fail("its slopes have the shape ", shape_text(op.shape(pair.second)),
         ", which does not repeat to that of its input, ", shape_text(shape));
  op.set_output(add_binary(op, Op::kAdd, add_bounded(op, pair.first, 0.0f, INFINITY), scaled));
}

// The axis of the input whose indices have a slope each, where there is one such axis; -1: another shape.
int32_t slopes_axis(const Shape& shape, const Shape& slopes) {
  if (slopes.size() > shape.size()) return -1;
  const size_t in_front = shape.size() - slopes.size();
  int32_t axis = -1;
  for (size_t i = 0; i < slopes.size(); ++i) {
    if (slopes[i] == 1) continue;
    if (axis >= 0 || slopes[i] != shape[in_front + i]) return -1;
    axis = static_cast<int32_t>(in_front + i);
  }
  return axis;
}

void import_prelu(OnnxOp& op) {
  op.check_inputs(2, 2);
  if (!op.is_constant(1)) return import_broadcast_prelu(op);
  const int32_t input = op.activation(0);
  const OnnxConstant<float> slope = op.floats(1);
  if (slope.values.size() == 1) {
    const int32_t y = op.new_tensor(op.shape(input));
    op.add(Op::kLeakyRelu, {input}, y).options.as<UnaryOptions>().alpha = slope.values[0];
    return op.set_output(y);
  }
  const int32_t axis = slopes_axis(op.shape(input), slope.shape);
  if (axis < 0) return import_broadcast_prelu(op);
  const int32_t slopes = add_constant(op.draft(), op.input_name(1), DType::kF32,
                                      {static_cast<int32_t>(slope.values.size())}, slope.values);
  op.set_output(op.along_last_axis(input, axis, [&](int32_t x) {
    return op.make(Op::kPRelu, {x, slopes}, op.shape(x));
  }));
}

void import_identity(OnnxOp& op) {
  op.check_inputs(1, 3);
  op.ignore("ratio");
  op.ignore("seed");
  op.ignore("is_test");
  if (op.is_constant(0)) fail("it copies a constant");
  if (op.has_input(2) && op.integers(2).values != std::vector<int64_t>{0})
    fail("it is in training mode; export the model for inference");
  op.set_output(op.any_activation(0));
}

// x * sigmoid(alpha * x): of opset 24, and onnxruntime's own.
void import_swish(OnnxOp& op) {
  op.check_inputs(1, 1);
  const float alpha = op.real("alpha", op.source() == "QuickGelu" ? 1.702f : 1.0f);
  if (!std::isfinite(alpha)) fail("its alpha is ", alpha);
  const int32_t x = op.activation(0);
  const int32_t gate = add_unary(op, Op::kSigmoid, alpha == 1.0f ? x : add_scaled(op, x, alpha));
  op.set_output(add_binary(op, Op::kMul, x, gate));
}

void import_softmax(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const bool flattens = op.opset() < 13;  // over all axes from `axis` on, as one
  const int32_t axis = normal_axis(op.integer("axis", flattens ? 1 : -1), shape.size());
  const auto softmax = [&](int32_t input) { return op.make(Op::kSoftmax, {input}, op.shape(input)); };
  if (flattens) {
    Shape flat{1, 1};
    for (size_t i = 0; i < shape.size(); ++i) flat[static_cast<int32_t>(i) < axis ? 0 : 1] *= shape[i];
    // Where nothing is joined the shape stays, so that no Reshape is needed.
    const bool same = flat[1] == shape.back();
    const int32_t input = same ? x : add_reshape(op.part("/flat"), x, flat);
    return op.set_output(add_reshape(op.result(), softmax(input), shape));
  }
  op.set_output(op.along_last_axis(x, axis, softmax));
}

constexpr OnnxOperator kOnnxElementwiseOperators[] = {
    {"Abs", import_unary<Op::kAbs>, {Op::kAbs}, ""},
    {"Ceil", import_unary<Op::kCeil>, {Op::kCeil}, ""},
    {"Celu", import_parametric, {Op::kCelu}, ""},
    {"Clip", import_clip, {Op::kClamp, Op::kMaximum, Op::kMinimum}, ""},
    {"Cos", import_unary<Op::kCos>, {Op::kCos}, ""},
    {"Dropout", import_identity, {}, "Inference only."},
    {"Elu", import_parametric, {Op::kElu}, ""},
    {"Erf", import_unary<Op::kErf>, {Op::kErf}, ""},
    {"Exp", import_unary<Op::kExp>, {Op::kExp}, ""},
    {"Floor", import_unary<Op::kFloor>, {Op::kFloor}, ""},
    {"Gelu", import_gelu, {Op::kGelu, Op::kGeluTanh}, ""},
    {"Gelu", import_gelu, {Op::kGelu}, "", "com.microsoft"},
    {"HardSigmoid", import_parametric, {Op::kHardSigmoid}, ""},
    {"HardSwish", import_unary<Op::kHardSwish>, {Op::kHardSwish}, ""},
    {"Identity", import_identity, {}, ""},
    {"LeakyRelu", import_parametric, {Op::kLeakyRelu}, ""},
    {"Log", import_unary<Op::kLog>, {Op::kLog}, ""},
    {"Mish", import_unary<Op::kMish>, {Op::kMish}, ""},
    {"PRelu",
     import_prelu,
     {Op::kPRelu, Op::kLeakyRelu, Op::kClamp, Op::kMul},
     "Slopes repeat to the input's shape. Computed ones, and those of several axes, become bounds and a product."},
    {"QuickGelu", import_swish, {Op::kSigmoid, Op::kMul}, "", "com.microsoft"},
    {"Reciprocal", import_unary<Op::kReciprocal>, {Op::kReciprocal}, ""},
    {"Relu", import_relu, {Op::kClamp}, ""},
    {"Round", import_unary<Op::kRound>, {Op::kRound}, ""},
    {"Selu", import_parametric, {Op::kSelu}, ""},
    {"Shrink", import_parametric, {Op::kShrink}, ""},
    {"Sigmoid", import_unary<Op::kSigmoid>, {Op::kSigmoid}, ""},
    {"Sign", import_unary<Op::kSign>, {Op::kSign}, ""},
    {"Sin", import_unary<Op::kSin>, {Op::kSin}, ""},
    {"Softmax", import_softmax, {Op::kSoftmax}, ""},
    {"Softplus", import_unary<Op::kSoftplus>, {Op::kSoftplus}, ""},
    {"Softsign", import_unary<Op::kSoftsign>, {Op::kSoftsign}, ""},
    {"Sqrt", import_unary<Op::kSqrt>, {Op::kSqrt}, ""},
    {"Swish", import_swish, {Op::kSigmoid, Op::kMul}, ""},
    {"Tanh", import_unary<Op::kTanh>, {Op::kTanh}, ""},
    {"ThresholdedRelu", import_parametric, {Op::kThresholdedRelu}, ""},
};

}  // namespace

int32_t add_unary(OnnxOp& op, Op kind, int32_t x) { return op.make(kind, {x}, op.shape(x)); }

Span<const OnnxOperator> onnx_elementwise_operators() { return kOnnxElementwiseOperators; }

}  // namespace intaglio::importers
