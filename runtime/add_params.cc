#include "runtime/add_params.h"

namespace intaglio {
namespace {

constexpr uint32_t kMantissa = 0x7fffff, kLeadingBit = 0x800000;
constexpr int32_t kMantissaBits = 23, kBias = 127;

uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

// With the sign: negative numbers are above 255.
int32_t biased_exponent(uint32_t bits) { return static_cast<int32_t>(bits >> kMantissaBits); }
uint32_t mantissa(uint32_t bits) { return (bits & kMantissa) | kLeadingBit; }

bool is_positive_normal(uint32_t bits) { return bits >= kLeadingBit && biased_exponent(bits) < 255; }

// rne(s / out * 2^k) from ratio = f32(s / out), all as bits, for a result below 2^22; `of_ratio`: rne(ratio * 2^k). The
// ratio is the exact quotient but where it seems to be a tie: the mantissas then tell on which side that is.
int32_t rounded(uint32_t ratio, uint32_t s, uint32_t out, int32_t k, bool of_ratio) {
  const int32_t dropped = kMantissaBits + kBias - biased_exponent(ratio) - k;  // bits
  if (dropped > kMantissaBits + 1) return 0;
  const uint32_t kept = mantissa(ratio) >> dropped, rest = mantissa(ratio) - (kept << dropped),
                 half = uint32_t{1} << (dropped - 1);
  bool up = rest > half;
  if (rest == half) {
    up = (kept & 1) != 0;
    const uint64_t exact = uint64_t{mantissa(s)} << (mantissa(s) < mantissa(out) ? 24 : 23);
    const uint64_t found = uint64_t{mantissa(ratio)} * mantissa(out);
    if (!of_ratio && exact != found) up = exact > found;
  }
  return static_cast<int32_t>(kept + (up ? 1 : 0));
}

}  // namespace

bool set_add_multipliers(float s_a, float s_b, float s_out, AddS8* params, int32_t bits) {
  const uint32_t a = bits_of(s_a), b = bits_of(s_b), out = bits_of(s_out);
  if (!is_positive_normal(a) || !is_positive_normal(b) || !is_positive_normal(out)) return false;
  const uint32_t ratio_a = bits_of(s_a / s_out), ratio_b = bits_of(s_b / s_out);
  // A quotient of two mantissas never rounds up to a power of two: this is the exact one's logarithm, too.
  const int32_t log2_max = biased_exponent(ratio_a > ratio_b ? ratio_a : ratio_b) - kBias;
  if (log2_max > 14) return false;
  int32_t k = bits - 1 - log2_max;
  k = k < 1 ? 1 : (k > 30 ? 30 : k);
  const bool of_ratio = bits == kMaxAddBits;
  const int32_t m_a = rounded(ratio_a, a, out, k, of_ratio), m_b = rounded(ratio_b, b, out, k, of_ratio);
  const int32_t most = (int32_t{1} << bits) - 1;
  if (m_a > most + 1 || m_b > most + 1) return false;
  params->a_multiplier = m_a < most ? m_a : most;
  params->b_multiplier = m_b < most ? m_b : most;
  params->right_shift = k;
  return true;
}

}  // namespace intaglio
