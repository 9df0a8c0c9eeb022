// A calibration that goes on with another FP32 model in place of the caller's: one of the same nodes and
// shapes that computes the same with other weights and biases, and loses less in int8.
#pragma once

#include "calibrator/recover/recovery.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

class ModelRewrite {
 public:
  ModelRewrite() = default;
  // Takes bytes() from `arena`. `persistent_bytes`: of the FP32 session where the other model's outputs may
  // differ in a bit; the session of the model before it then stays as the reference. 0: they do not, and its
  // session takes the place of that one.
  ModelRewrite(const Model& fp32, const CalibrationState& seen, size_t persistent_bytes, Arena& arena);
  static uint64_t bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options);

  // From here on restore() goes back to the model and to what has been seen, as they are now.
  void start(const RecoveryContext& context);
  // A copy of that model as it was at start(), whose constants may be changed through writable_floats().
  Model copy() const;
  // Goes on with the copy as it is now: its session, and what its tensors hold for the samples.
  Error use(RecoveryContext& context);
  Error restore(RecoveryContext& context);
  bool in_use() const { return in_use_; }

 private:
  Error go_on_with(RecoveryContext& context, const Model& model, const CalibrationState& seen,
                   const SessionMemory& session);

  Span<uint8_t> file_, persistent_;
  Model original_;
  CalibrationState seen_, seen_since_;
  bool in_use_ = false;
};

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
