#include "intaglio/planned_model.h"

#include "runtime/crc32.h"

namespace intaglio {

Error PlannedModel::check() const {
  const uint32_t found = intaglio::crc32(0, model.data, model.size);
  return found == crc32 ? kNoError : Error{Status::kBadChecksum, -1, -1, found, crc32};
}

}  // namespace intaglio
