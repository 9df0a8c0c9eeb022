#include "tests/hostile/hostile_runs.h"
#include "tests/support/fuzz_models.h"

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (const AlignedBytes& model : fuzz_models())
    seeds.emplace_back(model.view().begin(), model.view().end());
  return seeds;
}
