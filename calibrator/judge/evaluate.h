// An int8 model beside the FP32 model that it was made from, layer by layer on the same sample.
#pragma once

#include "calibrator/bake/int8_model.h"
#include "calibrator/judge/replay.h"
#include "calibrator/observe/output_tensors.h"
#include "calibrator/workspace/arena.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// A layer of `test` and the tensor of `reference` that it should equal.
struct LayerPair {
  int32_t node = -1;            // of the test model; its first output is compared
  int32_t reference_node = -1;  // writes the tensor of the same name
  int32_t reference_tensor = -1;
};

// Pairs in the order of the test model's nodes: outputs that have the same name and number of elements as a
// tensor of FP32 or int32 that a node of the reference writes, as long as both models compute them in the same order.
Span<const LayerPair> pair_layers(const Model& reference, const Model& test, Arena& arena);

// Runs both sessions on the inputs that stand in them and adds what differs to layers[i] for pairs[i]. With
// `alone` each layer of `test` gets exact inputs, and only noise_alone is added to. `fp32`: whose session `reference` is, if its
// functions may have factors.
void compare_layers(Session& reference, Session& test, Span<const LayerPair> pairs, Span<LayerReport> layers,
                    bool alone, const FloatModel* fp32 = nullptr);

// Adds to the sums of `sums` what differs between exact values and a tensor of as many elements.
void compare_values(const float* exact, const TensorView& view, LayerReport& sums);

// Writes the numbers of one tensor into another of as many elements: rounded where that holds codes.
void convert_values(const TensorView& from, const TensorView& to);

// Writes the sample that stands in the reference's inputs into the test session's, quantized where those are
// int8.
void copy_inputs(const Session& reference, Session& test);
// The number 0 in all of its inputs.
void zero_inputs(Session& test);

// Those of the pairs whose errors are the model's, as indices, each once: of every output the layer that
// makes it, or what feeds that where the reference has a softmax there.
Span<const int32_t> output_layers(const Model& reference, const Model& test, Span<const LayerPair> pairs,
                                  Arena& arena);

// For one output: sums of squares of the FP32 values and of the differences. For several: their number, and the
// sum of each one's noise over its signal, so that none counts for more because its values are larger.
struct NetworkError {
  double signal = 0.0, noise = 0.0;

  double ratio() const { return signal > 0.0 ? noise / signal : (noise > 0.0 ? 1.0 : 0.0); }
  bool worse_than(const NetworkError& other) const { return ratio() > other.ratio(); }
  // Adds one of the `outputs` outputs of a model.
  void add(const NetworkError& output, size_t outputs) {
    signal += outputs == 1 ? output.signal : 1.0;
    noise += outputs == 1 ? output.noise : output.ratio();
  }
};

// An output of the FP32 model, and what stands for it in the int8 model.
struct OutputPair {
  OutputTensor exact;
  int32_t tensor = -1, node = -1;  // that writes it; -1: none
};
// One for each output of the FP32 model, by ascending node of the int8 model.
void pair_outputs(const Model& fp32, const Model& int8, Span<const OutputTensor> outputs,
                  Span<OutputPair> pairs);
// Runs the sample that stands in a session of the FP32 model as far as these outputs, and writes their values. Returns the node
// before which it stands then.
int32_t run_outputs(Session& fp32, Span<const OutputTensor> outputs, float* values);
// Called with an output of the int8 model, while it stands in the session, and with the exact values.
struct OutputLook {
  void (*look)(void* context, size_t pair, const float* exact, const TensorView& found) = nullptr;
  void* context = nullptr;
};
// Runs a session of the int8 model as far as its outputs, and compares them with these values. Returns as above.
int32_t compare_outputs(Session& int8, Span<const OutputPair> pairs, const float* exact, NetworkError* errors,
                        const OutputLook& look = {});

// Every layer of the int8 model against the same layer in FP32, over all samples.

// As many samples at once as there are lanes; their sums are added in the samples' order. The list is made in the int8
// model's arena. kCancelled where `progress` says so, kOutOfMemory.
// What the list, and the lists that it is made from, take for so many nodes.
uint64_t layer_report_bytes(uint64_t nodes, const CalibratorOptions& options);
Result<Span<LayerReport>> report_layers(FloatModel& fp32, Int8Model& int8, Replay& samples,
                                        const Progress& progress);

}  // namespace intaglio
