// Shared by the exporters: a file read back as the model that the importer makes of it, compared and run.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

// Whether the model runs: what its nodes rely on has been checked. A failure begins with `path`.
Outcome<Done> check_model(const Model& model, const std::string& path);

// What a state holds before the first run, as real numbers.
std::vector<float> first_values(const Model& model, const StateInfo& state);

struct Reimported {
  HostArena memory;
  Model model;  // lies in `memory`
};

// Fills `back`, which is new. A failure begins with `name` and says which node or tensor is in the way.
Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, ImportOptions options,
                           Reimported& back);

// Runs `model` and what came `back` of its file on sixteen draws from the ranges of the inputs, the same each time, and compares the
// outputs. Inputs and outputs are matched by name. States begin each draw with their first values.
//
// Notes say how far outputs differ, where it is more than FP32 sums in another order do. A failure, which begins with `path`, names an
// output that is less than 12 dB from the model's. Decibels are the median of the draws. Integers (places, numbers of classes) are noted
// alone.
Outcome<Done> compare_runs(const Model& model, const Model& back, const std::string& path,
                           std::vector<std::string>& notes);

}  // namespace intaglio::exporters
