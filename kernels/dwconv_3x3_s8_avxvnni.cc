#define ITG_DOT "%{vex%} vpdpbusd"
#include "kernels/dwconv_3x3_s8_vnni.h"

namespace intaglio {

void dwconv_3x3_s8_avxvnni(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avxvnni(const Dwconv3x3S8Args& args) {
  const auto* block = static_cast<const int8_t*>(args.packed);
  for (int32_t first = 0; first < args.channels;) {
    const int32_t width = dwconv_3x3_s8_block(32, args.channels, first);
    if (width == 32) {
      run_block<Vector32>(args, first, block);
    } else if (width == 16) {
      run_block<Vector16>(args, first, block);
    } else {
      run_block<Vector8>(args, first, block);
    }
    block += 32 * (width < 16 ? 16 : width);
    first += width;
  }
}

}  // namespace intaglio
