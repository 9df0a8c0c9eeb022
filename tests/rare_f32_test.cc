// FP32 functions of one variable that few networks have: near the exact ones, the same bits from every kernel.
#include "kernels/eltwise/rare_f32.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <vector>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "runtime/op.h"
#include "runtime/real_functions.h"
#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::rare_f32_test {
namespace {

using test::bits_of;
using test::Random;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr RareF32 kFunctions[] = {
    RareF32::kFloor,  RareF32::kCeil,    RareF32::kRound, RareF32::kSign, RareF32::kSin,
    RareF32::kCos,    RareF32::kPow,     RareF32::kSelu,  RareF32::kCelu, RareF32::kThresholdedRelu,
    RareF32::kShrink, RareF32::kSoftsign};

long double exact(RareF32 function, float v, float alpha, float beta) {
  const auto x = static_cast<long double>(v), a = static_cast<long double>(alpha),
             b = static_cast<long double>(beta);
  switch (function) {
    case RareF32::kFloor:
      return std::floor(x);
    case RareF32::kCeil:
      return std::ceil(x);
    case RareF32::kRound:
      return std::nearbyint(x);
    case RareF32::kSign:
      return x > 0 ? 1 : (x < 0 ? -1 : 0);
    case RareF32::kSin:
      return std::sin(x);
    case RareF32::kCos:
      return std::cos(x);
    case RareF32::kPow:
      return std::pow(x, a);
    case RareF32::kSelu:
      return b * (x > 0 ? x : a * std::expm1(x));
    case RareF32::kCelu:
      return x > 0 ? x : a * std::expm1(x / a);
    case RareF32::kThresholdedRelu:
      return x > a ? x : 0;
    case RareF32::kShrink:
      return x < -a ? x + b : (x > a ? x - b : 0);
    case RareF32::kSoftsign:
      return x / (1 + std::fabs(x));
  }
  return 0;
}

std::vector<float> run(RareF32 function, const std::vector<float>& x, int32_t kernel, float alpha,
                       float beta) {
  std::vector<float> y(x.size());
  rare_f32_kernel(kernel).function(
      {function, alpha, beta, x.data(), y.data(), static_cast<int32_t>(x.size())});
  return y;
}

int32_t scalar() { return rare_f32_count() - 1; }

// Floats of all magnitudes, and where the functions bend.
std::vector<float> arguments(float most) {
  std::vector<float> x;
  uint32_t last;
  memcpy(&last, &most, sizeof last);
  for (uint32_t bits = 0; bits < last; bits += 40009)
    for (const uint32_t sign : {0u, 0x80000000u}) x.push_back(f32_from_bits(bits | sign));
  for (int32_t i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.005f);
  return x;
}

double worst(RareF32 function, const std::vector<float>& x, float alpha, float beta, bool positive) {
  const std::vector<float> y = run(function, x, scalar(), alpha, beta);
  double most = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (positive && x[i] <= 0.0f) continue;
    const long double e = exact(function, x[i], alpha, beta);
    if (std::fabs(e) > 1e38L || (e != 0 && std::fabs(e) < 1e-37L)) continue;
    most = std::max(
        most, static_cast<double>(std::fabs(static_cast<long double>(y[i]) - e) / (std::fabs(e) + 1e-4L)));
  }
  return most;
}

TEST_CASE("near the exact functions") {
  for (const RareF32 function : kFunctions) {
    if (function == RareF32::kPow) continue;
    CAPTURE(static_cast<int>(function));
    for (const float alpha : {0.2f, 1.67326f})
      CHECK(worst(function, arguments(100.0f), alpha, 1.05f, false) < 2e-6);
  }
}

TEST_CASE("sin and cos of any size") {
  for (const RareF32 function : {RareF32::kSin, RareF32::kCos}) {
    const std::vector<float> x = arguments(3e38f), y = run(function, x, scalar(), 0.0f, 0.0f);
    double most = 0.0;
    for (size_t i = 0; i < x.size(); ++i)
      most = std::max(
          most, std::fabs(static_cast<double>(y[i]) - static_cast<double>(exact(function, x[i], 0, 0))));
    MESSAGE("largest error: " << most);
    CHECK(most < 1.5e-7);
  }
}

TEST_CASE("powers: of integers and halves by products, others near enough") {
  for (const float exponent : {2.0f, 3.0f, -2.0f, 7.0f, 64.0f})
    CHECK(worst(RareF32::kPow, arguments(50.0f), exponent, 0.0f, false) < 1e-5);
  for (const float exponent : {0.5f, -0.5f, 1.5f, 2.5f, 0.75f, -0.75f, 0.3f, 2.2f, 100.0f, 0.49999976f})
    CHECK(worst(RareF32::kPow, arguments(50.0f), exponent, 0.0f, true) < 1e-5);
  CHECK(run(RareF32::kPow, {-3.0f}, scalar(), 3.0f, 0.0f)[0] == -27.0f);
  CHECK(run(RareF32::kPow, {0.0f, kInf}, scalar(), 0.0f, 0.0f) == std::vector<float>{1.0f, 1.0f});
  CHECK(run(RareF32::kPow, {0.0f}, scalar(), 0.3f, 0.0f)[0] == 0.0f);
  CHECK(run(RareF32::kPow, {0.0f}, scalar(), -0.3f, 0.0f)[0] == kInf);
  CHECK(std::isnan(run(RareF32::kPow, {-2.0f}, scalar(), 0.3f, 0.0f)[0]));
}

TEST_CASE("integers: halves to the even one, and every float that has no fraction is itself") {
  const std::vector<float> x{-2.5f, -1.5f, -0.5f,      -0.4f,       0.4f,  0.5f,
                             1.5f,  2.5f,  8388607.5f, -8388609.0f, 1e30f, kInf};
  CHECK(run(RareF32::kRound, x, scalar(), 0, 0) ==
        std::vector<float>{-2, -2, 0, 0, 0, 0, 2, 2, 8388608.0f, -8388609.0f, 1e30f, kInf});
  CHECK(run(RareF32::kFloor, x, scalar(), 0, 0) ==
        std::vector<float>{-3, -2, -1, -1, 0, 0, 1, 2, 8388607.0f, -8388609.0f, 1e30f, kInf});
  CHECK(run(RareF32::kCeil, x, scalar(), 0, 0) ==
        std::vector<float>{-2, -1, 0, 0, 1, 1, 2, 3, 8388608.0f, -8388609.0f, 1e30f, kInf});
}

TEST_CASE("NaN gives NaN; no result is a negative zero") {
  for (const RareF32 function : kFunctions) {
    CAPTURE(static_cast<int>(function));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(bits_of(run(function, {-nan}, scalar(), 0.3f, 1.0f)) == std::vector<uint32_t>{0x7fc00000u});
    const float zero = run(function, {-0.0f}, scalar(), 0.3f, 1.0f)[0];
    CHECK(!std::signbit(zero));
  }
}

TEST_CASE("every kernel gives the scalar kernel's bits, at every length, in place too") {
  Random random(1);
  std::vector<float> x = arguments(100.0f);
  for (int32_t i = 0; i < 20000; ++i) x.push_back(random.any_float());
  for (int32_t k = 0; k < rare_f32_count(); ++k) {
    const RareF32Kernel& kernel = rare_f32_kernel(k);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    for (const RareF32 function : kFunctions)
      for (const float alpha : {0.3f, 3.0f, -1.5f}) {
        CAPTURE(static_cast<int>(function));
        REQUIRE(bits_of(run(function, x, k, alpha, 0.5f)) ==
                bits_of(run(function, x, scalar(), alpha, 0.5f)));
        for (const size_t n : {1u, 3u, 8u, 63u, 64u, 65u, 200u}) {
          const std::vector<float> some(x.begin() + 1000, x.begin() + 1000 + static_cast<std::ptrdiff_t>(n));
          std::vector<float> y = some;
          kernel.function({function, alpha, 0.5f, y.data(), y.data(), static_cast<int32_t>(n)});
          REQUIRE(bits_of(y) == bits_of(run(function, some, scalar(), alpha, 0.5f)));
        }
      }
  }
}

TEST_CASE("the functions in double, of which tables are made") {
  double most = 0.0;
  for (int32_t i = -200000; i <= 200000; ++i) {
    const double x = i * 0.0137;
    most = std::max({most, std::fabs(sin_real(x) - std::sin(x)), std::fabs(cos_real(x) - std::cos(x))});
  }
  CHECK(most < 1e-13);
  for (const double exponent : {2.0, -3.0, 0.5, 1.5, -0.5, 0.3, 2.2, -1.7})
    for (double x = 1e-4; x < 1e4; x *= 1.1)
      CHECK(std::fabs(pow_real(x, exponent) / std::pow(x, exponent) - 1.0) < 1e-12);
  CHECK(pow_real(-2.0, 3.0) == -8.0);
  CHECK(pow_real(0.0, 0.3) == 0.0);
  CHECK(std::isnan(pow_real(-1.0, 0.3)));
}

TEST_CASE("a node's function, and what it refuses") {
  const auto check = [](Op op, const UnaryOptions& options, Status status, int64_t value) {
    test::OneNode net;
    const int32_t x = net.f32({2, 3}), y = net.f32({2, 3});
    NodeOptions& o = net.node(op, {x}, y);
    if (auto* const unary = o.get<UnaryOptions>()) *unary = options;
    net.check(status, value);
  };
  check(Op::kFloor, {}, Status::kOk, 0);
  check(Op::kPow, {2.0f, 0.0f}, Status::kOk, 0);
  check(Op::kPow, {kInf, 0.0f}, Status::kBadAttribute, 0);
  check(Op::kSelu, {1.0f, kInf}, Status::kBadAttribute, 1);
  check(Op::kCelu, {0.0f, 0.0f}, Status::kBadAttribute, 0);
  test::OneNode net;
  const int32_t x = net.f32({2, 3}), y = net.f32({3, 2});
  net.node(Op::kSin, {x}, y);
  net.check(Status::kShapeMismatch, 3, 2);
}

TEST_CASE("each operator runs its own function") {
  const struct {
    Op op;
    RareF32 function;
  } pairs[] = {{Op::kFloor, RareF32::kFloor},   {Op::kCeil, RareF32::kCeil},
               {Op::kRound, RareF32::kRound},   {Op::kSign, RareF32::kSign},
               {Op::kSin, RareF32::kSin},       {Op::kCos, RareF32::kCos},
               {Op::kPow, RareF32::kPow},       {Op::kSelu, RareF32::kSelu},
               {Op::kCelu, RareF32::kCelu},     {Op::kThresholdedRelu, RareF32::kThresholdedRelu},
               {Op::kShrink, RareF32::kShrink}, {Op::kSoftsign, RareF32::kSoftsign}};
  Random random(2);
  for (const auto& pair : pairs) {
    test::ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kF32, {5, 31}), y = b.tensor("y", DType::kF32, {5, 31});
    if (auto* const unary = b.node(pair.op, {x}, {y}).options.get<UnaryOptions>()) *unary = {0.7f, 1.3f};
    b.input(x);
    b.output(y);
    const bool has_options = NodeOptions(pair.op).get<UnaryOptions>() != nullptr;
    const std::vector<float> values = random.reals(155, -3.0f, 3.0f);
    CHECK(
        bits_of(test::run_widths<float>(b, std::vector<std::vector<float>>{values})) ==
        bits_of(run(pair.function, values, scalar(), has_options ? 0.7f : 0.0f, has_options ? 1.3f : 0.0f)));
  }
}

}  // namespace
}  // namespace intaglio::test::rare_f32_test
