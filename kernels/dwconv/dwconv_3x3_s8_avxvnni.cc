#define ITG_DOT "%{vex%} vpdpbusd"
#define ITG_REGISTER "x"  // VEX names the first sixteen alone
#include "kernels/dwconv/dwconv_3x3_s8_vnni.h"

namespace intaglio {

void dwconv_3x3_s8_avxvnni(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avxvnni(const Dwconv3x3S8Args& args) { run_blocks<Vnni<Vector32>, Vnni<Vector16>>(args); }

}  // namespace intaglio
