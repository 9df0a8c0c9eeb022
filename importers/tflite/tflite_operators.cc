#include "importers/tflite/tflite_operators.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

using Family = Span<const TfliteOperator> (*)();

constexpr Family kFamilies[] = {
    tflite_binary_operators,      tflite_control_operators,  tflite_conv_operators,
    tflite_elementwise_operators, tflite_fold_operators,     tflite_gather_operators,
    tflite_integer_operators,     tflite_logic_operators,    tflite_pool_operators,
    tflite_real_operators,        tflite_rnn_operators,      tflite_shape_operators,
    tflite_stablehlo_operators,   tflite_variable_operators,
};

}  // namespace

const TfliteOperator* find_tflite_operator(Builtin builtin) {
  for (const Family family : kFamilies)
    for (const TfliteOperator& row : family())
      if (row.builtin == builtin) return &row;
  return nullptr;
}

std::vector<ImportedOperator> tflite_operators() {
  std::vector<ImportedOperator> list;
  for (const Family family : kFamilies) {
    for (const TfliteOperator& row : family()) {
      list.push_back(
          imported_operator("", tflite_operator_name(row.builtin), row.becomes, row.limits, !row.float_only));
      list.back().code = static_cast<int32_t>(row.builtin);
    }
  }
  for (const Builtin builtin : folded_tflite_operators())
    add_folded(list, tflite_operator_name(builtin), static_cast<int32_t>(builtin));
  std::sort(list.begin(), list.end(), by_name);
  return list;
}

std::string tflite_operator_name(Builtin builtin) {
  const std::string name = tflite::EnumNameBuiltin(builtin);
  return name.empty() ? text("operator ", static_cast<int32_t>(builtin)) : name;
}

}  // namespace intaglio::importers
