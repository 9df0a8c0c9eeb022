#include "tests/support/small_models.h"

namespace intaglio::test {

AlignedBytes small_cnn(uint32_t seed, float norm) {
  Random random(seed);
  ModelBuilder b;
  const auto weights = [&](const char* name, const std::vector<int32_t>& dims, float scale) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    return b.constant<float>(name, DType::kF32, dims, random.reals(count, -scale, scale));
  };
  const int32_t image = b.tensor("image", DType::kF32, {1, 12, 10, 3});
  const int32_t stem = b.tensor("stem", DType::kF32, {1, 12, 10, 8});
  const int32_t depthwise = b.tensor("depthwise", DType::kF32, {1, 12, 10, 8});
  const int32_t project = b.tensor("project", DType::kF32, {1, 12, 10, 8});
  const int32_t sum = b.tensor("sum", DType::kF32, {1, 12, 10, 8});
  const int32_t pooled = b.tensor("pooled", DType::kF32, {1, 6, 5, 8});
  const int32_t mean = b.tensor("mean", DType::kF32, {1, 8});
  const int32_t logits = b.tensor("logits", DType::kF32, {1, 5});
  const int32_t classes = b.tensor("classes", DType::kF32, {1, 5});
  b.input(image);
  b.output(classes);

  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  GraphNode& conv = b.node(
      Op::kConv2d, {image, weights("stem/w", {8, 3, 3, 3}, 0.01f), weights("stem/b", {8}, 0.5f)}, {stem});
  conv.options.as<Window2d>() = same;
  conv.options.as<Clamp>().min = 0.0f;
  GraphNode& dw =
      b.node(Op::kDepthwiseConv2d,
             {stem, weights("depthwise/w", {3, 3, 8}, 0.6f), weights("depthwise/b", {8}, 0.2f)}, {depthwise});
  dw.options.as<Window2d>() = same;
  dw.options.as<Clamp>().min = 0.0f;
  dw.options.as<Clamp>().max = 6.0f;
  b.node(Op::kConv2d, {depthwise, weights("project/w", {8, 1, 1, 8}, 0.5f), weights("project/b", {8}, 0.3f)},
         {project});
  GraphNode& add = b.node(Op::kAdd, {project, stem}, {sum});
  add.options.as<Clamp>().min = 0.0f;
  GraphNode& pool = b.node(Op::kMaxPool2d, {sum}, {pooled});
  pool.options.as<Window2d>().kernel_h = pool.options.as<Window2d>().kernel_w = 2;
  pool.options.as<Window2d>().stride_h = pool.options.as<Window2d>().stride_w = 2;
  GraphNode& average = b.node(Op::kMean, {pooled}, {mean});
  average.options.as<ReduceOptions>().axes = b.keep({1, 2});
  b.node(Op::kFullyConnected, {mean, weights("fc/w", {5, 8}, 1.0f), weights("fc/b", {5}, 0.5f)}, {logits});
  b.node(Op::kSoftmax, {logits}, {classes});

  ImageInput recipe;
  recipe.channels = 3;
  for (int c = 0; c < 3; ++c) recipe.norm[c] = norm;
  b.graph().images.push(b.arena(), recipe);
  return b.finish();
}

std::vector<std::vector<float>> small_cnn_samples(size_t count, uint32_t seed) {
  Random random(seed);
  std::vector<std::vector<float>> samples;
  for (size_t i = 0; i < count; ++i) {
    const float level = 60.0f + static_cast<float>(random.bits() % 130);
    std::vector<float> sample(12 * 10 * 3);
    for (float& value : sample)
      value = static_cast<float>(static_cast<int>(level + random.real(-60.0f, 60.0f)));
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace intaglio::test
