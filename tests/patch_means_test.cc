// Patch means against their definition: for every output position what each tap reads, in double.
#include "calibrator/observe/patch_means.h"

#include <doctest/doctest.h>

#include <cmath>

#include "intaglio/platform.h"
#include "runtime/window.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::patch_means_test {
namespace {

struct Geometry {
  int32_t batch, h, w, c;
  Window2d window;
  int32_t oh, ow;
};

Geometry random_geometry(Random& random) {
  for (;;) {
    Geometry g;
    g.batch = random.between(1, 2);
    g.h = random.between(1, 9);
    g.w = random.between(1, 12);
    g.c = random.between(1, 70);
    Window2d& w = g.window;
    w.kernel_h = random.between(1, 4);
    w.kernel_w = random.between(1, 4);
    w.stride_h = random.between(1, 3);
    w.stride_w = random.between(1, 6);
    w.dilation_h = random.between(1, 2);
    w.dilation_w = random.between(1, 3);
    w.pad_top = random.between(0, w.kernel_h - 1);
    w.pad_left = random.between(0, w.kernel_w - 1);
    w.pad_bottom = random.between(0, w.kernel_h - 1);
    w.pad_right = random.between(0, w.kernel_w - 1);
    const int32_t tall = g.h + w.pad_top + w.pad_bottom - (w.kernel_h - 1) * w.dilation_h - 1;
    const int32_t wide = g.w + w.pad_left + w.pad_right - (w.kernel_w - 1) * w.dilation_w - 1;
    if (tall < 0 || wide < 0) continue;
    g.oh = tall / w.stride_h + 1;
    g.ow = wide / w.stride_w + 1;
    return g;
  }
}

// `at(b, y, x, c)` is the input's real value.
template <typename At>
std::vector<double> expected_means(const Geometry& g, At&& at) {
  const Window2d& w = g.window;
  std::vector<double> means;
  for (int32_t ky = 0; ky < w.kernel_h; ++ky)
    for (int32_t kx = 0; kx < w.kernel_w; ++kx)
      for (int32_t c = 0; c < g.c; ++c) {
        double sum = 0.0;
        for (int32_t b = 0; b < g.batch; ++b)
          for (int32_t oy = 0; oy < g.oh; ++oy)
            for (int32_t ox = 0; ox < g.ow; ++ox) {
              const int32_t y = input_y(w, oy, ky), x = input_x(w, ox, kx);
              if (y >= 0 && y < g.h && x >= 0 && x < g.w) sum += at(b, y, x, c);
            }
        means.push_back(sum / (g.batch * g.oh * g.ow));
      }
  return means;
}

constexpr float kInputScale = 0.25f;
constexpr int32_t kZeroPoint = -7;

// A depthwise convolution: its window needs few weights.
AlignedBytes one_layer(const Geometry& g, DType dtype) {
  ModelBuilder b;
  const bool s8 = dtype == DType::kS8;
  const int32_t in =
      b.tensor("in", dtype, {g.batch, g.h, g.w, g.c}, s8 ? kInputScale : 0.0f, s8 ? kZeroPoint : 0);
  const int32_t out = b.tensor("out", dtype, {g.batch, g.oh, g.ow, g.c}, s8 ? 1.0f : 0.0f, 0);
  const auto count = static_cast<size_t>(g.window.kernel_h * g.window.kernel_w * g.c),
             channels = static_cast<size_t>(g.c);
  const std::vector<int32_t> dims = {g.window.kernel_h, g.window.kernel_w, g.c};
  int32_t weights, bias;
  if (s8) {
    weights =
        b.constant("w", dtype, dims, std::vector<int8_t>(count, 1), std::vector<float>(channels, 0.5f), 2);
    bias = b.constant("b", DType::kS32, {g.c}, std::vector<int32_t>(channels, 0),
                      std::vector<float>(channels, 0.5f * kInputScale), 0);
  } else {
    weights = b.constant("w", dtype, dims, std::vector<float>(count, 1.0f));
    bias = b.constant("b", dtype, {g.c}, std::vector<float>(channels, 0.0f));
  }
  b.node(Op::kDepthwiseConv2d, {in, weights, bias}, {out}).options.as<Window2d>() = g.window;
  b.input(in);
  b.output(out);
  return b.finish();
}

template <typename T>
void check(const Geometry& g, DType dtype, const std::vector<T>& values, double scale, int32_t zero_point,
           double tolerance) {
  RunningModel model(one_layer(g, dtype));
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  model.set_input(values);
  std::vector<double> means(patch_size(model.model(), model.model().node(0)));
  patch_means(model.session(), 0, patch_sums_best(cpu_isa()), {means.data(), means.size()});
  const auto expected = expected_means(g, [&](int32_t b, int32_t y, int32_t x, int32_t c) {
    const auto i = static_cast<size_t>(((b * g.h + y) * g.w + x) * g.c + c);
    return scale * (static_cast<double>(values[i]) - zero_point);
  });
  REQUIRE(means.size() == expected.size());
  for (size_t i = 0; i < means.size(); ++i) CHECK(std::fabs(means[i] - expected[i]) <= tolerance);
}

}  // namespace

TEST_CASE("patch means of any window, stride, dilation and padding") {
  Random random(29);
  for (int round = 0; round < 300; ++round) {
    const Geometry g = random_geometry(random);
    CAPTURE(round);
    const auto count = static_cast<size_t>(g.batch * g.h * g.w * g.c);
    check(g, DType::kF32, random.reals(count, -3.0f, 5.0f), 1.0, 0, 1e-12);
    std::vector<int8_t> codes(count);
    for (int8_t& code : codes) code = static_cast<int8_t>(random.between(-128, 127));
    check(g, DType::kS8, codes, static_cast<double>(kInputScale), kZeroPoint, 1e-11);
  }
}

}  // namespace intaglio::test::patch_means_test
