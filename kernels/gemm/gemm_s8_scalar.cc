#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

// Unsigned: sums in between may wrap.
uint32_t dot(const int8_t* x, const int8_t* w, int32_t k, uint32_t acc) {
  for (int32_t i = 0; i < k; ++i) acc += static_cast<uint32_t>(int32_t{x[i]} * w[i]);
  return acc;
}

}  // namespace

void gemm_s8_scalar(const GemmS8Args& args);

void gemm_s8_scalar(const GemmS8Args& args) {
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; ++c) {
    auto acc = static_cast<uint32_t>(args.folded_bias[c]);
    for (int32_t t = 0; t < args.taps; ++t) {
      acc = dot(args.rows[t], w, args.k, acc);
      w += args.k;
    }
    int8_t q = requantize_s8(static_cast<int32_t>(acc), args.multiplier[c], args.requant);
    if (args.residual != nullptr) q = add_s8(q, args.residual[c], *args.add);
    args.output[c] = q;
  }
}

}  // namespace intaglio
