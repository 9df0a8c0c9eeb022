// The text that a calibration and a comparison print.
#pragma once

#include <string>

#include "cli/output.h"
#include "tools/calibrate_model.h"
#include "tools/layer_comparison.h"
#include "tools/sequences.h"

namespace intaglio::cli {

// `output`: the file of the int8 model.
void print_calibration(const CalibratedModel& made, const std::string& output,
                       const FloatSearchChoice& float_search, const Model& fp32, const Model& int8);
void print_baked(const BakedParams& baked, size_t bytes, const std::string& params,
                 const std::string& output);

// One row a layer; `layers` are of `test`, and their numbers those of `fp32`.
void print_layers(const Model& fp32, const Model& test, Span<const LayerReport> layers, bool alone);
void print_sequences(const SequenceFigures& figures);

}  // namespace intaglio::cli
