// Cortex-M with Helium: four elements a step.
#include "kernels/arithmetic/requant_helium.h"
#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

void add_rows_s8_helium(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params);
void add_code_s8_helium(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
void mul_rows_s8_helium(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params);
void mul_code_s8_helium(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
void lookup_s8_helium(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

namespace {

constexpr int32_t kLanes = 4;

// y[i] = function(a[i], i)
template <typename Function>
inline void map_helium(const int8_t* a, int8_t* y, int32_t n, Function function) {
  for (int32_t i = 0; i < n; i += kLanes) {
    const mve_pred16_t there = vctp32q(static_cast<uint32_t>(n - i));
    vstrbq_p_s32(y + i, function(vldrbq_z_s32(a + i, there), i, there), there);
  }
}

inline int32x4_t mul_helium(int32x4_t a, int32x4_t b, const MulS8& p, const OutputHelium& output) {
  const int32x4_t product = vmulq_s32(vsubq_n_s32(a, p.a_zero_point), vsubq_n_s32(b, p.b_zero_point));
  return requantize_helium(product, vdupq_n_f32(p.multiplier), output);
}

}  // namespace

void add_rows_s8_helium(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params) {
  const AddHelium p = make_add_helium(params);
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    map_helium(a, y, n, [b, &p](int32x4_t v, int32_t i, mve_pred16_t there) {
      return add_helium(v, vldrbq_z_s32(b + i, there), p);
    });
}

void add_code_s8_helium(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  const AddHelium p = make_add_helium(params);
  const int32x4_t other = vdupq_n_s32(b);
  map_helium(a, y, n, [other, &p](int32x4_t v, int32_t, mve_pred16_t) { return add_helium(v, other, p); });
}

void mul_rows_s8_helium(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params) {
  const MulS8 p = params;
  const OutputHelium output = make_output_helium(p.output);
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    map_helium(a, y, n, [b, &p, &output](int32x4_t v, int32_t i, mve_pred16_t there) {
      return mul_helium(v, vldrbq_z_s32(b + i, there), p, output);
    });
}

void mul_code_s8_helium(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  const MulS8 p = params;
  const OutputHelium output = make_output_helium(p.output);
  const int32x4_t other = vdupq_n_s32(b);
  map_helium(a, y, n, [other, &p, &output](int32x4_t v, int32_t, mve_pred16_t) {
    return mul_helium(v, other, p, output);
  });
}

void lookup_s8_helium(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  map_lookup_s8(x, table, y, n);
}

}  // namespace intaglio
