// Which parts of the main job this program was built with (cmake/ItgParts.cmake).
#pragma once

namespace intaglio {

// "built with: PNG, ...", and on a second line "left out: ...".
extern const char kBuiltParts[];

}  // namespace intaglio
