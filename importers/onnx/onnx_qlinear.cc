// Operators that take and give codes, as onnxruntime's quantizer writes them, decomposed: DequantizeLinear
// of each input, the FP32 operator, QuantizeLinear. A pass then makes one int8 node of the three.
#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

constexpr int kMostInputs = 2 + 3 * 64;

// Where channels come last in the file, ONNX's own operator has them in front.
class Pictures {
 public:
  explicit Pictures(OnnxDecomposer& s) : s_(s), is_last_(s.integer("channels_last", 0) != 0) {}
  std::string in(const std::string& x) const { return is_last_ ? moved(x, true) : x; }
  std::string out(const std::string& y) const { return is_last_ ? moved(y, false) : y; }

 private:
  std::string moved(const std::string& x, bool to_front) const {
    const auto rank = static_cast<int64_t>(s_.shape(0).size());
    if (rank < 3) fail("its input has the shape ", shape_text(s_.shape(0)), "; rank 3 or more is expected");
    std::vector<int64_t> order{0};
    if (to_front) order.push_back(rank - 1);
    for (int64_t d = to_front ? 1 : 2; d < (to_front ? rank - 1 : rank); ++d) order.push_back(d);
    if (!to_front) order.push_back(1);
    return s_.transposed(x, order);
  }

  OnnxDecomposer& s_;
  bool is_last_;
};

void decompose_qlinear_conv(OnnxDecomposer& s) {
  s.check_inputs(8, 9);
  const Pictures pictures(s);
  std::vector<std::string> inputs{pictures.in(s.real_input(0)), s.real_input(3, 0)};
  if (s.has(8)) inputs.push_back(s.real_bias(8, 1, 4));
  s.codes(pictures.out(s.add_own("Conv", inputs, {"channels_last"})), 6);
}

void decompose_qlinear_mat_mul(OnnxDecomposer& s) {
  s.check_inputs(8, 8);
  // Scales are along the rows of the first matrix and of the result, and along the columns of the second.
  s.codes(s.add("MatMul", {s.real_input(0, -2), s.real_input(3, -1)}), 6, -2);
}

// Without a scale for it the result is FP32.
void decompose_qlinear_gemm(OnnxDecomposer& s) {
  s.check_inputs(6, 9);
  if (const float alpha = s.real("alpha", 1.0f); alpha != 1.0f && s.has(6))
    fail("alpha ", alpha, " with a bias is not supported");
  std::vector<std::string> inputs{s.real_input(0), s.real_input(3, s.integer("transB", 0) != 0 ? 0 : 1)};
  if (s.has(6)) inputs.push_back(s.real_bias(6, 1, 4));
  const std::string result = s.add_own("Gemm", inputs);
  s.has(7) ? s.codes(result, 7) : s.end(result);
}

// Its weights are codes, its input is not.
void decompose_dynamic_mat_mul(OnnxDecomposer& s) {
  s.check_inputs(3, 5);
  s.check_one_output();
  std::string y = s.add("MatMul", {s.input(0), s.dequantized(1, 2, 3, -1)});
  if (s.has(4)) y = s.add("Add", {y, s.input(4)});
  s.end(y);
}

// The first input is codes, or what DynamicQuantizeLinear gives: reals here, with a scale beside them.
void decompose_mat_mul_to_float(OnnxDecomposer& s) {
  s.check_inputs(4, 7);
  s.check_one_output();
  const std::string real = s.dequantized(1, 3, 5, -1);
  const auto without_scale = [&] {
    const std::string x = s.as_real(s.input(0));
    return s.has(4) ? s.add("Sub", {x, s.as_real(s.input(4))}) : x;
  };
  const std::string x =
      s.holds_codes(0) ? s.dequantized(0, 2, 4, -1) : s.add("Mul", {without_scale(), s.input(2)});
  std::string y = s.add("MatMul", {x, real});
  if (s.has(6)) y = s.add("Add", {y, s.input(6)});
  s.end(y);
}

template <const char* kOp>
void decompose_binary(OnnxDecomposer& s) {
  s.check_inputs(7, 8);
  s.codes(s.add(kOp, {s.real_input(0), s.real_input(3)}), 6);
}

template <const char* kOp>
void decompose_unary(OnnxDecomposer& s) {
  s.check_inputs(4, 5);
  const Pictures pictures(s);
  s.codes(pictures.out(s.add_own(kOp, {pictures.in(s.real_input(0))}, {"channels_last"})), 3);
}

// By the definition of opset `opset`, whatever that of the file: below 13 it is over all axes from `axis` on, as one.
void decompose_softmax(OnnxDecomposer& s) {
  s.check_inputs(4, 5);
  const auto rank = static_cast<int64_t>(s.shape(0).size());
  const int64_t opset = s.integer("opset", s.opset()), axis = s.integer("axis", -1);
  const bool is_last = axis == -1 || axis == rank - 1;  // there both are the same
  if ((opset < 13) != (s.opset() < 13) && !is_last)
    fail("its opset ", opset, " in a file of opset ", s.opset(), " is supported along the last axis alone");
  s.codes(s.add("Softmax", {s.real_input(0)}, {{{"axis", is_last ? rank - 1 : axis}}, {}, {}, {}}), 3);
}

// On codes as they are.
void decompose_qlinear_max_pool(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  const auto rank = static_cast<int64_t>(s.shape(0).size());
  if (rank != 4) fail("its input has the shape ", shape_text(s.shape(0)), "; rank 4 is expected");
  const std::string planes = s.transposed(s.input(0), {0, 3, 1, 2});
  s.end(s.transposed(s.add_own("MaxPool", {planes}), {0, 2, 3, 1}));
}

void decompose_concat(OnnxDecomposer& s) {
  s.check_inputs(5, kMostInputs);
  if (s.input_count() % 3 != 2) fail("it has ", s.input_count(), " inputs, which is not 2 and three each");
  std::vector<std::string> inputs;
  for (int i = 2; i < s.input_count(); i += 3) inputs.push_back(s.real_input(i));
  s.codes(s.add_own("Concat", inputs), 0);
}

void decompose_where(OnnxDecomposer& s) {
  s.check_inputs(8, 9);
  s.codes(s.add("Where", {s.input(0), s.real_input(1), s.real_input(4)}), 7);
}

// Weights as codes [directions, inputs, gates * size], with a scale for each direction or for each of the last axis.
void decompose_lstm(OnnxDecomposer& s) {
  s.check_inputs(11, 12);
  const auto weights = [&](int codes, int scale) {
    const auto spread = [&](int i, const std::string& x) {
      const Shape shape = s.shape(i);
      const bool each = shape.size() == 2;
      const int64_t directions = shape.empty() ? 1 : shape[0];
      return s.reshaped(x, {directions, 1, each ? shape[1] : 1});
    };
    std::string y = s.as_real(s.input(codes));
    if (s.has(scale + 1)) y = s.add("Sub", {y, spread(scale + 1, s.as_real(s.input(scale + 1)))});
    y = s.add("Mul", {y, spread(scale, s.input(scale))});
    return s.transposed(y, {0, 2, 1});
  };
  std::vector<std::string> inputs{s.input(0), weights(1, 8), weights(2, 10)};
  for (int i = 3; i < 8; ++i) inputs.push_back(s.input(i));
  s.add_own("LSTM", inputs, {}, s.output(0));
  s.add_outputs({s.output(1), s.output(2)});
}

constexpr char kAdd[] = "Add", kMul[] = "Mul", kAveragePool[] = "AveragePool",
               kGlobal[] = "GlobalAveragePool", kLeaky[] = "LeakyRelu", kMean[] = "ReduceMean",
               kSigmoid[] = "Sigmoid";

constexpr OnnxDecomposition kOnnxQlinearDecompositions[] = {
    {"DynamicQuantizeMatMul",
     decompose_dynamic_mat_mul,
     {Op::kFullyConnected},
     "It is computed in FP32, or calibrated."},
    {"DynamicQuantizeLSTM",
     decompose_lstm,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "As LSTM. It is computed in FP32, or calibrated."},
    {"MatMulIntegerToFloat",
     decompose_mat_mul_to_float,
     {Op::kFullyConnected},
     "It is computed in FP32, or calibrated."},
    {"NhwcMaxPool", decompose_qlinear_max_pool, {Op::kMaxPool2d}, "Rank 4.", false, true},
    {"QGemm",
     decompose_qlinear_gemm,
     {Op::kFullyConnected},
     "As Gemm; alpha is 1 where it has a bias.",
     false,
     true},
    {"QLinearAdd", decompose_binary<kAdd>, {Op::kAdd}, "", false, true},
    {"QLinearAveragePool", decompose_unary<kAveragePool>, {Op::kAvgPool2d}, "As AveragePool.", false, true},
    {"QLinearConcat", decompose_concat, {Op::kConcat}, "At most 64 inputs.", false, true},
    {"QLinearConv", decompose_qlinear_conv, {Op::kConv2d, Op::kDepthwiseConv2d}, "As Conv.", true, true},
    {"QLinearGlobalAveragePool", decompose_unary<kGlobal>, {Op::kMean}, "Rank 3 or more.", false, true},
    {"QLinearLeakyRelu", decompose_unary<kLeaky>, {Op::kLeakyRelu}, "", false, true},
    {"QLinearMatMul",
     decompose_qlinear_mat_mul,
     {Op::kFullyConnected, Op::kBatchMatMul},
     "As MatMul.",
     true,
     true},
    {"QLinearMul", decompose_binary<kMul>, {Op::kMul}, "", false, true},
    {"QLinearReduceMean", decompose_unary<kMean>, {Op::kMean}, "As ReduceMean.", false, true},
    {"QLinearSigmoid", decompose_unary<kSigmoid>, {Op::kSigmoid}, "", false, true},
    {"QLinearSoftmax", decompose_softmax, {Op::kSoftmax}, "It is computed in FP32.", false, true},
    {"QLinearWhere", decompose_where, {Op::kWhere}, "It is computed in FP32.", false, true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_qlinear_decompositions() { return kOnnxQlinearDecompositions; }

}  // namespace intaglio::importers
