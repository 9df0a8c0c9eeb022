// onnxruntime's own operators with the numbers that onnxruntime 1.32 gives for them, in files of old opsets too, and what is
// refused of them.
#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_fused_values_test {
namespace {

// Numbers from -1.25 to 1.25, as many as the shape has.
Reals steps(const Ints& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  Reals values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % 11 - 5) / 4);
  return values;
}
void add_steps(OnnxBuilder& file, const char* name, const Ints& dims) {
  file.floats(name, dims, steps(dims));
}

void check_values(const OnnxBuilder& file, const Reals& x, const Reals& expected, float tolerance = 2e-6f) {
  const Reals y = run_file(file.bytes(), x);
  REQUIRE(y.size() == expected.size());
  for (size_t i = 0; i < y.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(y[i] - expected[i]) <= tolerance * std::max(1.0f, std::fabs(expected[i])));
  }
}

}  // namespace

TEST_CASE("Attention with a mask, and what it splits and slices, in files of old opsets") {
  const Reals by_lengths{-2.056104f,  -0.1195637f, 0.9962007f, -2.195609f, -0.8141358f, 0.9361094f,
                         0.834752f,   -1.8924f,    -1.076535f, 0.7130702f, -1.299266f,  2.11539f,
                         1.747257f,   -0.5599654f, 0.2425527f, -1.992555f, -1.700102f,  2.320975f,
                         -0.9811218f, -1.076498f,  -1.399201f, 2.062415f,  0.7246386f,  -2.415195f},
      by_keys{-0.02661692f, 0.5609311f,  -0.7091866f, -0.1285775f, 2.125689f,   -0.4703822f,
              -0.5578905f,  -0.6486577f, -0.4241645f, 0.7514225f,  -1.377475f,  2.168663f,
              1.749956f,    -0.5624961f, 0.2547825f,  -2.001709f,  0.03365012f, -0.4110574f,
              0.1911698f,   -1.945729f,  0.5025489f,  -0.4524308f, 0.7247782f,  -2.415305f};
  for (const int64_t opset : {9, 11, 17})
    for (const bool lengths : {false, true}) {
      CAPTURE(opset);
      CAPTURE(lengths);
      OnnxBuilder file(opset);
      file.input("x", {2, 3, 4});
      add_steps(file, "w", {4, 12});
      add_steps(file, "b", {12});
      if (lengths) codes(file, "mask", {2}, Type::INT32, {2, 3});
      if (!lengths) codes(file, "mask", {2, 3}, Type::INT32, {1, 0, 1, 1, 1, 0});
      set(microsoft(file, "Attention", {"x", "w", "b", "mask"}, "y"), "num_heads", int64_t{2});
      file.output("y");
      check_values(file, steps({2, 3, 4}), lengths ? by_lengths : by_keys, 1e-5f);
    }
  const auto with_past = [](int64_t opset) {
    OnnxBuilder file(opset);
    file.input("x", {1, 2, 4});
    file.input("past", {2, 1, 2, 3, 2});
    add_steps(file, "w", {4, 12});
    add_steps(file, "b", {12});
    auto& node = microsoft(file, "Attention", {"x", "w", "b", "", "past"}, "y");
    node.output.push_back("present");
    set(node, "num_heads", int64_t{2});
    file.output("y");
    file.output("present");
    return file;
  };
  check_same(with_past(9), with_past(17));
  const auto embedding = [](int64_t opset) {
    OnnxBuilder file(opset);
    file.input("ids", {2, 3});
    set_type(file, 0, Type::INT32);
    for (const char* table : {"words", "places"}) add_steps(file, table, {4, 5});
    for (const char* row : {"gamma", "beta"}) add_steps(file, row, {5});
    microsoft(file, "EmbedLayerNormalization", {"ids", "", "words", "places", "", "gamma", "beta"}, "y");
    file.output("y");
    return file;
  };
  check_same(embedding(9), embedding(17));
}

TEST_CASE("fused convolutions and products give onnxruntime's numbers") {
  for (const int64_t opset : {9, 17}) {
    CAPTURE(opset);
    OnnxBuilder conv(opset);
    conv.input("x", {1, 1, 1, 3});
    conv.floats("w", {1, 1, 1, 1}, {10});
    auto& node = microsoft(conv, "FusedConv", {"x", "w"}, "y");
    set(node, "activation", "Clip");
    set(node, "activation_params", Reals{0, 6});
    conv.output("y");
    check_values(conv, {100, -5, 0.25f}, {6, 0, 2.5f});
  }
  for (const bool says_alpha : {false, true}) {  // 0.2 where nothing says it
    CAPTURE(says_alpha);
    OnnxBuilder gemm(17);
    gemm.input("x", {2, 3});
    add_steps(gemm, "w", {3, 2});
    auto& node = microsoft(gemm, "FusedGemm", {"x", "w"}, "y");
    set(node, "activation", "HardSigmoid");
    if (says_alpha) set(node, "activation_alpha", 0.2f);
    set(node, "activation_beta", 0.6f);
    gemm.output("y");
    check_values(gemm, steps({2, 3}), {0.8375f, 0.675f, 0.225f, 0.9f});
  }
  OnnxBuilder product(17);
  product.input("a", {2, 4, 3});
  add_steps(product, "b", {2, 4, 2});
  auto& node = microsoft(product, "FusedMatMul", {"a", "b"}, "y");
  set(node, "alpha", 0.5f);
  set(node, "transA", int64_t{1});
  product.output("y");
  check_values(product, steps({2, 4, 3}),
               {0.96875f, 0.09375f, -0.5f, 0.28125f, -0.25f, -0.21875f, -0.4375f, 0, -0.6875f, 0.375f, -0.25f,
                -0.28125f});
  OnnxBuilder blocks(17);
  blocks.input("x", {1, 20});
  std::vector<int32_t> bytes;
  for (int32_t i = 0; i < 32; ++i) bytes.push_back(i * 37 % 256);
  codes(blocks, "w", {2, 2, 8}, Type::UINT8, bytes);
  blocks.floats("s", {4}, {0.5f, 0.25f, 2, 1});
  codes(blocks, "z", {2}, Type::UINT8, {0x83, 0xf0});
  auto& few_bits = microsoft(blocks, "MatMulNBits", {"x", "w", "s", "z"}, "y");
  for (const auto& [name, value] :
       {std::pair<const char*, int64_t>{"K", 20}, {"N", 2}, {"bits", 4}, {"block_size", 16}})
    set(few_bits, name, value);
  blocks.output("y");
  check_values(blocks, steps({1, 20}), {1.875f, 72.75f});
}

TEST_CASE("Gelu with a bias and normalized sums give onnxruntime's numbers") {
  for (const bool by_tanh : {false, true}) {
    CAPTURE(by_tanh);
    OnnxBuilder file(17);
    file.input("x", {2, 3});
    add_steps(file, "b", {3});
    microsoft(file, by_tanh ? "FastGelu" : "BiasGelu", {"x", "b"}, "y");
    file.output("y");
    check_values(file, steps({2, 3}),
                 by_tanh ? Reals{-0.0150843f, 0.841192f, -0.158808f, 0, 0.5799606f, -0.1322858f}
                         : Reals{-0.0155241f, 0.8413447f, -0.1586553f, 0, 0.5800295f, -0.1320622f});
  }
  OnnxBuilder file(17);
  file.input("x", {1, 2, 4});
  Reals skip = steps({1, 2, 4});
  std::rotate(skip.begin(), skip.begin() + 4, skip.end());  // its rows the other way round
  file.floats("skip", {1, 2, 4}, skip);
  add_steps(file, "gamma", {4});
  file.floats("beta", {4}, {-0.25f, 1.5f, 0.5f, 2.25f});
  file.floats("bias", {4}, {-2.5f, 1, -1, 2.5f});
  set(microsoft(file, "SkipLayerNormalization", {"x", "skip", "gamma", "beta", "bias"}, "y"), "epsilon",
      0.01f);
  file.output("y");
  check_values(file, steps({1, 2, 4}),
               {1.490778f, 1.620054f, 0.6200536f, 3.990778f, 1.490778f, 1.620054f, 0.6200536f, 3.990778f});
}

TEST_CASE("QLinearSoftmax has the definition of its own opset and the last axis where it names none") {
  struct Case {
    int64_t axis, opset, of_file;
    Reals expected;
  };
  const auto softmax = [](int64_t axis, int64_t opset, int64_t of_file) {
    OnnxBuilder file(of_file);
    file.input("x", {2, 2, 3});
    scale(file, "s", 0.25f, Type::UINT8, 0);
    scale(file, "t", 1.0f / 256, Type::UINT8, 0);
    file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
    auto& node = microsoft(file, "QLinearSoftmax", {"q", "s", "s0", "t", "t0"}, "p");
    if (axis >= 0) set(node, "axis", axis);
    set(node, "opset", opset);
    file.node("DequantizeLinear", {"p", "t", "t0"}, "y");
    file.output("y");
    return file;
  };
  for (const Case& c : {Case{1,
                             11,
                             11,
                             {0.1054688f, 0.1757812f, 0.1054688f, 0.3710938f, 0.1367188f, 0.1054688f,
                              0.3085938f, 0.1132812f, 0.1132812f, 0.2382812f, 0.1132812f, 0.1132812f}},
                        Case{-1,
                             13,
                             11,
                             {0.2734375f, 0.453125f, 0.2734375f, 0.6054688f, 0.2226562f, 0.171875f,
                              0.5742188f, 0.2109375f, 0.2109375f, 0.515625f, 0.2421875f, 0.2421875f}},
                        Case{1,
                             13,
                             13,
                             {0.2226562f, 0.5625f, 0.5f, 0.7773438f, 0.4375f, 0.5f, 0.5625f, 0.5f, 0.5f,
                              0.4375f, 0.5f, 0.5f}},
                        Case{0,
                             13,
                             13,
                             {0.2695312f, 0.6210938f, 0.5f, 0.6210938f, 0.5625f, 0.5f, 0.7304688f, 0.3789062f,
                              0.5f, 0.3789062f, 0.4375f, 0.5f}}}) {
    CAPTURE(c.axis);
    CAPTURE(c.of_file);
    check_values(softmax(c.axis, c.opset, c.of_file), steps({2, 2, 3}), c.expected, 1.01f / 256);
  }
  CHECK(Import(softmax(1, 13, 11).bytes())
            .says("its opset 13 in a file of opset 11 is supported along the last axis alone"));
  CHECK(Import(softmax(1, 11, 13).bytes()).says("its opset 11 in a file of opset 13"));
}

TEST_CASE("QLinearMatMul has a scale for each row of its first matrix and of its result") {
  OnnxBuilder file(21);
  file.input("x", {2, 2});
  file.floats("s", {2}, {1, 2});
  codes(file, "z", {2}, Type::INT8, {0, 0});
  codes(file, "b", {2, 2}, Type::INT8, {1, 0, 0, 1});
  scale(file, "t", 1, Type::INT8, 0);
  set(file.node("QuantizeLinear", {"x", "s", "z"}, "q"), "axis", int64_t{0});
  file.node("QLinearMatMul", {"q", "s", "z", "b", "t", "t0", "s", "z"}, "p");
  set(file.node("DequantizeLinear", {"p", "s", "z"}, "y"), "axis", int64_t{0});
  file.output("y");
  check_values(file, {1, 2, 6, 8}, {1, 2, 6, 8});
}

TEST_CASE("what a fused operator is made of has names that the file does not have") {
  OnnxBuilder file(17);
  file.input("x", {1, 2});
  file.floats("b", {2}, {1, 1});
  file.node("Neg", {"x"}, "y/1");
  microsoft(file, "BiasGelu", {"x", "b"}, "y");
  file.node("Sub", {"y", "y/1"}, "z");
  file.output("z");
  check_values(file, {-1, 9}, {-1, 19});
}

TEST_CASE("masks, states and attributes that do not fit are refused") {
  const auto says = [](const char* op, const std::vector<std::string>& inputs, const Ints& mask,
                       const char* part) {
    OnnxBuilder file(17);
    file.input("x", {2, 3, 4});
    file.input("past", {2, 2, 5, 2});
    add_steps(file, "w", {4, 12});
    add_steps(file, "b", {12});
    int64_t count = 1;
    for (const int64_t dim : mask) count *= dim;
    codes(file, "mask", mask, Type::INT32, std::vector<int32_t>(static_cast<size_t>(count), 1));
    set(microsoft(file, op, inputs, "y"), "num_heads", int64_t{2});
    file.output("y");
    const std::string message = Import(file.bytes()).message();
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  for (const Ints& mask : {Ints{4}, Ints{8}, Ints{1, 3}, Ints{2, 4}, Ints{1, 3, 3}, Ints{2, 2, 3}})
    says("Attention", {"x", "w", "b", "mask"}, mask, "[2], [2, 3] or [2, 3, 3] is expected");
  says("MultiHeadAttention", {"x", "x", "x", "", "mask"}, {4}, "[2], [2, 3] or [2, 3, 3] is expected");
  says("MultiHeadAttention", {"x", "x", "x", "", "", "", "past"}, {2},
       "it has keys or values of the past without the other");
  says("BiasGelu", {"x", "b"}, {2}, "attribute 'num_heads' is not supported");
  OnnxBuilder typed(17);
  typed.input("x", {2, 3});
  add_steps(typed, "w", {3, 2});
  set(microsoft(typed, "FusedMatMul", {"x", "w"}, "y"), "alpha", int64_t{2});
  typed.output("y");
  CHECK(Import(typed.bytes()).says("attribute 'alpha' has another type than the operator asks for"));
  OnnxBuilder old(9);
  old.input("x", {2, 3});
  old.floats("low", {}, {0});
  old.node("Clip", {"x", "low"}, "y");
  old.output("y");
  CHECK(Import(old.bytes()).says("it has 2 inputs where 1 to 1 are expected"));
}

TEST_CASE("weights of few bits are bytes, and scores fit a model") {
  OnnxBuilder file(17);
  file.input("x", {1, 16});
  codes(file, "w", {1, 1, 8}, Type::INT8, {-1, 2, 3, 4, 5, 6, 7, 8});
  file.floats("s", {1}, {1});
  auto& node = microsoft(file, "MatMulNBits", {"x", "w", "s"}, "y");
  for (const auto& [name, value] :
       {std::pair<const char*, int64_t>{"K", 16}, {"N", 1}, {"bits", 4}, {"block_size", 16}})
    set(node, name, value);
  file.output("y");
  CHECK(Import(file.bytes()).says("input 'w' must be a constant of uint8"));
  OnnxBuilder causal(23);
  for (const char* name : {"q", "k", "v"}) causal.input(name, {1, 1, 20000, 1});
  set(causal.node("Attention", {"q", "k", "v"}, "y"), "is_causal", int64_t{1});
  causal.output("y");
  CHECK(Import(causal.bytes()).says("a tensor of shape [1, 1, 20000, 20000] is larger than the limit of"));
}

}  // namespace intaglio::test::import_onnx_fused_values_test
