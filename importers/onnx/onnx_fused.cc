// Operators of onnxruntime's own, decomposed: those that its optimizer makes of several, and those of its quantizer.
#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

// The activations that a fused operator may end with.
#define ITG_ACTIVATIONS "Clip, Elu, HardSigmoid, HardSwish, LeakyRelu, Relu, Sigmoid, Softplus, Tanh"

// The activation of a fused operator, by its attribute `activation`. Its parameters are those of ONNX's own operator: `parameter`
// gives one by its place and name, else the number it is called with.
template <typename Parameter>
void end_with_activation(OnnxDecomposer& s, const std::string& y, Parameter parameter) {
  const std::string kind = s.string("activation", "");
  if (kind.empty()) return s.end(y);
  OnnxAttributes attributes;
  if (kind == "Clip") {
    const float low = parameter(0, "min", -3.402823466e38f);
    s.clip(y, low, parameter(1, "max", 3.402823466e38f), s.output(0));
    return;
  }
  if (kind == "LeakyRelu") {
    attributes = {{"alpha", parameter(0, "alpha", 0.01f)}};
  } else if (kind == "HardSigmoid") {
    attributes = {{"alpha", parameter(0, "alpha", 0.2f)}, {"beta", parameter(1, "beta", 0.5f)}};
  } else if (kind == "Elu") {
    attributes = {{"alpha", parameter(0, "alpha", 1.0f)}};
  } else if (kind != "Relu" && kind != "Sigmoid" && kind != "Tanh" && kind != "HardSwish" &&
             kind != "Softplus") {
    fail("its activation ", quoted(kind), " is not supported");
  }
  s.add(kind.c_str(), {y}, attributes, s.output(0));
}

void decompose_fused_conv(OnnxDecomposer& s) {
  s.check_inputs(2, 4);
  s.check_one_output();
  std::vector<std::string> inputs{s.input(0), s.input(1)};
  if (s.has(2)) inputs.push_back(s.input(2));
  std::string y = s.add_own("Conv", inputs, {"activation", "activation_params"});
  if (s.has(3)) y = s.add("Add", {y, s.input(3)});
  const std::vector<float> parameters = s.reals("activation_params");
  end_with_activation(s, y, [&](size_t i, const char*, float otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  });
}

void decompose_fused_gemm(OnnxDecomposer& s) {
  s.check_inputs(2, 3);
  s.check_one_output();
  std::vector<std::string> inputs{s.input(0), s.input(1)};
  if (s.has(2)) inputs.push_back(s.input(2));
  const std::string y = s.add_own("Gemm", inputs,
                                  {"activation", "activation_alpha", "activation_beta", "activation_gamma",
                                   "activation_min", "activation_max"});
  end_with_activation(s, y, [&](size_t, const std::string& name, float otherwise) {
    return s.real(("activation_" + name).c_str(), otherwise);
  });
}

// alpha * a * b, each with its axes in another order where it says so.
void decompose_fused_mat_mul(OnnxDecomposer& s) {
  s.check_inputs(2, 2);
  s.check_one_output();
  const auto operand = [&](int i, const char* transposes, const char* moves_first) {
    const auto rank = static_cast<int64_t>(s.shape(i).size());
    const bool is_transposed = s.integer(transposes, 0) != 0, is_first = s.integer(moves_first, 0) != 0;
    if ((!is_transposed && !is_first) || rank < 2) return s.input(i);
    std::vector<int64_t> order;  // the axis of rows is the last but one, or the first
    for (int64_t d = is_first ? 1 : 0; d < (is_first ? rank - 1 : rank - 2); ++d) order.push_back(d);
    order.insert(order.end(), {is_first ? 0 : rank - 2, rank - 1});
    if (is_transposed) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return s.transposed(s.input(i), order);
  };
  const std::string a = operand(0, "transA", "transBatchA"), b = operand(1, "transB", "transBatchB");
  const float alpha = s.real("alpha", 1.0f);
  const std::string y = s.add("MatMul", {a, b});
  s.end(alpha == 1.0f ? y : s.add("Mul", {y, s.number(alpha)}));
}

// Gelu of x and a bias: BiasGelu by the error function, FastGelu by tanh.
void decompose_gelu(OnnxDecomposer& s) {
  s.check_inputs(1, 2);
  s.check_one_output();
  const std::string x = s.has(1) ? s.add("Add", {s.input(0), s.input(1)}) : s.input(0);
  s.add("Gelu", {x}, {{"approximate", s.source() == "FastGelu" ? "tanh" : "none"}}, s.output(0));
}

void refuse_statistics(const OnnxDecomposer& s, int first, int last) {
  for (int i = first; i <= last; ++i)
    if (s.has_output(i)) fail("its output ", quoted(s.output(i)), " of statistics is not supported");
}

// The normalized sum of two inputs, and perhaps of a bias; output 3 is the sum itself.
void decompose_skip(OnnxDecomposer& s, const char* normalization, bool has_beta) {
  const int bias = has_beta ? 4 : 3;
  s.check_inputs(3, bias + 1);
  const float epsilon = s.real("epsilon", 1e-12f);
  refuse_statistics(s, 1, 2);
  std::string sum = s.add("Add", {s.input(0), s.input(1)});
  if (s.has(bias)) sum = s.add("Add", {sum, s.input(bias)});
  if (s.has_output(3)) s.end(sum, 3);
  if (!s.has_output(0)) return;
  std::vector<std::string> inputs{sum, s.input(2)};
  if (has_beta && s.has(3)) inputs.push_back(s.input(3));
  s.add(normalization, inputs, {{"epsilon", epsilon}}, s.output(0));
}
void decompose_skip_layer(OnnxDecomposer& s) { decompose_skip(s, "LayerNormalization", true); }
void decompose_skip_simplified(OnnxDecomposer& s) { decompose_skip(s, "RMSNormalization", false); }

void decompose_simplified(OnnxDecomposer& s) {
  s.check_inputs(2, 2);
  refuse_statistics(s, 1, 1);
  s.add_own("RMSNormalization", {s.input(0), s.input(1)}, {}, s.output(0));
}

// Output 1 is the sum of each row of the mask in input 7: integers, so that no calibration gives them codes.
void count_words(OnnxDecomposer& s) {
  const std::string mask = s.as_real(s.input(7));
  const std::string sum = s.opset() >= 13
                              ? s.add("ReduceSum", {mask, s.integers({1})}, {{"keepdims", 0}})
                              : s.add("ReduceSum", {mask}, {{"keepdims", 0}, {"axes", OnnxList{1}}});
  s.add("Cast", {s.add("Round", {sum})}, {{"to", onnx_file::TensorProto::INT32}}, s.output(1));
}

// Sum of the rows of words, places and segments, normalized. Output 1 counts the words that the mask leaves, 0
// without one.
void decompose_embedding(OnnxDecomposer& s) {
  s.check_inputs(7, 9);
  if (const int64_t type = s.integer("mask_index_type", 0); type != 0 && type != 1)
    fail("mask_index_type ", type, " is not supported");
  const Shape ids = s.shape(0);
  if (ids.size() != 2) fail("its input has the shape ", shape_text(ids), "; [batch, steps] is expected");
  const int64_t steps = ids[1];
  std::string sum = s.add("Gather", {s.input(2), s.input(0)});
  const std::string places =
      s.has(8) ? s.add("Gather", {s.input(3), s.input(8)}) : s.slice(s.input(3), 0, 0, steps);
  sum = s.add("Add", {sum, places});
  if (s.has(1) && s.has(4)) sum = s.add("Add", {sum, s.add("Gather", {s.input(4), s.input(1)})});
  if (s.has_output(2)) s.end(sum, 2);
  if (s.has_output(1)) {
    if (s.has(7))
      count_words(s);
    else
      s.add("Expand", {s.whole(0), s.integers({ids[0]})}, {}, s.output(1));
  }
  s.add("LayerNormalization", {sum, s.input(5), s.input(6)}, {{"epsilon", s.real("epsilon", 1e-12f)}},
        s.output(0));
}

// Operators that take and give codes, as onnxruntime's quantizer writes them: DequantizeLinear
// of each input, the FP32 operator, QuantizeLinear. A pass then makes one int8 node of the three.

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
  s.codes(s.add("Softmax", {s.real_input(0)}, {{"axis", is_last ? rank - 1 : axis}}), 3);
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

constexpr OnnxDecomposition kOnnxFusedDecompositions[] = {
    {"BiasGelu", decompose_gelu, {Op::kAdd, Op::kGelu}, ""},
    {"DynamicQuantizeLSTM",
     decompose_lstm,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "As LSTM. It is computed in FP32, or calibrated."},
    {"DynamicQuantizeMatMul",
     decompose_dynamic_mat_mul,
     {Op::kFullyConnected},
     "It is computed in FP32, or calibrated."},
    {"EmbedLayerNormalization",
     decompose_embedding,
     {Op::kGather, Op::kAdd, Op::kNormalize},
     "Scales and shifts are constants."},
    {"FastGelu", decompose_gelu, {Op::kAdd, Op::kGeluTanh}, ""},
    {"FusedConv",
     decompose_fused_conv,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kAdd},
     "As Conv. Activations: " ITG_ACTIVATIONS "."},
    {"FusedGemm", decompose_fused_gemm, {Op::kFullyConnected}, "As Gemm. Activations: " ITG_ACTIVATIONS "."},
    {"FusedMatMul", decompose_fused_mat_mul, {Op::kFullyConnected, Op::kBatchMatMul}, ""},
    {"MatMulIntegerToFloat",
     decompose_mat_mul_to_float,
     {Op::kFullyConnected},
     "It is computed in FP32, or calibrated."},
    {"NhwcMaxPool", decompose_qlinear_max_pool, {Op::kMaxPool2d}, "Rank 4.", kOfCodes},
    {"QGemm",
     decompose_qlinear_gemm,
     {Op::kFullyConnected},
     "As Gemm; alpha is 1 where it has a bias.",
     kOfCodes},
    {"QLinearAdd", decompose_binary<kAdd>, {Op::kAdd}, "", kOfCodes},
    {"QLinearAveragePool", decompose_unary<kAveragePool>, {Op::kAvgPool2d}, "As AveragePool.", kOfCodes},
    {"QLinearConcat", decompose_concat, {Op::kConcat}, "At most 64 inputs.", kOfCodes},
    {"QLinearConv",
     decompose_qlinear_conv,
     {Op::kConv2d, Op::kDepthwiseConv2d},
     "As Conv.",
     kStandard | kOfCodes},
    {"QLinearGlobalAveragePool", decompose_unary<kGlobal>, {Op::kMean}, "Rank 3 or more.", kOfCodes},
    {"QLinearLeakyRelu", decompose_unary<kLeaky>, {Op::kLeakyRelu}, "", kOfCodes},
    {"QLinearMatMul",
     decompose_qlinear_mat_mul,
     {Op::kFullyConnected, Op::kBatchMatMul},
     "As MatMul.",
     kStandard | kOfCodes},
    {"QLinearMul", decompose_binary<kMul>, {Op::kMul}, "", kOfCodes},
    {"QLinearReduceMean", decompose_unary<kMean>, {Op::kMean}, "As ReduceMean.", kOfCodes},
    {"QLinearSigmoid", decompose_unary<kSigmoid>, {Op::kSigmoid}, "", kOfCodes},
    {"QLinearSoftmax", decompose_softmax, {Op::kSoftmax}, "It is computed in FP32.", kOfCodes},
    {"QLinearWhere", decompose_where, {Op::kWhere}, "It is computed in FP32.", kOfCodes},
    {"SimplifiedLayerNormalization",
     decompose_simplified,
     {Op::kNormalize},
     "As RMSNormalization.",
     kStandard},
    {"SkipLayerNormalization",
     decompose_skip_layer,
     {Op::kAdd, Op::kNormalize},
     "Scales and shifts are constants. Without outputs of statistics."},
    {"SkipSimplifiedLayerNormalization",
     decompose_skip_simplified,
     {Op::kAdd, Op::kNormalize},
     "The scale is a constant. Without outputs of statistics."},
    {"TransposeMatMul", decompose_fused_mat_mul, {Op::kFullyConnected, Op::kBatchMatMul}, "As FusedMatMul."},
};

}  // namespace

Span<const OnnxDecomposition> onnx_fused_decompositions() { return kOnnxFusedDecompositions; }

}  // namespace intaglio::importers
