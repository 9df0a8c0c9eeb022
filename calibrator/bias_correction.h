// Bias correction: each output channel's mean error, from mean inputs, goes into its bias.
#pragma once

#include "calibrator/graph.h"
#include "intaglio/session.h"

namespace intaglio {

// An int8 model that is being corrected: its bytes, writable, and the graph that they were written from,
// whose node i is the file's node i.
struct Correctable {
  Model file;  // int8
  Graph* graph = nullptr;
};

// Nodes of the int8 model that have weights and so a bias to correct.
bool has_weights(const Graph& graph, size_t node);

// Adds to each bias of node `n` the mean output of the FP32 layer less the mean output of the int8 one, given
// the mean inputs of both as reals; both in the file and in the graph. Never past what keeps the accumulator
// in int32.
void correct_bias(const Correctable& model, int32_t n, const Model& fp32, Span<const double> fp32_means,
                  Span<const double> int8_means);

// Every bias of the graph, one behind the other: to be kept, and put back in file and graph.
size_t bias_count(const Graph& graph);
void keep_biases(const Graph& graph, Span<int32_t> biases);
void restore_biases(const Correctable& model, Span<const int32_t> biases);

}  // namespace intaglio
