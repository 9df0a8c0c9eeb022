// The error of the whole int8 model: its outputs beside those of the FP32 model, over samples.
#pragma once

#include "calibrator/bake/int8_model.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/judge/order_free_sum.h"
#include "calibrator/judge/sample_walk.h"

namespace intaglio {

// Where samples stand in a walk through the int8 model; without one they start at its inputs.
struct WalkStart {
  SampleWalk* walk = nullptr;
  int32_t node = 0;  // the place of all of them
};

class NetworkErrorMeter {
 public:
  // `exact_values`: room for the FP32 values of all `outputs` of a sample on each lane. `arena` keeps a few
  // words for each output.
  NetworkErrorMeter(const FloatModel& fp32, Span<const OutputTensor> outputs, Span<float> exact_values,
                    Arena& arena);

  // Starts a measurement of this model, which outlives it.
  void start(Int8Model& int8);
  // Whether nothing that is compared is written before this node.
  bool can_start_at(int32_t node) const;
  // Runs these samples side by side, as many as there are lanes at most; the FP32 model only where its
  // outputs are not known. With `to_the_end` also what stands behind the outputs that are compared: the
  // model's outputs are then those of its lanes' sessions. A walk ends here.
  // judges[lane]: whether judged() counts the sample.
  Error add(Replay& samples, Span<const int32_t> which, const bool* judges, bool to_the_end,
            const WalkStart& from = {});
  // Neither depends on the order of the samples.
  NetworkError total() const;
  NetworkError judged() const;

 private:
  struct Output {
    OutputTensor exact;
    int32_t tensor = -1, node = -1;  // of the int8 model
    OrderFreeSum signal, noise;      // of samples that judge
    OrderFreeSum other_signal, other_noise;
  };

  // Of one sample at one output.
  struct Figures {
    double signal = 0.0, noise = 0.0;
  };

  const float* exact_values(const Replay& samples, int32_t i, Session& fp32, int32_t lane);
  void run_lane(const Replay& samples, int32_t i, int32_t lane, const Executor& executor, bool to_the_end,
                const WalkStart& from);

  const FloatModel& fp32_;
  Span<const OutputTensor> exact_outputs_;
  Span<float> exact_values_;  // of all of them, of one sample a lane
  Span<Output> outputs_;      // by ascending node of the int8 model
  Span<Figures> figures_;     // of each lane, one an output
  Int8Model* int8_ = nullptr;
};

}  // namespace intaglio
