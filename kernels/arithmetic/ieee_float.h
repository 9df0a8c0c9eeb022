// The compiler's floating-point mode: IEEE arithmetic, each operation rounded to its own type. A mode that gives other bits is
// refused here, by the name of its flag; no model is blamed for it when it runs. Contraction has no macro: the build switches it
// off (cmake/ItgTarget.cmake, scripts/amalgamate).
#pragma once

#if defined(__FAST_MATH__)
#error "intaglio gives the same bits everywhere: compile it without -ffast-math and -Ofast"
#endif
#if defined(__ASSOCIATIVE_MATH__)
#error \
    "intaglio gives the same bits everywhere: compile it without -fassociative-math (a part of -funsafe-math-optimizations)"
#endif
#if defined(__RECIPROCAL_MATH__)
#error \
    "intaglio gives the same bits everywhere: compile it without -freciprocal-math (a part of -funsafe-math-optimizations)"
#endif
#if defined(__NO_SIGNED_ZEROS__)
#error \
    "intaglio gives the same bits everywhere: compile it without -fno-signed-zeros (a part of -funsafe-math-optimizations)"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "intaglio gives the same bits everywhere: compile it without -ffinite-math-only"
#endif
// 16: halves are computed as halves, and everything else by its own type.
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#if defined(__i386__)
#error \
    "intaglio gives the same bits everywhere: compile it without -mfpmath=387, the default here, but with -msse2 -mfpmath=sse"
#else
#error \
    "intaglio gives the same bits everywhere: compile it so that float is computed as float (FLT_EVAL_METHOD 0)"
#endif
#endif
static_assert(sizeof(float) == 4 && sizeof(double) == 8,
              "intaglio needs a double of 64 bits: compile it without -fshort-double");

// clang has no macros for the parts of fast-math. Its optimizer shows them: it folds a comparison only they allow it to fold.
// Without an optimizer they have no effect.
#if defined(__clang__)
#if defined(__has_attribute) && __has_attribute(error)
#define ITG_REFUSED(flag) \
  __attribute__((error("intaglio gives the same bits everywhere: compile it without " flag)))
#else  // then linking fails, by the function's name
#define ITG_REFUSED(flag)
#endif
extern "C" {
ITG_REFUSED("-fassociative-math (a part of -funsafe-math-optimizations)")
void itg_needs_no_associative_math();
ITG_REFUSED("-freciprocal-math (a part of -funsafe-math-optimizations)") void itg_needs_no_reciprocal_math();
ITG_REFUSED("-fno-signed-zeros (a part of -funsafe-math-optimizations)") void itg_needs_signed_zeros();
ITG_REFUSED("-fno-honor-nans") void itg_needs_nans();
}
#undef ITG_REFUSED

namespace intaglio {

static inline bool is_same_float(float a, float b) { return __builtin_memcmp(&a, &b, sizeof a) == 0; }

// Never called; empty where the mode is right.
__attribute__((used)) static void refuse_parts_of_fast_math(float x) {
  const bool associative = is_same_float((x + 1.0f) - 1.0f, x);
  const bool reciprocal = is_same_float(x / 3.0f, x * (1.0f / 3.0f));
  const bool no_signed_zeros = is_same_float(x + 0.0f, x);
  const bool no_nans = x != x;
  if (__builtin_constant_p(associative)) itg_needs_no_associative_math();
  if (__builtin_constant_p(reciprocal)) itg_needs_no_reciprocal_math();
  if (__builtin_constant_p(no_signed_zeros)) itg_needs_signed_zeros();
  if (__builtin_constant_p(no_nans)) itg_needs_nans();
}

}  // namespace intaglio
#endif
