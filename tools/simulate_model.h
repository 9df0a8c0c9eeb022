// The errors of a quantization that int8 kernels cannot compute, layer by layer.
#pragma once

#include "tools/json.h"
#include "tools/known_params.h"
#include "tools/samples.h"
#include "tools/slot_choices.h"

namespace intaglio::tools {

struct SimulateChoice {
  SampleChoice samples;
  SessionOptions execution;
  QuantizationChoice quantization;
  ParamsChoice params;
  bool exact = false;  // layers with weights from exact products, even where kernels could run them
};

struct SimulatedLayer {
  std::string tensor;  // its output, in the FP32 model
  Op op = Op::kConv2d;
  bool is_simulated = false;           // else int8 kernels ran it
  std::string input, weights, output;  // how each is quantized: "8", "4 half-up"; empty where there is none
  double sqnr = 0, cosine = 0;         // dB; against the FP32 model
};

struct SimulatedModel {
  size_t count = 0;       // samples
  int32_t simulated = 0;  // nodes
  double sqnr = 0;        // dB, of the outputs before a final softmax
  std::optional<double> agreement;
  std::vector<SimulatedLayer> layers;
};

Outcome<SimulatedModel> simulate(const LoadedModel& file, const SimulateChoice& choice, Work& work);

// {count, simulated_nodes, sqnr_db, agreement, layers}: see `simulate --json`.
Json json_of(const SimulatedModel& found, const Model& fp32);

}  // namespace intaglio::tools
