// The bytes of the targets of OpenVINO IRs: the text, then a byte 0 and the beginning of the file of weights, whose rest is
// always the same.
#pragma once

#include <algorithm>

#include "tests/fuzz/import_fuzz.h"

namespace intaglio::fuzz {

inline void import_ir_and_run(Span<const uint8_t> bytes) {
  std::vector<uint8_t> weights(4096, 0x3c);
  const uint8_t* const last = bytes.data + bytes.size;
  const uint8_t* const end = std::find(bytes.data, last, uint8_t{0});
  if (end != last)
    std::copy_n(end + 1, std::min(weights.size(), static_cast<size_t>(last - end - 1)), weights.begin());
  ImportOptions options;
  options.weights = {weights.data(), weights.size()};
  import_and_run({bytes.data, static_cast<size_t>(end - bytes.data)}, options);
}

}  // namespace intaglio::fuzz
