// Operators on int16 codes as whole models, against plain loops, with executors of several widths and every
// instruction set; and what their plans refuse. Layers with weights: conv_s16_test.cc.
#include <cmath>

#include "tests/support/one_node.h"
#include "tests/support/wide_codes.h"

namespace intaglio::test::ops_s16_test {
namespace {

// y = op(x) of two scales, with what a model of it says for random codes.
template <typename Out, typename In>
std::vector<Out> run_conversion(Op op, DType from, DType to, const std::vector<In>& x, float in_scale,
                                int32_t z_in, float out_scale, int32_t z_out, int32_t lo, int32_t hi) {
  ModelBuilder b;
  const auto n = static_cast<int32_t>(x.size());
  const int32_t tx = b.tensor("x", from, {n}, in_scale, z_in), ty = b.tensor("y", to, {n}, out_scale, z_out);
  GraphNode& node = b.node(op, {tx}, {ty});
  if (op == Op::kQuantize) clamp_to(node, lo, hi);
  b.input(tx);
  b.output(ty);
  return run_widths<Out, In>(b, {x});
}

}  // namespace

TEST_CASE("codes of 8 bits become codes of 16 bits and back without a loss") {
  std::vector<int8_t> codes(256);
  for (int32_t i = 0; i < 256; ++i) codes[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  const auto wide = run_conversion<int16_t>(Op::kQuantize, DType::kS8, DType::kS16, codes, 0.37f, -7, 0.37f,
                                            0, -32767, 32767);
  for (size_t i = 0; i < 256; ++i) CHECK(wide[i] == codes[i] + 7);
  CHECK(run_conversion<int8_t>(Op::kQuantize, DType::kS16, DType::kS8, wide, 0.37f, 0, 0.37f, -7, -128,
                               127) == codes);
}

TEST_CASE("conversions") {
  Random random(2);
  for (int32_t i = 0; i < 20; ++i) {
    const std::vector<int16_t> x = draw_codes(random, 100);
    const float in = random.real(0.001f, 1.0f), out = random.real(0.001f, 1.0f);
    const float multiplier = in / out;
    const auto rescaled =
        run_conversion<int16_t>(Op::kQuantize, DType::kS16, DType::kS16, x, in, 0, out, 0, -500, 30000);
    const auto reals =
        run_conversion<float>(Op::kDequantize, DType::kS16, DType::kF32, x, in, 0, 0.0f, 0, 0, 0);
    const auto again = run_conversion<int16_t>(Op::kQuantize, DType::kF32, DType::kS16, reals, 0.0f, 0, in, 0,
                                               -32768, 32767);
    for (size_t j = 0; j < x.size(); ++j) {
      REQUIRE(rescaled[j] == rounded(static_cast<float>(x[j]) * multiplier, -500, 30000));
      REQUIRE(reals[j] == in * static_cast<float>(x[j]));
      REQUIRE(again[j] == x[j]);
    }
  }
}

TEST_CASE("sums and products, repeated operands") {
  Random random(3);
  for (int32_t i = 0; i < 60; ++i) {
    const Op op = i % 3 == 0 ? Op::kAdd : i % 3 == 1 ? Op::kSub : Op::kMul;
    const Dims y_dims{2, random.between(1, 5), random.between(1, 30)};
    Dims a_dims = y_dims, b_dims = y_dims;
    for (size_t axis = 0; axis < 3; ++axis)
      (random.one_in(2) ? a_dims : b_dims)[axis] = random.one_in(3) ? 1 : y_dims[axis];
    const std::vector<int16_t> a = draw_codes(random, elements(a_dims)),
                               c = draw_codes(random, elements(b_dims));
    const float s_a = random.real(0.001f, 0.1f), s_b = random.real(0.001f, 0.1f);
    const float s_y = op == Op::kMul ? s_a * s_b * 30000.0f : 0.1f;
    const int32_t lo = random.between(-32768, 0), hi = random.between(1, 32767);
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS16, a_dims, s_a), tb = b.tensor("b", DType::kS16, b_dims, s_b);
    const int32_t ty = b.tensor("y", DType::kS16, y_dims, s_y);
    clamp_to(b.node(op, {ta, tb}, {ty}), lo, hi);
    b.input(ta);
    b.input(tb);
    b.output(ty);
    const std::vector<int16_t> y = run_widths<int16_t, int16_t>(b, {a, c});
    const auto at = [&](const Dims& dims, const std::vector<int16_t>& values, const int32_t* index) {
      int32_t place = 0;
      for (size_t axis = 0; axis < 3; ++axis)
        place = place * dims[axis] + (dims[axis] == 1 ? 0 : index[axis]);
      return values[static_cast<size_t>(place)];
    };
    size_t place = 0;
    for (int32_t index[3] = {}; index[0] < y_dims[0]; ++index[0])
      for (index[1] = 0; index[1] < y_dims[1]; ++index[1])
        for (index[2] = 0; index[2] < y_dims[2]; ++index[2], ++place) {
          const int16_t p = at(a_dims, a, index), q = at(b_dims, c, index);
          float v;
          if (op == Op::kMul) {
            v = static_cast<float>(int32_t{p} * q) * (s_a * s_b / s_y);
          } else {
            const float first = static_cast<float>(p) * (s_a / s_y),
                        second = static_cast<float>(q) * (s_b / s_y);
            v = op == Op::kAdd ? first + second : first - second;
          }
          REQUIRE(y[place] == rounded(v, lo, hi));
        }
  }
}

TEST_CASE("pools and means") {
  Random random(4);
  for (int32_t i = 0; i < 40; ++i) {
    const int32_t h = random.between(3, 7), w = random.between(3, 7), c = random.between(1, 40);
    Window2d window;
    window.kernel_h = random.between(1, 3);
    window.kernel_w = random.between(1, 3);
    window.pad_top = random.between(0, window.kernel_h - 1);
    window.pad_right = random.between(0, window.kernel_w - 1);
    window.count_include_pad = random.one_in(2);
    const Op op = i % 3 == 0 ? Op::kAvgPool2d : i % 3 == 1 ? Op::kMaxPool2d : Op::kMean;
    if (op == Op::kMean) {
      window = {};
      window.kernel_h = h;
      window.kernel_w = w;
    }
    const int32_t oh = h + window.pad_top - window.kernel_h + 1,
                  ow = w + window.pad_right - window.kernel_w + 1;
    const std::vector<int16_t> x = draw_codes(random, static_cast<size_t>(h * w * c));
    const float in = 0.01f, out = op == Op::kMaxPool2d ? in : 0.013f;
    const int32_t lo = random.between(-32768, 0), hi = random.between(1, 32767);
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, {1, h, w, c}, in),
                  ty = b.tensor("y", DType::kS16, {1, oh, ow, c}, out);
    GraphNode& node = b.node(op, {tx}, {ty});
    if (op == Op::kMean)
      node.options.as<ReduceOptions>().axes = b.keep({1, 2});
    else
      node.options.as<Window2d>() = window;
    clamp_to(node, lo, hi);
    b.input(tx);
    b.output(ty);
    const std::vector<int16_t> y = run_widths<int16_t, int16_t>(b, {x});
    size_t at = 0;
    for (int32_t py = 0; py < oh; ++py)
      for (int32_t px = 0; px < ow; ++px)
        for (int32_t channel = 0; channel < c; ++channel, ++at) {
          int32_t sum = 0, most = -32768, taps = 0;
          for (int32_t ky = 0; ky < window.kernel_h; ++ky)
            for (int32_t kx = 0; kx < window.kernel_w; ++kx) {
              const int32_t iy = py - window.pad_top + ky, ix = px + kx;
              if (iy < 0 || ix >= w) continue;
              const int32_t code = x[static_cast<size_t>((iy * w + ix) * c + channel)];
              sum += code;
              most = std::max(most, code);
              ++taps;
            }
          const int32_t n = window.count_include_pad ? window.kernel_h * window.kernel_w : taps;
          const float multiplier = in / (out * static_cast<float>(n));
          REQUIRE(y[at] == (op == Op::kMaxPool2d ? rounded(static_cast<float>(most), lo, hi)
                                                 : rounded(static_cast<float>(sum) * multiplier, lo, hi)));
        }
  }
}

TEST_CASE("what moves elements moves pairs of bytes") {
  Random random(5);
  const std::vector<int16_t> x = draw_codes(random, 2 * 3 * 5);
  const auto run = [&](Op op, const Dims& in, const Dims& out, auto set) {
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, in, 0.5f), ty = b.tensor("y", DType::kS16, out, 0.5f);
    std::vector<int32_t> inputs{tx};
    if (op == Op::kGather) inputs.push_back(b.constant<int32_t>("index", DType::kS32, {2}, {2, 0}));
    if (op == Op::kConcat) inputs.push_back(tx);
    set(b, b.node(op, inputs, {ty}).options);
    b.input(tx);
    b.output(ty);
    return run_widths<int16_t, int16_t>(b, {x});
  };
  const auto at = [&](int32_t i, int32_t j, int32_t k) {
    return x[static_cast<size_t>((i * 3 + j) * 5 + k)];
  };
  CHECK(run(Op::kReshape, {2, 3, 5}, {6, 5}, [](ModelBuilder&, NodeOptions&) {}) == x);
  const auto transposed = run(Op::kTranspose, {2, 3, 5}, {5, 2, 3}, [](ModelBuilder& b, NodeOptions& o) {
    o.as<TransposeOptions>().permutation = b.keep({2, 0, 1});
  });
  const auto sliced = run(Op::kStridedSlice, {2, 3, 5}, {2, 2, 3}, [](ModelBuilder& b, NodeOptions& o) {
    o.as<StridedSliceOptions>().begin = b.keep({0, 2, 0});
    o.as<StridedSliceOptions>().strides = b.keep({1, -2, 2});
  });
  const auto padded = run(Op::kPad, {2, 3, 5}, {2, 4, 7}, [](ModelBuilder& b, NodeOptions& o) {
    o.as<PadOptions>().before = b.keep({0, 1, 2});
    o.as<PadOptions>().value = 3.5f;
  });
  const auto gathered = run(Op::kGather, {2, 3, 5}, {2, 2, 5},
                            [](ModelBuilder&, NodeOptions& o) { o.as<GatherOptions>().axis = 1; });
  const auto joined = run(Op::kConcat, {2, 3, 5}, {2, 3, 10},
                          [](ModelBuilder&, NodeOptions& o) { o.as<ConcatOptions>().axis = 2; });
  for (int32_t i = 0; i < 2; ++i)
    for (int32_t j = 0; j < 3; ++j)
      for (int32_t k = 0; k < 5; ++k) {
        CHECK(transposed[static_cast<size_t>((k * 2 + i) * 3 + j)] == at(i, j, k));
        CHECK(joined[static_cast<size_t>((i * 3 + j) * 10 + k)] == at(i, j, k));
        CHECK(joined[static_cast<size_t>((i * 3 + j) * 10 + 5 + k)] == at(i, j, k));
        CHECK(padded[static_cast<size_t>((i * 4 + j + 1) * 7 + k + 2)] == at(i, j, k));
        if (j != 1) CHECK(gathered[static_cast<size_t>((i * 2 + (2 - j) / 2) * 5 + k)] == at(i, j, k));
        if (j != 1 && k % 2 == 0)
          CHECK(sliced[static_cast<size_t>((i * 2 + (2 - j) / 2) * 3 + k / 2)] == at(i, j, k));
      }
  CHECK(padded[0] == 7);
  CHECK(padded[8] == 7);
}

TEST_CASE("a picture resized") {
  Random random(6);
  const std::vector<int16_t> x = draw_codes(random, 2 * 3 * 2);
  const auto run = [&](Interpolation interpolation) {
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, {1, 2, 3, 2}, 0.5f),
                  ty = b.tensor("y", DType::kS16, {1, 4, 3, 2}, 0.5f);
    auto& o = b.node(Op::kResize, {tx}, {ty}).options.as<ResizeOptions>();
    o.interpolation = interpolation;
    b.input(tx);
    b.output(ty);
    return run_widths<int16_t, int16_t>(b, {x});
  };
  const std::vector<int16_t> nearest = run(Interpolation::kNearest), linear = run(Interpolation::kBilinear);
  // Rows of the output lie at -1/4, 1/4, 3/4 and 5/4 of the input's.
  const double weights[4] = {0.0, 0.25, 0.75, 1.0};
  for (size_t row = 0; row < 4; ++row)
    for (size_t i = 0; i < 6; ++i) {
      CHECK(nearest[row * 6 + i] == x[(row == 3 ? 6 : 0) + i]);  // floor
      const double exact = x[i] * (1 - weights[row]) + x[6 + i] * weights[row];
      CHECK(linear[row * 6 + i] == static_cast<int16_t>(std::floor(exact + 0.5)));
    }
}

TEST_CASE("a function by its table") {
  Random random(7);
  const std::vector<int16_t> table = draw_codes(random, 513), x = draw_codes(random, 200);
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kS16, {200}, 0.5f), ty = b.tensor("y", DType::kS16, {200}, 0.1f);
  b.node(Op::kLookup, {tx, b.constant<int16_t>("table", DType::kS16, {513}, table)}, {ty});
  b.input(tx);
  b.output(ty);
  const std::vector<int16_t> y = run_widths<int16_t, int16_t>(b, {x});
  for (size_t i = 0; i < x.size(); ++i) {
    const auto entry = static_cast<size_t>((x[i] + 32768) / 128);
    const double line = table[entry] + (table[entry + 1] - table[entry]) * ((x[i] + 32768) % 128) / 128.0;
    REQUIRE(y[i] == static_cast<int16_t>(std::floor(line + 0.5)));
  }
}

TEST_CASE("what is refused") {
  constexpr auto kS16Value = static_cast<int64_t>(DType::kS16);
  const auto s16 = [](OneNode& one, const Dims& dims, float scale = kScale) {
    return one.b.tensor("t" + std::to_string(one.b.graph().tensors.size()), DType::kS16, dims, scale);
  };
  const auto weights = [](OneNode& one, int32_t depth) {
    return one.constant<int8_t>(DType::kS8, {4, depth},
                                std::vector<int8_t>(static_cast<size_t>(4 * depth), 127), {0.1f});
  };
  SUBCASE("sums that no int32 holds are none of it") {
    OneNode one;
    const int32_t x = s16(one, {1, 70000}), w = weights(one, 70000);
    one.node(Op::kFullyConnected, {x, w}, s16(one, {1, 4}));
    one.check(Status::kOk);
  }
  SUBCASE("a clamp outside 16 bits") {
    OneNode one;
    const int32_t x = s16(one, {1, 8}), w = weights(one, 8);
    one.node(Op::kFullyConnected, {x, w}, s16(one, {1, 4})).as<Clamp>().hi = 32768;
    one.check(Status::kBadClamp, -128, 32768);
  }
  SUBCASE("weights of 16 bits") {
    OneNode one;
    const int32_t x = s16(one, {1, 2});
    const int32_t w = one.constant<int16_t>(DType::kS16, {1, 2}, {1, 2}, {0.1f});
    one.node(Op::kFullyConnected, {x, w}, s16(one, {1, 1}));
    one.check(Status::kBadDType, kS16Value, kS8Value);
  }
  SUBCASE("a residual") {
    OneNode one;
    const int32_t x = s16(one, {1, 1, 1, 2});
    const int32_t w = one.constant<int8_t>(DType::kS8, {2, 1, 1, 2}, {1, 2, 3, 4}, {0.1f});
    one.node(Op::kConv2d, {x, w, -1, s16(one, {1, 1, 1, 2})}, s16(one, {1, 1, 1, 2}));
    one.check(Status::kInputCount, 4, 3);
  }
  SUBCASE("one operand of 8 bits") {
    OneNode one;
    const int32_t a = s16(one, {4}), c = one.s8({4});
    one.node(Op::kAdd, {a, c}, s16(one, {4}));
    one.check(Status::kBadDType, kS8Value, kS16Value);
  }
  SUBCASE("another scale where elements move") {
    OneNode one;
    const int32_t x = s16(one, {4});
    one.node(Op::kReshape, {x}, s16(one, {2, 2}, 0.25f));
    one.check(Status::kQuantizationMismatch);
  }
  SUBCASE("a table of another length") {
    OneNode one;
    const int32_t x = s16(one, {4});
    const int32_t table = one.constant<int16_t>(DType::kS16, {512}, std::vector<int16_t>(512));
    one.node(Op::kLookup, {x, table}, s16(one, {4}));
    one.check(Status::kShapeMismatch, 512, 513);
  }
  SUBCASE("a mean of more elements than a sum holds") {
    OneNode one;
    const int32_t x = s16(one, {1, 65536, 1});
    one.node(Op::kMean, {x}, s16(one, {1, 1})).as<ReduceOptions>().axes = one.b.keep({1});
    one.check(Status::kAccumulatorOverflow, 0, 65535);
  }
  SUBCASE("a zero point") {
    OneNode one;
    const int32_t x = one.b.tensor("x", DType::kS16, {4}, kScale, 3);
    one.node(Op::kReshape, {x}, s16(one, {4}));
    const Error error = RunningModel(one.b.finish()).error();
    CHECK(error.status == Status::kBadZeroPoint);
    CHECK(error.value == 3);
  }
}

TEST_CASE("a softmax refuses a table whose sums may leave 32 bits, or whose fractions begin with no 1") {
  const auto status_of = [](size_t at, int32_t value) {
    std::vector<int32_t> table(512, 5);
    table[256] = 1 << 30;
    table[at] = value;
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kS16, {2, 4}, 0.5f), y = b.tensor("y", DType::kS16, {2, 4}, 0.5f);
    b.node(Op::kSoftmax, {x, b.constant<int32_t>("table", DType::kS32, {512}, table)}, {y});
    b.input(x);
    b.output(y);
    return RunningModel(b.finish(), all_ops()).error();
  };
  const auto refused = [&](size_t at, int32_t value, int32_t limit) {
    const Error error = status_of(at, value);
    CHECK(error.status == Status::kBadTable);
    CHECK(error.value == static_cast<int64_t>(at));
    CHECK(error.limit == limit);
  };
  CHECK(status_of(0, 1 << 28).ok());
  CHECK(status_of(511, 1 << 30).ok());
  refused(0, 0, 1 << 28);
  refused(255, (1 << 28) + 1, 1 << 28);
  refused(7, -1, 1 << 28);
  refused(256, (1 << 30) - 1, 1 << 30);
  refused(256, (1 << 30) + 1, 1 << 30);
  refused(300, -1, 1 << 30);
  refused(511, (1 << 30) + 1, 1 << 30);
}

}  // namespace intaglio::test::ops_s16_test
