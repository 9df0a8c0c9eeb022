// An ONNX network of one head of attention with a mask, in memory.
#pragma once

#include <functional>
#include <vector>

#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

inline constexpr int64_t kPlaces = 6, kChannels = 8;

// Writes what makes "masked" of "scores" [1, 6, 6]; `causal` holds the value above the diagonal and 0 elsewhere.
using Mask = std::function<void(OnnxBuilder&, const std::vector<float>& causal)>;

// x [1, 6, 8]: one head of attention, and a layer behind it.
inline OnnxBuilder masked_attention(float value, const Mask& mask) {
  OnnxBuilder file(17);
  file.input("x", {1, kPlaces, kChannels});
  Random random(7);
  for (const char* name : {"wq", "wk", "wv", "wo"})
    file.floats(name, {kChannels, kChannels}, random.reals(kChannels * kChannels, -0.7f, 0.7f));
  file.node("MatMul", {"x", "wq"}, "q");
  file.node("MatMul", {"x", "wk"}, "k");
  file.node("MatMul", {"x", "wv"}, "v");
  set(file.node("Transpose", {"k"}, "kt"), "perm", std::vector<int64_t>{0, 2, 1});
  file.node("MatMul", {"q", "kt"}, "scores");
  std::vector<float> causal;
  for (int64_t i = 0; i < kPlaces * kPlaces; ++i) causal.push_back(i % kPlaces > i / kPlaces ? value : 0.0f);
  file.floats("causal", {1, kPlaces, kPlaces}, causal);
  mask(file, causal);
  set(file.node("Softmax", {"masked"}, "shares"), "axis", int64_t{-1});
  file.node("MatMul", {"shares", "v"}, "mixed");
  file.node("MatMul", {"mixed", "wo"}, "y");
  return file.output("y");
}

}  // namespace intaglio::test
