// See params_fuzz.h.
#include "tests/fuzz/params_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return intaglio::fuzz_params(
      data, size, [](std::string_view text) { return intaglio::read_aimet("f", text); },
      intaglio::write_aimet);
}
