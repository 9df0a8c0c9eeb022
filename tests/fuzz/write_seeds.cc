// Writes what a fuzzer starts from into a folder, a file each: the seeds of the targets without libFuzzer.
//
//   <name>_seeds FOLDER
#include <cstdio>
#include <string>

#include "tests/hostile/hostile_runs.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  int32_t number = 0;
  for (const std::vector<uint8_t>& seed : intaglio::test::hostile_seeds()) {
    const std::string path = argv[1] + ("/seed_" + std::to_string(number++));
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(seed.data(), 1, seed.size(), file) == seed.size();
    if (file == nullptr || std::fclose(file) != 0 || !written)
      return std::fprintf(stderr, "%s: cannot be written\n", path.c_str()), 1;
  }
  return 0;
}
