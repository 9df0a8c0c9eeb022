// A network made from another one: of the same nodes and shapes, it computes the same with other weights and biases, and loses
// less in int8.
#pragma once

#include "calibrator/recover/recovery.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

class ModelRewrite {
 public:
  ModelRewrite() = default;
  // Takes bytes() from `arena`. `persistent_bytes`: see Network::persistent.
  ModelRewrite(const Model& fp32, const CalibrationState& seen, size_t persistent_bytes, Arena& arena);
  static uint64_t bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options);

  // A copy of the model, whose constants may be changed through writable_floats().
  Model copy(const Network& from);
  // The copy as it is now comes into use, and all samples are observed in it.
  Error observe(RecoveryContext& context);
  // The copy comes into use with what has been seen of the network that it was made from, which the caller changes.
  Error use_unobserved(RecoveryContext& context, const Network& from);
  // Valid from then on, until the next copy().
  Network& network() { return network_; }

 private:
  Error open(RecoveryContext& context);

  Span<uint8_t> file_;
  Network network_;
};

// Observes all samples in the network in use. `seen`: what the first lane of `observing` adds to, reset, and nothing else. Where
// there are probes, they are made of the first `most_probed` samples by their digests.
Error observe_again(RecoveryContext& context, const Observing& observing, CalibrationState seen,
                    int32_t most_probed);

Span<float> writable_floats(const TensorInfo& info);

// Visits each layer with weights: its node and rule.
template <typename Visit>
void for_each_layer(const Model& model, Visit&& visit) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def != nullptr && def->quant.weight_input >= 0) visit(node, def->quant);
  }
}

}  // namespace intaglio
