// Casts between FP32 and s32 in a draft.
#pragma once

#include <unordered_map>

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Casts a tensor once, for all who ask. `source` is the operator of the file that asks first.
class IntegerCasts {
 public:
  int32_t as_real(Draft& draft, const std::string& source, int32_t tensor);   // of s32; others stay
  int32_t as_index(Draft& draft, const std::string& source, int32_t tensor);  // of FP32; others stay

 private:
  std::unordered_map<int32_t, int32_t> reals_, indices_;  // of tensors that were cast
};

}  // namespace intaglio::importers
