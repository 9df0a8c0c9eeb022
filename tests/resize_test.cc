// Resizing: coordinates in exact fractions of 64 bits here, weights against exact ones, codes by the stated
// formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/resize/resize_rows.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::resize_test {
namespace {

using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::run_widths;

template <typename T>
std::vector<T> run_resize(const ResizeOptions& resample, const Dims& in, const Dims& out,
                          const std::vector<T>& x) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : DType::kF32;
  const float scale = sizeof(T) == 1 ? 0.5f : 0.0f;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype, in, scale, sizeof(T) == 1 ? 3 : 0);
  const int32_t ty = b.tensor("y", dtype, out, scale, sizeof(T) == 1 ? 3 : 0);
  b.node(Op::kResize, {tx}, {ty}).options.as<ResizeOptions>() = resample;
  b.input(tx);
  b.output(ty);
  const std::vector<T> found = run_widths<T>(b, std::vector<std::vector<T>>{x});
  SessionOptions scalar;
  scalar.isa = isa::kScalar;
  test::RunningModel model(b.finish(), all_ops(), scalar);
  REQUIRE(model.error().ok());
  const std::vector<T> plain = model.run<T>(x);
  REQUIRE(memcmp(plain.data(), found.data(), found.size() * sizeof(T)) == 0);
  return found;
}

// The input's coordinate as a real number; sides here are so small that long double is exact enough to tell
// ties.
long double coordinate(Coordinates kind, int32_t o, int32_t in, int32_t out) {
  const long double i = o, n = in, m = out;
  if (kind == Coordinates::kHalfPixel) return (2 * i * n + n - m) / (2 * m);
  if (kind == Coordinates::kAsymmetric) return i * n / m;
  return out == 1 ? 0 : i * (n - 1) / (m - 1);
}

int32_t nearest(const ResizeOptions& r, int32_t o, int32_t in, int32_t out) {
  const long double x = coordinate(r.coordinates, o, in, out);
  long double at = std::floor(x);
  if (r.rounding == NearestRounding::kCeil) at = std::ceil(x);
  if (r.rounding == NearestRounding::kHalfUp) at = std::floor(x + 0.5L);
  if (r.rounding == NearestRounding::kHalfDown) at = std::ceil(x - 0.5L);
  return std::clamp(static_cast<int32_t>(at), 0, in - 1);
}

struct Tap {
  int32_t first, second;
  long double fraction;
};

Tap tap(const ResizeOptions& r, int32_t o, int32_t in, int32_t out) {
  const long double x = std::clamp<long double>(coordinate(r.coordinates, o, in, out), 0, in - 1);
  const auto first = static_cast<int32_t>(std::floor(x));
  return {first, std::min(first + 1, in - 1), x - first};
}

struct Picture {
  Dims in, out;
  ResizeOptions resample;
};

Picture draw(Random& random, Interpolation interpolation) {
  Picture p;
  const int32_t n = random.between(1, 2), c = random.between(1, 40);
  p.in = {n, random.between(1, 9), random.between(1, 9), c};
  p.out = {n, random.between(1, 16), random.between(1, 16), c};
  if (random.one_in(2)) {
    p.out[1] = 2 * p.in[1];
    p.out[2] = 2 * p.in[2];
  }
  p.resample = {interpolation, static_cast<Coordinates>(random.between(0, 2)),
                static_cast<NearestRounding>(random.between(0, 3))};
  return p;
}

// visit(output index, image, y, x, channel)
template <typename Visit>
void for_each_output(const Dims& out, Visit visit) {
  size_t i = 0;
  for (int32_t n = 0; n < out[0]; ++n)
    for (int32_t y = 0; y < out[1]; ++y)
      for (int32_t x = 0; x < out[2]; ++x)
        for (int32_t c = 0; c < out[3]; ++c) visit(i++, n, y, x, c);
}

size_t at(const Dims& in, int32_t n, int32_t y, int32_t x, int32_t c) {
  return static_cast<size_t>(((n * in[1] + y) * in[2] + x) * in[3] + c);
}

TEST_CASE("nearest neighbours, every rule for coordinates and rounding") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(400); ++trial) {
    const Picture p = draw(random, Interpolation::kNearest);
    const std::vector<int8_t> codes = random.codes(elements(p.in));
    const std::vector<float> reals = random.reals(codes.size(), -4.0f, 4.0f);
    std::vector<int8_t> expected_codes(elements(p.out));
    std::vector<float> expected(expected_codes.size());
    for_each_output(p.out, [&](size_t i, int32_t n, int32_t y, int32_t x, int32_t c) {
      const size_t from = at(p.in, n, nearest(p.resample, y, p.in[1], p.out[1]),
                             nearest(p.resample, x, p.in[2], p.out[2]), c);
      expected_codes[i] = codes[from];
      expected[i] = reals[from];
    });
    REQUIRE(run_resize(p.resample, p.in, p.out, codes) == expected_codes);
    REQUIRE(run_resize(p.resample, p.in, p.out, reals) == expected);
  }
}

TEST_CASE("bilinear: codes by the formula, reals near the exact ones") {
  Random random(2);
  for (int32_t trial = 0; trial < test::shape_count(400); ++trial) {
    const Picture p = draw(random, Interpolation::kBilinear);
    const std::vector<int8_t> codes = random.codes(elements(p.in));
    const std::vector<float> reals = random.reals(codes.size(), -4.0f, 4.0f);
    const std::vector<int8_t> found_codes = run_resize(p.resample, p.in, p.out, codes);
    const std::vector<float> found = run_resize(p.resample, p.in, p.out, reals);
    for_each_output(p.out, [&](size_t i, int32_t n, int32_t y, int32_t x, int32_t c) {
      const Tap v = tap(p.resample, y, p.in[1], p.out[1]), h = tap(p.resample, x, p.in[2], p.out[2]);
      const size_t from[] = {at(p.in, n, v.first, h.first, c), at(p.in, n, v.first, h.second, c),
                             at(p.in, n, v.second, h.first, c), at(p.in, n, v.second, h.second, c)};
      const auto weight = [](long double f) {
        return static_cast<int64_t>(std::floor(2048 * f + 0.5L + 1e-12L));
      };
      const int64_t wy = weight(v.fraction), wx = weight(h.fraction);
      const int64_t top = codes[from[0]] * (2048 - wx) + codes[from[1]] * wx;
      const int64_t bottom = codes[from[2]] * (2048 - wx) + codes[from[3]] * wx;
      const int64_t sum = top * (2048 - wy) + bottom * wy;
      REQUIRE(int64_t{found_codes[i]} == (sum + (1 << 21)) >> 22);
      const auto mix = [](long double a, long double b, long double f) { return a + (b - a) * f; };
      const auto value = [&](int32_t k) { return static_cast<long double>(reals[from[k]]); };
      const long double exact =
          mix(mix(value(0), value(1), h.fraction), mix(value(2), value(3), h.fraction), v.fraction);
      REQUIRE(std::fabs(static_cast<long double>(found[i]) - exact) < 2e-6L);
    });
  }
}

template <typename T, typename Weight, typename Rows, typename Formula>
void check_rows(Random& random, Rows rows_of, Formula formula) {
  const bool is_long = random.one_in(2);
  const int32_t w = random.between(1, is_long ? 60 : 12), ow = random.between(1, is_long ? 60 : 12),
                channels = random.between(1, is_long            ? 8
                                             : random.one_in(4) ? 150
                                                                : 40);
  const auto draw_weight = [&] {
    if constexpr (sizeof(T) == 1) return static_cast<Weight>(random.between(0, kResizeOne));
    return static_cast<Weight>(random.real(0.0f, 1.0f));
  };
  const auto line = [&](size_t count) {
    if constexpr (sizeof(T) == 1)
      return random.codes(count);
    else
      return random.reals(count, -4.0f, 4.0f);
  };
  const test::Exact<T> top(line(static_cast<size_t>(w * channels))), bottom(line(top.size()));
  test::Exact<ResizeTap<Weight>> taps(static_cast<size_t>(ow));
  std::vector<int32_t> firsts;
  for (size_t i = 0; i < taps.size(); ++i) firsts.push_back(random.between(0, w - 1));
  std::sort(firsts.begin(), firsts.end());
  const int32_t beside = random.between(0, 1);
  for (size_t i = 0; i < taps.size(); ++i)
    taps[i] = {firsts[i], std::min(firsts[i] + beside, w - 1), draw_weight()};
  const int32_t count = random.between(1, 5);  // every second one with the lines exchanged
  std::vector<T> expected;
  std::vector<ResizeRow<T, Weight>> rows;
  for (int32_t r = 0; r < count; ++r) {
    const auto &above = r % 2 == 0 ? top : bottom, &below = r % 2 == 0 ? bottom : top;
    const Weight wy = draw_weight();
    rows.push_back({above.data(), below.data(), wy, taps.data(), ow, channels, nullptr});
    for (size_t i = 0; i < taps.size(); ++i)
      for (int32_t c = 0; c < channels; ++c) {
        const auto first = static_cast<size_t>(taps[i].first * channels + c),
                   second = static_cast<size_t>(taps[i].second * channels + c);
        expected.push_back(
            formula(above[first], above[second], below[first], below[second], taps[i].weight, wy));
      }
  }
  for (int32_t k = 0; k < resize_rows_count(); ++k) {
    const ResizeRowsKernel& kernel = resize_rows_kernel(k);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    test::Exact<T> y(expected.size());
    for (int32_t r = 0; r < count; ++r) rows[static_cast<size_t>(r)].y = y.data() + r * ow * channels;
    rows_of(kernel)(rows.data(), count);
    REQUIRE(memcmp(y.data(), expected.data(), expected.size() * sizeof(T)) == 0);
  }
}

TEST_CASE("every kernel, random rows") {
  Random random(4);
  const int32_t cases = test::shape_count(2000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    check_rows<int8_t, int32_t>(
        random, [](const ResizeRowsKernel& k) { return k.rows_s8; },
        [](int64_t x00, int64_t x01, int64_t x10, int64_t x11, int64_t wx, int64_t wy) {
          const int64_t t = x00 * (2048 - wx) + x01 * wx, b = x10 * (2048 - wx) + x11 * wx;
          return static_cast<int8_t>((t * (2048 - wy) + b * wy + (1 << 21)) >> 22);
        });
    check_rows<float, float>(
        random, [](const ResizeRowsKernel& k) { return k.rows_f32; },
        [](float x00, float x01, float x10, float x11, float wx, float wy) {
          const float t = std::fma(wx, x01 - x00, x00), b = std::fma(wx, x11 - x10, x10);
          return std::fma(wy, b - t, t) + 0.0f;
        });
  }
}

TEST_CASE("well-known pictures") {
  // ONNX's examples: Resize of [[1, 2], [3, 4]] to 4x4.
  const std::vector<float> x = {1, 2, 3, 4};
  const ResizeOptions half{Interpolation::kBilinear, Coordinates::kHalfPixel, NearestRounding::kFloor};
  CHECK(run_resize(half, {1, 2, 2, 1}, {1, 4, 4, 1}, x) ==
        std::vector<float>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  const ResizeOptions corners{Interpolation::kBilinear, Coordinates::kAlignCorners, NearestRounding::kFloor};
  const std::vector<float> found = run_resize(corners, {1, 2, 2, 1}, {1, 4, 4, 1}, x);
  const float third = 1.0f / 3;
  for (size_t i = 0; i < 16; ++i)
    CHECK(found[i] ==
          doctest::Approx(1 + third * static_cast<float>(i % 4) + 2 * third * static_cast<float>(i / 4)));
  const ResizeOptions twice{Interpolation::kNearest, Coordinates::kAsymmetric, NearestRounding::kFloor};
  CHECK(run_resize(twice, {1, 2, 2, 1}, {1, 4, 4, 1}, x) ==
        std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

TEST_CASE("codes stay within those that they are made from, at the ends too") {
  for (const int8_t code : {int8_t{-128}, int8_t{127}}) {
    const std::vector<int8_t> x(5 * 7 * 3, code);
    const ResizeOptions half{Interpolation::kBilinear, Coordinates::kHalfPixel, NearestRounding::kFloor};
    for (const int8_t y : run_resize(half, {1, 5, 7, 3}, {1, 13, 4, 3}, x)) REQUIRE(y == code);
  }
}

TEST_CASE("in several pieces, and as small as it was") {
  Random random(3);
  const Dims in = {2, 30, 40, 16}, out = {2, 60, 80, 16};
  const std::vector<int8_t> x = random.codes(elements(in));
  const ResizeOptions half{Interpolation::kBilinear, Coordinates::kHalfPixel, NearestRounding::kFloor};
  const std::vector<int8_t> larger = run_resize(half, in, out, x);
  CHECK(larger.size() == elements(out));
  for (int32_t kind = 0; kind < 3; ++kind) {
    const ResizeOptions same{Interpolation::kBilinear, static_cast<Coordinates>(kind),
                             NearestRounding::kFloor};
    CHECK(run_resize(same, in, in, x) == x);
  }
}

}  // namespace
}  // namespace intaglio::test::resize_test
