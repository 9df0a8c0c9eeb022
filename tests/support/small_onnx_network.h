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

// A depthwise layer between two Swish, behind a layer whose channels differ a hundredfold: calibration puts their factors into
// tables for groups of channels. `around`: what stands on each side of the first Swish, or before it.
enum class Around { kNothing, kTransposes, kReshapes, kNormalization };
inline OnnxBuilder uneven_network(Around around = Around::kNothing) {
  OnnxBuilder file(13);
  Random random(21);
  file.input("x", {1, 3, 9, 8});
  file.output("y");
  std::vector<float> uneven = random.reals(8 * 3, -0.4f, 0.4f);
  for (size_t i = 0; i < uneven.size(); ++i) uneven[i] *= i / 3 % 2 == 0 ? 100.0f : 1.0f;
  file.floats("w1", {8, 3, 1, 1}, uneven);
  std::vector<float> even = random.reals(8 * 9, -0.4f, 0.4f);
  for (size_t i = 0; i < even.size(); ++i) even[i] *= i / 9 % 2 == 0 ? 0.01f : 1.0f;
  file.floats("w2", {8, 1, 3, 3}, even);
  file.floats("w3", {4, 8, 1, 1}, random.reals(4 * 8, -0.4f, 0.4f));
  for (const char* const name : {"b1", "b2"}) file.floats(name, {8}, random.reals(8, -0.2f, 0.2f));
  const auto swish = [&](const std::string& x) {
    file.node("Sigmoid", {x}, x + "_gate");
    file.node("Mul", {x, x + "_gate"}, x + "_swish");
  };
  file.integers("flat", {1, 8, 72});
  file.integers("map", {1, 8, 9, 8});
  const bool normalizes = around == Around::kNormalization, turns = around == Around::kTransposes;
  const bool has_none = around == Around::kNothing || normalizes;
  const auto move = [&](const std::string& x, const std::string& y, const std::vector<int64_t>& order,
                        const std::string& shape) {
    if (turns)
      set(file.node("Transpose", {x}, y), "perm", order);
    else
      file.node("Reshape", {x, shape}, y);
  };
  file.node("Conv", {"x", "w1", "b1"}, has_none && !normalizes ? "c1" : "c0");
  if (normalizes) {  // its factors are what is uneven
    std::vector<float> factors = random.reals(8, 0.3f, 0.5f);
    for (size_t i = 0; i < factors.size(); i += 2) factors[i] *= 100.0f;
    file.floats("factors", {8}, factors);
    file.floats("summands", {8}, random.reals(8, -0.2f, 0.2f));
    file.node("InstanceNormalization", {"c0", "factors", "summands"}, "c1");
  }
  if (!has_none) move("c0", "c1", {0, 2, 3, 1}, "flat");
  swish("c1");
  if (!has_none) move("c1_swish", "c1_back", {0, 3, 1, 2}, "map");
  auto& depthwise = file.node("Conv", {has_none ? "c1_swish" : "c1_back", "w2", "b2"}, "c2");
  set(depthwise, "group", int64_t{8});
  set(depthwise, "pads", std::vector<int64_t>(4, 1));
  swish("c2");
  file.node("Conv", {"c2_swish", "w3"}, "y");
  return file;
}

}  // namespace intaglio::test
