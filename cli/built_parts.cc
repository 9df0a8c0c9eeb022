#include "cli/built_parts.h"

namespace intaglio {

const char kBuiltParts[] = "built with: " ITG_PARTS "\nleft out: " ITG_LEFT_OUT;

}  // namespace intaglio
