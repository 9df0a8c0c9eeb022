#include "kernels/gemm/gemm_s8_f32_neon_end.h"
#include "kernels/gemm/gemm_s8_neondot_tiles.h"

namespace intaglio {

void gemm_s8_f32_neondot(const GemmS8F32Args& args);

// Rows past the last are read, up to a multiple of eight, and not stored.
void gemm_s8_f32_neondot(const GemmS8F32Args& args) {
  const RowsNeon in = rows_neon(args, args.n);
  const auto eights =
      in.listed ? tiles<8, true, Reals<8, 2>, GemmS8F32Args> : tiles<8, false, Reals<8, 2>, GemmS8F32Args>;
  const auto fours =
      in.listed ? tiles<4, true, Reals<4, 2>, GemmS8F32Args> : tiles<4, false, Reals<4, 2>, GemmS8F32Args>;
  const int32_t past_eights = args.m - args.m % 8, rest = args.m % 8;
  if (past_eights > 0) eights(args, in, 0, past_eights);
  if (rest > 4) return eights(args, in, past_eights, args.m);
  if (rest > 0) fours(args, in, past_eights, args.m);
}

}  // namespace intaglio
