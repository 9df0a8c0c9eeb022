#include <string>

#include "tests/hostile/hostile_runs.h"

// Maps of names: blanks, tabs, comments, line ends of two systems.
std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (const std::string& text : {std::string("conv1 /conv1/Conv\nfc /fc/Gemm\n"),
                                  std::string("# names\r\nlayer 2\t/layer 2/Conv\r\n\r\n  fc   head\r\n")})
    seeds.emplace_back(text.begin(), text.end());
  return seeds;
}
