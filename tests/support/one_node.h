// A model of one node, to see what its operator's plan says.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/run_widths.h"

namespace intaglio::test {

inline constexpr float kScale = 0.5f;
inline constexpr int64_t kS8Value = static_cast<int64_t>(DType::kS8),
                         kF32Value = static_cast<int64_t>(DType::kF32);
inline constexpr int64_t kS32Value = static_cast<int64_t>(DType::kS32);

// A model of one node, all of whose activations but the output are inputs.
class OneNode {
 public:
  int32_t s8(const Dims& dims, float scale = kScale, int32_t zero_point = 0) {
    return activation(DType::kS8, dims, scale, zero_point);
  }
  int32_t f32(const Dims& dims) { return activation(DType::kF32, dims, 0.0f, 0); }
  template <typename T>
  int32_t constant(DType dtype, const Dims& dims, const std::vector<T>& values,
                   const std::vector<float>& scales = {}) {
    return b.constant(name(), dtype, dims, values, scales);
  }
  NodeOptions& node(Op op, const std::vector<int32_t>& inputs, int32_t output) {
    for (const int32_t input : inputs)
      if (input >= 0 && !b.graph().tensors[static_cast<size_t>(input)].is_constant()) b.input(input);
    b.output(output);
    return b.node(op, inputs, {output}).options;
  }
  void check(Status status, int64_t value = 0, int64_t limit = 0) {
    const Error error = RunningModel(b.finish()).error();
    CHECK_MESSAGE(error.status == status, text_of(error));
    CHECK(error.value == value);
    CHECK(error.limit == limit);
    if (status != Status::kOk) CHECK(error.node == 0);
  }

  ModelBuilder b;

 private:
  std::string name() { return "t" + std::to_string(b.graph().tensors.size()); }
  int32_t activation(DType dtype, const Dims& dims, float scale, int32_t zero_point) {
    return b.tensor(name(), dtype, dims, scale, zero_point);
  }
};

}  // namespace intaglio::test
