#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

void add_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params);
void add_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
void mul_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params);
void mul_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
void lookup_s8_scalar(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

void add_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params) {
  map_add_rows_s8(a, b, y, rows, n, params);
}
void add_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  map_add_code_s8(a, b, y, n, params);
}
void mul_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params) {
  map_mul_rows_s8(a, b, y, rows, n, params);
}
void mul_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  map_mul_code_s8(a, b, y, n, params);
}
void lookup_s8_scalar(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  map_lookup_s8(x, table, y, n);
}

}  // namespace intaglio
