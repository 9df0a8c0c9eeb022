// onnxruntime's operators of attention, beside ONNX's own.
#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_fused_attention_test {

TEST_CASE("attention, with masks of each kind, states and biases") {
  for (const int mask : {0, 1, 2, 3})
    for (const bool past : {false, true}) {
      CAPTURE(mask);
      CAPTURE(past);
      check_forms(
          [&](OnnxBuilder& file, bool is_fused) {
            Random random(8);
            const int64_t keys = past ? 5 : 3;
            file.input("x", {2, 3, 4});
            file.floats("w", {4, 12}, random.reals(48, -1, 1));
            file.floats("b", {12}, random.reals(12, -1, 1));
            if (past) file.input("past", {2, 2, 2, 2, 2});
            // The first key counts in each row.
            const Reals allowed_first{1, 0, 1, 1, 1}, allowed_second{1, 1, 0, 0, 1};
            std::vector<int32_t> allowed;
            const size_t rows = mask == 3 ? 3 : 1;
            for (int64_t batch = 0; batch < 2; ++batch)
              for (size_t row = 0; row < rows; ++row)
                for (int64_t k = 0; k < keys; ++k)
                  allowed.push_back(
                      mask == 1 ? k < batch + 2
                                : static_cast<int32_t>(
                                      (batch == 0 ? allowed_first : allowed_second)[static_cast<size_t>(k)]));
            const Ints dims = mask == 3 ? Ints{2, 3, keys} : Ints{2, keys};
            if (mask == 1) codes(file, "mask", {2}, Type::INT32, {2, 3});
            if (mask > 1) codes(file, "mask", dims, Type::INT32, allowed);
            if (is_fused) {
              auto& node = microsoft(file, "Attention",
                                     {"x", "w", "b", mask > 0 ? "mask" : "", past ? "past" : ""}, "y");
              set(node, "num_heads", int64_t{2});
              if (past) node.output.push_back("present");
            } else {
              file.node("MatMul", {"x", "w"}, "m");
              file.node("Add", {"m", "b"}, "p");
              file.integers("parts", {4, 4, 4});
              auto& split = file.node("Split", {"p", "parts"}, "q");
              split.output.push_back("k");
              split.output.push_back("v");
              set(split, "axis", int64_t{2});
              if (mask > 0)
                codes(file, "all", mask == 3 ? Ints{2, 1, 3, keys} : Ints{2, 1, 1, keys}, Type::BOOL,
                      allowed);
              if (past) {
                file.integers("zero", {0});
                file.integers("one", {1});
                auto& halves = file.node("Split", {"past"}, "pk1");
                halves.output.push_back("pv1");
                set(halves, "num_outputs", int64_t{2});
                file.node("Squeeze", {"pk1", "zero"}, "pk");
                file.node("Squeeze", {"pv1", "zero"}, "pv");
              }
              auto& node =
                  file.node("Attention",
                            {"q", "k", "v", mask > 0 ? "all" : "", past ? "pk" : "", past ? "pv" : ""}, "y");
              set(node, "q_num_heads", int64_t{2});
              set(node, "kv_num_heads", int64_t{2});
              if (past) {
                node.output.push_back("nk");
                node.output.push_back("nv");
                file.node("Unsqueeze", {"nk", "zero"}, "nk1");
                file.node("Unsqueeze", {"nv", "zero"}, "nv1");
                set(file.node("Concat", {"nk1", "nv1"}, "present"), "axis", int64_t{0});
              }
            }
            file.output("y");
            if (past) file.output("present");
          },
          23);
    }
  check_forms(
      [](OnnxBuilder& file, bool is_fused) {
        for (const char* name : {"q", "k", "v"}) file.input(name, {1, 3, 4});
        file.input("scores", {1, 2, 3, 3});
        file.floats("bias", {12}, {1, 2, 3, 4, -1, -2, -3, -4, 0.5f, 0.25f, 0, 1});
        if (is_fused) {
          auto& node = microsoft(file, "MultiHeadAttention", {"q", "k", "v", "bias", "", "scores"}, "y");
          set(node, "num_heads", int64_t{2});
          set(node, "unidirectional", int64_t{1});
          set(node, "scale", 0.75f);
        } else {
          file.floats("qb", {4}, {1, 2, 3, 4});
          file.floats("kb", {4}, {-1, -2, -3, -4});
          file.floats("vb", {4}, {0.5f, 0.25f, 0, 1});
          for (const char* name : {"q", "k", "v"})
            file.node("Add", {name, std::string(name) + "b"}, std::string(name) + "s");
          auto& node = file.node("Attention", {"qs", "ks", "vs", "scores"}, "y");
          set(node, "q_num_heads", int64_t{2});
          set(node, "kv_num_heads", int64_t{2});
          set(node, "is_causal", int64_t{1});
          set(node, "scale", 0.75f);
        }
        file.output("y");
      },
      23);
}

}  // namespace intaglio::test::import_onnx_fused_attention_test
