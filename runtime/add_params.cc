#include "runtime/add_params.h"

namespace intaglio {
namespace {

// scale = mantissa * 2^exponent, mantissa in [2^23, 2^24).
struct Decoded {
  uint64_t mantissa;
  int32_t exponent;
};

bool decode(float scale, Decoded* decoded) {
  uint32_t bits;
  memcpy(&bits, &scale, sizeof bits);
  const uint32_t biased = bits >> 23;  // with the sign: negative numbers are above 255
  if (biased == 0 || biased >= 255) return false;
  *decoded = {(bits & 0x7fffffu) | 0x800000u, static_cast<int32_t>(biased) - 150};
  return true;
}

// floor(log2(a / b))
int32_t floor_log2_ratio(const Decoded& a, const Decoded& b) {
  return a.exponent - b.exponent - (a.mantissa < b.mantissa ? 1 : 0);
}

// rne(a / b * 2^k) for a / b * 2^k below 2^21. The spec divides in double first; that cannot differ, since a
// quotient of 24-bit mantissas is a tie or at least 2^-26 away from one.
int32_t rounded_ratio(const Decoded& a, const Decoded& b, int32_t k) {
  const int32_t exponent = a.exponent - b.exponent + k;
  if (exponent < -39) return 0;
  const uint64_t numerator = exponent >= 0 ? a.mantissa << exponent : a.mantissa;
  const uint64_t denominator = exponent >= 0 ? b.mantissa : b.mantissa << -exponent;
  // Bit by bit: a board's compiler brings 700 bytes for a division of 64 bits.
  uint64_t quotient = 0, rest = numerator;
  for (int32_t bit = 21; bit >= 0; --bit) {
    if (rest >> bit < denominator) continue;
    rest -= denominator << bit;
    quotient |= uint64_t{1} << bit;
  }
  const uint64_t missing = denominator - rest;
  const bool up = rest > missing || (rest == missing && (quotient & 1) != 0);
  return static_cast<int32_t>(quotient + (up ? 1 : 0));
}

}  // namespace

bool set_add_multipliers(float s_a, float s_b, float s_out, AddS8* params, int32_t bits) {
  Decoded a, b, out;
  if (!decode(s_a, &a) || !decode(s_b, &b) || !decode(s_out, &out)) return false;
  const int32_t log2_a = floor_log2_ratio(a, out), log2_b = floor_log2_ratio(b, out);
  const int32_t log2_max = log2_a > log2_b ? log2_a : log2_b;
  if (log2_max > 14) return false;
  int32_t k = bits - 1 - log2_max;
  k = k < 1 ? 1 : (k > 30 ? 30 : k);
  const int32_t m_a = rounded_ratio(a, out, k), m_b = rounded_ratio(b, out, k);
  const int32_t most = (int32_t{1} << bits) - 1;
  if (m_a > most + 1 || m_b > most + 1) return false;
  params->a_multiplier = m_a < most ? m_a : most;
  params->b_multiplier = m_b < most ? m_b : most;
  params->right_shift = k;
  return true;
}

}  // namespace intaglio
