// The views of a model file: text, JSON, graph.
#pragma once

#include "cli/loaded_model.h"
#include "cli/output.h"

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

// Bytes of the constants, each counted once however many tensors share it.
size_t weight_bytes(const Model& model);
// Of the layers' outputs: channels that the imported network has and the model has not, since they hold one code.
int64_t channels_left_out(const Model& model);
// [{name, dtype, shape, scale, zero_point}]
Json json_of_tensors(const Model& model, Span<const int32_t> tensors);
// [{input, color, resize, border, mean, norm}]
Json json_of_images(const Model& model);

Json inspection_json(const InspectArguments& arguments, const LoadedModel& file,
                     const SessionReport& session);
void print_inspection(const InspectArguments& arguments, const LoadedModel& file,
                      const SessionReport& session);
void print_dot(const Model& model);

}  // namespace intaglio::cli
