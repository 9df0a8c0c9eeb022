#define ITG_DOT "vpdpbusd"
#include "kernels/dwconv_3x3_s8_vnni.h"

namespace intaglio {
namespace {

struct Vector64 {
  using Type = __m512i;
  static constexpr int32_t kBytes = 64;
  struct Part {};  // always whole
  static Part part(int32_t) { return {}; }
  static Type load(const void* p) { return _mm512_loadu_si512(p); }
  static Type load_codes(const void* p, Part) { return load(p); }
  static void store_codes(void* p, Type v, Part) { _mm512_storeu_si512(p, v); }
  static Type bytes(int32_t v) { return _mm512_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm512_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm512_xor_si512(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm512_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm512_unpackhi_epi8(a, b); }
  static Type low_16(Type a, Type b) { return _mm512_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm512_unpackhi_epi16(a, b); }
  using Real = __m512;
  static Real load_real(const void* p) { return _mm512_loadu_ps(static_cast<const float*>(p)); }
  static Type scale(Type v, Real m) { return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(v), m)); }
  static Type narrow_32(Type a, Type b) { return _mm512_packs_epi32(a, b); }
  static Type narrow_16(Type a, Type b) { return _mm512_packs_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm512_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm512_max_epi8(_mm512_min_epi8(v, hi), lo); }
};

}  // namespace

void dwconv_3x3_s8_avx512vnni(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avx512vnni(const Dwconv3x3S8Args& args) {
  run_blocks<Vnni<Vector64>, Vnni<Vector32>>(args);
}

}  // namespace intaglio
