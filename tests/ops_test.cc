// Operators other than convolutions as whole models: geometry against plain loops, broadcasts, running in
// place, and executors of several widths.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/arithmetic/blocked_sum.h"
#include "kernels/arithmetic/functions_f32.h"
#include "kernels/arithmetic/requant.h"
#include "tests/support/blocked_sums.h"
#include "tests/support/float_bits.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::ops_test {
namespace {

using test::AlignedBytes;
using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::run_widths;
using test::RunningModel;
using test::text_of;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct QuantS8 {
  float scale;
  int32_t zero_point;
};

// One node from one input to one output, both int8 or both FP32 as their quantization says.
template <typename T>
std::vector<T> run_unary(Op op, const Dims& in, const Dims& out, const std::vector<T>& x,
                         const std::function<void(GraphNode&, ModelBuilder&)>& set, QuantS8 q_in = {},
                         QuantS8 q_out = {}) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : DType::kF32;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype, in, q_in.scale, q_in.zero_point);
  const int32_t ty = b.tensor("y", dtype, out, q_out.scale, q_out.zero_point);
  GraphNode& node = b.node(op, {tx}, {ty});
  set(node, b);
  b.input(tx);
  b.output(ty);
  return run_widths<T>(b, std::vector<std::vector<T>>{x});
}

// Taps of a window by coordinates: calls visit(index of the first channel) for the valid ones, in order.
void visit_taps(const Window2d& w, const Dims& in, int32_t image, int32_t oy, int32_t ox,
                const std::function<void(size_t)>& visit) {
  for (int32_t ky = 0; ky < w.kernel_h; ++ky)
    for (int32_t kx = 0; kx < w.kernel_w; ++kx) {
      const int32_t y = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
      const int32_t x = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      if (y < 0 || y >= in[1] || x < 0 || x >= in[2]) continue;
      visit(static_cast<size_t>(((image * in[1] + y) * in[2] + x) * in[3]));
    }
}

struct PoolCase {
  Window2d window;
  Dims in, out;
};

PoolCase draw_pool(Random& random) {
  PoolCase p;
  Window2d& w = p.window;
  w.kernel_h = random.between(1, 4);
  w.kernel_w = random.between(1, 4);
  w.stride_h = random.between(1, 3);
  w.stride_w = random.between(1, 3);
  w.dilation_h = random.between(1, 3);
  w.dilation_w = random.between(1, 3);
  w.count_include_pad = random.one_in(2);
  const int32_t extent_h = (w.kernel_h - 1) * w.dilation_h + 1,
                extent_w = (w.kernel_w - 1) * w.dilation_w + 1;
  w.pad_top = random.between(0, extent_h - 1);
  w.pad_left = random.between(0, extent_w - 1);
  w.pad_bottom = random.between(0, extent_h - 1);
  w.pad_right = random.between(0, extent_w - 1);
  // Small inputs: with dilation some windows have no tap inside.
  const int32_t h = std::max(1, extent_h - w.pad_top - w.pad_bottom) + random.between(0, 4);
  const int32_t x = std::max(1, extent_w - w.pad_left - w.pad_right) + random.between(0, 4);
  const int32_t c = random.between(1, 40);
  p.in = {random.between(1, 2), h, x, c};
  p.out = {p.in[0], (h + w.pad_top + w.pad_bottom - extent_h) / w.stride_h + 1,
           (x + w.pad_left + w.pad_right - extent_w) / w.stride_w + 1, c};
  return p;
}

template <typename Visit>  // visit(output index, image, oy, ox, channel)
void for_each_output(const Dims& out, Visit visit) {
  size_t i = 0;
  for (int32_t n = 0; n < out[0]; ++n)
    for (int32_t y = 0; y < out[1]; ++y)
      for (int32_t x = 0; x < out[2]; ++x)
        for (int32_t c = 0; c < out[3]; ++c) visit(i++, n, y, x, static_cast<size_t>(c));
}

TEST_CASE("int8 max pool against plain loops; a window without taps gives the zero point") {
  Random random(1);
  int32_t empty = 0;
  for (int32_t trial = 0; trial < 150; ++trial) {
    const PoolCase p = draw_pool(random);
    const QuantS8 q{0.1f, random.between(-128, 127)};
    const int32_t lo = random.between(-128, 127), hi = random.between(lo, 127);
    const std::vector<int8_t> x = random.codes(elements(p.in));
    std::vector<int8_t> expected(elements(p.out));
    for_each_output(p.out, [&](size_t i, int32_t n, int32_t oy, int32_t ox, size_t c) {
      int32_t best = INT32_MIN;
      visit_taps(p.window, p.in, n, oy, ox, [&](size_t tap) { best = std::max<int32_t>(best, x[tap + c]); });
      if (best == INT32_MIN) ++empty;
      expected[i] = static_cast<int8_t>(std::clamp(best == INT32_MIN ? q.zero_point : best, lo, hi));
    });
    const auto set = [&](GraphNode& node, ModelBuilder&) {
      node.options.as<Window2d>() = p.window;
      node.options.as<Clamp>().lo = lo;
      node.options.as<Clamp>().hi = hi;
    };
    REQUIRE(run_unary(Op::kMaxPool2d, p.in, p.out, x, set, q, q) == expected);
  }
  CHECK(empty > 0);
}

TEST_CASE("FP32 pools against plain loops, in the order of the taps") {
  Random random(2);
  for (int32_t trial = 0; trial < 150; ++trial) {
    const PoolCase p = draw_pool(random);
    const std::vector<float> x = random.reals(elements(p.in), -4.0f, 4.0f);
    const float lo = trial % 3 == 0 ? 0.0f : -kInf, hi = trial % 3 == 1 ? 1.0f : kInf;
    std::vector<float> average(elements(p.out)), largest(average.size());
    for_each_output(p.out, [&](size_t i, int32_t n, int32_t oy, int32_t ox, size_t c) {
      float sum = 0.0f, best = -kInf;
      int32_t count = 0;
      visit_taps(p.window, p.in, n, oy, ox, [&](size_t tap) {
        sum = sum + x[tap + c];
        best = std::max(best, x[tap + c]);
        ++count;
      });
      if (count == 0) best = 0.0f;
      if (p.window.count_include_pad) count = p.window.kernel_h * p.window.kernel_w;
      average[i] = std::clamp(count == 0 ? 0.0f : sum / static_cast<float>(count), lo, hi) + 0.0f;
      largest[i] = std::clamp(best, lo, hi) + 0.0f;
    });
    const auto set = [&](GraphNode& node, ModelBuilder&) {
      node.options.as<Window2d>() = p.window;
      node.options.as<Clamp>().min = lo;
      node.options.as<Clamp>().max = hi;
    };
    REQUIRE(bits_of(run_unary(Op::kAvgPool2d, p.in, p.out, x, set)) == bits_of(average));
    REQUIRE(bits_of(run_unary(Op::kMaxPool2d, p.in, p.out, x, set)) == bits_of(largest));
  }
}

TEST_CASE("a dilation that no tap uses may be large") {
  const Dims dims = {1, 1, 1, 600000};
  const auto set = [](GraphNode& node, ModelBuilder&) {
    node.options.as<Window2d>().dilation_h = 4096;
    node.options.as<Window2d>().dilation_w = 4096;
  };
  const std::vector<int8_t> x = Random(8).codes(elements(dims));
  const QuantS8 q{0.5f, 7};
  CHECK(run_unary(Op::kMaxPool2d, dims, dims, x, set, q, q) == x);
  CHECK(run_unary(Op::kAvgPool2d, dims, dims, x, set, q, q) == x);
}

// A mean over some axes of a tensor, by coordinates.
struct MeanCase {
  Dims in, axes, dropped, kept;  // the output's shape without the reduced axes, and with ones in their place

  explicit MeanCase(Random& random) {
    const int32_t rank = random.between(1, 6);
    for (int32_t i = 0; i < rank; ++i) in.push_back(random.between(1, 5));
    if (random.one_in(4)) in.back() = random.between(100, 300);
    for (int32_t i = 0; i < rank; ++i)
      if (random.one_in(2)) axes.push_back(i);
    if (axes.empty()) axes.push_back(random.between(0, rank - 1));
    for (int32_t i = 0; i < rank; ++i) {
      const bool reduced = std::count(axes.begin(), axes.end(), i) > 0;
      kept.push_back(reduced ? 1 : in[static_cast<size_t>(i)]);
      if (!reduced) dropped.push_back(in[static_cast<size_t>(i)]);
    }
    if (dropped.empty()) dropped.push_back(1);
  }
  // The output to which element i goes. Ascending, each sum's terms come in their order.
  size_t target(size_t i) const {
    size_t target = 0, step = 1;
    for (size_t axis = in.size(); axis-- > 0;) {
      const auto dim = static_cast<size_t>(in[axis]);
      target += kept[axis] == in[axis] ? i % dim * step : 0;
      step *= static_cast<size_t>(kept[axis]);
      i /= dim;
    }
    return target;
  }
};

TEST_CASE("int8 mean over any axes that leaves in FP32: the exact sum, one conversion, one multiply") {
  Random random(9);
  for (int32_t trial = 0; trial < 300; ++trial) {
    const MeanCase p(random);
    const std::vector<int8_t> x =
        random.one_in(5) ? std::vector<int8_t>(elements(p.in), -128) : random.codes(elements(p.in));
    const float scale = random.real(0.001f, 1.0f);
    const int32_t zero_point = random.between(-128, 127);
    std::vector<int64_t> sums(elements(p.kept), 0);
    for (size_t i = 0; i < x.size(); ++i) sums[p.target(i)] += x[i] - zero_point;
    const float multiplier = scale / static_cast<float>(x.size() / sums.size());
    std::vector<float> expected;
    for (const int64_t sum : sums) expected.push_back(static_cast<float>(sum) * multiplier);
    for (const Dims& out : {p.kept, p.dropped}) {
      ModelBuilder b;
      const int32_t tx = b.tensor("x", DType::kS8, p.in, scale, zero_point),
                    ty = b.tensor("y", DType::kF32, out);
      b.node(Op::kMean, {tx}, {ty}).options.as<ReduceOptions>().axes = b.keep(p.axes);
      b.input(tx);
      b.output(ty);
      REQUIRE(bits_of(run_widths<float>(b, std::vector<std::vector<int8_t>>{x})) == bits_of(expected));
    }
  }
}

TEST_CASE("the last layers of an int8 model in FP32 run with the int8 operators") {
  Random random(10);
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {2, 3, 4}, 0.5f, 3),
                mean = b.tensor("mean", DType::kF32, {2, 4}), row = b.tensor("row", DType::kF32, {1, 8}),
                y = b.tensor("y", DType::kF32, {1, 8});
  b.node(Op::kMean, {x}, {mean}).options.as<ReduceOptions>().axes = b.keep({1});
  b.node(Op::kReshape, {mean}, {row});
  b.node(Op::kSoftmax, {row}, {y});
  b.input(x);
  b.output(y);
  const AlignedBytes file = b.finish(int8_ops());
  const std::vector<int8_t> codes = random.codes(24);
  RunningModel model(AlignedBytes(file.view()), int8_ops());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  const std::vector<float> found = model.run<float>(codes);
  double sum = 0.0;
  for (const float v : found) sum += v;
  CHECK(sum == doctest::Approx(1.0));
  CHECK(bits_of(found) == bits_of(RunningModel(AlignedBytes(file.view())).run<float>(codes)));
  // No operator of the FP32 list takes codes there: the one that writes the output says so.
  const Error error = RunningModel(AlignedBytes(file.view()), float_ops()).error();
  CHECK(error.status == Status::kBadDType);
  CHECK(error.node == 0);
}

TEST_CASE("FP32 mean over any axes: a sum in blocks, in the input's order") {
  Random random(3);
  for (int32_t trial = 0; trial < 300; ++trial) {
    const MeanCase p(random);
    const std::vector<float> x = random.reals(elements(p.in), -4.0f, 4.0f);
    std::vector<std::vector<float>> terms(elements(p.kept));
    for (size_t i = 0; i < x.size(); ++i) terms[p.target(i)].push_back(x[i]);
    std::vector<float> expected;
    for (const std::vector<float>& of_one : terms)
      expected.push_back(sum_of(of_one, kSumBlock) / static_cast<float>(of_one.size()));
    const auto set = [&](GraphNode& node, ModelBuilder& b) {
      node.options.as<ReduceOptions>().axes = b.keep(p.axes);
    };
    REQUIRE(bits_of(run_unary(Op::kMean, p.in, p.kept, x, set)) == bits_of(expected));
    REQUIRE(bits_of(run_unary(Op::kMean, p.in, p.dropped, x, set)) == bits_of(expected));
  }
}

// y = a + b, where b is an input or a constant.
std::vector<float> run_add(const Dims& a_dims, const Dims& b_dims, const std::vector<float>& a,
                           const std::vector<float>& second, bool constant) {
  ModelBuilder b;
  const int32_t ta = b.tensor("a", DType::kF32, a_dims);
  const int32_t tb =
      constant ? b.constant("b", DType::kF32, b_dims, second) : b.tensor("b", DType::kF32, b_dims);
  const int32_t ty = b.tensor("y", DType::kF32, a_dims);
  b.node(Op::kAdd, {ta, tb}, {ty}).options.as<Clamp>().min = 0.0f;
  b.input(ta);
  if (!constant) b.input(tb);
  b.output(ty);
  if (constant) return run_widths<float>(b, std::vector<std::vector<float>>{a});
  return run_widths<float>(b, std::vector<std::vector<float>>{a, second});
}

TEST_CASE("FP32 addition repeats b over leading dimensions") {
  Random random(4);
  const Dims a_dims = {2, 40, 30, 20};  // more than one piece of work
  for (const Dims& b_dims :
       {a_dims, Dims{40, 30, 20}, Dims{30, 20}, Dims{1, 1, 1, 20}, Dims{20}, Dims{1}, Dims{1, 1}}) {
    const std::vector<float> a = random.reals(elements(a_dims), -4.0f, 4.0f);
    const std::vector<float> b = random.reals(elements(b_dims), -4.0f, 4.0f);
    std::vector<float> expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) expected[i] = std::max(a[i] + b[i % b.size()], 0.0f) + 0.0f;
    CHECK(bits_of(run_add(a_dims, b_dims, a, b, false)) == bits_of(expected));
    CHECK(bits_of(run_add(a_dims, b_dims, a, b, true)) == bits_of(expected));
  }
}

TEST_CASE("a tensor plus itself") {
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kS8, {100}, 0.5f, 3),
                ty = b.tensor("y", DType::kS8, {100}, 1.0f, -5);
  b.node(Op::kAdd, {tx, tx}, {ty});
  b.input(tx);
  b.output(ty);
  const std::vector<int8_t> x = Random(5).codes(100);
  std::vector<int8_t> expected;
  for (const int8_t v : x) expected.push_back(static_cast<int8_t>(std::clamp(v - 3 - 5, -128, 127)));
  CHECK(run_widths<int8_t>(b, std::vector<std::vector<int8_t>>{x}) == expected);
}

TEST_CASE("clamp, reshape and softmax run in place") {
  Random random(6);
  const Dims dims = {70, 1, 60};
  const std::vector<float> x = random.reals(elements(dims), -8.0f, 8.0f);
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kF32, dims), clamped = b.tensor("clamped", DType::kF32, dims);
  const int32_t flat = b.tensor("flat", DType::kF32, {70, 60}), ty = b.tensor("y", DType::kF32, {70, 60});
  GraphNode& clamp = b.node(Op::kClamp, {tx}, {clamped});
  clamp.options.as<Clamp>().min = -2.0f;
  clamp.options.as<Clamp>().max = 6.0f;
  b.node(Op::kReshape, {clamped}, {flat});
  b.node(Op::kSoftmax, {flat}, {ty});
  b.input(tx);
  b.output(ty);
  const std::vector<float> found = run_widths<float>(b, std::vector<std::vector<float>>{x});
  RunningModel running(b.finish());
  for (int32_t t = 0; t < running.model().tensor_count(); ++t)
    CHECK(running.model().activation_offset(t) == 0);
  std::vector<float> expected(x.size());
  for (size_t row = 0; row < 70; ++row) {
    float largest = -kInf, sum = 0.0f;
    for (size_t i = row * 60; i < row * 60 + 60; ++i) {
      expected[i] = std::clamp(x[i], -2.0f, 6.0f);
      largest = std::max(largest, expected[i]);
    }
    for (size_t i = row * 60; i < row * 60 + 60; ++i)
      sum = sum + (expected[i] = exp_f32(expected[i] - largest));
    for (size_t i = row * 60; i < row * 60 + 60; ++i) expected[i] = expected[i] / sum;
  }
  CHECK(bits_of(found) == bits_of(expected));
}

TEST_CASE("transpose, both element sizes, in several pieces") {
  Random random(7);
  const Dims in = {2, 3, 90, 80}, axes = {0, 2, 3, 1}, out = {2, 90, 80, 3};
  const std::vector<float> x = random.reals(elements(in), -1.0f, 1.0f);
  const std::vector<int8_t> codes = random.codes(x.size());
  std::vector<float> expected(x.size());
  std::vector<int8_t> expected_codes(x.size());
  for_each_output(out, [&](size_t i, int32_t n, int32_t y, int32_t column, size_t c) {
    const size_t from =
        ((static_cast<size_t>(n) * 3 + c) * 90 + static_cast<size_t>(y)) * 80 + static_cast<size_t>(column);
    expected[i] = x[from];
    expected_codes[i] = codes[from];
  });
  const auto set = [&](GraphNode& node, ModelBuilder& b) {
    node.options.as<TransposeOptions>().permutation = b.keep(axes);
  };
  CHECK(run_unary(Op::kTranspose, in, out, x, set) == expected);
  const QuantS8 q{0.5f, 7};
  CHECK(run_unary(Op::kTranspose, in, out, codes, set, q, q) == expected_codes);
}

TEST_CASE("a constant may be reshaped and transposed") {
  ModelBuilder b;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const int32_t tc = b.constant("c", DType::kF32, {6}, values), tm = b.tensor("m", DType::kF32, {2, 3});
  const int32_t tt = b.tensor("t", DType::kF32, {3, 2}), tx = b.tensor("x", DType::kF32, {3, 2});
  const int32_t ty = b.tensor("y", DType::kF32, {3, 2});
  b.node(Op::kReshape, {tc}, {tm});
  b.node(Op::kTranspose, {tm}, {tt}).options.as<TransposeOptions>().permutation = b.keep({1, 0});
  b.node(Op::kAdd, {tx, tt}, {ty});
  b.input(tx);
  b.output(ty);
  CHECK(run_widths<float>(b, std::vector<std::vector<float>>{{0, 0, 0, 0, 0, 0}}) ==
        std::vector<float>{1, 4, 2, 5, 3, 6});
}

}  // namespace
}  // namespace intaglio::test::ops_test
