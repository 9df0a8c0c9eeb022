// ONNX files made of the bytes by construction: operators of the importer's tables with operands and attributes
// that mostly fit. What is imported also runs.
#include "tests/fuzz/import_fuzz.h"
#include "tests/support/onnx_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  intaglio::test::Choices choices(data, size);
  intaglio::ImportOptions options;
  if (choices.one_in(8)) options.batch = static_cast<int32_t>(choices.between(1, 3));
  intaglio::test::OnnxGenerator generator(choices);
  const std::string file = generator.network(6);
  intaglio::fuzz::import_and_run({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, options);
  return 0;
}
