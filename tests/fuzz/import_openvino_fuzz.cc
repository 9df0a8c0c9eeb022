// An OpenVINO IR: the text, with a file of weights that is always the same.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> weights(4096, 0x3c);
  intaglio::ImportOptions options;
  options.weights = {weights.data(), weights.size()};
  intaglio::fuzz::import_and_run({data, size}, options);
  return 0;
}
