// Networks made of the bytes by construction: what can be imported and calibrated is exported to ONNX in each form and to
// TFLite, or refused.
#include "tests/fuzz/export_fuzz.h"
#include "tests/support/onnx_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intaglio;
  test::Choices choices(data, size);
  test::OnnxGenerator generator(choices);
  const std::string file = generator.network(6);
  const Span<const uint8_t> network{reinterpret_cast<const uint8_t*>(file.data()), file.size()};
  const std::vector<uint8_t> int8 = fuzz::int8_model_of(network);
  if (int8.empty()) return 0;
  const test::AlignedBytes model(Span<const uint8_t>(int8.data(), int8.size()));
  fuzz::export_and_check(network, model);
  fuzz::export_model_and_check(model);
  return 0;
}
