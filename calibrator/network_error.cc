#include "calibrator/network_error.h"

namespace intaglio {

NetworkErrorMeter::NetworkErrorMeter(CalibratorMemory& memory, Arena& arena)
    : memory_(&memory), outputs_(arena.make<Output>(memory.outputs.size)) {}

void NetworkErrorMeter::start(Int8Model& int8) {
  int8_ = &int8.session();
  const Model& model = int8_->model();
  for (size_t i = 0; i < outputs_.size; ++i) {
    Output made;
    made.exact = memory_->outputs[i];
    made.tensor = int8.tensor_like(made.exact.tensor);
    for (int32_t n = 0; n < model.node_count(); ++n)
      for (const int32_t output : model.node(n).outputs)
        if (output == made.tensor) made.node = n;
    size_t at = i;
    for (; at > 0 && outputs_[at - 1].node > made.node; --at) outputs_[at] = outputs_[at - 1];
    outputs_[at] = made;
  }
}

const float* NetworkErrorMeter::exact_values(Replay& samples, int32_t i) {
  if (const float* const known = samples.reference(i)) return known;
  Session& fp32 = memory_->session;
  int32_t done = 0;
  for (const OutputTensor& output : memory_->outputs) {
    fp32.run_nodes(done, output.node + 1);
    done = output.node + 1;
    memcpy(memory_->exact_outputs.data + output.first, fp32.tensor(output.tensor).data,
           output.elements * sizeof(float));
  }
  return memory_->exact_outputs.data;
}

Error NetworkErrorMeter::add(Replay& samples, int32_t i) {
  ITG_TRY(samples.load(i));
  copy_inputs(memory_->session, *int8_);
  const float* const exact = exact_values(samples, i);
  int32_t done = 0;
  for (Output& output : outputs_) {
    if (output.tensor < 0) continue;
    int8_->run_nodes(done, output.node + 1);
    done = output.node + 1;
    const TensorView view = int8_->tensor(output.tensor);
    if (view.info.shape.elements() != static_cast<int64_t>(output.exact.elements)) continue;
    LayerReport sums;
    compare_values(exact + output.exact.first, view, sums);
    output.signal.add(sums.signal);
    output.noise.add(sums.noise);
  }
  return kNoError;
}

NetworkError NetworkErrorMeter::total() const {
  NetworkError total;
  for (const Output& output : outputs_)
    total.add({output.signal.value(), output.noise.value()}, outputs_.size);
  return total;
}

}  // namespace intaglio
