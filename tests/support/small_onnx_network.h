// A small ONNX network of everything that is common, in memory.
#pragma once

#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

// The seed of the damage tests.
inline OnnxBuilder small_network() {
  Random random(5);
  OnnxBuilder file(13);
  file.input("x", {0, 3, 8, 8});
  file.floats("w1", {4, 3, 3, 3}, random.reals(108, -0.3f, 0.3f));
  file.floats("b1", {4}, random.reals(4, -1, 1));
  for (const char* name : {"gamma", "beta", "mean", "variance"})
    file.floats(name, {4}, random.reals(4, 0.5f, 1));
  file.floats("w2", {4, 1, 3, 3}, random.reals(36, -0.3f, 0.3f));
  file.floats("w3", {6, 64}, random.reals(384, -0.3f, 0.3f));
  file.floats("b3", {6}, random.reals(6, -1, 1));
  file.floats("zero", {}, {0});
  file.floats("six", {}, {6});
  set(file.node("Conv", {"x", "w1", "b1"}, "c1"), "pads", std::vector<int64_t>{1, 1, 1, 1});
  file.node("BatchNormalization", {"c1", "gamma", "beta", "mean", "variance"}, "n1");
  file.node("Clip", {"n1", "zero", "six"}, "r1");
  auto& depthwise = file.node("Conv", {"r1", "w2"}, "c2");
  set(depthwise, "group", int64_t{4});
  set(depthwise, "auto_pad", "SAME_UPPER");
  file.node("Add", {"c2", "r1"}, "a");
  file.node("Relu", {"a"}, "r2");
  auto& pool = file.node("MaxPool", {"r2"}, "p");
  set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
  set(pool, "strides", std::vector<int64_t>{2, 2});
  file.node("Flatten", {"p"}, "f");
  set(file.node("Gemm", {"f", "w3", "b3"}, "g"), "transB", int64_t{1});
  file.node("Softmax", {"g"}, "y");
  file.output("y");
  return file;
}

}  // namespace intaglio::test
