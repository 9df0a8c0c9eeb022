#include "importers/draft/constant_room.h"

namespace intaglio::importers {

void check_constant_room(const Draft& draft, int64_t elements) {
  uint64_t bytes = 4 * static_cast<uint64_t>(elements);
  for (const DraftTensor& tensor : draft.tensors) bytes += tensor.data.size();
  if (bytes > static_cast<uint64_t>(kMaxModelBytes))
    fail("it needs a constant of ", elements, " numbers: with it the constants are larger than the limit of ",
         kMaxModelBytes, " bytes together");
}

}  // namespace intaglio::importers
