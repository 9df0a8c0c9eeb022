// One operator of a foreign format, as documents and tests list it.
#pragma once

#include "importers/draft/op_traits.h"

namespace intaglio::importers {

struct ImportedOperator {
  std::string domain;       // of ONNX; "": its own
  std::string name;         // "Conv", "CONV_2D"
  int32_t code = -1;        // TFLite's number
  std::vector<Op> becomes;  // the runtime's operators that it is made of; none: it leaves no node
  std::string limits;       // a sentence, or nothing
  bool is_float = true;     // FP32 activations: not where kDequantize comes first
  bool is_int8 = false;     // int8 ones
  bool is_folded = false;   // it is computed where all inputs are constants
};

template <size_t N>
ImportedOperator imported_operator(const std::string& domain, const std::string& name, const Op (&becomes)[N],
                                   const std::string& limits, bool is_int8) {
  ImportedOperator made;
  made.domain = domain;
  made.name = name;
  for (const Op op : becomes)
    if (op != Op::kNone) made.becomes.push_back(op);
  made.limits = limits;
  made.is_float = made.becomes.empty() || made.becomes.front() != Op::kDequantize;
  made.is_int8 = is_int8;
  return made;
}

// Marks the operator of the format's own domain as folded; one that stands nowhere is known of constants alone.
void add_folded(std::vector<ImportedOperator>& list, const std::string& name, int32_t code = -1);
bool by_name(const ImportedOperator& a, const ImportedOperator& b);

}  // namespace intaglio::importers
