// How long a model takes on this machine.
#pragma once

#include <string>
#include <vector>

#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct TimeChoice {
  SessionOptions execution;
  OpList ops = all_ops();
  int32_t repeats = 50;  // runs that are timed, behind a warm-up
  bool layers = false;   // time each node, too
};

struct LayerTime {
  std::string kernel;
  double ms = 0;  // the fastest of `repeats`
  int64_t macs = 0;
};

// Milliseconds for one run of the whole model. Input values are a fixed pattern.
struct ModelTimes {
  std::string isa;  // the best instruction set among the kernels that ran
  int32_t threads = 1;
  double min_ms = 0, median_ms = 0, load_ms = 0;
  SessionNeeds needs;
  int64_t macs = 0;               // multiply-adds of convolutions and matrix products
  std::vector<LayerTime> layers;  // one a node, where they were asked for
};
Outcome<ModelTimes> time_model(const LoadedModel& file, const TimeChoice& choice);

// {isa, threads, min_ms, median_ms, load_ms, packed_bytes, in_place_bytes, layers: [{node, name, op, kernel, ms, macs}]}
Json json_of(const ModelTimes& times, const Model& model);

}  // namespace intaglio::tools
