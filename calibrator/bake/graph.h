// A model while it is being made: importers fill one from a foreign file, the calibrator from an FP32 model.
// All its memory comes from one Arena, which outlives it.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/model.h"
#include "runtime/op_search.h"

namespace intaglio {

struct GraphNode {
  Op op = Op::kNone;
  const char* name = "";
  Span<int32_t> inputs;   // tensor indices; -1: absent
  Span<int32_t> outputs;  // tensor indices
  NodeOptions options;
  int32_t source = -1;  // the calibrator's: node of the FP32 model that it was made from
};

struct GraphNormStatistics {
  int32_t tensor = -1;
  Span<const float> mean, deviation;
};

// A tensor of the network that was imported whose other channels are gone (bake/dead_channels.h).
struct GraphKeptChannels {
  int32_t tensor = -1;
  KeptChannels kept;
};

struct GraphPack {
  int32_t node = -1;
  const char* kernel = "";
  Span<const uint8_t> data;
};

struct GraphSegment {
  int32_t first = 0, band = 1;
  Span<const int32_t> strides, leads, rows;  // one a node
  int32_t picture_stride = 0, picture_lead = 0, picture_rows = 0;
};

// The plan for sessions that run rows through line buffers.
struct GraphStreamedPlan {
  Span<uint32_t> offsets;  // one a tensor; empty: there is no such plan
  size_t activation_bytes = 0, fast_bytes = 0;
  Array<GraphSegment> segments;
};

struct Graph {
  Array<TensorInfo> tensors;
  Array<GraphNode> nodes;  // in an order in which every tensor is written before it is read
  Array<int32_t> inputs, outputs;
  Array<StateInfo> states;
  Array<ImageInput> images;
  Array<GraphNormStatistics> norm_statistics;
  Array<GraphKeptChannels> kept_channels;
  CalibrationInfo calibration;
  Span<const uint8_t> answers;  // an AnswerKind an output; empty: not told
  uint32_t memory_ceiling = 0;  // as Model::memory_ceiling()
  bool blocked_sums = true;     // as Model::blocked_sums(); written where a node has such a sum
  Array<GraphPack> packs;       // of the nodes as they stand, ascending

  // The activation plan, from plan_memory(); one offset a tensor.
  Span<uint32_t> offsets;
  size_t activation_bytes = 0;
  size_t fast_bytes = 0;  // of these, in a memory of their own
  size_t activation_lower_bound = 0;
  GraphStreamedPlan streamed;
};

// So much of a graph: counted before there is one, for the memory that it and its file will take.
struct GraphCount {
  uint64_t tensors = 0, nodes = 0;
  uint64_t name_bytes = 0, constant_bytes = 0;
  uint64_t indices = 0;  // of tensors, in all nodes
  uint64_t numbers = 0;  // of 4 bytes each, besides: dimensions, scales, lists of options

  void add_tensor(uint64_t name, uint64_t dims, uint64_t scales = 1) {
    ++tensors;
    name_bytes += name;
    numbers += dims + scales;
  }
  void add_node(uint64_t name, uint64_t tensors_named, uint64_t listed = 0) {
    ++nodes;
    name_bytes += name;
    indices += tensors_named;
    numbers += listed;
  }
  // Bytes of all that the lists of tensors and nodes refer to, each piece aligned.
  uint64_t bytes() const {
    constexpr uint64_t kPieces = 2 * alignof(int32_t);  // of a tensor or a node, between names
    return name_bytes + constant_bytes + 4 * (indices + numbers) + kPieces * (tensors + nodes);
  }
};

// Adds a tensor; name and dims are copied, the rest is set by the caller. Returns its index.
int32_t add_tensor(Graph& graph, Arena& arena, const char* name, DType dtype, Span<const int32_t> dims);
// Adds a constant whose bytes are copied to memory aligned for any element type.
int32_t add_constant(Graph& graph, Arena& arena, const char* name, DType dtype, Span<const int32_t> dims,
                     Span<const uint8_t> bytes);
// Adds a node whose options have their defaults; name and indices are copied.
GraphNode& add_node(Graph& graph, Arena& arena, Op op, const char* name, Span<const int32_t> inputs,
                    Span<const int32_t> outputs);

OpSignature signature_of(const Graph& graph, const GraphNode& node);

// Options whose lists are copied to the arena.
NodeOptions copy_options(const NodeOptions& options, Arena& arena);

// Elements of all lists of a node's options.
size_t listed_options(const NodeOptions& options);

// A graph with the content of an opened model; shares the model's bytes.
Graph graph_of(const Model& model, Arena& arena);

// The plans of an opened model, whose graph this is. An error where the streamed one is no plan of the model.
Error copy_plans(const Model& model, Graph& graph, Arena& arena);

// Removes what no output needs: nodes, then tensors; renumbers the rest and keeps their order. Model inputs
// stay.
void remove_dead(Graph& graph, Arena& arena);

}  // namespace intaglio
