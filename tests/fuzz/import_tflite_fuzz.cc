#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  std::vector<uint8_t> bytes(data, data + size);
  std::memcpy(bytes.data() + 4, "TFL3", 4);
  intaglio::fuzz::import_and_run({bytes.data(), bytes.size()});
  return 0;
}
