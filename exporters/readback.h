// Shared by the exporters: notes about 16 bits, and a file read back as the model that the importer makes of it.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

// Notes how many nodes compute sums and a Softmax in 16 bits, which a file has in FP32. Throws ImportError where other nodes do, which
// no exporter writes.
void note_16_bits(const Model& model, std::vector<std::string>& notes);

struct Reimported {
  HostArena memory;
  Model model;  // lies in `memory`
};

// Fills `back`, which is new. A failure begins with `name` and says which node or tensor is in the way.
Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, ImportOptions options,
                           Reimported& back);

}  // namespace intaglio::exporters
