// --memory: how much the activations of a model may take.
#pragma once

#include <optional>
#include <string>

#include "calibrator/host/system/outcome.h"
#include "calibrator/workspace/arena.h"
#include "cli/options.h"
#include "intaglio/model.h"

namespace intaglio::cli {

struct MemoryGoal {
  bool flat = false;                   // layer by layer
  std::optional<uint64_t> most_bytes;  // nothing: as little as can be
  bool feeds_rows = false;             // the picture comes by rows

  static MemoryGoal layer_by_layer() { return {true, {}, false}; }
};

void add_memory_option(CLI::App& app, std::string& word);
// "least", "flat" or a number.
Outcome<MemoryGoal> memory_goal(const std::string& word);

// The model's file with the plan that the goal asks for.
Result<Span<const uint8_t>> plan_for_goal(const Model& model, const MemoryGoal& goal, Arena& arena);

// The streamed plan of a model's file, which is checked with all operators.
struct StreamedNeeds {
  size_t activation_bytes = 0;  // 0: the file has none
  bool is_fed = false;          // the first input comes by rows
};
Result<StreamedNeeds> streamed_needs(Span<const uint8_t> file);

}  // namespace intaglio::cli
