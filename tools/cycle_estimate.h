// How long a run takes on a microcontroller: an estimate from a table (cycle_table.inc), made of counted programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

inline constexpr double kMostMegahertz = 2000;

struct CycleChoice {
  std::optional<double> clock_mhz;  // nothing: no estimate
  std::string chip;  // of chip_names(), one with the target's core; empty: memory without wait states
};

struct NodeCycles {
  std::string kernel;            // a row of the table, where there is one
  std::optional<double> cycles;  // nothing: the table has no figure
};

struct CycleEstimate {
  std::string target, timed_as;  // by the timings of which core
  std::string chip;
  double clock_mhz = 0;
  std::vector<NodeCycles> nodes;
  double table_error = 0;  // the most percent that whole networks were off what was counted
  // Percents that the counting is off the published cycles of others' programs.
  double least_known_error = 0, most_known_error = 0;
  bool has_known_errors = false;
  // Of a plan for two memories on a core with a data cache, whose fast memory has no wait states: what the activations in the large one
  // cost besides, and what all of them would there. Neither is among cycles().
  std::optional<double> slow_cycles, all_slow_cycles;

  double cycles() const;   // of the nodes that have a figure
  size_t unknown() const;  // how many have none
  double ms(double cycles) const { return cycles / (clock_mhz * 1000); }
};

std::string chip_names();  // "stm32g0b1 (cortex-m0plus), ..."
Outcome<Done> find_chip(const std::string& name);

// Layer by layer, one thread, as a build with the target's kernels runs it. Refused: a clock that is no number above 0 or beyond
// kMostMegahertz, a target without a table, a chip with another core or a lower clock, a model of reals alone.
Outcome<CycleEstimate> estimate_cycles(const LoadedModel& file, const std::string& target, double clock_mhz,
                                       const std::string& chip);

// {target, timed_as, chip, clock_mhz, cycles, ms, slow_cycles, all_slow_cycles, table_error_percent, published_error_percent,
// without_figure, nodes: [{node, kernel, cycles, ms}]}
Json json_of(const CycleEstimate& estimate);

}  // namespace intaglio::tools
