#include "importers/quantized_tables.h"

#include <algorithm>
#include <cmath>

#include "calibrator/real_functions.h"

namespace intaglio::importers {

int8_t quantize(float x, float scale, int32_t zero_point) {
  if (std::isnan(x)) return static_cast<int8_t>(zero_point);
  const float lowest = static_cast<float>(-128 - zero_point), highest = static_cast<float>(127 - zero_point);
  return static_cast<int8_t>(static_cast<int32_t>(round_even(std::clamp(x / scale, lowest, highest))) +
                             zero_point);
}

std::vector<int8_t> requantize_table(const DraftTensor& input, const DraftTensor& output, int32_t lo, int32_t hi) {
  std::vector<int8_t> table;
  for (int32_t code = -128; code <= 127; ++code) {
    const float x = input.scales[0] * static_cast<float>(code - input.zero_point);
    const int32_t y = quantize(x, output.scales[0], output.zero_point);
    table.push_back(static_cast<int8_t>(std::clamp(y, lo, hi)));
  }
  return table;
}

std::vector<int32_t> softmax_table(float scale, int32_t count) {
  int32_t bits = 1;  // of count, rounded up to a power of two
  while (bits < 31 && (int64_t{1} << bits) < count) ++bits;
  const int32_t k = std::min(23, 30 - bits);
  std::vector<int32_t> table;
  for (int32_t d = 0; d < 256; ++d)
    table.push_back(static_cast<int32_t>(round_even(exp_real(-d * double{scale}) * static_cast<double>(int64_t{1} << k))));
  return table;
}

void add_requantize(Draft& draft, const std::string& name, const std::string& source, int32_t input, int32_t output) {
  const auto table = requantize_table(draft.tensor(input), draft.tensor(output), -128, 127);
  const int32_t constant = add_constant(draft, name + "/table", DType::kS8, {256}, table);
  add_node(draft, Op::kLookup, name, source, {input, constant}, output);
}

}  // namespace intaglio::importers
