// Models whose fields are changed as the data say: written as ONNX and as TFLite, or refused.
#include "tests/fuzz/changed_model.h"
#include "tests/fuzz/export_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intaglio;
  const test::AlignedBytes bytes = test::changed_model(data, size);
  const Result<Model> model = Model::open(bytes.view());
  if (!model || !fuzz::is_small(*model, fuzz::kMostWork)) return 0;
  fuzz::export_model_and_check(bytes);
  return 0;
}
