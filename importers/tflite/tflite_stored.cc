#include "importers/tflite/tflite_stored.h"

#include "calibrator/host/system/half.h"
#include "importers/draft/geometry.h"
#include "importers/draft/quantized_tables.h"

namespace intaglio::importers {
namespace {

// Each stored element of type From, as `convert` has it.
template <typename To, typename From, typename Convert>
void convert_each(DraftTensor& constant, Convert convert) {
  std::vector<To> values;
  for (const From stored : values_of<From>(constant)) values.push_back(convert(stored));
  set_values(constant, values);
}

// Two codes a byte, the first one in the lower half.
void unpack(DraftTensor& constant) {
  std::vector<int8_t> codes;
  for (int64_t i = 0; i < elements(constant.shape); ++i) {
    const int32_t byte = constant.data[static_cast<size_t>(i / 2)];
    const int32_t half = (i % 2 == 0 ? byte : byte >> 4) & 15;
    codes.push_back(static_cast<int8_t>(half < 8 ? half : half - 16));
  }
  set_values(constant, codes);
}

}  // namespace

uint64_t tflite_stored_bytes(int8_t type, int64_t elements) {
  const auto count = static_cast<uint64_t>(elements);
  switch (type) {
    case kTfliteInt4:
      return (count + 1) / 2;
    case kTfliteUint8:
    case kTfliteInt8:
    case kTfliteBool:
      return count;
    case kTfliteFloat16:
    case kTfliteInt16:
      return count * 2;
    case kTfliteInt64:
      return count * 8;
    default:
      return count * 4;
  }
}

void convert_stored(int8_t type, DraftTensor& constant) {
  switch (type) {
    case kTfliteUint8:
      return convert_each<uint8_t, uint8_t>(constant,
                                            [](uint8_t code) { return static_cast<uint8_t>(code ^ 0x80); });
    case kTfliteInt4:
      return unpack(constant);
    case kTfliteFloat16:
      return convert_each<float, uint16_t>(constant, real_of_half);
    case kTfliteBool:
      return convert_each<float, uint8_t>(constant, [](uint8_t v) { return v != 0 ? 1.0f : 0.0f; });
    case kTfliteInt64:
      if (!constant.scales.empty()) return set_reals(constant, values_of<int64_t>(constant));
      return convert_each<int32_t, int64_t>(constant, [](int64_t v) { return narrow(v, "number"); });
    case kTfliteInt16:
      if (constant.scales.empty()) constant.scales = {1.0f};
      return set_reals_on_grid(constant, values_of<int16_t>(constant));
    default:
      return;
  }
}

}  // namespace intaglio::importers
