// Operators that onnxruntime's optimizer and its dynamic quantizer write, beside the same networks of ONNX's own operators.
#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_fused_test {

TEST_CASE("a convolution with what comes behind it") {
  struct Activation {
    const char* name;
    Reals parameters;
  };
  for (const Activation& activation :
       {Activation{"Relu", {}}, Activation{"LeakyRelu", {0.2f}}, Activation{"Clip", {-0.25f, 0.5f}},
        Activation{"Sigmoid", {}}, Activation{"HardSigmoid", {0.3f, 0.4f}}, Activation{"Tanh", {}}})
    for (const bool joins : {false, true}) {
      CAPTURE(activation.name);
      CAPTURE(joins);
      check_forms([&](OnnxBuilder& file, bool is_fused) {
        Random random(3);
        file.input("x", {1, 2, 4, 4});
        file.input("z", {1, 3, 4, 4});
        file.floats("w", {3, 2, 3, 3}, random.reals(54, -1, 1));
        file.floats("b", {3}, {0.1f, -0.2f, 0.3f});
        if (is_fused) {
          auto& node = microsoft(file, "FusedConv", {"x", "w", "b"}, "c");
          if (joins) node.input.push_back("z");
          set(node, "pads", Ints{1, 1, 1, 1});
          set(node, "activation", activation.name);
          if (!activation.parameters.empty()) set(node, "activation_params", activation.parameters);
        } else {
          set(file.node("Conv", {"x", "w", "b"}, "p"), "pads", Ints{1, 1, 1, 1});
          if (joins) file.node("Add", {"p", "z"}, "s");
          auto& node = file.node(activation.name, {joins ? "s" : "p"}, "c");
          if (std::string(activation.name) == "Clip") {
            file.floats("low", {}, {-0.25f});
            file.floats("high", {}, {0.5f});
            node.input.push_back("low");
            node.input.push_back("high");
          } else if (!activation.parameters.empty()) {
            set(node, "alpha", activation.parameters[0]);
            if (activation.parameters.size() > 1) set(node, "beta", activation.parameters[1]);
          }
        }
        file.node("Add", {"c", "z"}, "y");
        file.output("y");
      });
    }
}

TEST_CASE("matrix products with factors, activations and axes in another order") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    Random random(4);
    file.input("x", {2, 5});
    file.floats("w", {3, 5}, random.reals(15, -1, 1));
    file.floats("b", {3}, {0.1f, -0.2f, 0.3f});
    auto& node = is_fused ? microsoft(file, "FusedGemm", {"x", "w", "b"}, "y")
                          : file.node("Gemm", {"x", "w", "b"}, "g");
    set(node, "transB", int64_t{1});
    set(node, "alpha", 0.5f);
    if (is_fused) {
      set(node, "activation", "LeakyRelu");
      set(node, "activation_alpha", 0.25f);
    } else {
      set(file.node("LeakyRelu", {"g"}, "y"), "alpha", 0.25f);
    }
    file.output("y");
  });
  for (const bool first : {false, true})
    for (const bool transposed : {false, true}) {
      CAPTURE(first);
      CAPTURE(transposed);
      check_forms([&](OnnxBuilder& file, bool is_fused) {
        // The left operand is [2, 3, 4] behind its axes' new order.
        Ints order = transposed ? Ints{0, 2, 1} : Ints{0, 1, 2}, dims(3);
        if (first) order = transposed ? Ints{1, 2, 0} : Ints{1, 0, 2};
        for (size_t i = 0; i < 3; ++i) dims[static_cast<size_t>(order[i])] = static_cast<int64_t>(i) + 2;
        file.input("a", dims);
        file.input("b", {2, 4, 5});
        if (is_fused) {
          auto& node = microsoft(file, "FusedMatMul", {"a", "b"}, "y");
          set(node, "alpha", 0.125f);
          set(node, "transA", int64_t{transposed});
          set(node, "transBatchA", int64_t{first});
        } else {
          file.floats("alpha", {}, {0.125f});
          set(file.node("Transpose", {"a"}, "t"), "perm", order);
          file.node("MatMul", {"t", "b"}, "m");
          file.node("Mul", {"m", "alpha"}, "y");
        }
        file.output("y");
      });
    }
}

TEST_CASE("Gelu with a bias") {
  for (const bool by_tanh : {false, true}) {
    CAPTURE(by_tanh);
    check_forms(
        [&](OnnxBuilder& file, bool is_fused) {
          file.input("x", {2, 3});
          file.floats("b", {3}, {0.5f, -1, 2});
          if (is_fused) {
            microsoft(file, by_tanh ? "FastGelu" : "BiasGelu", {"x", "b"}, "y");
          } else {
            file.node("Add", {"x", "b"}, "s");
            set(file.node("Gelu", {"s"}, "y"), "approximate", by_tanh ? "tanh" : "none");
          }
          file.output("y");
        },
        20);
  }
}

TEST_CASE("normalized sums, and embeddings") {
  for (const bool simplified : {false, true})
    check_forms(
        [&](OnnxBuilder& file, bool is_fused) {
          for (const char* name : {"x", "skip"}) file.input(name, {1, 2, 4});
          file.floats("gamma", {4}, {1, 2, 0.5f, -1});
          file.floats("beta", {4}, {0.1f, 0.2f, 0.3f, 0.4f});
          file.floats("bias", {4}, {1, -1, 0.5f, 0});
          if (is_fused) {
            auto& node =
                simplified
                    ? microsoft(file, "SkipSimplifiedLayerNormalization", {"x", "skip", "gamma", "bias"}, "y")
                    : microsoft(file, "SkipLayerNormalization", {"x", "skip", "gamma", "beta", "bias"}, "y");
            set(node, "epsilon", 0.01f);
            for (const char* output : {"", "", "sum"}) node.output.push_back(output);
          } else {
            file.node("Add", {"x", "skip"}, "a");
            file.node("Add", {"a", "bias"}, "sum");
            auto& node = simplified ? file.node("RMSNormalization", {"sum", "gamma"}, "y")
                                    : file.node("LayerNormalization", {"sum", "gamma", "beta"}, "y");
            set(node, "epsilon", 0.01f);
          }
          file.output("y");
          file.output("sum");
        },
        23);
  check_forms([](OnnxBuilder& file, bool is_fused) {
    Random random(6);
    for (const char* name : {"ids", "segments", "mask"}) file.input(name, {2, 3});
    for (int i = 0; i < 3; ++i) set_type(file, i, Type::INT32);
    file.floats("words", {4, 5}, random.reals(20, -1, 1));
    file.floats("places", {6, 5}, random.reals(30, -1, 1));
    file.floats("kinds", {4, 5}, random.reals(20, -1, 1));
    file.floats("gamma", {5}, random.reals(5, -1, 1));
    file.floats("beta", {5}, random.reals(5, -1, 1));
    file.integers("zero", {0});
    file.integers("three", {3});
    if (is_fused) {
      auto& node = microsoft(file, "EmbedLayerNormalization",
                             {"ids", "segments", "words", "places", "kinds", "gamma", "beta", "mask"}, "y");
      node.output.push_back("count");
      set(node, "epsilon", 0.01f);
    } else {
      file.node("Gather", {"words", "ids"}, "a");
      file.node("Slice", {"places", "zero", "three", "zero"}, "b");
      file.node("Gather", {"kinds", "segments"}, "c");
      file.node("Add", {"a", "b"}, "d");
      file.node("Add", {"d", "c"}, "e");
      set(file.node("LayerNormalization", {"e", "gamma", "beta"}, "y"), "epsilon", 0.01f);
      set(file.node("Cast", {"mask"}, "reals"), "to", int64_t{Type::FLOAT});
      file.integers("one", {1});
      set(file.node("ReduceSum", {"reals", "one"}, "count"), "keepdims", int64_t{0});
    }
    file.output("y");
    file.output("count");
  });
}

TEST_CASE("products with weights in codes whose input stays real") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {2, 3});
    codes(file, "w", {3, 2}, Type::UINT8, {120, 130, 0, 255, 128, 7});
    file.floats("s", {2}, {0.5f, 0.25f});
    codes(file, "z", {2}, Type::UINT8, {128, 100});
    file.floats("b", {2}, {1, -1});
    if (is_fused) {
      microsoft(file, "DynamicQuantizeMatMul", {"x", "w", "s", "z", "b"}, "y");
    } else {
      file.floats("r", {3, 2}, {-4, 7.5f, -64, 38.75f, 0, -23.25f});
      file.node("MatMul", {"x", "r"}, "m");
      file.node("Add", {"m", "b"}, "y");
    }
    file.output("y");
  });
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {2, 2});
    codes(file, "w", {2, 1}, Type::INT8, {3, -5});
    file.floats("s", {1}, {0.5f});
    if (is_fused) {
      auto& node = file.node("DynamicQuantizeLinear", {"x"}, "q");
      node.output.push_back("qs");
      node.output.push_back("qz");
      microsoft(file, "MatMulIntegerToFloat", {"q", "w", "qs", "s", "qz"}, "y");
    } else {
      file.floats("r", {2, 1}, {1.5f, -2.5f});
      file.node("MatMul", {"x", "r"}, "y");
    }
    file.output("y");
  });
  // Blocks of 16 codes of 4 bits, the second one not full: row n has the codes 0, 1, 2, ... 15, 0, 1 ...
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {1, 20});
    std::vector<int32_t> bytes;
    for (int n = 0; n < 2; ++n)
      for (int i = 0; i < 16; ++i) bytes.push_back(2 * (i % 8) | (2 * (i % 8) + 1) << 4);
    codes(file, "w", {2, 2, 8}, Type::UINT8, bytes);
    const Reals scales{0.5f, 0.25f, 2, 1};
    file.floats("s", {4}, scales);
    codes(file, "z", {2}, Type::UINT8, {3 | 8 << 4, 0 | 15 << 4});
    if (is_fused) {
      auto& node = microsoft(file, "MatMulNBits", {"x", "w", "s", "z"}, "y");
      for (const auto& [name, value] :
           {std::pair<const char*, int64_t>{"K", 20}, {"N", 2}, {"bits", 4}, {"block_size", 16}})
        set(node, name, value);
    } else {
      const float zeros[] = {3, 8, 0, 15};
      Reals r;
      for (size_t k = 0; k < 20; ++k)
        for (size_t n = 0; n < 2; ++n)
          r.push_back((static_cast<float>(k % 16) - zeros[2 * n + k / 16]) * scales[2 * n + k / 16]);
      file.floats("r", {20, 2}, r);
      file.node("MatMul", {"x", "r"}, "y");
    }
    file.output("y");
  });
}

TEST_CASE("an LSTM with weights in codes") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    Random random(9);
    file.input("x", {3, 1, 2});
    std::vector<int32_t> w, r;  // [1, inputs, 4 * size]
    for (int i = 0; i < 16; ++i) w.push_back(static_cast<int32_t>(random.bits() % 256) - 128);
    for (int i = 0; i < 16; ++i) r.push_back(static_cast<int32_t>(random.bits() % 256) - 128);
    Reals scales;
    for (int i = 0; i < 8; ++i) scales.push_back(0.001f * static_cast<float>(i + 1));
    if (is_fused) {
      codes(file, "w", {1, 2, 8}, Type::INT8, w);
      codes(file, "r", {1, 2, 8}, Type::INT8, r);
      file.floats("ws", {1, 8}, scales);
      codes(file, "wz", {1, 8}, Type::INT8, std::vector<int32_t>(8, 0));
      file.floats("rs", {1}, {0.004f});
      codes(file, "rz", {1}, Type::INT8, {5});
      set(microsoft(file, "DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", "rz"},
                    "y"),
          "hidden_size", int64_t{2});
    } else {
      Reals wf, rf;
      for (size_t row = 0; row < 8; ++row)
        for (size_t k = 0; k < 2; ++k) {
          wf.push_back(static_cast<float>(w[k * 8 + row]) * scales[row]);
          rf.push_back(static_cast<float>(r[k * 8 + row] - 5) * 0.004f);
        }
      file.floats("w", {1, 8, 2}, wf);
      file.floats("r", {1, 8, 2}, rf);
      set(file.node("LSTM", {"x", "w", "r"}, "y"), "hidden_size", int64_t{2});
    }
    file.output("y");
  });
}

TEST_CASE("fused operators that do not fit are refused") {
  const auto message = [](const char* op, const std::vector<std::string>& inputs, const char* attribute,
                          const char* value) {
    OnnxBuilder file(17);
    file.input("x", {1, 2, 4});
    file.floats("w", {4, 6}, Reals(24, 0.5f));
    auto& node = microsoft(file, op, inputs, "y");
    if (attribute != nullptr) set(node, attribute, value);
    file.output("y");
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(message("FusedGemm", {"x", "w"}, "activation", "Softmax"),
             "its activation 'Softmax' is not supported"));
  CHECK(says(message("MultiHeadAttention", {"x"}, nullptr, ""),
             "queries, keys and values in one tensor are not supported"));
  CHECK(says(message("SkipLayerNormalization", {"x", "x", "w"}, "rotary", "yes"),
             "attribute 'rotary' is not supported"));
  CHECK(says(message("Attention", {"x", "w"}, nullptr, ""),
             "attribute num_heads is 0; 1 to 65536 are supported"));
  CHECK(says(message("SkipLayerNormalization", {"x", "none", "w"}, nullptr, ""),
             "is read before anything writes it"));
  OnnxBuilder file(17);
  file.input("x", {1, 2, 4, 4});
  file.node("Conv", {"x", "x"}, "y").domain = "com.microsoft.nchwc";
  file.output("y");
  CHECK(Import(file.bytes()).says("save it with ORT_ENABLE_EXTENDED, not ALL"));
}

}  // namespace intaglio::test::import_onnx_fused_test
