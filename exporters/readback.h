// What the exporters share: what they refuse, and a file read back as the model that the importer makes of it.
#pragma once

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

// Throws ImportError where the model has codes of 16 bits, which no exporter writes.
void refuse_16_bits(const Model& model);

struct Reimported {
  HostArena memory;
  Model model;  // lies in `memory`
};

// Fills `back`, which is new. A failure begins with `name` and says which node or tensor is in the way.
Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, const ImportOptions& options,
                           Reimported& back);

}  // namespace intaglio::exporters
