// An OpenVINO IR: the text, then a byte 0 and the beginning of the file of weights, whose rest is always the same.
#include <algorithm>

#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> weights(4096, 0x3c);
  const uint8_t* const end = std::find(data, data + size, uint8_t{0});
  if (end != data + size)
    std::copy_n(end + 1, std::min(weights.size(), static_cast<size_t>(data + size - end - 1)),
                weights.begin());
  intaglio::ImportOptions options;
  options.weights = {weights.data(), weights.size()};
  intaglio::fuzz::import_and_run({data, static_cast<size_t>(end - data)}, options);
  return 0;
}
