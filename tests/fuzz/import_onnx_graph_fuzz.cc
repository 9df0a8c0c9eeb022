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
  if (choices.one_in(8)) {  // the first input as a constant: one number, a list, or an array
    intaglio::InputConstant constant{"x1", {}, {}};
    const auto axes = choices.below(4);
    constant.values.resize(static_cast<size_t>(choices.between(1, 12)));
    for (float& value : constant.values) value = static_cast<float>(choices.between(-3, 20)) / 2.0f;
    for (uint32_t d = 0; d < axes; ++d) constant.dims.push_back(static_cast<int32_t>(choices.between(0, 12)));
    options.constants.push_back(constant);
  }
  if (choices.one_in(12)) options.outputs = {"n" + std::to_string(choices.between(1, 6))};
  if (choices.one_in(12)) options.stream = static_cast<int32_t>(choices.below(4));
  intaglio::fuzz::import_and_run({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, options);
  return 0;
}
