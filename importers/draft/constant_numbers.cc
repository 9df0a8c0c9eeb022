#include "importers/draft/constant_numbers.h"

#include <algorithm>
#include <cmath>

namespace intaglio::importers {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 31;  // of arithmetic on integers: no product overflows

template <typename T>
int64_t compared_numbers(Arithmetic operation, T a, T b) {
  switch (operation) {
    case Arithmetic::kEqual:
      return a == b;
    case Arithmetic::kLess:
      return a < b;
    case Arithmetic::kLessEqual:
      return a <= b;
    case Arithmetic::kGreater:
      return a > b;
    case Arithmetic::kGreaterEqual:
      return a >= b;
    case Arithmetic::kAnd:
      return a != T{} && b != T{};
    default:
      return a != T{} || b != T{};
  }
}

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// In two's complement; to the right the sign stays.
int64_t of_bits(Arithmetic operation, int64_t a, int64_t b) {
  if (operation == Arithmetic::kBitAnd) return a & b;
  if (operation == Arithmetic::kBitOr) return a | b;
  if (operation == Arithmetic::kBitXor) return a ^ b;
  if (b < 0 || b > 63) fail("it shifts by ", b, " bits; 0 to 63 are supported");
  return operation == Arithmetic::kShiftRight ? a >> b : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}

}  // namespace

int64_t compared(Arithmetic operation, int64_t a, int64_t b) { return compared_numbers(operation, a, b); }
int64_t compared(Arithmetic operation, float a, float b) { return compared_numbers(operation, a, b); }

int64_t of_integers(Arithmetic operation, int64_t a, int64_t b) {
  if (operation == Arithmetic::kMax) return std::max(a, b);
  if (operation == Arithmetic::kMin) return std::min(a, b);
  if (operation >= Arithmetic::kEqual) return compared(operation, a, b);
  if (operation >= Arithmetic::kBitAnd) return of_bits(operation, a, b);
  int64_t sum = 0;
  if (operation == Arithmetic::kAdd && !__builtin_add_overflow(a, b, &sum)) return sum;
  if (operation == Arithmetic::kSub && !__builtin_sub_overflow(a, b, &sum)) return sum;
  if (std::max(a, b) > kMaxNumber || std::min(a, b) < -kMaxNumber)
    fail("its numbers ", a, " and ", b, " are too large");
  switch (operation) {
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kPow: {
      const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
      if (!(std::fabs(power) <= static_cast<double>(kMaxNumber)))
        fail("its power ", a, " to ", b, " is too large");
      return static_cast<int64_t>(power);
    }
    default:
      break;
  }
  if (b == 0) fail("it divides by 0");
  if (operation == Arithmetic::kDiv) return a / b;
  const int64_t quotient = floor_divided(a, b);
  return operation == Arithmetic::kFloorDiv ? quotient : a - quotient * b;
}

float of_reals(Arithmetic operation, float a, float b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSub:
      return a - b;
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kMax:
      return std::max(a, b);
    case Arithmetic::kMin:
      return std::min(a, b);
    case Arithmetic::kPow:
      return std::pow(a, b);
    default:
      break;
  }
  if (operation >= Arithmetic::kBitAnd) fail("it takes bits of reals, which is not supported");
  if (operation == Arithmetic::kDiv) return a / b;
  const float quotient = std::floor(a / b);
  return operation == Arithmetic::kFloorDiv ? quotient : a - quotient * b;
}

float mapped_real(Mapping mapping, float v) {
  switch (mapping) {
    case Mapping::kNegate:
      return -v;
    case Mapping::kAbs:
      return std::fabs(v);
    case Mapping::kSqrt:
      return std::sqrt(v);
    case Mapping::kReciprocal:
      return 1.0f / v;
    case Mapping::kFloor:
      return std::floor(v);
    case Mapping::kCeil:
      return std::ceil(v);
    case Mapping::kExp:
      return std::exp(v);
    case Mapping::kLog:
      return std::log(v);
    case Mapping::kNot:
      return v == 0.0f ? 1.0f : 0.0f;
    case Mapping::kBitNot:
      break;
  }
  fail("it takes reals, which is not supported");
}

int64_t mapped_integer(Mapping mapping, int64_t v) {
  if (mapping == Mapping::kBitNot) return ~v;
  if (mapping == Mapping::kNot) return v == 0 ? 1 : 0;
  if (v < -kMaxNumber || v > kMaxNumber) fail("its number ", v, " is too large");
  switch (mapping) {
    case Mapping::kNegate:
      return -v;
    case Mapping::kAbs:
      return v < 0 ? -v : v;
    case Mapping::kFloor:
    case Mapping::kCeil:
      return v;
    default:
      fail("it takes integers, which is not supported");
  }
}

}  // namespace intaglio::importers
