// FP32 functions of one variable: near the exact ones, the same bits from every kernel and on every machine.
#include "kernels/eltwise/unary_f32.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

#include "intaglio/platform.h"
#include "kernels/arithmetic/functions_f32.h"
#include "kernels/compiled_isa.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::unary_f32_test {
namespace {

using test::bits_of;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kAlpha = 0.2f, kBeta = 0.5f;
constexpr UnaryF32 kFunctions[] = {UnaryF32::kLeakyRelu, UnaryF32::kSigmoid,     UnaryF32::kTanh,
                                   UnaryF32::kHardSwish, UnaryF32::kHardSigmoid, UnaryF32::kSwish,
                                   UnaryF32::kGelu,      UnaryF32::kExp,         UnaryF32::kAbs,
                                   UnaryF32::kSqrt,      UnaryF32::kRsqrt,       UnaryF32::kReciprocal,
                                   UnaryF32::kLog,       UnaryF32::kErf,         UnaryF32::kElu,
                                   UnaryF32::kSoftplus,  UnaryF32::kMish,        UnaryF32::kGeluTanh};

long double exact(UnaryF32 function, float v) {
  const auto x = static_cast<long double>(v);
  const long double line = static_cast<long double>(kAlpha) * x + static_cast<long double>(kBeta);
  switch (function) {
    case UnaryF32::kLeakyRelu:
      return x > 0 ? x : static_cast<long double>(kAlpha) * x;
    case UnaryF32::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryF32::kTanh:
      return std::tanh(x);
    case UnaryF32::kHardSwish:
      return x * std::fmin(std::fmax(x + 3, 0.0L), 6.0L) / 6;
    case UnaryF32::kHardSigmoid:
      return std::fmin(std::fmax(line, 0.0L), 1.0L);
    case UnaryF32::kSwish:
      return x / (1 + std::exp(-x));
    case UnaryF32::kGelu:
      return x * std::erfc(-x / std::sqrt(2.0L)) / 2;
    case UnaryF32::kExp:
      return std::exp(x);
    case UnaryF32::kAbs:
      return std::fabs(x);
    case UnaryF32::kSqrt:
      return std::sqrt(x);
    case UnaryF32::kRsqrt:
      return 1 / std::sqrt(x);
    case UnaryF32::kReciprocal:
      return 1 / x;
    case UnaryF32::kLog:
      return std::log(x);
    case UnaryF32::kErf:
      return std::erf(x);
    case UnaryF32::kElu:
      return x > 0 ? x : static_cast<long double>(kAlpha) * std::expm1(x);
    case UnaryF32::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case UnaryF32::kMish:
      return x * std::tanh(x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)));
    case UnaryF32::kGeluTanh: {
      const long double u = std::sqrt(8 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
      return x / (1 + std::exp(-u));
    }
  }
  return 0;
}

bool is_of_positives(UnaryF32 function) {
  return function == UnaryF32::kSqrt || function == UnaryF32::kRsqrt || function == UnaryF32::kLog;
}

std::vector<float> run(UnaryF32 function, const std::vector<float>& x, int32_t kernel) {
  std::vector<float> y(x.size());
  unary_f32_kernel(kernel).function(
      {function, kAlpha, kBeta, x.data(), y.data(), static_cast<int32_t>(x.size())});
  return y;
}

int32_t scalar() { return unary_f32_count() - 1; }

// Floats of all magnitudes, and where the functions bend.
std::vector<float> arguments() {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0x42c80000u; bits += 40009)  // up to 100
    for (const uint32_t sign : {0u, 0x80000000u}) x.push_back(f32_from_bits(bits | sign));
  for (int32_t i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.005f);
  return x;
}

TEST_CASE("near the exact functions") {
  const std::vector<float> x = arguments();
  for (const UnaryF32 function : kFunctions) {
    CAPTURE(static_cast<int>(function));
    const std::vector<float> y = run(function, x, scalar());
    double worst = 0.0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (function == UnaryF32::kExp && x[i] > 88.0f) continue;
      if (is_of_positives(function) && x[i] <= 0.0f) continue;
      if (function == UnaryF32::kReciprocal && std::fabs(x[i]) < 1e-38f) continue;
      const long double e = exact(function, x[i]);
      // Relative where the result is not near 0; absolute there: a code of int8 is 1/256.
      const long double error = std::fabs(static_cast<long double>(y[i]) - e) / (std::fabs(e) + 1e-4L);
      worst = std::max(worst, static_cast<double>(error));
    }
    MESSAGE("largest error: " << worst);
    CHECK(worst < (function == UnaryF32::kGelu || function == UnaryF32::kGeluTanh ? 2e-6 : 1e-6));
  }
}

TEST_CASE("tanh keeps small numbers") {
  for (const float x : {1e-30f, 1e-10f, 1e-4f, 0.01f, 0.3f, 0.62f, 0.63f}) {
    const float y = run(UnaryF32::kTanh, {x}, scalar())[0];
    CHECK(std::fabs(y - std::tanh(x)) <= 3e-7f * x);
    CHECK(run(UnaryF32::kTanh, {-x}, scalar())[0] == -y);
  }
}

TEST_CASE("every kernel gives the scalar kernel's bits, at every length, in place too") {
  Random random(1);
  std::vector<float> x = arguments();
  for (int32_t i = 0; i < 20000; ++i) x.push_back(random.any_float());
  for (int32_t k = 0; k < unary_f32_count(); ++k) {
    const UnaryF32Kernel& kernel = unary_f32_kernel(k);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    for (const UnaryF32 function : kFunctions) {
      CAPTURE(static_cast<int>(function));
      REQUIRE(bits_of(run(function, x, k)) == bits_of(run(function, x, scalar())));
      for (const size_t n : {1u, 3u, 8u, 63u, 64u, 65u, 200u}) {
        const std::vector<float> some(x.begin() + 1000, x.begin() + 1000 + static_cast<std::ptrdiff_t>(n));
        std::vector<float> y = some;
        kernel.function({function, kAlpha, kBeta, y.data(), y.data(), static_cast<int32_t>(n)});
        REQUIRE(bits_of(y) == bits_of(run(function, some, scalar())));
      }
    }
  }
}

TEST_CASE("every kernel, random lengths and bits: the scalar kernel's") {
  Random random(2);
  const int32_t cases = test::shape_count(3000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    const auto n = static_cast<size_t>(random.between(1, random.one_in(4) ? 200 : 40));
    test::Exact<float> x(n), expected(n);
    for (size_t i = 0; i < n; ++i) x[i] = random.one_in(4) ? random.any_float() : random.real(-9.0f, 9.0f);
    const UnaryF32 function = kFunctions[trial % static_cast<int32_t>(std::size(kFunctions))];
    CAPTURE(static_cast<int>(function));
    const auto length = static_cast<int32_t>(n);
    unary_f32_kernel(scalar()).function({function, kAlpha, kBeta, x.data(), expected.data(), length});
    for (int32_t k = 0; k < scalar(); ++k) {
      const UnaryF32Kernel& kernel = unary_f32_kernel(k);
      CAPTURE(kernel.name);
      if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
      test::Exact<float> y(n), inside(n);
      memcpy(inside.data(), x.data(), n * sizeof(float));
      kernel.function({function, kAlpha, kBeta, x.data(), y.data(), length});
      kernel.function({function, kAlpha, kBeta, inside.data(), inside.data(), length});
      REQUIRE(memcmp(y.data(), expected.data(), n * sizeof(float)) == 0);
      REQUIRE(memcmp(inside.data(), expected.data(), n * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("the square root is the rounded one: every mantissa, and every exponent") {
  const auto check = [](const std::vector<float>& x) {
    const std::vector<float> y = run(UnaryF32::kSqrt, x, unary_f32_select(cpu_isa() & kCompiledIsa));
    for (size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      if (bits_of(y[i]) != bits_of(std::sqrt(x[i]))) FAIL("not the rounded root");
      if (bits_of(sqrt_by_steps_f32(x[i])) != bits_of(y[i])) FAIL("not the machine's root");
    }
  };
  std::vector<float> x;
  for (uint32_t bits = 0x3f800000u; bits < 0x40800000u; ++bits) {  // 1 to 4: the pattern repeats
    x.push_back(f32_from_bits(bits));
    if (x.size() == 65536 || bits + 1 == 0x40800000u) {
      check(x);
      x.clear();
    }
  }
  for (uint32_t bits = 0; bits <= 0x7f800000u; bits += 3989) x.push_back(f32_from_bits(bits));
  check(x);
}

TEST_CASE("one NaN, no negative zero; infinities") {
  for (const UnaryF32 function : kFunctions) {
    CAPTURE(static_cast<int>(function));
    for (const uint32_t nan : {0x7fc00000u, 0xffc00001u})
      CHECK(bits_of(run(function, {f32_from_bits(nan)}, scalar())[0]) == 0x7fc00000u);
    if (function == UnaryF32::kReciprocal || function == UnaryF32::kRsqrt) continue;
    const std::vector<float> zeros = run(function, {-0.0f, 0.0f}, scalar());
    CHECK(bits_of(zeros[0]) == bits_of(zeros[1]));
    for (const float v : run(function, arguments(), scalar())) REQUIRE(bits_of(v) != 0x80000000u);
  }
  const std::vector<float> ends = {-kInf, -200.0f, 200.0f, kInf};
  CHECK(run(UnaryF32::kSigmoid, ends, scalar()) == std::vector<float>{0, 0, 1, 1});
  CHECK(run(UnaryF32::kTanh, ends, scalar()) == std::vector<float>{-1, -1, 1, 1});
  CHECK(run(UnaryF32::kHardSigmoid, ends, scalar()) == std::vector<float>{0, 0, 1, 1});
  CHECK(run(UnaryF32::kExp, ends, scalar()) == std::vector<float>{0, 0, kInf, kInf});
  CHECK(run(UnaryF32::kGelu, {-200.0f, 200.0f}, scalar()) == std::vector<float>{0, 200});
  CHECK(run(UnaryF32::kSwish, {-200.0f, 200.0f}, scalar()) == std::vector<float>{0, 200});
  CHECK(run(UnaryF32::kGeluTanh, {-200.0f, 200.0f}, scalar()) == std::vector<float>{0, 200});
  CHECK(run(UnaryF32::kMish, {-200.0f, 200.0f, kInf}, scalar()) == std::vector<float>{0, 200, kInf});
  CHECK(run(UnaryF32::kSoftplus, ends, scalar()) == std::vector<float>{0, 0, 200, kInf});
  CHECK(run(UnaryF32::kElu, ends, scalar()) == std::vector<float>{-kAlpha, -kAlpha, 200, kInf});
  CHECK(run(UnaryF32::kErf, ends, scalar()) == std::vector<float>{-1, -1, 1, 1});
  CHECK(run(UnaryF32::kLog, {0.0f, 1.0f, kInf}, scalar()) == std::vector<float>{-kInf, 0, kInf});
  CHECK(run(UnaryF32::kRsqrt, {0.0f, 4.0f, kInf}, scalar()) == std::vector<float>{kInf, 0.5f, 0});
  CHECK(run(UnaryF32::kReciprocal, {-kInf, -4.0f, 0.0f, kInf}, scalar()) ==
        std::vector<float>{0, -0.25f, kInf, 0});
  for (const UnaryF32 function : {UnaryF32::kSqrt, UnaryF32::kRsqrt, UnaryF32::kLog})
    CHECK(bits_of(run(function, {-1e-30f}, scalar())[0]) == 0x7fc00000u);
  CHECK(run(UnaryF32::kHardSwish, {-200.0f, -3.0f, 3.0f}, scalar()) == std::vector<float>{0, 0, 3});
}

TEST_CASE("these bits, on every machine") {
  uint32_t digest = 2166136261u;  // FNV-1a over the results
  for (const UnaryF32 function : kFunctions)
    for (const float v : run(function, arguments(), scalar()))
      for (int32_t i = 0; i < 32; i += 8) digest = (digest ^ (bits_of(v) >> i & 0xffu)) * 16777619u;
  CHECK(digest == 3977377449u);
}

}  // namespace
}  // namespace intaglio::test::unary_f32_test
