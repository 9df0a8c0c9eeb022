#include "tests/hostile/hostile_runs.h"
#include "tests/support/picture_files.h"
#include "tests/support/webp_files.h"

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  const std::vector<uint8_t> pixels(2 * 8 * 8 * 4, 77);
  return {png_file(8, 8, 3, pixels),
          png_file(8, 8, 1, pixels),
          png_file(4, 4, 4, pixels, 16),
          png_file(5, 3, 2, pixels),
          jpeg_file(1),
          jpeg_file(3),
          bmp_file(8, 8, pixels),
          webp_lossless(),
          webp_lossy(),
          webp_with_alpha()};
}
