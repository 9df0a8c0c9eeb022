// onnxruntime's own operators in ONNX files that a test makes, beside the same networks of ONNX's operators.
#pragma once

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test {

using Ints = std::vector<int64_t>;
using Reals = std::vector<float>;

inline OnnxBuilder::Node& microsoft(OnnxBuilder& file, const char* op, const std::vector<std::string>& inputs,
                                    const std::string& output) {
  auto& node = file.node(op, inputs, output);
  node.domain = "com.microsoft";
  return node;
}

// All outputs, one behind the other, for random inputs (whole numbers below `end` where they are integers).
inline Reals run_all(const OnnxBuilder& file, uint32_t end = 4) {
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  Random random(11);
  for (int32_t i = 0; i < static_cast<int32_t>(model.model().inputs().size); ++i) {
    const TensorView view = model.session().input(i);
    const auto count = static_cast<size_t>(view.info.shape.elements());
    if (view.info.dtype == DType::kS32) {
      std::vector<int32_t> numbers;
      for (size_t k = 0; k < count; ++k) numbers.push_back(static_cast<int32_t>(random.bits() % end));
      model.set_input(numbers, i);
    } else {
      model.set_input(random.reals(count, -1.0f, 1.0f), i);
    }
  }
  model.session().run();
  Reals all;
  for (int32_t i = 0; i < static_cast<int32_t>(model.model().outputs().size); ++i) {
    if (model.session().output(i).info.dtype == DType::kS32) {
      for (const int32_t value : model.output<int32_t>(i)) all.push_back(static_cast<float>(value));
    } else {
      for (const float value : model.output<float>(i)) all.push_back(value);
    }
  }
  return all;
}

inline void check_same(const OnnxBuilder& fused, const OnnxBuilder& plain) {
  const Reals a = run_all(fused), b = run_all(plain);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

inline void set_type(OnnxBuilder& file, int input, Type::DataType type) {
  file.graph().input[input].type.make().tensor_type.make().elem_type = type;
}

// Two files, built alike but for what `build(file, is_fused)` does.
template <typename Build>
void check_forms(Build build, int64_t opset = 17) {
  OnnxBuilder fused(opset), plain(opset);
  build(fused, true);
  build(plain, false);
  check_same(fused, plain);
}

}  // namespace intaglio::test
