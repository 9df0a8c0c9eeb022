// The network behind a calibrated model, with fields changed by name (onnx_fields_mutator.cc): exported in each form, or
// refused. The model stays, as it does for a user who gives the wrong file.
#include "tests/fuzz/export_fuzz.h"
#include "tests/support/small_onnx_network.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intaglio;
  static const test::AlignedBytes model = [] {
    const std::string network = test::small_network().bytes();
    const std::vector<uint8_t> bytes =
        fuzz::int8_model_of({reinterpret_cast<const uint8_t*>(network.data()), network.size()});
    if (bytes.empty()) fuzz::found("the small network cannot be calibrated", "");
    return test::AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
  }();
  fuzz::export_and_check({data, size}, model);
  return 0;
}
