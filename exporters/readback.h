// What the exporters share: what they do with 16 bits, and a file read back as the model that the importer makes of it.
#pragma once

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

// How many nodes compute scores in 16 bits (adds_to_scores): a file has them in FP32. Throws ImportError where others do, which no
// exporter writes.
int32_t count_16_bits(const Model& model);
std::string note_of_16_bits(int32_t count);

struct Reimported {
  HostArena memory;
  Model model;  // lies in `memory`
};

// Fills `back`, which is new. A failure begins with `name` and says which node or tensor is in the way.
Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, const ImportOptions& options,
                           Reimported& back);

}  // namespace intaglio::exporters
