// The views of a model file: text, JSON, graph.
#pragma once

#include "cli/output.h"
#include "tools/loaded_model.h"
#include "tools/model_json.h"

namespace intaglio::cli {

struct InspectArguments {
  std::string model, target;
  ExecutionOptions execution;
  bool ops = false, plan = false, quant = false, json = false, dot = false;
};

struct SessionReport {
  std::string target;
  int32_t threads = 1;
  SessionNeeds needs;
  size_t planned_bytes = 0;   // of one that export-c --planned made for the target; 0: no target was named
  size_t streamed_bytes = 0;  // of one that runs by the model's streamed plan; 0: it has none
  std::string problem;        // why there is no session; empty where there is one
};

Json inspection_json(const InspectArguments& arguments, const LoadedModel& file,
                     const SessionReport& session);
void print_inspection(const InspectArguments& arguments, const LoadedModel& file,
                      const SessionReport& session);
void print_dot(const Model& model);

}  // namespace intaglio::cli
