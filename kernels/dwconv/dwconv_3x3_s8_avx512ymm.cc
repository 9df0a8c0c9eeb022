#define ITG_DOT "vpdpbusd"
#define ITG_REGISTER "v"
#define ITG_MASKS 1
#include "kernels/dwconv/dwconv_3x3_s8_vnni.h"

namespace intaglio {
namespace {

template <>
struct OneLine<Vnni<Vector32>> {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    args.stride == 2 ? run_line_2<Vector32>(args, block, head)
                     : run_lines<Vnni<Vector32>, 2>(args, block, head);
  }
};

}  // namespace

void dwconv_3x3_s8_avx512ymm(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avx512ymm(const Dwconv3x3S8Args& args) {
  run_blocks<Vnni<Vector32>, Vnni<Vector32>>(args);
}

}  // namespace intaglio
