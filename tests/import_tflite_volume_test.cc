// TFLite's CONV_3D and CONV_3D_TRANSPOSE beside their definition.
#include <array>
#include <cmath>
#include <numeric>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_volume_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;
using Three = std::array<int32_t, 3>;  // depth, height, width

constexpr int32_t kConv = 132, kConvTranspose = 141;

struct Case {
  Three in, kernel, stride, dilation, out;
  int32_t batch, channels, made;
  bool is_same;
};

size_t count_of(const Ints& shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>()));
}

size_t place(const Ints& shape, const Ints& at) {
  size_t index = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    index = index * static_cast<size_t>(shape[i]) + static_cast<size_t>(at[i]);
  return index;
}

Ints volume(int32_t n, const Three& sides, int32_t c) { return {n, sides[0], sides[1], sides[2], c}; }

// SAME's padding in front of an axis of the convolution from `in` to `out`.
int32_t before(const Case& c, size_t axis, const Three& in, const Three& out) {
  const int32_t extent = (c.kernel[axis] - 1) * c.dilation[axis] + 1;
  return c.is_same ? std::max((out[axis] - 1) * c.stride[axis] + extent - in[axis], 0) / 2 : 0;
}

// Calls add(to, from, tap) for each place of the big side and each of the small one that a tap of the window joins.
template <typename Add>
void for_each_tap(const Case& c, const Three& big, const Three& small, Add add) {
  for (int32_t s = 0; s < small[0] * small[1] * small[2]; ++s)
    for (int32_t k = 0; k < c.kernel[0] * c.kernel[1] * c.kernel[2]; ++k) {
      const Three at{s / (small[1] * small[2]), s / small[2] % small[1], s % small[2]},
          tap{k / (c.kernel[1] * c.kernel[2]), k / c.kernel[2] % c.kernel[1], k % c.kernel[2]};
      Three of_big{};
      bool is_inside = true;
      for (size_t i = 0; i < 3; ++i) {
        of_big[i] = at[i] * c.stride[i] + tap[i] * c.dilation[i] - before(c, i, big, small);
        is_inside = is_inside && of_big[i] >= 0 && of_big[i] < big[i];
      }
      if (is_inside) add(of_big, at, tap);
    }
}

struct Operands {
  Reals x, w, b;
};

Operands operands_of(const Case& c) {
  Random random(17);
  return {random.reals(count_of(volume(c.batch, c.in, c.channels)), -1.0f, 1.0f),
          random.reals(count_of({c.kernel[0], c.kernel[1], c.kernel[2], c.channels, c.made}), -1.0f, 1.0f),
          random.reals(static_cast<size_t>(c.made), -1.0f, 1.0f)};
}

std::vector<double> definition(const Case& c, const Operands& all, bool is_transposed) {
  const Ints x_shape = volume(c.batch, c.in, c.channels), y_shape = volume(c.batch, c.out, c.made);
  const int32_t last = is_transposed ? c.channels : c.made, other = is_transposed ? c.made : c.channels;
  const Ints w_shape{c.kernel[0], c.kernel[1], c.kernel[2], other, last};
  std::vector<double> y(count_of(y_shape));
  for (size_t i = 0; i < y.size(); ++i) y[i] = all.b[i % static_cast<size_t>(c.made)];
  const auto add = [&](const Three& of_big, const Three& of_small, const Three& tap) {
    const Three from = is_transposed ? of_small : of_big, to = is_transposed ? of_big : of_small;
    for (int32_t n = 0; n < c.batch; ++n)
      for (int32_t o = 0; o < c.made; ++o)
        for (int32_t i = 0; i < c.channels; ++i)
          y[place(y_shape, {n, to[0], to[1], to[2], o})] +=
              double{all.x[place(x_shape, {n, from[0], from[1], from[2], i})]} *
              all.w[place(w_shape, {tap[0], tap[1], tap[2], is_transposed ? o : i, is_transposed ? i : o})];
  };
  if (is_transposed)
    for_each_tap(c, c.out, c.in, add);
  else
    for_each_tap(c, c.in, c.out, add);
  for (double& value : y) value = std::max(value, 0.0);
  return y;
}

std::string file_of(const Case& c, const Operands& all, bool is_transposed) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, volume(c.batch, c.in, c.channels)),
                y = file.tensor("y", kTfliteFloat, volume(c.batch, c.out, c.made));
  const Ints weights = is_transposed ? Ints{c.kernel[0], c.kernel[1], c.kernel[2], c.made, c.channels}
                                     : Ints{c.kernel[0], c.kernel[1], c.kernel[2], c.channels, c.made};
  const int32_t w = file.constant("w", kTfliteFloat, weights, all.w),
                b = file.constant("b", kTfliteFloat, {c.made}, all.b);
  const auto options =
      tflite::CreateConv3DOptions(file.fbb(), c.is_same ? tflite::Padding::Same : tflite::Padding::Valid,
                                  c.stride[0], c.stride[2], c.stride[1], tflite::Activation::Relu,
                                  c.dilation[0], c.dilation[2], c.dilation[1])
          .Union();
  if (is_transposed) {
    const int32_t shape = file.constant("shape", kTfliteInt32, {5}, volume(c.batch, c.out, c.made));
    file.op(kConvTranspose, {shape, w, x, b}, {y}, Options::Conv3DOptions, options);
  } else {
    file.op(kConv, {x, w, b}, {y}, Options::Conv3DOptions, options);
  }
  return file.finish({x}, {y});
}

void check_case(const Case& c, bool is_transposed) {
  CAPTURE(is_transposed);
  CAPTURE(c.kernel[0]);
  const Operands all = operands_of(c);
  const Reals found = run_file(file_of(c, all, is_transposed), all.x);
  const std::vector<double> expected = definition(c, all, is_transposed);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) < 1e-5);
}

}  // namespace

TEST_CASE("convolutions over three dimensions, with strides, dilations and both paddings") {
  check_case({{4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {2, 3, 4}, 2, 3, 4, false}, false);
  check_case({{5, 6, 4}, {3, 2, 3}, {2, 1, 2}, {1, 1, 1}, {3, 6, 2}, 1, 2, 3, true}, false);
  check_case({{7, 6, 5}, {2, 3, 2}, {1, 1, 1}, {3, 2, 1}, {4, 2, 4}, 1, 2, 2, false}, false);
  check_case({{3, 4, 4}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {3, 4, 4}, 1, 3, 5, true}, false);
}

TEST_CASE("transposed ones, whose results have the size that the file says") {
  check_case({{2, 3, 2}, {3, 2, 3}, {2, 2, 1}, {1, 1, 1}, {5, 6, 4}, 1, 2, 3, false}, true);
  check_case({{3, 2, 4}, {3, 3, 2}, {2, 1, 2}, {1, 1, 1}, {6, 2, 8}, 2, 3, 2, true}, true);
}

TEST_CASE("what does not fit is refused") {
  Case c{{4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {2, 3, 4}, 1, 3, 4, false};
  const Operands all = operands_of(c);
  const auto says = [&](const Case& changed, bool is_transposed, const std::string& words) {
    CAPTURE(words);
    CHECK(Import(file_of(changed, operands_of(changed), is_transposed)).says(words));
  };
  Case other = c;
  other.stride = {0, 1, 1};
  says(other, false, "stride 0");
  other = c;
  other.kernel = {5, 3, 3};
  says(other, false, "does not fit");
  other = {{2, 3, 2}, {3, 2, 3}, {2, 2, 1}, {1, 1, 1}, {9, 6, 4}, 1, 2, 3, false};
  says(other, true, "an output of 9 elements does not fit an input of 2 with stride 2");
  other = {{2, 3, 2}, {3, 2, 3}, {2, 2, 1}, {2, 1, 1}, {5, 6, 4}, 1, 2, 3, false};
  says(other, true, "it has dilations, which are not supported");
}

}  // namespace intaglio::test::import_tflite_volume_test
