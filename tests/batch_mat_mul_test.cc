// Products of two activations: every output is one chain of fused multiply-adds, whatever the kernel, the width and the way that the
// second operand stands.
#include <doctest/doctest.h>

#include <algorithm>

#include "calibrator/host/accuracy/layer_cost.h"
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/gemm/gemm_f32.h"
#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio {
namespace {

using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::OneNode;
using test::Random;
using test::run_widths;

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

TEST_CASE("its cost is a multiply-add for each element of the result and of the common axis") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {2, 3, 4}), w = b.tensor("w", DType::kF32, {4, 5}),
                y = b.tensor("y", DType::kF32, {2, 3, 5});
  b.node(Op::kBatchMatMul, {x, w}, {y});
  b.input(x);
  b.input(w);
  b.output(y);
  const test::AlignedBytes file = b.finish();
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
    const test::AlignedBytes file = b.finish();
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

TEST_CASE("codes are refused") {
  OneNode net;
  const int32_t a = net.f32({2, 3}), b = net.s8({3, 4}), y = net.f32({2, 4});
  net.node(Op::kBatchMatMul, {a, b}, y);
  net.check(Status::kBadDType, test::kS8Value, test::kF32Value);
}

}  // namespace
}  // namespace intaglio
