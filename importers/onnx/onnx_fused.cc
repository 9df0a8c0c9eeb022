// Operators that onnxruntime's optimizer makes of several, decomposed into these again.
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
    attributes.reals = {{"alpha", parameter(0, "alpha", 0.01f)}};
  } else if (kind == "HardSigmoid") {
    attributes.reals = {{"alpha", parameter(0, "alpha", 0.2f)}, {"beta", parameter(1, "beta", 0.5f)}};
  } else if (kind == "Elu") {
    attributes.reals = {{"alpha", parameter(0, "alpha", 1.0f)}};
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
  s.add("Gelu", {x}, {{}, {}, {}, {{"approximate", s.source() == "FastGelu" ? "tanh" : "none"}}},
        s.output(0));
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
  s.add(normalization, inputs, {{}, {}, {{"epsilon", epsilon}}, {}}, s.output(0));
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
                              ? s.add("ReduceSum", {mask, s.integers({1})}, {{{"keepdims", 0}}, {}, {}, {}})
                              : s.add("ReduceSum", {mask}, {{{"keepdims", 0}}, {{"axes", {1}}}, {}, {}});
  s.add("Cast", {s.add("Round", {sum})}, {{{"to", onnx_file::TensorProto::INT32}}, {}, {}, {}}, s.output(1));
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
  s.add("LayerNormalization", {sum, s.input(5), s.input(6)},
        {{}, {}, {{"epsilon", s.real("epsilon", 1e-12f)}}, {}}, s.output(0));
}

constexpr OnnxDecomposition kOnnxFusedDecompositions[] = {
    {"BiasGelu", decompose_gelu, {Op::kAdd, Op::kGelu}, ""},
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
    {"SimplifiedLayerNormalization", decompose_simplified, {Op::kNormalize}, "As RMSNormalization.", true},
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
