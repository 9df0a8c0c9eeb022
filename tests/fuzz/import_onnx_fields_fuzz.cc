// ONNX files whose fields are changed by name (onnx_fields_mutator.cc). Start it on a folder of real files, or on none.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  intaglio::fuzz::import_and_run({data, size});
  return 0;
}
