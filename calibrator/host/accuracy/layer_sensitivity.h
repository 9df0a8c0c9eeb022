// The cost of a layer on any machine.
#pragma once

#include <memory>
#include <vector>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "calibrator/observe/output_tensors.h"
#include "intaglio/model.h"
#include "intaglio/session.h"

namespace intaglio {

// Multiply-and-adds of convolutions and matrix products; 0 for the others.
int64_t macs_of(const Model& model, const NodeInfo& node);

// How much of an int8 model's error at its outputs each layer makes, by trying: everything in FP32 but one
// rounding at a time.

// One layer of the int8 model, with the nodes of the FP32 model that it computes. Errors are noise over
// signal of the model's outputs, before a final softmax; of several outputs the mean.
struct LayerSensitivity {
  std::vector<int32_t> nodes;  // ascending
  std::vector<int32_t> reads;  // layers whose output it reads, as indices; kModelInput: an input of the model
  int32_t writer = -1;         // the one of the nodes that writes its output
  bool is_float = false;       // in FP32 already
  bool is_wide = false;        // its output has 16 bits already
  bool can_be_wide =
      false;             // its output may have 16 bits: it and all that read them have a version for these
  bool follows = false;  // its output has its input's codes, of as many bits (a max pool, a reshape)
  bool writes_float = false;  // or an answer: from int8 to FP32
  double own_error = 0.0;     // made by its int8 weights and arithmetic
  double output_error = 0.0;  // made by rounding its output, however many read that
  int64_t macs = 0;           // multiply-and-adds
  int64_t weight_bytes = 0;   // in int8
  int64_t output_elements = 0;
  static constexpr int32_t kModelInput = -1;
};

class SensitivityMeter {
 public:
  // `int8` was made from `fp32`; both outlive this.
  static Outcome<std::unique_ptr<SensitivityMeter>> create(const Model& fp32, const Model& int8,
                                                           const SessionOptions& options);
  SensitivityMeter(const SensitivityMeter&) = delete;
  SensitivityMeter& operator=(const SensitivityMeter&) = delete;

  // One sample: the bytes of each input of the FP32 model. About as long as that model takes, once for each
  // of its layers.
  void add(Span<const Span<const uint8_t>> inputs);

  // In the order of the int8 model's layers.
  std::vector<LayerSensitivity> layers() const;
  // The error that rounding the model's inputs adds.
  double input_error() const { return ratio(input_noise_); }

 private:
  using Values = std::vector<float>;
  using Noise = std::vector<double>;  // one an output
  struct Layer {
    LayerSensitivity shape;
    int32_t node = -1;    // of the int8 model
    int32_t output = -1;  // tensor of the FP32 model
    Noise whole, output_noise;
  };
  struct OpenSession {
    FileBytes memory;
    Session session;
  };

  SensitivityMeter(const Model& fp32, const Model& int8) : fp32_(fp32), int8_(int8) {}
  void find_layers();
  // Runs the FP32 model from node `from` on, with `values` in place of what `tensor` holds, and adds to
  // `noise`.
  void probe(int32_t from, int32_t tensor, const Values& values, Noise& noise);
  bool follows_input(int32_t node) const;
  bool can_be_wide(int32_t node) const;
  // The values of `tensor` of the FP32 model, rounded as in the int8 model; empty: it is not rounded there.
  Values rounded(int32_t tensor) const;
  Values int8_output(const Layer& layer);
  // An equalized model computes some channels in other units. What a layer gives for exact inputs tells them: where a channel
  // is off by a factor that no rounding makes, those of all channels of this tensor.
  void find_factors(int32_t tensor, const Values& found);
  // Of a tensor of the FP32 model into the int8 model's units, or back.
  Values scaled(int32_t tensor, Values values, bool back = false) const;
  double ratio(const Noise& noise) const;

  const Model& fp32_;
  const Model& int8_;
  HostArena arena_;
  OpenSession exact_, test_;
  Span<const OutputTensor> outputs_;
  std::vector<Layer> layers_;
  std::vector<int32_t> writer_, last_use_,
      like_;                    // of each tensor of the FP32 model; its like in the int8 model
  std::vector<Values> values_;  // of each activation of reals, of one sample
  std::vector<std::vector<int32_t>> integers_;  // of each of integers
  std::vector<Values> factors_;                 // one a channel; empty: all are 1
  Noise signal_, input_noise_;
};

}  // namespace intaglio
