// TFLite's resource variables: what a graph reads and assigns from run to run. They become the model's states.
#pragma once

#include <map>
#include <set>
#include <string>

#include "importers/draft/draft.h"

namespace intaglio::importers {

struct TfliteVariable {
  DraftTensor initial;   // a constant, from the graph that CALL_ONCE names; without data: zero
  int32_t input = -1;    // draft tensor that the first read gives; -1: it is not read
  int32_t current = -1;  // draft tensor of its value at this place of the graph; -1: as the run began
};

struct TfliteVariables {
  std::map<std::string, TfliteVariable> by_name;
  std::map<int32_t, std::string> handles;  // tensors of VAR_HANDLE
  std::set<int32_t> called;                // graphs of CALL_ONCE
};

// After the last operator: each variable that is read becomes a state of the draft.
void add_tflite_states(const TfliteVariables& variables, Draft& draft);

}  // namespace intaglio::importers
