// Small ONNX networks in memory: of everything that is common, and an attention with a mask.
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

// One head: no place looks at those behind it.
inline OnnxBuilder masked_attention() {
  constexpr int64_t kPlaces = 6, kChannels = 8;
  Random random(7);
  OnnxBuilder file(13);
  file.input("x", {1, kPlaces, kChannels});
  std::vector<float> mask(kPlaces * kPlaces, 0.0f);
  for (size_t i = 0; i < kPlaces; ++i)
    for (size_t j = i + 1; j < kPlaces; ++j) mask[i * kPlaces + j] = -1e9f;
  file.floats("mask", {kPlaces, kPlaces}, mask);
  for (const char* const name : {"wq", "wk", "wv"})
    file.floats(name, {kChannels, kChannels}, random.reals(kChannels * kChannels, -0.8f, 0.8f));
  file.node("MatMul", {"x", "wq"}, "q");
  file.node("MatMul", {"x", "wk"}, "k");
  file.node("MatMul", {"x", "wv"}, "v");
  set(file.node("Transpose", {"k"}, "kt"), "perm", std::vector<int64_t>{0, 2, 1});
  file.node("MatMul", {"q", "kt"}, "scores");
  file.node("Add", {"scores", "mask"}, "masked");
  file.node("Softmax", {"masked"}, "shares");
  file.node("MatMul", {"shares", "v"}, "y");
  file.output("y");
  return file;
}

}  // namespace intaglio::test
