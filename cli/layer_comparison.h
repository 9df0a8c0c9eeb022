// Two models on the same samples: layer by layer, and by the classes they give.
#pragma once

#include <optional>
#include <vector>

#include "cli/output.h"
#include "cli/samples.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// NaN for sums over nothing.
double sqnr_db(double signal, double noise);
double sqnr_db(const LayerReport& layer);
double sqnr_alone_db(const LayerReport& layer);
double cosine(const LayerReport& layer);

struct Comparison {
  std::vector<LayerReport> layers;                       // clipped: mean over the samples
  int32_t output = -1;                                   // the layer before a final softmax; -1: not paired
  std::vector<int32_t> reference_classes, test_classes;  // a sample; empty where an output is not classes
  std::optional<double> agreement() const;
};

// `alone` also measures each layer with exact inputs, at twice the time.
Outcome<Comparison> compare_models(const LoadedModel& reference_file, LoadedSession& reference,
                                   const Model& test_model, LoadedSession& test, const Samples& samples,
                                   bool alone, ProgressLine& progress);

// The share of places with equal classes; nothing where there are none.
std::optional<double> agreement_of(const std::vector<int32_t>& a, const std::vector<int32_t>& b);

// One row a layer; `layers` are of `test`.
void print_layers(const Model& test, Span<const LayerReport> layers, bool alone);

}  // namespace intaglio::cli
