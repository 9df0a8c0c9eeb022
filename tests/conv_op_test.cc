// Convolution, depthwise convolution and fully connected layers as whole models, against plain loops:
// geometry, groups, residuals, every forced instruction set, and executors of several widths that shuffle
// their tasks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/arithmetic/requant.h"
#include "kernels/compiled_isa.h"
#include "runtime/add_params.h"
#include "runtime/ops/conv_gemm.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::conv_op_test {
namespace {

enum class Kind { kConv, kDepthwise, kFullyConnected };

struct Problem {
  Kind kind = Kind::kConv;
  int32_t images = 1, h = 1, w = 1, ic = 1, oh = 1, ow = 1, oc = 1, groups = 1;
  Window2d window;
  bool bias = true, residual = false, per_channel = true;

  size_t x_size() const { return static_cast<size_t>(images * h * w * ic); }
  size_t y_size() const { return static_cast<size_t>(images * oh * ow * oc); }
  int32_t taps() const { return window.kernel_h * window.kernel_w; }
  size_t weight_size() const {
    return static_cast<size_t>(taps() * oc * (kind == Kind::kDepthwise ? 1 : ic / groups));
  }
};

Problem draw_problem(Random& random, Kind kind) {
  Problem p;
  p.kind = kind;
  p.bias = !random.one_in(5);
  p.per_channel = !random.one_in(4);
  p.images = random.between(1, 2);
  if (kind == Kind::kFullyConnected) {
    p.images = random.between(1, 9);
    p.ic = random.between(1, 80);
    p.oc = random.between(1, 60);
    return p;
  }
  Window2d& w = p.window;
  // As a network begins: next to no channels, a wide window, lines longer than a call.
  const bool first_layer = kind == Kind::kConv && random.one_in(4);
  const int32_t most_kernel = first_layer ? 7 : 4;
  // More lines than a call's windows touch some times over.
  const bool tall = kind == Kind::kConv && random.one_in(6);
  for (;;) {
    p.h = random.between(1, tall ? 60 : 11);
    p.w = random.between(1, first_layer ? 40 : 11);
    w.kernel_h = random.between(1, most_kernel);
    w.kernel_w = random.between(1, most_kernel);
    w.stride_h = random.between(1, 3);
    w.stride_w = random.between(1, 3);
    w.dilation_h = random.one_in(3) ? random.between(1, 3) : 1;
    w.dilation_w = random.one_in(3) ? random.between(1, 3) : 1;
    const int32_t extent_h = (w.kernel_h - 1) * w.dilation_h + 1,
                  extent_w = (w.kernel_w - 1) * w.dilation_w + 1;
    const bool pads = !random.one_in(3);
    w.pad_top = pads ? random.between(0, extent_h - 1) : 0;
    w.pad_bottom = pads ? random.between(0, extent_h - 1) : 0;
    w.pad_left = pads ? random.between(0, extent_w - 1) : 0;
    w.pad_right = pads ? random.between(0, extent_w - 1) : 0;
    const int32_t room_h = p.h + w.pad_top + w.pad_bottom - extent_h;
    const int32_t room_w = p.w + w.pad_left + w.pad_right - extent_w;
    if (room_h < 0 || room_w < 0) continue;
    p.oh = room_h / w.stride_h + 1;
    p.ow = room_w / w.stride_w + 1;
    break;
  }
  if (kind == Kind::kDepthwise) {
    p.ic = random.between(1, 40);
    p.oc = p.ic * (random.one_in(4) ? random.between(2, 3) : 1);
    p.groups = p.ic;
  } else {
    p.groups = !first_layer && random.one_in(4) ? random.between(2, 3) : 1;
    p.ic = p.groups * random.between(1, first_layer ? 4 : 20);
    p.oc = p.groups * random.between(1, 24);
    p.residual = random.one_in(3);
  }
  return p;
}

// Calls visit(output index, output channel, {x index, weight index} for each tap and channel inside, in
// order).
template <typename Start, typename Tap, typename End>
void walk(const Problem& p, Start start, Tap tap, End end) {
  const int32_t k = p.kind == Kind::kDepthwise ? 1 : p.ic / p.groups, group_oc = p.oc / p.groups;
  size_t index = 0;
  for (int32_t image = 0; image < p.images; ++image)
    for (int32_t oy = 0; oy < p.oh; ++oy)
      for (int32_t ox = 0; ox < p.ow; ++ox)
        for (int32_t c = 0; c < p.oc; ++c, ++index) {
          start(c);
          for (int32_t ky = 0; ky < p.window.kernel_h; ++ky)
            for (int32_t kx = 0; kx < p.window.kernel_w; ++kx)
              for (int32_t i = 0; i < k; ++i) {
                const int32_t y = oy * p.window.stride_h - p.window.pad_top + ky * p.window.dilation_h;
                const int32_t x = ox * p.window.stride_w - p.window.pad_left + kx * p.window.dilation_w;
                if (y < 0 || y >= p.h || x < 0 || x >= p.w) continue;
                const int32_t channel = c / group_oc * k + i;
                const int32_t t = ky * p.window.kernel_w + kx;
                const int32_t weight = p.kind == Kind::kDepthwise ? t * p.oc + c : (c * p.taps() + t) * k + i;
                tap(static_cast<size_t>(((image * p.h + y) * p.w + x) * p.ic + channel),
                    static_cast<size_t>(weight));
              }
          end(index, c);
        }
}

std::vector<int32_t> weight_dims(const Problem& p) {
  const Window2d& w = p.window;
  if (p.kind == Kind::kDepthwise) return {w.kernel_h, w.kernel_w, p.oc};
  if (p.kind == Kind::kFullyConnected) return {p.oc, p.ic};
  return {p.oc, w.kernel_h, w.kernel_w, p.ic / p.groups};
}

std::vector<int32_t> x_dims(const Problem& p) {
  if (p.kind == Kind::kFullyConnected) return {p.images, p.ic};
  return {p.images, p.h, p.w, p.ic};
}

std::vector<int32_t> y_dims(const Problem& p) {
  if (p.kind == Kind::kFullyConnected) return {p.images, p.oc};
  return {p.images, p.oh, p.ow, p.oc};
}

Op op_of(Kind kind) {
  if (kind == Kind::kDepthwise) return Op::kDepthwiseConv2d;
  return kind == Kind::kConv ? Op::kConv2d : Op::kFullyConnected;
}

// Runs tasks one after another in a shuffled order, which no result may show.
struct Shuffled {
  Random random{1};
  int32_t calls = 0;

  static void parallel_for(void* context, int32_t count, void (*task)(void* argument, int32_t i),
                           void* argument) {
    auto& self = *static_cast<Shuffled*>(context);
    ++self.calls;
    std::vector<int32_t> order(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[self.random.bits() % i]);
    for (const int32_t i : order) task(argument, i);
  }
};

const IsaMask kMasks[] = {isa::kScalar, isa::kAvx2, isa::kAll};

// The expected bytes from every mask and width.
template <typename In, typename Out>
void check_all(ModelBuilder& builder, const std::vector<In>& x, const std::vector<In>* residual,
               const std::vector<Out>& expected) {
  const AlignedBytes file = builder.finish();
  for (const IsaMask mask : kMasks) {
    for (int32_t width = 1; width <= 3; ++width) {
      Shuffled shuffled;
      SessionOptions options;
      options.isa = mask;
      if (width > 1) options.executor = {&shuffled, width, Shuffled::parallel_for};
      RunningModel model(AlignedBytes(file.view()), all_ops(), options);
      REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
      const std::string name = model.session().kernel_name(0);
      CAPTURE(name);
      CAPTURE(width);
      if (mask == isa::kScalar) REQUIRE(name.find("_scalar") != std::string::npos);
      for (int32_t repeat = 0; repeat < 2; ++repeat) {
        model.set_input(x, 0);
        if (residual != nullptr) model.set_input(*residual, 1);
        model.session().run();
        const std::vector<Out> y = model.output<Out>();
        REQUIRE(y.size() == expected.size());
        REQUIRE(memcmp(y.data(), expected.data(), y.size() * sizeof(Out)) == 0);
      }
    }
  }
}

void run_s8(const Problem& p, Random& random) {
  ModelBuilder builder;
  const float s_x = random.real(0.005f, 0.05f), s_y = random.real(0.02f, 0.2f),
              s_r = random.real(0.02f, 0.2f);
  const int32_t z_x = random.between(-128, 127), z_y = random.between(-128, 127),
                z_r = random.between(-128, 127);
  const std::vector<int8_t> x = random.codes(p.x_size()), residual = random.codes(p.y_size());
  const std::vector<int8_t> w = random.codes(p.weight_size());
  std::vector<int32_t> bias(static_cast<size_t>(p.oc));
  for (int32_t& b : bias) b = random.between(-50000, 50000);
  const std::vector<float> s_w = random.reals(p.per_channel ? bias.size() : 1, 0.001f, 0.01f);

  const int32_t axis = p.kind == Kind::kDepthwise ? 2 : 0;
  const int32_t tx = builder.tensor("x", DType::kS8, x_dims(p), s_x, z_x);
  const int32_t tw = builder.constant("w", DType::kS8, weight_dims(p), w, s_w, p.per_channel ? axis : -1);
  const int32_t tb = p.bias ? builder.constant("b", DType::kS32, {p.oc}, bias) : -1;
  const int32_t tr = p.residual ? builder.tensor("r", DType::kS8, y_dims(p), s_r, z_r) : -1;
  const int32_t ty = builder.tensor("y", DType::kS8, y_dims(p), s_y, z_y);
  GraphNode& node = p.residual ? builder.node(op_of(p.kind), {tx, tw, tb, tr}, {ty})
                               : builder.node(op_of(p.kind), {tx, tw, tb}, {ty});
  if (auto* const window = node.options.get<Window2d>()) *window = p.window;
  if (p.kind == Kind::kConv) node.options.as<Conv2dOptions>().groups = p.groups;
  node.options.as<Clamp>().lo = random.between(-128, 0);
  node.options.as<Clamp>().hi = random.between(0, 127);
  float s_sum = s_y;
  int32_t z_sum = z_y;
  if (p.residual) {
    node.options.as<Intermediate>().scale = s_sum = random.real(0.02f, 0.2f);
    node.options.as<Intermediate>().zero_point = z_sum = random.between(-128, 127);
  }
  const int32_t lo = node.options.as<Clamp>().lo, hi = node.options.as<Clamp>().hi;
  builder.input(tx);
  if (p.residual) builder.input(tr);
  builder.output(ty);

  std::vector<int8_t> expected(p.y_size());
  int64_t acc = 0;
  AddS8 add = {z_sum, z_r, 0, 0, 0, z_y, lo, hi};
  REQUIRE(set_add_multipliers(s_sum, s_r, s_y, &add));
  walk(
      p, [&](int32_t c) { acc = p.bias ? bias[static_cast<size_t>(c)] : 0; },
      [&](size_t i, size_t j) { acc += int64_t{x[i] - z_x} * w[j]; },
      [&](size_t index, int32_t c) {
        const float product = s_x * s_w[p.per_channel ? static_cast<size_t>(c) : 0];
        const OutputS8 output = p.residual ? make_output_s8(z_sum, -128, 127) : make_output_s8(z_y, lo, hi);
        const int8_t q = requantize_s8(static_cast<int32_t>(acc), product / s_sum, output);
        expected[index] = p.residual ? add_s8(q, residual[index], add) : q;
      });
  check_all(builder, x, p.residual ? &residual : nullptr, expected);
}

void run_f32(const Problem& p, Random& random) {
  ModelBuilder builder;
  const std::vector<float> x = random.reals(p.x_size(), -2.0f, 2.0f),
                           residual = random.reals(p.y_size(), -2.0f, 2.0f);
  const std::vector<float> w = random.reals(p.weight_size(), -1.0f, 1.0f);
  const std::vector<float> bias = random.reals(static_cast<size_t>(p.oc), -1.0f, 1.0f);
  const int32_t tx = builder.tensor("x", DType::kF32, x_dims(p));
  const int32_t tw = builder.constant("w", DType::kF32, weight_dims(p), w);
  const int32_t tb = p.bias ? builder.constant("b", DType::kF32, {p.oc}, bias) : -1;
  const int32_t tr = p.residual ? builder.tensor("r", DType::kF32, y_dims(p)) : -1;
  const int32_t ty = builder.tensor("y", DType::kF32, y_dims(p));
  GraphNode& node = p.residual ? builder.node(op_of(p.kind), {tx, tw, tb, tr}, {ty})
                               : builder.node(op_of(p.kind), {tx, tw, tb}, {ty});
  if (auto* const window = node.options.get<Window2d>()) *window = p.window;
  if (p.kind == Kind::kConv) node.options.as<Conv2dOptions>().groups = p.groups;
  if (random.one_in(2)) {
    node.options.as<Clamp>().min = 0.0f;
    node.options.as<Clamp>().max = 6.0f;
  }
  const float lo = node.options.as<Clamp>().min, hi = node.options.as<Clamp>().max;
  builder.input(tx);
  if (p.residual) builder.input(tr);
  builder.output(ty);

  std::vector<float> expected(p.y_size());
  float v = 0.0f;
  walk(
      p, [&](int32_t c) { v = p.bias ? bias[static_cast<size_t>(c)] : 0.0f; },
      [&](size_t i, size_t j) { v = std::fma(x[i], w[j], v); },
      [&](size_t index, int32_t) {
        v += 0.0f;
        if (p.residual) v += residual[index];
        v = v > lo ? v : lo;
        v = v < hi ? v : hi;
        expected[index] = v + 0.0f;
      });
  check_all(builder, x, p.residual ? &residual : nullptr, expected);
}

// Layers whose sums leave in FP32. Weights of -128 and inputs far from their zero point: sums reach
// far.
void run_s8_f32(const Problem& p, Random& random) {
  ModelBuilder builder;
  const float s_x = random.real(0.005f, 0.05f);
  const int32_t z_x = random.between(-128, 127);
  std::vector<int8_t> x = random.codes(p.x_size()), w = random.codes(p.weight_size());
  if (random.one_in(4)) {
    std::fill(x.begin(), x.end(), static_cast<int8_t>(random.one_in(2) ? -128 : 127));
    std::fill(w.begin(), w.end(), static_cast<int8_t>(random.one_in(2) ? -128 : 127));
  }
  std::vector<int32_t> bias(static_cast<size_t>(p.oc));
  const auto depth = static_cast<int32_t>(p.weight_size()) / p.oc;
  const int32_t most = random.one_in(3) ? INT32_MAX - 255 * 128 * depth : 50000;  // what the proof lets pass
  for (int32_t& b : bias) b = random.one_in(2) ? random.between(-most, 0) : random.between(0, most);
  const std::vector<float> s_w = random.reals(p.per_channel ? bias.size() : 1, 0.001f, 0.01f);

  const int32_t tx = builder.tensor("x", DType::kS8, x_dims(p), s_x, z_x);
  const int32_t axis = p.kind == Kind::kDepthwise ? 2 : 0;
  const int32_t tw = builder.constant("w", DType::kS8, weight_dims(p), w, s_w, p.per_channel ? axis : -1);
  const int32_t tb = p.bias ? builder.constant("b", DType::kS32, {p.oc}, bias) : -1;
  const int32_t ty = builder.tensor("y", DType::kF32, y_dims(p));
  GraphNode& node = builder.node(op_of(p.kind), {tx, tw, tb}, {ty});
  if (auto* const window = node.options.get<Window2d>()) *window = p.window;
  if (p.kind == Kind::kConv) node.options.as<Conv2dOptions>().groups = p.groups;
  Clamp clamp;
  if (p.kind != Kind::kFullyConnected && random.one_in(2)) {
    // Limits below the normal numbers, too, and both zeros.
    const float lows[] = {0.0f, -0.0f, -1.5f, 1e-40f, -1e-40f}, highs[] = {6.0f, 0.25f, 1e-39f, 3e38f};
    clamp.min = lows[random.bits() % 5];
    clamp.max = random.one_in(4) ? clamp.max : highs[random.bits() % 4];
    node.options.as<Clamp>() = clamp;
  }
  builder.input(tx);
  builder.output(ty);

  std::vector<float> expected(p.y_size());
  int64_t acc = 0;
  walk(
      p, [&](int32_t c) { acc = p.bias ? bias[static_cast<size_t>(c)] : 0; },
      [&](size_t i, size_t j) { acc += int64_t{x[i] - z_x} * w[j]; },
      [&](size_t index, int32_t c) {
        const float multiplier = s_x * s_w[p.per_channel ? static_cast<size_t>(c) : 0];
        float v = static_cast<float>(acc) * multiplier;
        v = v > clamp.min ? v : clamp.min;
        v = v < clamp.max ? v : clamp.max;
        expected[index] = v + 0.0f;
      });
  check_all<int8_t, float>(builder, x, nullptr, expected);
}

}  // namespace

TEST_CASE("a product is cut by columns only where a cut of pixels leaves clearly more to one thread") {
  constexpr int32_t kPanel = 16;
  const auto parts = [](int32_t pixels, int32_t columns, int32_t threads) {
    ConvGeometry g;
    g.images = 1;
    g.ow = pixels;
    g.oc = columns;
    return gemm_split(g, kPanel, threads).parts;
  };
  CHECK(parts(6400, 64, 2) == 1);  // 458 tiles a panel, and 457.5
  CHECK(parts(12800, 64, 2) == 1);
  CHECK(parts(10, 64, 2) == 1);
  CHECK(parts(8, 64, 2) == 1);
  CHECK(parts(49, 64, 2) == 2);  // 4 tiles of each panel, or 7 of half of them
  // One pixel cannot be cut, and 63 of 1000 panels are the least that the busiest of 16 can have.
  CHECK(parts(1, 64, 2) == 2);
  CHECK(parts(1, 16000, 16) == 16);
}

TEST_CASE("int8 against plain loops") {
  Random random(1);
  for (int32_t i = shape_count(300); i > 0; --i)
    for (const Kind kind : {Kind::kConv, Kind::kDepthwise, Kind::kFullyConnected})
      run_s8(draw_problem(random, kind), random);
}

TEST_CASE("int8 to FP32 against plain loops") {
  Random random(4);
  for (int32_t i = shape_count(300); i > 0; --i) {
    for (const Kind kind : {Kind::kConv, Kind::kDepthwise, Kind::kFullyConnected}) {
      Problem p = draw_problem(random, kind);
      p.residual = false;
      run_s8_f32(p, random);
    }
  }
}

TEST_CASE("FP32 against plain loops") {
  Random random(2);
  for (int32_t i = shape_count(300); i > 0; --i)
    for (const Kind kind : {Kind::kConv, Kind::kDepthwise, Kind::kFullyConnected})
      run_f32(draw_problem(random, kind), random);
}

TEST_CASE("a single row is split by columns, with the same bytes") {
  Problem p;
  p.kind = Kind::kFullyConnected;
  p.ic = 20;
  p.oc = 100;
  Random random(3);
  run_s8(p, random);
  run_s8_f32(p, random);
  run_f32(p, random);
}

}  // namespace intaglio::test::conv_op_test
