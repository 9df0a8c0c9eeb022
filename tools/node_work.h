// How much a node does on a Cortex-M, in the amounts that its kernel's time is a sum of: what benchmarks/instruction_count/cycle_table.py
// fits to counted programs, and cycle_estimate.h multiplies with what it found.
#pragma once

#include <string>
#include <vector>

#include "intaglio/model.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

inline constexpr size_t kMostAmounts = 56;

struct NodeWork {
  std::string kernel;           // whose amounts these are; the operator's name where it has one kernel
  std::vector<double> amounts;  // how often the kernel does each of its parts; at most kMostAmounts
};

// One thread, layer by layer. Of a model that a session can be made of.
NodeWork work_of(const Model& model, int32_t node, const Target& target);

}  // namespace intaglio::tools
