#include "tests/hostile/hostile_runs.h"
#include "tests/support/small_onnx_network.h"

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  const std::string file = small_network().model().SerializePartialAsString();
  return {std::vector<uint8_t>(file.begin(), file.end())};
}
