// What an exporter reads back: a file as the model that the importer makes of it.
#pragma once

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

struct Reimported {
  HostArena memory;
  Model model;  // lies in `memory`
};

// Fills `back`, which is new. A failure begins with `name` and says which node or tensor is in the way.
Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, const ImportOptions& options,
                           Reimported& back);

}  // namespace intaglio::exporters
