#define ITG_DOT "vpdpbusd"
#define ITG_REGISTER "v"
#define ITG_MASKS 1
#include "kernels/dwconv/dwconv_3x3_s8_vnni.h"

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
  static constexpr int32_t kPositions = 1;
  static Type load_positions(const void* p, const void*, Part) { return load(p); }
  static void store_positions(void* p, void*, Type v, Part) { _mm512_storeu_si512(p, v); }
  static Type bytes(int32_t v) { return _mm512_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm512_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm512_xor_si512(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm512_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm512_unpackhi_epi8(a, b); }
  // For each four bytes, where the fourth is 0.
  static Type fourth_for_third(Type v) { return _mm512_mask_slli_epi16(v, 0xaaaaaaaau, v, 8); }
  static Type low_16(Type a, Type b) { return _mm512_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm512_unpackhi_epi16(a, b); }
  using Real = __m512;
  static Real load_real(const void* p) { return _mm512_loadu_ps(static_cast<const float*>(p)); }
  static Type scale(Type v, Real m) { return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(v), m)); }
  static Type narrow_32(Type a, Type b) { return _mm512_packs_epi32(a, b); }
  static Type narrow_16(Type a, Type b) { return _mm512_packs_epi16(a, b); }
  static Type narrow_u16(Type a, Type b) { return _mm512_packus_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm512_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm512_max_epi8(_mm512_min_epi8(v, hi), lo); }
};

// 32 channels of two outputs.
struct Vector2x32 : Vector64 {
  static constexpr int32_t kBytes = 32, kPositions = 2;
  using Part = Vector32::Part;
  static Part part(int32_t count) { return Vector32::part(count); }
  static Type load(const void* p) { return _mm512_broadcast_i64x4(Vector32::load(p)); }
  static Real load_real(const void* p) { return _mm512_castsi512_ps(load(p)); }
  static Type load_positions(const void* p, const void* far, const Part& part) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(part.mask, p)),
                              _mm256_maskz_loadu_epi8(part.mask, far), 1);
  }
  static void store_positions(void* p, void* far, Type v, const Part& part) {
    _mm256_mask_storeu_epi8(p, part.mask, _mm512_castsi512_si256(v));
    _mm256_mask_storeu_epi8(far, part.mask, _mm512_extracti64x4_epi64(v, 1));
  }
};

template <>
struct TwoLines<Vnni<Vector64>> {
  static constexpr auto run = run_squares<Vector64>;
};
// As text, a line of its own at stride 1 is not worth what it saves: half of the last line, where lines are
// odd.
template <>
struct OneLine<Vnni<Vector64>> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    args.stride == 2 ? run_line_2<Vector64>(args, block, head) : run_squares<Vector64>(args, block, head);
  }
};
template <>
struct OneLine<Vnni<Vector32>> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    args.stride == 2 ? run_line_2<Vector2x32>(args, block, head)
                     : run_lines<Vnni<Vector32>, 2>(args, block, head);
  }
};

}  // namespace

void dwconv_3x3_s8_avx512vnni(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avx512vnni(const Dwconv3x3S8Args& args) {
  run_blocks<Vnni<Vector64>, Vnni<Vector32>>(args);
}

}  // namespace intaglio
