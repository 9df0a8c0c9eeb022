// Attributes, inputs and outputs that few files give to onnxruntime's own operators, beside ONNX's operators.
#include "importers/onnx/onnx_op.h"
#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_fused_options_test {
namespace {

using Names = std::vector<std::string>;

void permute(OnnxBuilder& file, const char* x, const Ints& order, const char* y) {
  set(file.node("Transpose", {x}, y), "perm", order);
}

Import of(const OnnxBuilder& file) { return Import(file.bytes()); }

}  // namespace

TEST_CASE("operators on codes: Where, ReduceMean, and those with the channels last") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {2, 3});
    scale(file, "s", 0.03125f, Type::INT8, -3);
    scale(file, "t", 0.0625f, Type::INT8, 5);
    scale(file, "u", 0.03125f, Type::INT8, 2);
    codes(file, "c", {2, 3}, Type::BOOL, {1, 0, 1, 0, 0, 1});
    codes(file, "w", {3}, Type::INT8, {7, -20, 30});
    file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
    if (is_fused) {
      microsoft(file, "QLinearWhere", {"c", "q", "s", "s0", "w", "t", "t0", "u", "u0"}, "z");
    } else {
      file.node("DequantizeLinear", {"q", "s", "s0"}, "a");
      file.node("DequantizeLinear", {"w", "t", "t0"}, "b");
      file.node("Where", {"c", "a", "b"}, "r");
      file.node("QuantizeLinear", {"r", "u", "u0"}, "z");
    }
    file.node("DequantizeLinear", {"z", "u", "u0"}, "y");
    file.output("y");
  });
  for (const int64_t opset : {17, 18})
    check_forms(
        [](OnnxBuilder& file, bool is_fused) {
          file.input("x", {1, 2, 3, 4});
          scale(file, "s", 0.0078125f, Type::INT8, -3);
          scale(file, "u", 0.00390625f, Type::INT8, 2);
          file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
          if (is_fused) {
            auto& node = microsoft(file, "QLinearReduceMean", {"q", "s", "s0", "u", "u0"}, "z");
            set(node, "axes", Ints{2, 3});
            set(node, "keepdims", int64_t{1});
          } else {
            file.node("DequantizeLinear", {"q", "s", "s0"}, "a");
            file.node("GlobalAveragePool", {"a"}, "r");
            file.node("QuantizeLinear", {"r", "u", "u0"}, "z");
          }
          file.node("DequantizeLinear", {"z", "u", "u0"}, "y");
          file.output("y");
        },
        opset);
  for (const bool pools : {false, true}) {
    CAPTURE(pools);
    check_forms([&](OnnxBuilder& file, bool is_fused) {
      file.input("x", {1, 4, 5, 2});
      scale(file, "s", 0.0078125f, Type::UINT8, 128);
      scale(file, "u", pools ? 0.0078125f : 0.0625f, Type::UINT8, 128);
      scale(file, "ws", 0.0625f, Type::INT8, 0);
      codes(file, "w", {3, 2, 2, 1}, Type::INT8, {7, -20, 30, 1, -128, 127, 5, -6, 9, 100, -3, 0});
      codes(file, "b", {3}, Type::INT32, {10, -2000, 300});
      file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
      const Names inputs{"q", "s", "s0", "w", "ws", "ws0", "u", "u0", "b"};
      if (is_fused) {
        auto& node =
            pools ? microsoft(file, "NhwcMaxPool", {"q"}, "z") : microsoft(file, "QLinearConv", inputs, "z");
        set(node, "kernel_shape", pools ? Ints{2, 3} : Ints{2, 1});
        set(node, "strides", Ints{2, 1});
        if (!pools) set(node, "channels_last", int64_t{1});
      } else {
        file.node("DequantizeLinear", {"q", "s", "s0"}, "a");
        permute(file, "a", {0, 3, 1, 2}, "planes");
        file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wr");
        Reals bias;
        for (const float code : {10.0f, -2000.0f, 300.0f}) bias.push_back(code * 0.0078125f * 0.0625f);
        file.floats("br", {3}, bias);
        auto& node =
            pools ? file.node("MaxPool", {"planes"}, "r") : file.node("Conv", {"planes", "wr", "br"}, "r");
        set(node, "kernel_shape", pools ? Ints{2, 3} : Ints{2, 1});
        set(node, "strides", Ints{2, 1});
        permute(file, "r", {0, 2, 3, 1}, "back");
        file.node("QuantizeLinear", {"back", "u", "u0"}, "z");
      }
      file.node("DequantizeLinear", {"z", "u", "u0"}, "y");
      file.output("y");
    });
  }
}

TEST_CASE("products of codes that QuantizeLinear gives") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {2, 3});
    scale(file, "s", 0.0078125f, Type::UINT8, 130);
    codes(file, "w", {3, 2}, Type::INT8, {3, -5, 100, 7, -128, 0});
    file.floats("ws", {1}, {0.5f});
    file.floats("b", {2}, {1, -1});
    file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
    if (is_fused) {
      microsoft(file, "MatMulIntegerToFloat", {"q", "w", "s", "ws", "s0", "", "b"}, "y");
    } else {
      file.node("DequantizeLinear", {"q", "s", "s0"}, "a");
      file.floats("r", {3, 2}, {1.5f, -2.5f, 50, 3.5f, -64, 0});
      file.node("MatMul", {"a", "r"}, "m");
      file.node("Add", {"m", "b"}, "y");
    }
    file.output("y");
  });
}

TEST_CASE("products whose right operand has its axes in another order") {
  for (const char* op : {"FusedMatMul", "TransposeMatMul"})
    for (const bool first : {false, true})
      for (const bool transposed : {false, true}) {
        if (first && std::string(op) == "TransposeMatMul") continue;  // it has no such attribute
        CAPTURE(op);
        CAPTURE(first);
        CAPTURE(transposed);
        check_forms([&](OnnxBuilder& file, bool is_fused) {
          // The right operand is [2, 4, 5] behind its axes' new order.
          const Ints order = first        ? transposed ? Ints{1, 2, 0} : Ints{1, 0, 2}
                                    : transposed ? Ints{0, 2, 1}
                                          : Ints{0, 1, 2},
                     behind{2, 4, 5};
          Ints dims(3);
          for (size_t i = 0; i < 3; ++i) dims[static_cast<size_t>(order[i])] = behind[i];
          file.input("a", {2, 3, 4});
          file.input("b", dims);
          if (is_fused) {
            auto& node = microsoft(file, op, {"a", "b"}, "y");
            set(node, "transB", int64_t{transposed});
            if (first) set(node, "transBatchB", int64_t{1});
          } else {
            set(file.node("Transpose", {"b"}, "t"), "perm", order);
            file.node("MatMul", {"a", "t"}, "y");
          }
          file.output("y");
        });
      }
}

TEST_CASE("SimplifiedLayerNormalization divides by the root of the mean square") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    file.input("x", {2, 3, 4});
    file.floats("gamma", {4}, {1, 2, 0.5f, -1});
    if (is_fused) {
      auto& node = file.node("SimplifiedLayerNormalization", {"x", "gamma"}, "y");
      set(node, "epsilon", 0.01f);
      set(node, "axis", int64_t{-1});
      set(node, "stash_type", int64_t{1});
    } else {
      file.floats("epsilon", {}, {0.01f});
      file.node("Mul", {"x", "x"}, "squares");
      set(file.node("ReduceMean", {"squares"}, "mean"), "axes", Ints{-1});
      file.node("Add", {"mean", "epsilon"}, "sum");
      file.node("Sqrt", {"sum"}, "root");
      file.node("Div", {"x", "root"}, "unit");
      file.node("Mul", {"unit", "gamma"}, "y");
    }
    file.output("y");
  });
}

TEST_CASE("embeddings with places of their own, and counts that are integers") {
  const auto add_tables = [](OnnxBuilder& file) {
    Random random(6);
    file.input("ids", {2, 3});
    set_type(file, 0, Type::INT32);
    file.floats("words", {4, 5}, random.reals(20, -1, 1));
    file.floats("places", {6, 5}, random.reals(30, -1, 1));
    file.floats("gamma", {5}, random.reals(5, -1, 1));
    file.floats("beta", {5}, random.reals(5, -1, 1));
  };
  check_forms([&](OnnxBuilder& file, bool is_fused) {
    add_tables(file);
    file.input("at", {2, 3});
    set_type(file, 1, Type::INT32);
    if (is_fused) {
      microsoft(file, "EmbedLayerNormalization",
                {"ids", "", "words", "places", "", "gamma", "beta", "", "at"}, "y");
    } else {
      file.node("Gather", {"words", "ids"}, "a");
      file.node("Gather", {"places", "at"}, "b");
      file.node("Add", {"a", "b"}, "e");
      set(file.node("LayerNormalization", {"e", "gamma", "beta"}, "y"), "epsilon", 1e-12f);
    }
    file.output("y");
  });
  for (const int64_t opset : {11, 17})
    for (const bool has_mask : {false, true}) {
      CAPTURE(opset);
      CAPTURE(has_mask);
      OnnxBuilder file(opset);
      add_tables(file);
      if (has_mask) {
        file.input("mask", {2, 3});
        set_type(file, 1, Type::INT32);
      }
      microsoft(file, "EmbedLayerNormalization",
                {"ids", "", "words", "places", "", "gamma", "beta", has_mask ? "mask" : ""}, "y")
          .output.push_back("count");
      file.output("count");
      file.output("y");
      Import import = of(file);
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.count(Op::kFullyConnected) == 0);  // a calibration would give it codes of 8 bits
      RunningModel model(import.write());
      REQUIRE(model.model().tensor(model.model().outputs()[0]).dtype == DType::kS32);
      if (has_mask) model.set_input(std::vector<int32_t>{1, 1, 1, 1, 1, 0}, 1);
      model.session().run();
      CHECK(model.output<int32_t>(0) == (has_mask ? std::vector<int32_t>{3, 2} : std::vector<int32_t>{0, 0}));
    }
}

TEST_CASE("Attention of values with a size of their own, and attributes that say what holds anyway") {
  check_forms(
      [](OnnxBuilder& file, bool is_fused) {
        Random random(8);
        file.input("x", {1, 3, 4});
        file.floats("w", {4, 14}, random.reals(56, -1, 1));
        file.floats("b", {14}, random.reals(14, -1, 1));
        if (is_fused) {
          auto& node = microsoft(file, "Attention", {"x", "w", "b", "", "", "", ""}, "y");
          set(node, "num_heads", int64_t{2});
          set(node, "qkv_hidden_sizes", Ints{4, 4, 6});
          set(node, "do_rotary", int64_t{0});
          set(node, "past_present_share_buffer", int64_t{0});
        } else {
          file.node("MatMul", {"x", "w"}, "m");
          file.node("Add", {"m", "b"}, "p");
          file.integers("parts", {4, 4, 6});
          auto& split = file.node("Split", {"p", "parts"}, "q");
          split.output.push_back("k");
          split.output.push_back("v");
          set(split, "axis", int64_t{2});
          auto& node = file.node("Attention", {"q", "k", "v"}, "y");
          set(node, "q_num_heads", int64_t{2});
          set(node, "kv_num_heads", int64_t{2});
        }
        file.output("y");
      },
      23);
  OnnxBuilder file(17);
  file.input("x", {1, 3, 4});
  file.floats("w", {4, 12}, Reals(48, 0.5f));
  auto& node = microsoft(file, "Attention", {"x", "w"}, "y");
  set(node, "num_heads", int64_t{2});
  set(node, "do_rotary", int64_t{1});
  file.output("y");
  CHECK(of(file).says("attribute do_rotary is 1; 0 is supported"));
}

TEST_CASE("MultiHeadAttention with keys in heads, with a past, and with a mask and numbers beside it") {
  check_forms(
      [](OnnxBuilder& file, bool is_fused) {
        file.input("q", {1, 3, 4});
        file.input("k", {1, 2, 5, 2});
        file.input("v", {1, 2, 5, 3});
        file.floats("bias", {14}, {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
        if (is_fused) {
          set(microsoft(file, "MultiHeadAttention", {"q", "k", "v", "bias"}, "y"), "num_heads", int64_t{2});
        } else {
          file.floats("qb", {4}, {1, 2, 3, 4});
          file.node("Add", {"q", "qb"}, "qs");
          file.integers("in_heads", {1, 3, 2, 2});
          file.node("Reshape", {"qs", "in_heads"}, "apart");
          permute(file, "apart", {0, 2, 1, 3}, "heads");
          file.node("Attention", {"heads", "k", "v"}, "joined");
          permute(file, "joined", {0, 2, 1, 3}, "moved");
          file.integers("flat", {1, 3, 6});
          file.node("Reshape", {"moved", "flat"}, "y");
        }
        file.output("y");
      },
      23);
  check_forms(
      [](OnnxBuilder& file, bool is_fused) {
        for (const char* name : {"q", "k", "v"}) file.input(name, {1, 3, 4});
        for (const char* name : {"pk", "pv"}) file.input(name, {1, 2, 2, 2});
        const Names inputs =
            is_fused ? Names{"q", "k", "v", "", "", "", "pk", "pv"} : Names{"q", "k", "v", "", "pk", "pv"};
        auto& node = is_fused ? microsoft(file, "MultiHeadAttention", inputs, "y")
                              : file.node("Attention", inputs, "y");
        node.output.push_back("nk");
        node.output.push_back("nv");
        if (is_fused) {
          set(node, "num_heads", int64_t{2});
        } else {
          set(node, "q_num_heads", int64_t{2});
          set(node, "kv_num_heads", int64_t{2});
        }
        for (const char* name : {"y", "nk", "nv"}) file.output(name);
      },
      23);
  // Scores get the mask's number and those of input 5.
  for (const bool has_numbers : {false, true}) {
    CAPTURE(has_numbers);
    check_forms(
        [&](OnnxBuilder& file, bool is_fused) {
          for (const char* name : {"q", "k", "v"}) file.input(name, {1, 3, 4});
          if (has_numbers) file.input("numbers", {1, 2, 3, 3});
          codes(file, "mask", {1, 3}, Type::INT32, {1, 0, 1});
          if (is_fused) {
            const Names inputs =
                has_numbers ? Names{"q", "k", "v", "", "mask", "numbers"} : Names{"q", "k", "v", "", "mask"};
            auto& node = microsoft(file, "MultiHeadAttention", inputs, "y");
            set(node, "num_heads", int64_t{2});
            set(node, "mask_filter_value", -1.5f);
          } else {
            file.floats("added", {1, 1, 1, 3}, {0, -1.5f, 0});
            if (has_numbers) file.node("Add", {"numbers", "added"}, "all");
            auto& node = file.node("Attention", {"q", "k", "v", has_numbers ? "all" : "added"}, "y");
            set(node, "q_num_heads", int64_t{2});
            set(node, "kv_num_heads", int64_t{2});
          }
          file.output("y");
        },
        23);
  }
}

TEST_CASE("an LSTM of two directions with weights in codes") {
  check_forms([](OnnxBuilder& file, bool is_fused) {
    Random random(9);
    file.input("x", {3, 1, 2});
    std::vector<int32_t> w, r;  // [2, inputs, 4 * size]
    for (int i = 0; i < 32; ++i) w.push_back(static_cast<int32_t>(random.bits() % 256) - 128);
    for (int i = 0; i < 32; ++i) r.push_back(static_cast<int32_t>(random.bits() % 256) - 128);
    if (is_fused) {
      codes(file, "w", {2, 2, 8}, Type::INT8, w);
      codes(file, "r", {2, 2, 8}, Type::INT8, r);
      file.floats("ws", {2}, {0.004f, 0.008f});
      codes(file, "wz", {2}, Type::INT8, {3, -2});
      file.floats("rs", {2}, {0.002f, 0.006f});
      auto& node = microsoft(file, "DynamicQuantizeLSTM",
                             {"x", "w", "r", "", "", "", "", "", "ws", "wz", "rs", ""}, "y");
      set(node, "hidden_size", int64_t{2});
      set(node, "direction", "bidirectional");
    } else {
      Reals wf, rf;  // [2, 4 * size, inputs]
      for (size_t d = 0; d < 2; ++d)
        for (size_t row = 0; row < 8; ++row)
          for (size_t k = 0; k < 2; ++k) {
            const size_t at = d * 16 + k * 8 + row;
            wf.push_back(static_cast<float>(w[at] - (d == 0 ? 3 : -2)) * (d == 0 ? 0.004f : 0.008f));
            rf.push_back(static_cast<float>(r[at]) * (d == 0 ? 0.002f : 0.006f));
          }
      file.floats("w", {2, 8, 2}, wf);
      file.floats("r", {2, 8, 2}, rf);
      auto& node = file.node("LSTM", {"x", "w", "r"}, "y");
      set(node, "hidden_size", int64_t{2});
      set(node, "direction", "bidirectional");
    }
    file.output("y");
  });
}

TEST_CASE("a name that a file asks for often is numbered on from its last one") {
  importers::OnnxFile file;
  std::string last;
  for (int i = 0; i < 200000; ++i) last = file.unique_name("y");
  CHECK(last == "y~199999");
  file.taken.insert("z~1");
  CHECK(file.unique_name("z") == "z");
  CHECK(file.unique_name("z") == "z~2");
}

}  // namespace intaglio::test::import_onnx_fused_options_test
