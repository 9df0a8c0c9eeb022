#include "calibrator/recover/range_recovery.h"

#include "calibrator/quantization/scales.h"
#include "calibrator/recover/provenance.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr int32_t kSearchSteps = 3;

class RangeRecovery {
 public:
  RangeRecovery(RecoveryContext& context, RecoveryMask bit, const char* stage)
      : context_(context),
        bit_(bit),
        stage_(stage),
        slots_(context.slots.map.slots),
        arena_(context.persistent) {}

  // Tries other parameters; the model is as before where they do not help.
  template <typename Choose>
  Error attempt(Choose&& choose) {
    ITG_TRY(keep());
    NetworkError before, after;
    ITG_TRY(context_.measure(stage_, before, Part::kHeldOut));
    ITG_TRY(choose(*this));
    ITG_TRY(rebuild());
    ITG_TRY(context_.measure(stage_, after, Part::kHeldOut));
    const bool helps = !after.worse_than(before);
    context_.record({bit_, -1, -1, before.ratio(), after.ratio(),
                     helps ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse});
    if (helps) return context_.measure(stage_, context_.error);
    for (int32_t slot = 0; slot < static_cast<int32_t>(kept_.size); ++slot)
      if (is_free(slot)) ITG_TRY(slots_.set_params(slot, kept_[static_cast<size_t>(slot)]));
    return rebuild();
  }

  Error search_each() {
    NetworkError least;
    ITG_TRY(context_.measure(stage_, least, Part::kLearners));
    for (int32_t slot = 0; slot < static_cast<int32_t>(kept_.size); ++slot) {
      if (!is_free(slot) || slots_.own(slot).has(policy::kPowerOfTwo)) continue;
      ITG_TRY(context_.step(stage_, slot, static_cast<int32_t>(kept_.size)));
      bool improved = false;
      ITG_TRY(follow(slot, 0.9f, least, improved));
      if (!improved) ITG_TRY(follow(slot, 1.1f, least, improved));
    }
    return kNoError;
  }

 private:
  Error out_of_memory() const {
    return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(context_.persistent.left()),
            static_cast<int64_t>(context_.persistent.left()) + 1};
  }

  // An observed activation that has parameters of its own.
  bool is_free(int32_t slot) const {
    const QuantConfig& config = slots_.own(slot);
    const Model& model = context_.fp32.model;
    if (!slots_.is_root(slot) || config.state != QuantState::kActivated || config.parameter) return false;
    if (context_.observing.observer_of[static_cast<size_t>(slot)] < 0) return false;
    for (int32_t n = 0; n < model.node_count(); ++n) {
      const NodeInfo node = model.node(n);
      if (node.outputs[0] != slot) continue;
      const OpDef* const def = find_op(float_ops(), model, node);
      return def != nullptr && def->quant.output == OutputRule::kObserved;
    }
    return false;
  }

  Error keep() {
    const Graph& graph = context_.int8.graph();
    kept_ = arena_.make<QuantParams>(static_cast<size_t>(context_.fp32.model.tensor_count()));
    size_t count = 0;
    for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n) count += biases_of(n).codes.size;
    biases_ = arena_.make<double>(count);
    if (arena_.exhausted()) return out_of_memory();
    for (size_t slot = 0; slot < kept_.size; ++slot) kept_[slot] = slots_.params(static_cast<int32_t>(slot));
    size_t at = 0;
    for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n) {
      const Biases biases = biases_of(n);
      for (size_t c = 0; c < biases.codes.size; ++c) biases_[at++] = biases.codes[c] * biases.step(c);
    }
    return kNoError;
  }

  // With the parameters as they are now, and the biases as they were.
  Error rebuild() {
    ITG_TRY(context_.int8.build(Provenance(context_).info()));
    const Graph& graph = context_.int8.graph();
    size_t at = 0;
    for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n) {
      const Biases biases = biases_of(n);
      if (biases.codes.empty()) continue;
      for (size_t c = 0; c < biases.codes.size; ++c) {
        const auto room = static_cast<double>(
            bias_room(biases.weights, biases.shape, biases.axis, static_cast<int32_t>(c), biases.wide));
        const double code = biases_[at++] / biases.step(c);
        biases.codes[c] =
            static_cast<int32_t>(round_even(code > room ? room : (code < -room ? -room : code)));
      }
      ITG_TRY(context_.int8.update_layer(n));
    }
    return kNoError;
  }

  struct Biases {
    Span<int32_t> codes;
    Span<const float> scales;
    Span<const int8_t> weights;
    Shape shape;
    int32_t axis = 0;
    double in_scale = 0.0;
    bool wide = false;  // the layer reads codes of 16 bits

    double step(size_t c) const { return in_scale * static_cast<double>(scales[c]); }
  };
  Biases biases_of(int32_t n) const {
    const Graph& graph = context_.int8.graph();
    const QuantRule* const rule = weight_rule(graph, n);
    if (rule == nullptr) return {};
    const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
    const auto tensor = [&](int8_t input) -> const TensorInfo& {
      return graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(input)])];
    };
    const TensorInfo &weights = tensor(rule->weight_input), &bias = tensor(rule->bias_input);
    Biases biases;
    biases.codes = {reinterpret_cast<int32_t*>(const_cast<uint8_t*>(bias.constant.data)),
                    static_cast<size_t>(bias.shape.elements())};
    biases.scales = weights.quantization.scales;
    biases.weights = {reinterpret_cast<const int8_t*>(weights.constant.data), weights.constant.size};
    biases.shape = weights.shape;
    biases.axis = rule->weight_axis;
    biases.in_scale = static_cast<double>(tensor(0).quantization.scales[0]);
    biases.wide = tensor(0).dtype == DType::kS16;
    return biases;
  }

  // One range times `factor` again and again, as long as the error falls.
  Error follow(int32_t slot, float factor, NetworkError& least, bool& improved) {
    for (int32_t step = 0; step < kSearchSteps; ++step) {
      const QuantParams now = slots_.params(slot);
      QuantParams other = now;
      other.scale *= factor;
      if (!is_scale(other.scale)) return kNoError;
      NetworkError error;
      ITG_TRY(slots_.set_params(slot, other));
      const Error built = rebuild();
      if (built.status == Status::kScaleRatio) return slots_.set_params(slot, now);
      ITG_TRY(built);
      ITG_TRY(context_.measure(stage_, error, Part::kLearners));
      if (!least.worse_than(error)) return slots_.set_params(slot, now);
      least = error;
      improved = true;
    }
    return kNoError;
  }

  RecoveryContext& context_;
  RecoveryMask bit_;
  const char* stage_;
  JointSlots& slots_;
  Arena arena_;
  Span<QuantParams> kept_;  // of each tensor's slot
  Span<double> biases_;     // all, as reals
};

}  // namespace

Error search_ranges(RecoveryContext& context) {
  RangeRecovery recovery(context, recovery::kRangeSearch, "range search");
  return recovery.attempt([](RangeRecovery& r) { return r.search_each(); });
}

uint64_t range_recovery_bytes(const Model& fp32, const CalibratorOptions& options) {
  if ((options.recover & recovery::kRangeSearch) == 0) return 0;
  uint64_t bytes = static_cast<uint64_t>(fp32.tensor_count()) * sizeof(QuantParams) + 64;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeInfo node = fp32.node(n);
    const OpDef* const def = find_op(float_ops(), fp32, node);
    if (def == nullptr || def->quant.weight_input < 0) continue;
    const Shape weights = fp32.tensor(node.inputs[static_cast<size_t>(def->quant.weight_input)]).shape;
    bytes += static_cast<uint64_t>(weights[def->quant.weight_axis]) * sizeof(double);
  }
  return bytes;
}

}  // namespace intaglio
