// Products of two activations: every output in FP32 is one chain of fused multiply-adds, and in int8 an exact sum, whatever the
// kernel, the width and the way that the second operand stands.
#include <doctest/doctest.h>

#include <algorithm>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s8.h"
#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"
#include "tests/support/spec_cases.h"

namespace intaglio::test::batch_mat_mul_test {
namespace {

using test::AlignedBytes;
using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::OneNode;
using test::Random;
using test::run_widths;
using test::runnable;
using test::RunningModel;
using test::text_of;

struct Case {
  Dims a, b, y;
  bool transpose_b = false;
  int32_t m = 1, n = 1, k = 1;
};

Case draw(Random& random) {
  Case c;
  c.m = random.between(1, random.one_in(4) ? 120 : 12);
  c.n = random.between(1, random.one_in(4) ? 200 : 20);
  c.k = random.between(1, random.one_in(4) ? 150 : 20);
  c.transpose_b = random.one_in(2);
  const int32_t batch_axes = random.between(0, 3);
  for (int32_t i = 0; i < batch_axes; ++i) {
    const int32_t dim = random.between(1, 3), kind = random.between(0, 3);
    c.a.push_back(kind == 0 ? 1 : dim);
    c.b.push_back(kind == 1 ? 1 : dim);
    c.y.push_back(std::max(c.a.back(), c.b.back()));
  }
  // Leading axes may be missing in one of them.
  Dims& shorter = random.one_in(2) ? c.a : c.b;
  while (!shorter.empty() && shorter[0] == 1 && random.one_in(2)) shorter.erase(shorter.begin());
  c.a.insert(c.a.end(), {c.m, c.k});
  c.b.insert(c.b.end(), {c.transpose_b ? c.n : c.k, c.transpose_b ? c.k : c.n});
  c.y.resize(std::max(c.a.size(), c.b.size()) - 2);
  c.y.insert(c.y.end(), {c.m, c.n});
  return c;
}

// The matrix of an operand that serves the output's matrix `batch`.
size_t matrix_of(size_t batch, const Dims& y, const Dims& operand) {
  size_t index = 0, step = 1;
  for (size_t i = 3; i <= operand.size(); ++i) {
    const auto own = static_cast<size_t>(operand[operand.size() - i]),
               dim = static_cast<size_t>(y[y.size() - i]);
    if (own > 1) index += batch % dim * step;
    step *= own;
    batch /= dim;
  }
  return index;
}

std::vector<float> expected(const Case& c, const std::vector<float>& a, const std::vector<float>& b) {
  const auto m = static_cast<size_t>(c.m), n = static_cast<size_t>(c.n), k = static_cast<size_t>(c.k);
  std::vector<float> y(elements(c.y));
  for (size_t batch = 0; batch < y.size() / (m * n); ++batch) {
    const float* const left = a.data() + matrix_of(batch, c.y, c.a) * m * k;
    const float* const right = b.data() + matrix_of(batch, c.y, c.b) * k * n;
    for (size_t row = 0; row < m; ++row)
      for (size_t column = 0; column < n; ++column) {
        float v = 0.0f;
        for (size_t i = 0; i < k; ++i)
          v = fma_f32_soft(left[row * k + i], right[c.transpose_b ? column * k + i : i * n + column], v);
        y[(batch * m + row) * n + column] = v + 0.0f;
      }
  }
  return y;
}

// Both are inputs, or one of them a constant.
std::vector<float> run(const Case& c, const std::vector<float>& a, const std::vector<float>& b,
                       int32_t constant) {
  ModelBuilder builder;
  std::vector<std::vector<float>> inputs;
  int32_t tensors[2];
  for (const int32_t i : {0, 1}) {
    const Dims& dims = i == 0 ? c.a : c.b;
    const std::vector<float>& values = i == 0 ? a : b;
    tensors[i] = constant == i ? builder.constant("c", DType::kF32, dims, values)
                               : builder.tensor(i == 0 ? "a" : "b", DType::kF32, dims);
    if (constant == i) continue;
    builder.input(tensors[i]);
    inputs.push_back(values);
  }
  const int32_t y = builder.tensor("y", DType::kF32, c.y);
  builder.node(Op::kBatchMatMul, {tensors[0], tensors[1]}, {y}).options.as<BatchMatMulOptions>().transpose_b =
      c.transpose_b;
  builder.output(y);
  return run_widths<float>(builder, inputs);
}

struct Params {
  float scale;
  int32_t zero_point;
};

// As the arithmetic page has it.
std::vector<int8_t> expected_codes(const Case& c, const Params (&params)[3], const std::vector<int8_t>& a,
                                   const std::vector<int8_t>& b) {
  const auto m = static_cast<size_t>(c.m), n = static_cast<size_t>(c.n), k = static_cast<size_t>(c.k);
  const float product = params[0].scale * params[1].scale, multiplier = product / params[2].scale;
  const OutputS8 output = make_output_s8(params[2].zero_point, -128, 127);
  std::vector<int8_t> y(elements(c.y));
  for (size_t batch = 0; batch < y.size() / (m * n); ++batch) {
    const int8_t* const left = a.data() + matrix_of(batch, c.y, c.a) * m * k;
    const int8_t* const right = b.data() + matrix_of(batch, c.y, c.b) * k * n;
    for (size_t row = 0; row < m; ++row)
      for (size_t column = 0; column < n; ++column) {
        int64_t sum = 0;
        for (size_t i = 0; i < k; ++i)
          sum += (left[row * k + i] - params[0].zero_point) *
                 (right[c.transpose_b ? column * k + i : i * n + column] - params[1].zero_point);
        y[(batch * m + row) * n + column] = requantize_s8(static_cast<int32_t>(sum), multiplier, output);
      }
  }
  return y;
}

void build_int8(const Case& c, const Params (&params)[3], ModelBuilder& builder) {
  const int32_t a = builder.tensor("a", DType::kS8, c.a, params[0].scale, params[0].zero_point),
                b = builder.tensor("b", DType::kS8, c.b, params[1].scale, params[1].zero_point),
                y = builder.tensor("y", DType::kS8, c.y, params[2].scale, params[2].zero_point);
  builder.node(Op::kBatchMatMul, {a, b}, {y}).options.as<BatchMatMulOptions>().transpose_b = c.transpose_b;
  builder.input(a);
  builder.input(b);
  builder.output(y);
}

// On every kernel that this machine runs.
void check_codes(const Case& c, const Params (&params)[3], const std::vector<int8_t>& a,
                 const std::vector<int8_t>& b) {
  ModelBuilder builder;
  build_int8(c, params, builder);
  const std::vector<int8_t> wanted = expected_codes(c, params, a, b);
  REQUIRE(run_widths<int8_t, int8_t>(builder, {a, b}) == wanted);
  const AlignedBytes file = builder.finish();
  for (const IsaMask isa : runnable(gemm_s8_count(), gemm_s8_kernel)) {
    SessionOptions options;
    options.isa = isa;
    RunningModel model(AlignedBytes(file.view()), all_ops(), options);
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    model.set_input(a, 0);
    model.set_input(b, 1);
    model.session().run();
    CAPTURE(isa);
    REQUIRE(model.output<int8_t>() == wanted);
  }
}

TEST_CASE("int8: random shapes and zero points, on every kernel, to the code") {
  Random random(4);
  for (int32_t trial = 0; trial < test::shape_count(150); ++trial) {
    const Case c = draw(random);
    CAPTURE(trial);
    const auto zero_point = [&] {
      constexpr int32_t kEnds[] = {0, -128, 127, -1, 1};
      return random.one_in(2) ? kEnds[random.between(0, 4)] : random.between(-128, 127);
    };
    Params params[3] = {{0.03f, zero_point()}, {0.05f, zero_point()}, {0.0f, zero_point()}};
    params[2].scale = 0.0015f * static_cast<float>(c.k) * static_cast<float>(random.between(1, 60));
    std::vector<int8_t> b = random.codes(elements(c.b));
    if (random.one_in(2))  // so that mostly no centred code needs two taps
      for (int8_t& code : b) code = static_cast<int8_t>(code / 8);
    check_codes(c, params, random.codes(elements(c.a)), b);
  }
}

TEST_CASE("int8: the farthest codes from the zero point, over the deepest sums") {
  for (const int32_t k : {7, 33025})
    for (const int32_t zero_a : {-128, 127})
      for (const int32_t zero_b : {-128, 127}) {
        Case c;
        c.k = k;
        c.a = {1, k};
        c.b = {k, 1};
        c.y = {1, 1};
        const Params params[3] = {{1.0f, zero_a}, {1.0f, zero_b}, {256.0f * static_cast<float>(k * 4), 0}};
        const auto far = [&](int32_t zero) {
          return std::vector<int8_t>(static_cast<size_t>(k), static_cast<int8_t>(zero < 0 ? 127 : -128));
        };
        check_codes(c, params, far(zero_a), far(zero_b));
      }
}

TEST_CASE("int8: many columns, in several parts, of one tap where more may be needed") {
  Random random(5);
  for (const int32_t k : {256, 300})
    for (const int32_t zero_point : {0, 5, -128}) {
      Case c;
      c.m = 60, c.n = 700, c.k = k;
      c.transpose_b = k == 256 && zero_point != 5;
      c.a = {60, k};
      c.b = c.transpose_b ? Dims{700, k} : Dims{k, 700};
      c.y = {60, 700};
      std::vector<int8_t> b = random.codes(elements(c.b));
      check_codes(c, {{0.1f, 3}, {0.1f, zero_point}, {2.0f, -4}}, random.codes(elements(c.a)), b);
      for (int8_t& code : b) code = static_cast<int8_t>(code / 8 + zero_point / 2);
      check_codes(c, {{0.1f, 3}, {0.1f, zero_point}, {2.0f, -4}}, random.codes(elements(c.a)), b);
    }
}

TEST_CASE("random shapes: the chains of the definition, to the bit") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(150); ++trial) {
    const Case c = draw(random);
    CAPTURE(trial);
    const std::vector<float> a = random.reals(elements(c.a), -2.0f, 2.0f),
                             b = random.reals(elements(c.b), -2.0f, 2.0f);
    REQUIRE(bits_of(run(c, a, b, random.between(-1, 1))) == bits_of(expected(c, a, b)));
  }
}

TEST_CASE("many columns, in several parts") {
  Random random(2);
  for (const bool transpose_b : {false, true}) {
    Case c;
    c.m = 3;
    c.n = 700;
    c.k = 300;
    c.transpose_b = transpose_b;
    c.a = {3, 300};
    c.b = transpose_b ? Dims{700, 300} : Dims{300, 700};
    c.y = {3, 700};
    const std::vector<float> a = random.reals(900, -1.0f, 1.0f), b = random.reals(210000, -1.0f, 1.0f);
    CHECK(bits_of(run(c, a, b, -1)) == bits_of(expected(c, a, b)));
  }
}

TEST_CASE("infinities and NaN go their way, and NaN has one form") {
  Case c;
  c.k = 2;
  c.a = {1, 2};
  c.b = {2, 1};
  c.y = {1, 1};
  const float inf = __builtin_inff();
  CHECK(run(c, {inf, 1.0f}, {2.0f, 3.0f}, -1)[0] == inf);
  CHECK(bits_of(run(c, {inf, 1.0f}, {0.0f, 3.0f}, -1)) == std::vector<uint32_t>{0x7fc00000u});
  CHECK(bits_of(run(c, {-0.0f, 0.0f}, {1.0f, -1.0f}, -1)) == std::vector<uint32_t>{0u});
}

TEST_CASE("packing from rows gives the panels of packing from columns") {
  Random random(3);
  for (int32_t i = 0; i < gemm_f32_count(); ++i) {
    const GemmF32Kernel& kernel = gemm_f32_kernel(i);
    for (int32_t trial = 0; trial < 30; ++trial) {
      const int32_t n = random.between(1, 50), k = random.between(1, 40), stride = n + random.between(0, 3);
      const std::vector<float> rows = random.reals(static_cast<size_t>(stride * k), -1.0f, 1.0f);
      std::vector<float> columns(static_cast<size_t>(n * k));
      for (int32_t c = 0; c < n; ++c)
        for (int32_t r = 0; r < k; ++r)
          columns[static_cast<size_t>(c * k + r)] = rows[static_cast<size_t>(r * stride + c)];
      const auto floats = static_cast<size_t>((n + kernel.nr - 1) / kernel.nr * kernel.nr * k);
      std::vector<float> by_rows(floats, 9.0f), by_columns(floats, 9.0f);
      gemm_f32_pack_rows(kernel, rows.data(), stride, n, k, by_rows.data());
      if (kernel.packs)
        gemm_f32_pack(kernel, columns.data(), n, 1, k, by_columns.data());
      else
        std::copy(columns.begin(), columns.end(), by_columns.begin());
      REQUIRE(bits_of(by_rows) == bits_of(by_columns));
    }
  }
}

TEST_CASE("what does not fit is refused") {
  const auto refused = [](const Dims& a, const Dims& b, const Dims& y, bool transpose_b, Status status,
                          int64_t value, int64_t limit) {
    OneNode net;
    const int32_t ta = net.f32(a), tb = net.f32(b), ty = net.f32(y);
    net.node(Op::kBatchMatMul, {ta, tb}, ty).as<BatchMatMulOptions>().transpose_b = transpose_b;
    net.check(status, value, limit);
  };
  refused({2, 3}, {3, 4}, {2, 4}, false, Status::kOk, 0, 0);
  refused({2, 3}, {4, 3}, {2, 4}, true, Status::kOk, 0, 0);
  refused({3}, {3, 4}, {1, 4}, false, Status::kBadRank, 1, 2);
  refused({2, 3}, {3}, {2, 1}, false, Status::kBadRank, 1, 2);
  refused({2, 3}, {4, 5}, {2, 5}, false, Status::kShapeMismatch, 4, 3);
  refused({2, 3}, {4, 5}, {2, 4}, true, Status::kShapeMismatch, 5, 3);
  refused({2, 3}, {3, 5}, {3, 5}, false, Status::kShapeMismatch, 3, 2);
  refused({2, 3}, {3, 5}, {2, 4}, false, Status::kShapeMismatch, 4, 5);
  refused({2, 2, 3}, {3, 3, 5}, {3, 2, 5}, false, Status::kShapeMismatch, 3, 2);
  refused({2, 2, 3}, {3, 3, 5}, {2, 2, 5}, false, Status::kShapeMismatch, 3, 2);
  refused({2, 2, 3}, {3, 5}, {1, 2, 5}, false, Status::kShapeMismatch, 1, 2);
  refused({2, 2, 3}, {3, 5}, {2, 5}, false, Status::kBadRank, 2, 3);
  refused({1, 2, 3}, {1, 3, 5}, {2, 5}, false, Status::kBadRank, 2, 3);
}

TEST_CASE("a factor: of reals behind the chain, of codes in the multiplier; what is no factor is refused") {
  const auto made = [](bool codes, float scale, float s_a, OneNode& net) {
    const int32_t a = codes ? net.s8({1, 2}, s_a) : net.f32({1, 2}),
                  b = codes ? net.s8({2, 1}) : net.f32({2, 1}), y = codes ? net.s8({1, 1}) : net.f32({1, 1});
    net.node(Op::kBatchMatMul, {a, b}, y).as<BatchMatMulOptions>().scale = scale;
  };
  OneNode reals, whole;
  made(false, 0.5f, 0.0f, reals);
  CHECK(run_widths<float>(reals.b, std::vector<std::vector<float>>{{1, 2}, {3, 5}}) ==
        std::vector<float>{6.5f});
  made(true, 4.0f, 0.5f, whole);  // (1 + 6) / 4 * 4 / 0.5
  CHECK(run_widths<int8_t>(whole.b, std::vector<std::vector<int8_t>>{{1, 2}, {1, 3}}) ==
        std::vector<int8_t>{14});
  OneNode third;
  made(false, 0.17f, 0.0f, third);
  CHECK(run_widths<float>(third.b, std::vector<std::vector<float>>{{1, 2}, {3, 5}}) ==
        std::vector<float>{13.0f * 0.17f});
  const float inf = __builtin_inff();
  for (const bool codes : {false, true})
    for (const float bad : {0.0f, -1.0f, inf, __builtin_nanf("")}) {
      OneNode net;
      made(codes, bad, 0.5f, net);
      net.check(Status::kBadAttribute);
    }
  OneNode large;
  made(true, 3e38f, 8.0f, large);
  large.check(Status::kBadAttribute, 1);
}

TEST_CASE("its cost is a multiply-add for each element of the result and of the common axis") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {2, 3, 4}), w = b.tensor("w", DType::kF32, {4, 5}),
                y = b.tensor("y", DType::kF32, {2, 3, 5});
  b.node(Op::kBatchMatMul, {x, w}, {y});
  b.input(x);
  b.input(w);
  b.output(y);
  const AlignedBytes file = b.finish();
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  CHECK(macs_of(*model, model->node(0)) == 2 * 3 * 5 * 4);
}

TEST_CASE("scratch: a table of rows, and as many columns as stay near") {
  const auto scratch = [](int32_t k, int32_t n, bool transpose_b, IsaMask isa, int32_t width) {
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kF32, {3, k}),
                  w = b.tensor("w", DType::kF32, transpose_b ? Dims{n, k} : Dims{k, n}),
                  y = b.tensor("y", DType::kF32, {3, n});
    b.node(Op::kBatchMatMul, {x, w}, {y}).options.as<BatchMatMulOptions>().transpose_b = transpose_b;
    b.input(x);
    b.input(w);
    b.output(y);
    const AlignedBytes file = b.finish();
    const Result<Model> model = Model::open(file.view());
    REQUIRE(static_cast<bool>(model));
    SessionOptions options;
    options.isa = isa;
    if (width > 1) options.executor = {nullptr, width, test::run_backwards};
    const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
    REQUIRE(static_cast<bool>(needs));
    return static_cast<int64_t>(needs->scratch_bytes);
  };
  CHECK(scratch(300, 700, false, isa::kScalar, 1) == 64 + 3648);   // three columns
  CHECK(scratch(500, 700, false, isa::kScalar, 1) == 64 + 4032);   // two, of 4000 bytes
  CHECK(scratch(2000, 700, false, isa::kScalar, 1) == 64 + 8000);  // one at least
  CHECK(scratch(20, 4, false, isa::kScalar, 1) == 64 + 320);       // all there are
  CHECK(scratch(300, 700, true, isa::kScalar, 1) == 64);           // they are read in place
  CHECK(scratch(2000, 700, false, isa::kScalar, 3) == 3 * (64 + 8000));
}

TEST_CASE("codes and reals together are refused, and sums that leave int32") {
  const auto refused = [](bool a_codes, bool b_codes, bool y_codes, int64_t value, int64_t limit) {
    OneNode net;
    const auto tensor = [&](bool codes, const Dims& dims) { return codes ? net.s8(dims) : net.f32(dims); };
    const int32_t a = tensor(a_codes, {2, 3}), b = tensor(b_codes, {3, 4}), y = tensor(y_codes, {2, 4});
    net.node(Op::kBatchMatMul, {a, b}, y);
    net.check(Status::kBadDType, value, limit);
  };
  refused(false, true, false, test::kS8Value, test::kF32Value);
  refused(true, false, true, test::kF32Value, test::kS8Value);
  for (const int32_t k : {33025, 33026}) {
    OneNode net;
    const int32_t a = net.s8({1, k}), b = net.s8({k, 1}), y = net.s8({1, 1});
    net.node(Op::kBatchMatMul, {a, b}, y);
    if (k == 33025)
      net.check(Status::kOk);
    else
      net.check(Status::kAccumulatorOverflow, 0, 33025);
  }
}

}  // namespace
}  // namespace intaglio::test::batch_mat_mul_test
