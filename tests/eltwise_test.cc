#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::eltwise_test {
namespace {

using test::bits_of;
using test::Exact;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();
const int32_t kSizes[] = {1, 3, 15, 16, 17, 63, 64, 65, 200};

// The same call to every kernel that this machine runs, in place and apart: one result.
template <typename Call>
void call_every(const int8_t* a, int8_t* y, int32_t n, Call call) {
  const test::Exact<int8_t> source(std::vector<int8_t>(a, a + n));
  std::vector<int8_t> first;
  for (int32_t i = 0; i < eltwise_s8_count(); ++i) {
    const EltwiseS8Kernel& kernel = eltwise_s8_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    test::Exact<int8_t> apart(source.size()), inside(std::vector<int8_t>(a, a + n));
    call(kernel, source.data(), apart.data());
    call(kernel, inside.data(), inside.data());
    const std::vector<int8_t> found(apart.data(), apart.data() + n);
    REQUIRE(memcmp(inside.data(), found.data(), found.size()) == 0);
    if (first.empty()) first = found;
    REQUIRE(first == found);
  }
  memcpy(y, first.data(), first.size());
}

void add_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& p) {
  call_every(a, y, rows * n, [&](const EltwiseS8Kernel& k, const int8_t* x, int8_t* out) {
    k.add_rows(x, b, out, rows, n, p);
  });
}
void add_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& p) {
  call_every(a, y, n,
             [&](const EltwiseS8Kernel& k, const int8_t* x, int8_t* out) { k.add_code(x, b, out, n, p); });
}
void mul_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const MulS8& p) {
  call_every(a, y, rows * n, [&](const EltwiseS8Kernel& k, const int8_t* x, int8_t* out) {
    k.mul_rows(x, b, out, rows, n, p);
  });
}
void mul_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& p) {
  call_every(a, y, n,
             [&](const EltwiseS8Kernel& k, const int8_t* x, int8_t* out) { k.mul_code(x, b, out, n, p); });
}

void lookup_s8(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  call_every(x, y, n, [&](const EltwiseS8Kernel& k, const int8_t* from, int8_t* out) {
    k.lookup(from, table, out, n);
  });
}

int8_t expected_sum(int32_t a, int32_t b, const AddS8& p) {
  const int64_t sum =
      int64_t{a - p.a_zero_point} * p.a_multiplier + int64_t{b - p.b_zero_point} * p.b_multiplier;
  const int64_t rounded = (sum + (int64_t{1} << (p.right_shift - 1))) >> p.right_shift;
  return static_cast<int8_t>(std::clamp<int64_t>(p.zero_point + rounded, p.lo, p.hi));
}

AddS8 random_params(Random& random) {
  AddS8 p;
  p.a_zero_point = random.between(-128, 127);
  p.b_zero_point = random.between(-128, 127);
  const int32_t most = random.one_in(2) ? 32767 : (1 << 21) - 1;
  p.a_multiplier = random.between(-most, most);
  p.b_multiplier = random.between(-most, most);
  p.right_shift = random.between(1, 30);
  p.zero_point = random.between(-128, 127);
  p.lo = random.between(-128, 127);
  p.hi = random.between(p.lo, 127);
  return p;
}

TEST_CASE("int8 addition equals the formula for every size") {
  Random random(1);
  for (int32_t trial = 0; trial < 200; ++trial) {
    const AddS8 p = random_params(random);
    for (const int32_t n : kSizes) {
      const int32_t rows = random.between(1, 3);
      const std::vector<int8_t> a = random.codes(static_cast<size_t>(rows * n));
      const std::vector<int8_t> b = random.codes(static_cast<size_t>(n));
      std::vector<int8_t> y(a.size()), expected(a.size());
      for (size_t i = 0; i < a.size(); ++i) expected[i] = expected_sum(a[i], b[i % b.size()], p);
      add_rows_s8(a.data(), b.data(), y.data(), rows, n, p);
      REQUIRE(y == expected);
      y = a;
      add_rows_s8(y.data(), b.data(), y.data(), rows, n, p);
      REQUIRE(y == expected);
    }
  }
}

TEST_CASE("every kernel, random sizes and values") {
  Random random(9);
  const int32_t cases = test::shape_count(2000);
  for (int32_t i = 0; i < cases; ++i) {
    const int32_t n = random.between(1, random.one_in(4) ? 400 : 40), rows = random.between(1, 3);
    const auto count = static_cast<size_t>(n * rows);
    const test::Exact<int8_t> a(random.codes(count)), b(random.codes(static_cast<size_t>(n)));
    const test::Exact<int8_t> table(random.codes(256));
    std::vector<int8_t> found(count), expected(count);
    const AddS8 add = random_params(random);
    add_rows_s8(a.data(), b.data(), found.data(), rows, n, add);
    for (size_t j = 0; j < count; ++j) expected[j] = expected_sum(a[j], b[j % b.size()], add);
    REQUIRE(found == expected);
    const MulS8 mul = {add.a_zero_point, add.b_zero_point, random.real(1e-6f, 2.0f),
                       make_output_s8(add.zero_point, add.lo, add.hi)};
    mul_rows_s8(a.data(), b.data(), found.data(), rows, n, mul);
    for (size_t j = 0; j < count; ++j) {
      const int32_t product = (a[j] - mul.a_zero_point) * (b[j % b.size()] - mul.b_zero_point);
      expected[j] = requantize_s8(product, mul.multiplier, mul.output);
    }
    REQUIRE(found == expected);
    lookup_s8(a.data(), table.data(), found.data(), rows * n);
    for (size_t j = 0; j < count; ++j) expected[j] = table[static_cast<size_t>(a[j] + 128)];
    REQUIRE(found == expected);
    add_code_s8(a.data(), b[0], found.data(), rows * n, add);
    for (size_t j = 0; j < count; ++j) expected[j] = expected_sum(a[j], b[0], add);
    REQUIRE(found == expected);
    mul_code_s8(a.data(), b[0], found.data(), rows * n, mul);
    for (size_t j = 0; j < count; ++j)
      expected[j] =
          requantize_s8((a[j] - mul.a_zero_point) * (b[0] - mul.b_zero_point), mul.multiplier, mul.output);
    REQUIRE(found == expected);
  }
}

TEST_CASE("int8 addition of one code") {
  Random random(2);
  for (int32_t trial = 0; trial < 100; ++trial) {
    const AddS8 p = random_params(random);
    for (const int32_t n : kSizes) {
      const auto b = static_cast<int8_t>(random.between(-128, 127));
      std::vector<int8_t> y = random.codes(static_cast<size_t>(n)), expected(y.size());
      for (size_t i = 0; i < y.size(); ++i) expected[i] = expected_sum(y[i], b, p);
      add_code_s8(y.data(), b, y.data(), n, p);
      REQUIRE(y == expected);
    }
  }
}

TEST_CASE("int8 addition at its extremes does not wrap") {
  for (const int32_t code : {-128, 127}) {
    const int32_t zero_point = code == -128 ? 127 : -128;
    const AddS8 p{zero_point, zero_point, 32767, 32767, 30, 0, -128, 127};
    const auto c = static_cast<int8_t>(code);
    int8_t y = 0;
    add_rows_s8(&c, &c, &y, 1, 1, p);
    CHECK(y == expected_sum(c, c, p));
  }
}

TEST_CASE("a lookup reads the entry of each code") {
  Random random(3);
  const std::vector<int8_t> table = random.codes(256);
  std::vector<int8_t> x(256), y(256);
  for (size_t i = 0; i < 256; ++i) x[i] = static_cast<int8_t>(static_cast<int32_t>(i) - 128);
  lookup_s8(x.data(), table.data(), y.data(), 256);
  CHECK(y == table);
  for (const int32_t n : {1, 31, 127, 128, 129, 300, 1000}) {
    const std::vector<int8_t> entries = random.codes(256), codes = random.codes(static_cast<size_t>(n));
    std::vector<int8_t> found(codes.size()), expected;
    for (const int8_t code : codes) expected.push_back(entries[static_cast<size_t>(code + 128)]);
    lookup_s8(codes.data(), entries.data(), found.data(), n);
    REQUIRE(found == expected);
  }
}

// Rows of one kernel against plain operations, one by one.
template <typename Plain>
void check_rows(RowsF32* combine, Plain plain) {
  const ClampF32 clamps[] = {{-kInf, kInf}, {0.0f, kInf}, {0.0f, 6.0f}, {-1.0f, 1.0f}};
  Random random(4);
  for (int32_t trial = 0; trial < test::shape_count(1000); ++trial) {
    const int32_t rows = random.between(1, 4);
    const auto n = static_cast<size_t>(random.one_in(8) ? random.between(1, 400) : random.between(1, 70));
    const ClampF32& clamp = clamps[random.between(0, 3)];
    std::vector<float> a = random.reals(static_cast<size_t>(rows) * n, -10.0f, 10.0f);
    std::vector<float> b = random.reals(n, -10.0f, 10.0f);
    if (random.one_in(4)) a[a.size() - 1] = random.any_float();
    if (random.one_in(4)) b[0] = random.any_float();
    std::vector<float> expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) expected[i] = finish_f32(plain(a[i], b[i % n]), clamp);
    const Exact<float> x(a), row(b);
    Exact<float> y(a.size()), in_place(a);
    combine(x.data(), row.data(), y.data(), rows, static_cast<int32_t>(n), clamp);
    combine(in_place.data(), row.data(), in_place.data(), rows, static_cast<int32_t>(n), clamp);
    REQUIRE(memcmp(y.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    REQUIRE(memcmp(in_place.data(), expected.data(), expected.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("every FP32 kernel, random sizes and values: one rounding, then the clamp") {
  const auto runs_here = [](IsaMask isa) { return (isa & ~(cpu_isa() & kCompiledIsa)) == 0; };
  for (int32_t k = 0; k < eltwise_f32_count(); ++k) {
    const EltwiseF32Kernel& kernel = eltwise_f32_kernel(k);
    if (!runs_here(kernel.isa)) continue;
    CAPTURE(kernel.name);
    check_rows(kernel.add_rows, [](float p, float q) { return p + q; });
    check_rows(kernel.mul_rows, [](float p, float q) { return p * q; });
  }
  for (int32_t k = 0; k < prelu_f32_count(); ++k) {
    const PreluF32Kernel& kernel = prelu_f32_kernel(k);
    if (!runs_here(kernel.isa)) continue;
    CAPTURE(kernel.name);
    check_rows(kernel.rows, [](float p, float q) { return p > 0.0f ? p : p * q; });
  }
}

TEST_CASE("FP32 addition of one number: one rounding, then the clamp") {
  Random random(6);
  const ClampF32 clamps[] = {{-kInf, kInf}, {0.0f, kInf}, {0.0f, 6.0f}, {-1.0f, 1.0f}};
  for (const ClampF32& clamp : clamps) {
    for (const int32_t n : kSizes) {
      const std::vector<float> a = random.reals(static_cast<size_t>(n), -10.0f, 10.0f);
      std::vector<float> y(a.size()), expected(a.size());
      for (size_t i = 0; i < a.size(); ++i)
        expected[i] = std::min(std::max(a[i] + 0.3f, clamp.lo), clamp.hi) + 0.0f;
      add_value_f32(a.data(), 0.3f, y.data(), n, clamp);
      REQUIRE(bits_of(y) == bits_of(expected));
    }
  }
}

TEST_CASE("FP32 results are canonical: one NaN, no negative zero") {
  const float negative_nan = f32_from_bits(0xffc12345u);
  const std::vector<float> a = {-0.0f, kInf, negative_nan, 1.0f, -kInf};
  const std::vector<float> b = {-0.0f, -kInf, 1.0f, negative_nan, 1.0f};
  std::vector<float> y(a.size());
  for (int32_t k = 0; k < eltwise_f32_count(); ++k) {
    if ((eltwise_f32_kernel(k).isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    eltwise_f32_kernel(k).add_rows(a.data(), b.data(), y.data(), 1, 5, {-kInf, kInf});
    CHECK(bits_of(y) == std::vector<uint32_t>{0u, 0x7fc00000u, 0x7fc00000u, 0x7fc00000u, 0xff800000u});
  }
  clamp_row_f32(a.data(), y.data(), 5, {0.0f, 6.0f});
  CHECK(bits_of(y) == std::vector<uint32_t>{0u, bits_of(6.0f), 0x7fc00000u, bits_of(1.0f), 0u});
  clamp_row_f32(a.data(), y.data(), 5, {-kInf, -0.0f});
  CHECK(bits_of(y) == std::vector<uint32_t>{0u, 0u, 0x7fc00000u, 0u, 0xff800000u});
}

TEST_CASE("int8 multiplication: the exact product, requantized, in place too") {
  Random random(5);
  for (int32_t trial = 0; trial < 100; ++trial) {
    const int32_t lo = random.between(-128, 127), hi = random.between(lo, 127);
    const MulS8 p{random.between(-128, 127), random.between(-128, 127), random.real(0.0001f, 0.1f),
                  make_output_s8(random.between(-128, 127), lo, hi)};
    for (const int32_t n : kSizes) {
      const std::vector<int8_t> a = random.codes(static_cast<size_t>(2 * n)),
                                b = random.codes(static_cast<size_t>(n));
      std::vector<int8_t> y = a, expected(a.size()), expected_one(a.size());
      for (size_t i = 0; i < a.size(); ++i) {
        const auto product = [&](int8_t code) {
          return requantize_s8((a[i] - p.a_zero_point) * (code - p.b_zero_point), p.multiplier, p.output);
        };
        expected[i] = product(b[i % b.size()]);
        expected_one[i] = product(b[0]);
      }
      mul_rows_s8(y.data(), b.data(), y.data(), 2, n, p);
      REQUIRE(y == expected);
      mul_code_s8(a.data(), b[0], y.data(), 2 * n, p);
      REQUIRE(y == expected_one);
    }
  }
}

TEST_CASE("a table a column") {
  Random random(6);
  for (const int32_t n : {1, 2, 5, 64, 65}) {
    const std::vector<int8_t> tables = random.codes(256 * static_cast<size_t>(n));
    std::vector<int8_t> x = random.codes(3 * static_cast<size_t>(n)), expected(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      expected[i] = tables[i % static_cast<size_t>(n) * 256 + static_cast<size_t>(x[i] + 128)];
    lookup_rows_s8(x.data(), tables.data(), x.data(), 3, n);
    REQUIRE(x == expected);
  }
}

}  // namespace
}  // namespace intaglio::test::eltwise_test
