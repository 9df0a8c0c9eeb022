// ONNX products of integers, as quantizers write them that measure activations while the network runs. Activations stay FP32
// here: DynamicQuantizeLinear hands on its input, with the scale 1, and weights keep their codes.
#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

void import_dynamic_quantize_linear(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (op.output_count() != 3) fail("it has ", op.output_count(), " outputs where 3 are expected");
  op.set_output(op.activation(0), 0, false);
  op.set_floats({{}, {1.0f}}, 1);
  op.set_codes({{}, {0}}, onnx_file::TensorProto::UINT8, 2);
}

// Constant codes, or zero points, of 8 bits with a sign or without.
OnnxConstant<int64_t> read_dynamic_codes(OnnxOp& op, int i) {
  const OnnxConstant<int64_t> codes = op.integers(i);
  for (const int64_t code : codes.values)
    if (code < -128 || code > 255)
      fail("input ", quoted(op.input_name(i)), " holds ", code, "; codes of 8 bits are -128 to 255");
  return codes;
}

// Codes of input i without their zero point, which input `zero_point` has: one, or one for each index of `axis`.
OnnxConstant<float> centred(OnnxOp& op, int i, int zero_point, size_t axis) {
  const OnnxConstant<int64_t> codes = read_dynamic_codes(op, i);
  if (axis >= codes.shape.size())
    fail("its weights have no axis ", axis, ": their shape is ", shape_text(codes.shape));
  OnnxConstant<float> reals{codes.shape, {}};
  std::vector<int64_t> zeros{0};
  if (op.has_input(zero_point)) zeros = read_dynamic_codes(op, zero_point).values;
  const auto of_axis = static_cast<size_t>(codes.shape[axis]);
  if (zeros.empty() || (zeros.size() != 1 && zeros.size() != of_axis))
    fail("it has ", zeros.size(), " zero points for ", of_axis, " channels");
  const size_t behind = elements_behind(codes.shape, static_cast<int32_t>(axis));
  for (size_t n = 0; n < codes.values.size(); ++n)
    reals.values.push_back(static_cast<float>(codes.values[n] - zeros[n / behind % zeros.size()]));
  return reals;
}

// The same of an activation, whose zero point is one number.
int32_t centred_activation(OnnxOp& op, int zero_point) {
  const int32_t x = op.activation(0);
  if (!op.has_input(zero_point)) return x;
  const std::vector<int64_t> zeros = read_dynamic_codes(op, zero_point).values;
  if (zeros.size() != 1) fail("its first input has ", zeros.size(), " zero points; one is supported");
  if (zeros[0] == 0) return x;
  const Shape one(op.draft().tensor(x).shape.size(), 1);
  const int32_t constant = add_constant(op.draft(), op.name() + "/zero_point", DType::kF32, one,
                                        std::vector<float>{static_cast<float>(zeros[0])});
  return add_binary(op, Op::kSub, x, constant);
}

void import_mat_mul_integer(OnnxOp& op) {
  op.check_inputs(2, 4);
  const size_t rank = op.integers(1).shape.size();
  if (rank < 2) fail("its weights have rank ", rank, "; 2 or more is expected");
  const OnnxConstant<float> w = centred(op, 1, 3, rank - 1);
  const int32_t weights = add_constant(op.draft(), op.input_name(1), DType::kF32, w.shape, w.values);
  op.draft().tensor(weights).scales = {1.0f};
  const int32_t x = centred_activation(op, 2);
  op.set_output(add_matrix_product(op.draft(), op.output_name(), op.source(), x, weights, false));
}

void import_conv_integer(OnnxOp& op) {
  op.check_inputs(2, 4);
  import_onnx_convolution(op, centred_activation(op, 2), centred(op, 1, 3, 0), false);
}

constexpr OnnxOperator kOnnxDynamicOperators[] = {
    {"ConvInteger",
     import_conv_integer,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kSub},
     "Weights are constants. It is computed in FP32, or calibrated."},
    {"DynamicQuantizeLinear",
     import_dynamic_quantize_linear,
     {},
     "Its input goes on as it is, with the scale 1."},
    {"MatMulInteger",
     import_mat_mul_integer,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSub},
     "The second matrix is a constant. It is computed in FP32, or calibrated."},
};

}  // namespace

Span<const OnnxOperator> onnx_dynamic_operators() { return kOnnxDynamicOperators; }

}  // namespace intaglio::importers
