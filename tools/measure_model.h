// The cost of running a model: what a session needs, here or on a target, and how long a run lasts here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cycle_estimate.h"
#include "tools/frames.h"
#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct InspectChoice {
  std::string target;  // of targets(); empty: this machine
  ExecutionOptions execution;
  std::string frame;   // "640x480:yuyv"; empty: none
  CycleChoice cycles;  // with a target
};

struct SessionReport {
  std::string target;
  int32_t threads = 1;
  SessionNeeds needs;
  size_t planned_bytes = 0;   // of one that export-c --planned made for the target; 0: no target was named
  size_t streamed_bytes = 0;  // of one that runs by the model's streamed plan; 0: it has none
  // Of one in two memories, where the plan that export-c takes is for these: its needs, and of the fast memory. 0: it is for one.
  SessionNeeds in_two;
  size_t fast_bytes = 0;
  std::string problem;                  // why there is no session; empty where there is one
  std::optional<ModelFrame> frame;      // where one was named
  std::optional<CycleEstimate> cycles;  // where a clock was
};
Outcome<SessionReport> measure_session(const LoadedModel& file, const InspectChoice& choice);

// An activation in the arena, from the node that writes it (-1: an input) to the last one that reads it (the number of nodes: an
// output).
struct PlacedTensor {
  int32_t tensor, first_node, last_node;
};
std::vector<PlacedTensor> placed_tensors(const Model& model);

// The output of a node (-1: an input of the model) in a streamed plan, of which `rows` of `height` are in memory.
struct LineBuffer {
  int32_t tensor, node, rows, height;
  uint32_t offset, bytes;
};
struct StreamedPlan {
  struct Segment {
    int32_t first_node, last_node, band;  // rows at a step
    bool feeds_rows;
    std::vector<LineBuffer> buffers;
    // Of a single node whose output overwrites rows of an input that it has read: that input, which `buffers` begins with; -1: none.
    int32_t overwritten = -1;
  };
  size_t arena_bytes = 0;
  std::vector<Segment> segments;
};
// Nothing where the model has no such plan; the fault where it cannot be used.
Result<std::optional<StreamedPlan>> streamed_plan(const Model& model);

// The share, 0..1, of a layer's steps of four depths whose pairs no code can saturate (kernels/gemm/gemm_s8_pairs.h): AVX2
// multiplies them at full speed, the others in two halves, to the same result. Nothing where the node is no int8 convolution or
// fully connected layer.
std::optional<double> safe_pairs(const Model& model, const NodeInfo& node);

// Which lists the report holds besides.
struct InspectLists {
  bool ops = false, plan = false, quant = false;
};

// {format_version, nodes, weight_bytes, arena_bytes, arena_lower_bound, left_out_channels, streamed, inputs, outputs, session,
// calibration, preprocessing}, a frame and an estimate of time where they were asked for, and the lists.
Json json_of(const SessionReport& session, const Model& model, const InspectLists& lists);

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
