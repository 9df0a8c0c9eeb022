#include "importers/draft/choice.h"

#include <cmath>
#include <limits>

namespace intaglio::importers {

DraftNode& add_where(Draft& draft, const std::string& name, const std::string& source,
                     const std::vector<int32_t>& inputs, int32_t output) {
  for (const int32_t input : inputs) {
    DraftTensor& tensor = draft.tensor(input);
    if (!tensor.constant || tensor.dtype != DType::kF32) continue;
    std::vector<float> values = values_of<float>(tensor);
    bool is_infinite = false;
    for (float& value : values) {
      is_infinite = is_infinite || std::isinf(value);
      value = std::isinf(value) ? std::copysign(std::numeric_limits<float>::max(), value) : value;
    }
    if (!is_infinite) continue;
    set_values(tensor, values);
    draft.notes.push_back(text("node ", quoted(name), " (", source, "): infinities in the constant ",
                               quoted(tensor.name), " are the largest floats here"));
  }
  return add_node(draft, Op::kWhere, name, source, inputs, output);
}

}  // namespace intaglio::importers
