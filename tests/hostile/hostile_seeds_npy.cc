#include "calibrator/host/system/npy.h"
#include "tests/hostile/hostile_runs.h"

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  const std::vector<uint8_t> data(48, 3);
  const auto bytes = [&](size_t count) { return Span<const uint8_t>(data.data(), count); };
  return {npy_file(NpyType::kF32, {1, 2, 2, 3}, bytes(48)), npy_file(NpyType::kS8, {48}, bytes(48)),
          npy_file(NpyType::kU8, {}, bytes(1)), npy_file(NpyType::kF32, {0, 4}, bytes(0))};
}
