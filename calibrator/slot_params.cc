#include "calibrator/slot_params.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

class SlotParams {
 public:
  explicit SlotParams(CalibratorMemory& memory) : memory_(memory) {}

  void set_params() {
    const Model& model = memory_.model;
    for (int32_t t = 0; t < model.tensor_count(); ++t) {
      if (model.tensor(t).is_constant() || memory_.slots.slots.root(t) != t) continue;
      memory_.slots.slots.set(t, params_of_root(t));
    }
    for (int32_t n = 0; n < model.node_count(); ++n) share_with_inputs(n);
  }

 private:
  // A Concat's inputs take its scale where that costs them less than 1 dB; the others are requantized when
  // baked.
  void share_with_inputs(int32_t n) {
    constexpr float kOneDecibel = 1.122f;
    const NodeInfo node = memory_.model.node(n);
    const OpDef* const def = find_op(float_ops(), memory_.model, node);
    if (def == nullptr || !def->quant.inputs_as_output) return;
    JointSlots& slots = memory_.slots.slots;
    const QuantParams whole = slots.params(node.outputs[0]);
    for (const int32_t input : node.inputs) {
      if (input < 0 || memory_.model.tensor(input).is_constant()) continue;
      const int32_t root = slots.root(input);
      const QuantParams own = slots.params(root);
      const bool fits = own.scale <= whole.scale && whole.scale < own.scale * kOneDecibel;
      if (fits && covers(whole, own) && is_free(root)) slots.set(root, whole);
    }
  }

  // Whether every value that `inner` has a code for lies within `outer`, up to one step.
  static bool covers(const QuantParams& outer, const QuantParams& inner) {
    const auto end = [](const QuantParams& p, int32_t code) {
      return p.scale * static_cast<float>(code - p.zero_point);
    };
    return end(outer, -128) <= end(inner, -128) + outer.scale &&
           end(outer, 127) >= end(inner, 127) - outer.scale;
  }

  // Observed: neither fixed by its operator nor by its pixels.
  bool is_free(int32_t tensor) const {
    for (const int32_t input : memory_.model.inputs())
      if (input == tensor) return false;
    for (int32_t n = 0; n < memory_.model.node_count(); ++n) {
      const NodeInfo node = memory_.model.node(n);
      const OpDef* const def = find_op(float_ops(), memory_.model, node);
      if (node.outputs[0] == tensor) return def != nullptr && def->quant.output == OutputRule::kObserved;
    }
    return false;
  }

  QuantParams params_of_root(int32_t tensor) const {
    Bounds bounds{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (int32_t n = 0; n < memory_.model.node_count(); ++n) {
      const NodeInfo node = memory_.model.node(n);
      if (node.outputs[0] != tensor) continue;
      const OpDef* const def = find_op(float_ops(), memory_.model, node);
      if (def != nullptr && def->quant.output == OutputRule::kFixed)
        return {def->quant.fixed_scale, def->quant.fixed_zero_point};
      bounds = {static_cast<double>(node.options.clamp_min), static_cast<double>(node.options.clamp_max)};
    }
    set_image_bounds(tensor, bounds);
    const auto observer = static_cast<size_t>(memory_.observer_of[static_cast<size_t>(tensor)]);
    return params_of(choose_range(memory_.seen.observers[observer], bounds, memory_.options),
                     memory_.options.symmetric);
  }

  // Pixels have 256 values: over their own whole range nothing is lost.
  void set_image_bounds(int32_t tensor, Bounds& bounds) const {
    for (int32_t i = 0; i < memory_.model.image_count(); ++i) {
      const ImageInput image = memory_.model.image(i);
      if (memory_.model.inputs()[static_cast<size_t>(image.input)] != tensor) continue;
      bounds = {0.0, 0.0, true};
      for (int32_t c = 0; c < image.channels; ++c)
        for (const float pixel : {0.0f, 255.0f}) {
          const auto x = static_cast<double>((pixel - image.mean[c]) * image.norm[c]);
          bounds.lo = x < bounds.lo ? x : bounds.lo;
          bounds.hi = x > bounds.hi ? x : bounds.hi;
        }
    }
  }

  CalibratorMemory& memory_;
};

}  // namespace

void choose_params(CalibratorMemory& memory) { SlotParams(memory).set_params(); }

}  // namespace intaglio
