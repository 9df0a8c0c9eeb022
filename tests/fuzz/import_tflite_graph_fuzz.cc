// TFLite files made of the bytes by construction: operators of the importer's tables, float or quantized, with
// operands and options that mostly fit. What is imported also runs.
#include "tests/fuzz/import_fuzz.h"
#include "tests/support/tflite_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  intaglio::test::Choices choices(data, size);
  intaglio::test::TfliteGenerator generator(choices);
  const std::string file = generator.network(6);
  intaglio::ImportOptions options;
  options.batch = generator.batch();
  if (choices.one_in(12)) options.outputs = {"t" + std::to_string(choices.between(1, 20))};
  if (choices.one_in(12)) options.stream = static_cast<int32_t>(choices.below(4));
  intaglio::fuzz::import_and_run({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, options);
  return 0;
}
