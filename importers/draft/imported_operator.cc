#include "importers/draft/imported_operator.h"

#include <tuple>

namespace intaglio::importers {

void add_folded(std::vector<ImportedOperator>& list, const std::string& name, int32_t code) {
  for (ImportedOperator& known : list) {
    if (known.name != name || !known.domain.empty()) continue;
    known.is_folded = true;
    return;
  }
  ImportedOperator constants_alone;
  constants_alone.name = name;
  constants_alone.code = code;
  constants_alone.limits = "All inputs are constants.";
  constants_alone.is_float = false;
  constants_alone.is_folded = true;
  list.push_back(constants_alone);
}

bool by_name(const ImportedOperator& a, const ImportedOperator& b) {
  return std::tie(a.name, a.domain) < std::tie(b.name, b.domain);
}

}  // namespace intaglio::importers
