#include "importers/draft/integer_casts.h"

namespace intaglio::importers {
namespace {

int32_t add_cast(Draft& draft, const std::string& source, int32_t tensor, DType to, const char* suffix) {
  const std::string name = draft.tensor(tensor).name + suffix;
  const int32_t made = add_activation(draft, name, to, draft.tensor(tensor).shape);
  add_node(draft, Op::kCast, name, source, {tensor}, made);
  return made;
}

}  // namespace

int32_t IntegerCasts::as_real(Draft& draft, const std::string& source, int32_t tensor) {
  if (draft.tensor(tensor).dtype != DType::kS32) return tensor;
  const auto known = reals_.find(tensor);
  if (known != reals_.end()) return known->second;
  return reals_[tensor] = add_cast(draft, source, tensor, DType::kF32, "/real");
}

int32_t IntegerCasts::as_index(Draft& draft, const std::string& source, int32_t tensor) {
  if (draft.tensor(tensor).dtype != DType::kF32) return tensor;
  const auto known = indices_.find(tensor);
  if (known != indices_.end()) return known->second;
  return indices_[tensor] = add_cast(draft, source, tensor, DType::kS32, "/integer");
}

}  // namespace intaglio::importers
