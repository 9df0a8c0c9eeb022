#include "calibrator/judge/network_error.h"

#include "runtime/op.h"

namespace intaglio {

NetworkErrorMeter::NetworkErrorMeter(const FloatModel& fp32, Span<const OutputTensor> outputs,
                                     Span<float> exact_values, Arena& arena)
    : fp32_(fp32),
      exact_outputs_(outputs),
      exact_values_(exact_values),
      outputs_(arena.make<Output>(outputs.size)),
      figures_(arena.make<Figures>(static_cast<size_t>(fp32.lane_count) * outputs_.size)) {}

void NetworkErrorMeter::start(Int8Model& int8) {
  int8_ = &int8;
  const Model& model = int8.session().model();
  for (size_t i = 0; i < outputs_.size; ++i) {
    Output made;
    made.exact = exact_outputs_[i];
    made.tensor = int8.tensor_like(made.exact.tensor);
    for (int32_t n = 0; n < model.node_count(); ++n)
      for (const int32_t output : model.node_outputs(n))
        if (output == made.tensor) made.node = n;
    size_t at = i;
    for (; at > 0 && outputs_[at - 1].node > made.node; --at) outputs_[at] = outputs_[at - 1];
    outputs_[at] = made;
  }
}

bool NetworkErrorMeter::can_start_at(int32_t node) const {
  for (const Output& output : outputs_)
    if (output.tensor >= 0 && output.node < node) return false;
  return true;
}

const float* NetworkErrorMeter::exact_values(const Replay& samples, int32_t i, Session& fp32, int32_t lane) {
  if (const float* const known = samples.reference(i)) return known;
  float* const values = exact_values_.data + static_cast<size_t>(lane) * output_elements(exact_outputs_);
  int32_t done = 0;
  for (const OutputTensor& output : exact_outputs_) {
    fp32.run_nodes(done, output.node + 1);
    done = output.node + 1;
    memcpy(values + output.first, fp32.tensor(output.tensor).data, output.elements * sizeof(float));
  }
  return values;
}

void NetworkErrorMeter::run_lane(const Replay& samples, int32_t i, int32_t lane, const Executor& executor,
                                 bool to_the_end, const WalkStart& from) {
  Session fp32 = fp32_.lanes.of(fp32_.reference, lane, executor);
  Session int8 = int8_->lanes().of(int8_->session(), lane, executor);
  if (from.walk != nullptr)
    int8 = from.walk->bring(i, {from.node, from.node}, lane, executor);
  else
    copy_inputs(fp32, int8);
  const float* const exact = exact_values(samples, i, fp32, lane);
  int32_t done = from.node;
  for (size_t o = 0; o < outputs_.size; ++o) {
    const Output& output = outputs_[o];
    Figures& figures = figures_[static_cast<size_t>(lane) * outputs_.size + o];
    figures = {};
    if (output.tensor < 0) continue;
    int8.run_nodes(done, output.node + 1);
    done = output.node + 1;
    const TensorView view = int8.tensor(output.tensor);
    if (view.info.shape.elements() != static_cast<int64_t>(output.exact.elements)) continue;
    LayerReport sums;
    compare_values(exact + output.exact.first, view, sums);
    figures = {sums.signal, sums.noise};
  }
  if (to_the_end) int8.run_nodes(done, int8.model().node_count());
}

Error NetworkErrorMeter::add(Replay& samples, Span<const int32_t> which, const bool* judges, bool to_the_end,
                             const WalkStart& from) {
  int32_t walked[kMaxLanes], loaded[kMaxLanes];
  for (size_t lane = 0; lane < which.size; ++lane) {
    // The FP32 model needs the inputs of a sample that the walk has kept, too.
    const bool is_walked = from.walk != nullptr && samples.reference(which[lane]) != nullptr;
    walked[lane] = is_walked ? which[lane] : -1;
    loaded[lane] = is_walked ? -1 : which[lane];
  }
  if (from.walk != nullptr) ITG_TRY(from.walk->fetch({walked, which.size}));
  ITG_TRY(samples.load_each({loaded, which.size}));
  const Executor inner = which.size == 1 ? fp32_.executor : Executor();
  parallel_for(fp32_.executor, static_cast<int32_t>(which.size), [&](int32_t lane) {
    run_lane(samples, which[static_cast<size_t>(lane)], lane, inner, to_the_end, from);
  });
  for (size_t at = 0; at < which.size * outputs_.size; ++at) {
    Output& output = outputs_[at % outputs_.size];
    const bool judges_it = judges[at / outputs_.size];
    (judges_it ? output.signal : output.other_signal).add(figures_[at].signal);
    (judges_it ? output.noise : output.other_noise).add(figures_[at].noise);
  }
  return kNoError;
}

NetworkError NetworkErrorMeter::total() const {
  NetworkError total;
  for (const Output& output : outputs_)
    total.add({output.signal.value() + output.other_signal.value(),
               output.noise.value() + output.other_noise.value()},
              outputs_.size);
  return total;
}

NetworkError NetworkErrorMeter::judged() const {
  NetworkError judged;
  for (const Output& output : outputs_)
    judged.add({output.signal.value(), output.noise.value()}, outputs_.size);
  return judged;
}

}  // namespace intaglio
