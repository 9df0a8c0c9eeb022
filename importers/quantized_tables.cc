#include "importers/quantized_tables.h"

#include <algorithm>

#include "calibrator/lookup_tables.h"

namespace intaglio::importers {
namespace {

QuantParams params(const DraftTensor& tensor) { return {tensor.scales[0], tensor.zero_point}; }

}  // namespace

int32_t quantize(float x, const DraftTensor& tensor) { return quantize_value(x, params(tensor)); }

std::vector<int8_t> requantize_table(const DraftTensor& input, const DraftTensor& output, int32_t lo,
                                     int32_t hi) {
  std::vector<int8_t> table(256);
  const auto same_real = [](const NodeOptions&, double x) { return x; };
  make_unary_table(same_real, {}, params(input), params(output), {table.data(), table.size()});
  for (int8_t& code : table) code = static_cast<int8_t>(std::clamp<int32_t>(code, lo, hi));
  return table;
}

std::vector<int32_t> softmax_table(float scale, int32_t count) {
  std::vector<int32_t> table(256);
  make_softmax_table(scale, count, {table.data(), table.size()});
  return table;
}

void add_requantize(Draft& draft, const std::string& name, const std::string& source, int32_t input,
                    int32_t output) {
  const auto table = requantize_table(draft.tensor(input), draft.tensor(output), -128, 127);
  const int32_t constant = add_constant(draft, name + "/table", DType::kS8, {256}, table);
  add_node(draft, Op::kLookup, name, source, {input, constant}, output);
}

}  // namespace intaglio::importers
