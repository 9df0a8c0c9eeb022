// An OpenVINO IR as bytes.
#include "tests/fuzz/ir_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  intaglio::fuzz::import_ir_and_run({data, size});
  return 0;
}
