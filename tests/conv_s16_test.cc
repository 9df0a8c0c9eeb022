// Layers of int16 activations and int8 weights as whole models, against plain loops: geometry, groups, executors of several
// widths, every instruction set.
#include "tests/support/run_widths.h"
#include "tests/support/wide_codes.h"

namespace intaglio::test::conv_s16_test {
namespace {

// A convolution, or a depthwise one, of random geometry.
void check_convolution(Random& random, bool depthwise) {
  Window2d w;
  w.kernel_h = random.between(1, 3);
  w.kernel_w = random.between(1, 4);
  w.stride_h = random.between(1, 2);
  w.stride_w = random.between(1, 2);
  w.dilation_h = random.between(1, 2);
  w.dilation_w = random.between(1, 2);
  for (int32_t* const pad : {&w.pad_top, &w.pad_bottom})
    *pad = random.between(0, (w.kernel_h - 1) * w.dilation_h);
  for (int32_t* const pad : {&w.pad_left, &w.pad_right})
    *pad = random.between(0, (w.kernel_w - 1) * w.dilation_w);
  const int32_t images = random.between(1, 2), h = random.between(7, 12), width = random.between(7, 12);
  const int32_t groups = depthwise ? 1 : random.between(1, 3), depth = random.between(1, 20);
  const int32_t ic = groups * depth, times = random.one_in(4) ? 2 : 1;
  const int32_t oc = depthwise ? ic * times : groups * random.between(1, 30);
  const auto size_of = [](int32_t in, int32_t pads, int32_t kernel, int32_t dilation, int32_t stride) {
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
  };
  const int32_t oh = size_of(h, w.pad_top + w.pad_bottom, w.kernel_h, w.dilation_h, w.stride_h);
  const int32_t ow = size_of(width, w.pad_left + w.pad_right, w.kernel_w, w.dilation_w, w.stride_w);
  const Dims x_dims{images, h, width, ic}, y_dims{images, oh, ow, oc};
  const Dims w_dims = depthwise ? Dims{w.kernel_h, w.kernel_w, oc} : Dims{oc, w.kernel_h, w.kernel_w, depth};
  const std::vector<int16_t> x = draw_codes(random, elements(x_dims));
  const std::vector<int8_t> weights = random.codes(elements(w_dims));
  std::vector<int32_t> bias(static_cast<size_t>(oc));
  for (int32_t& b : bias) b = random.between(-5000000, 5000000);
  const std::vector<float> scales = random.reals(bias.size(), 0.001f, 0.02f);
  const float in_scale = 0.001f, out_scale = random.real(0.02f, 0.2f);
  const int32_t lo = random.between(-32768, 0), hi = random.between(1, 32767);
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kS16, x_dims, in_scale),
                ty = b.tensor("y", DType::kS16, y_dims, out_scale);
  const int32_t tw = b.constant<int8_t>("w", DType::kS8, w_dims, weights, scales, depthwise ? 2 : 0);
  const int32_t tb = b.constant<int32_t>("b", DType::kS32, {oc}, bias);
  GraphNode& node = b.node(depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {tx, tw, tb}, {ty});
  node.options.as<Window2d>() = w;
  if (!depthwise) node.options.as<Conv2dOptions>().groups = groups;
  clamp_to(node, lo, hi);
  b.input(tx);
  b.output(ty);
  const std::vector<int16_t> y = run_widths<int16_t, int16_t>(b, {x});
  size_t wrong = 0, at = 0;
  for (int32_t image = 0; image < images; ++image)
    for (int32_t py = 0; py < oh; ++py)
      for (int32_t px = 0; px < ow; ++px)
        for (int32_t o = 0; o < oc; ++o, ++at) {
          int64_t sum = bias[static_cast<size_t>(o)];
          for (int32_t ky = 0; ky < w.kernel_h; ++ky)
            for (int32_t kx = 0; kx < w.kernel_w; ++kx) {
              const int32_t iy = py * w.stride_h - w.pad_top + ky * w.dilation_h;
              const int32_t ix = px * w.stride_w - w.pad_left + kx * w.dilation_w;
              if (iy < 0 || iy >= h || ix < 0 || ix >= width) continue;
              for (int32_t i = 0; i < (depthwise ? 1 : depth); ++i) {
                const int32_t c = depthwise ? o / times : o / (oc / groups) * depth + i;
                const int32_t place = depthwise ? (ky * w.kernel_w + kx) * oc + o
                                                : ((o * w.kernel_h + ky) * w.kernel_w + kx) * depth + i;
                sum += int64_t{x[static_cast<size_t>(((image * h + iy) * width + ix) * ic + c)]} *
                       weights[static_cast<size_t>(place)];
              }
            }
          const float multiplier = in_scale * scales[static_cast<size_t>(o)] / out_scale;
          wrong += y[at] != rounded(static_cast<float>(sum) * multiplier, lo, hi);
        }
  REQUIRE(wrong == 0);
}

}  // namespace

TEST_CASE("random convolutions") {
  Random random(1);
  for (int32_t i = 0; i < shape_count(60); ++i) {
    check_convolution(random, false);
    check_convolution(random, true);
  }
}

TEST_CASE("a fully connected layer whose sums leave 32 bits") {
  constexpr int32_t kDepth = 3000;
  const std::vector<int16_t> x(2 * kDepth, -32768);
  const std::vector<int8_t> weights(5 * kDepth, -127);
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kS16, {2, kDepth}, 0x1p-10f);
  const int32_t ty = b.tensor("y", DType::kS16, {2, 5}, 0x1p4f);
  const int32_t tw = b.constant<int8_t>("w", DType::kS8, {5, kDepth}, weights, {0x1p-10f});
  clamp_to(b.node(Op::kFullyConnected, {tx, tw}, {ty}), -32768, 32767);
  b.input(tx);
  b.output(ty);
  // 3000 * 32768 * 127 * 2^-24 = 744.14
  for (const int16_t y : run_widths<int16_t, int16_t>(b, {x})) CHECK(y == 744);
}

}  // namespace intaglio::test::conv_s16_test
