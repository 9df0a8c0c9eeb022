// Models that fuzzers start from: between them every operator, FP32, int8, packed, by rows, and of 16 bits.
#pragma once

#include <vector>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "tests/support/calibrate.h"
#include "tests/support/random_picture_network.h"
#include "tests/support/small_models.h"

namespace intaglio::test {

// FP32: input "x" [1, 6, 6, 4], each operator once or twice, on small maps; its answer is a softmax of 3.
inline AlignedBytes every_op(uint32_t seed = 3) {
  Random random(seed);
  ModelBuilder b;
  int32_t made = 0;
  const auto map = [&](const std::vector<int32_t>& dims) {
    return b.tensor("t" + std::to_string(made++), DType::kF32, dims);
  };
  const auto weights = [&](const std::vector<int32_t>& dims, float from, float to) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    return b.constant<float>("w" + std::to_string(made++), DType::kF32, dims, random.reals(count, from, to));
  };
  const std::vector<int32_t> whole = {1, 6, 6, 4};
  const auto unary = [&](Op op, int32_t input) {
    const int32_t output = map(whole);
    GraphNode& node = b.node(op, {input}, {output});
    if (auto* const options = node.options.get<UnaryOptions>())
      *options = {op == Op::kLeakyRelu ? 0.1f : op == Op::kHardSigmoid ? 0.2f : 1.0f, 0.5f};
    return output;
  };
  const auto binary = [&](Op op, int32_t left, int32_t right) {
    const int32_t output = map(whole);
    b.node(op, {left, right}, {output});
    return output;
  };
  const int32_t x = map(whole);
  b.input(x);
  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  const int32_t conv = map(whole), depthwise = map(whole);
  GraphNode& first =
      b.node(Op::kConv2d, {x, weights({4, 3, 3, 4}, -0.3f, 0.3f), weights({4}, -0.5f, 0.5f)}, {conv});
  first.options.as<Window2d>() = same;
  first.options.as<Clamp>().min = 0.0f;
  b.node(Op::kDepthwiseConv2d, {conv, weights({3, 3, 4}, -0.4f, 0.4f), weights({4}, -0.1f, 0.1f)},
         {depthwise})
      .options.as<Window2d>() = same;
  int32_t sum = binary(Op::kAdd, depthwise, conv);
  for (const Op op : {Op::kSigmoid, Op::kTanh, Op::kHardSwish, Op::kLeakyRelu, Op::kHardSigmoid, Op::kGelu,
                      Op::kElu, Op::kSoftplus, Op::kAbs, Op::kClamp, Op::kSin, Op::kPow, Op::kSelu})
    sum = binary(op == Op::kTanh ? Op::kSub : op == Op::kElu ? Op::kMul : Op::kAdd, sum, unary(op, sum));
  sum = binary(Op::kMaximum, sum, conv);
  sum = binary(Op::kMinimum, sum, x);
  const int32_t chosen_of_two = map(whole), scores = map({1, 6, 6, 6}), product = map(whole);
  b.node(Op::kWhere, {binary(Op::kLess, sum, x), sum, conv}, {chosen_of_two});
  b.node(Op::kBatchMatMul, {chosen_of_two, x}, {scores}).options.as<BatchMatMulOptions>().transpose_b = true;
  b.node(Op::kBatchMatMul, {scores, x}, {product});
  sum = binary(Op::kAdd, product, sum);
  const int32_t slope = map(whole);
  b.node(Op::kPRelu, {sum, weights({4}, 0.1f, 0.3f)}, {slope});
  const int32_t normalized = map(whole);
  b.node(Op::kL2Normalize, {slope}, {normalized}).options.as<L2NormalizeOptions>().min_norm = 1e-3f;
  const int32_t centred = map(whole), grouped = map(whole);
  b.node(Op::kNormalize, {normalized, weights({4}, 0.5f, 1.5f), weights({4}, -0.1f, 0.1f)}, {centred});
  NormalizeOptions& groups =
      b.node(Op::kNormalize, {centred, weights({4}, 0.5f, 1.5f), weights({4}, -0.1f, 0.1f)}, {grouped})
          .options.as<NormalizeOptions>();
  groups.groups = 2;
  groups.over_map = true;
  const int32_t padded = map({1, 8, 8, 4});
  b.node(Op::kPad, {grouped}, {padded}).options.as<PadOptions>().before = b.keep({0, 1, 1, 0});
  const int32_t cut = map({1, 4, 4, 4});
  GraphNode& slice = b.node(Op::kStridedSlice, {padded}, {cut});
  slice.options.as<StridedSliceOptions>().begin = b.keep({0, 0, 1, 0});
  slice.options.as<StridedSliceOptions>().strides = b.keep({1, 2, 2, 1});
  const int32_t large = map({1, 8, 8, 4});
  b.node(Op::kResize, {cut}, {large}).options.as<ResizeOptions>().interpolation = Interpolation::kBilinear;
  const int32_t both = map({1, 8, 8, 8});
  b.node(Op::kConcat, {large, padded}, {both}).options.as<ConcatOptions>().axis = 3;
  Window2d half;
  half.kernel_h = half.kernel_w = half.stride_h = half.stride_w = 2;
  const int32_t highest = map({1, 4, 4, 8}), averaged = map({1, 2, 2, 8}), turned = map({1, 8, 2, 2});
  b.node(Op::kMaxPool2d, {both}, {highest}).options.as<Window2d>() = half;
  b.node(Op::kAvgPool2d, {highest}, {averaged}).options.as<Window2d>() = half;
  b.node(Op::kTranspose, {averaged}, {turned}).options.as<TransposeOptions>().permutation =
      b.keep({0, 3, 1, 2});
  const int32_t chosen = map({1, 3, 2, 2}), means = map({1, 3}), flat = map({1, 12}), dense = map({1, 3});
  b.node(Op::kGather, {turned, b.constant<int32_t>("index", DType::kS32, {3}, {0, 7, 2})}, {chosen})
      .options.as<GatherOptions>()
      .axis = 1;
  b.node(Op::kMean, {chosen}, {means}).options.as<ReduceOptions>().axes = b.keep({2, 3});
  b.node(Op::kReshape, {chosen}, {flat});
  b.node(Op::kFullyConnected, {flat, weights({3, 12}, -1.0f, 1.0f), weights({3}, -1.0f, 1.0f)}, {dense});
  const auto indices = [&](const std::vector<int32_t>& dims) {
    return b.tensor("t" + std::to_string(made++), DType::kS32, dims);
  };
  const int32_t order = indices({1, 3}), sorted = map({1, 3}), turned_order = indices({3, 1}),
                row = indices({3}), rows = map({3, 3}), real = map({3}), whole_number = indices({3}),
                again = map({3, 3}), both_rows = map({3, 3}), averages = map({1, 3});
  b.node(Op::kTopK, {means}, {order}).options.as<TopKOptions>().axis = 1;
  b.node(Op::kGatherElements, {means, order}, {sorted}).options.as<GatherOptions>().axis = 1;
  b.node(Op::kTranspose, {order}, {turned_order}).options.as<TransposeOptions>().permutation = b.keep({1, 0});
  b.node(Op::kReshape, {turned_order}, {row});
  b.node(Op::kOneHot, {row}, {rows}).options.as<OneHotOptions>() = {1, 1.0f, 0.0f, true};
  b.node(Op::kCast, {row}, {real});
  b.node(Op::kCast, {real}, {whole_number});
  b.node(Op::kGather, {rows, whole_number}, {again});
  b.node(Op::kMul, {again, sorted}, {both_rows});
  b.node(Op::kMean, {both_rows}, {averages}).options.as<ReduceOptions>().axes = b.keep({0});
  const int32_t sums = map({1, 3});
  b.node(Op::kAdd, {means, averages}, {sums});
  const int32_t logits = map({1, 3}), classes = map({1, 3});
  b.node(Op::kAdd, {dense, sums}, {logits});
  b.node(Op::kSoftmax, {logits}, {classes});
  b.output(classes);
  return b.finish();
}

inline std::vector<AlignedBytes> fuzz_models() {
  std::vector<AlignedBytes> models;
  models.push_back(small_cnn());
  models.push_back(every_op());
  Random random(11);
  const Samples samples = {random.reals(6 * 6 * 4, -1.0f, 1.0f), random.reals(6 * 6 * 4, -2.0f, 2.0f)};
  for (size_t i = 0; i < 2; ++i) {
    const Model model = *Model::open(models[i].view());
    const std::vector<uint8_t> int8 = calibrate(model, i == 0 ? small_cnn_samples(2) : samples, {});
    models.emplace_back(Span<const uint8_t>(int8.data(), int8.size()));
  }
  HostArena arena;
  const Result<Span<const uint8_t>> packed =
      pack_model(*Model::open(models[2].view()), all_ops(), cpu_isa(), arena.arena());
  models.emplace_back(*packed);
  const auto add_streamed = [&](Span<const uint8_t> flat) {
    for (const bool feeds_rows : {false, true})
      models.emplace_back(*stream_model(*Model::open(flat), all_ops(), {{}, feeds_rows}, arena.arena()));
  };
  for (const size_t i : {size_t{2}, size_t{3}}) add_streamed(AlignedBytes(models[i].view()).view());
  for (const uint32_t network : {3u, 8u, 21u}) {
    const AlignedBytes flat = RandomPictureNetwork(network).finish();
    add_streamed(flat.view());
    // In two memories, layer by layer where the large one takes it.
    for (const uint64_t slow :
         {uint64_t{1} << 20, uint64_t{Model::open(flat.view())->activation_bytes()} / 2}) {
      const auto in_two =
          stream_model(*Model::open(flat.view()), all_ops(), {128 + slow, false, 128}, arena.arena());
      if (in_two) models.emplace_back(*in_two);
    }
    // Each node alone by rows, so that outputs stand on rows of their inputs.
    std::vector<StreamedNodes> alone;
    for (int32_t n = 0; n < Model::open(flat.view())->node_count(); ++n) {
      alone.push_back({n, n + 1, 2});
      const Span<const StreamedNodes> last{&alone.back(), 1};
      if (!stream_segments(*Model::open(flat.view()), all_ops(), last, false, arena.arena()))
        alone.pop_back();
    }
    models.emplace_back(*stream_segments(*Model::open(flat.view()), all_ops(), {alone.data(), alone.size()},
                                         false, arena.arena()));
  }
  const SlotSetting wide{-1, SlotRole::kActivations, -1, 16};
  CalibratorOptions options;
  options.slots = {&wide, 1};
  const std::vector<uint8_t> int16 = calibrate(*Model::open(models[1].view()), samples, options);
  models.emplace_back(Span<const uint8_t>(int16.data(), int16.size()));
  return models;
}

}  // namespace intaglio::test
