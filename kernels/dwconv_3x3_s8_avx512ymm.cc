#define ITG_DOT "vpdpbusd"
#include "kernels/dwconv_3x3_s8_vnni.h"

namespace intaglio {

void dwconv_3x3_s8_avx512ymm(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avx512ymm(const Dwconv3x3S8Args& args) {
  run_blocks<Vnni<Vector32>, Vnni<Vector32>>(args);
}

}  // namespace intaglio
