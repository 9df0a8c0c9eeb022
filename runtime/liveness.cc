#include "runtime/liveness.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool leaves_model(const Model& model, int32_t tensor) {
  for (const int32_t output : model.outputs())
    if (output == tensor) return true;
  for (int32_t i = 0; i < model.state_count(); ++i)
    if (model.state(i).output == tensor) return true;
  return false;
}

bool share_bytes(const Model& model, int32_t a, int32_t b) {
  const uint64_t a_begin = model.activation_offset(a), b_begin = model.activation_offset(b);
  return a_begin < b_begin + model.tensor(b).bytes() && b_begin < a_begin + model.tensor(a).bytes();
}

// Visits model inputs and state inputs; stops where `visit` gives an error.
template <typename Visit>
Error for_each_source(const Model& model, Visit&& visit) {
  for (const int32_t input : model.inputs()) ITG_TRY(visit(input));
  for (int32_t i = 0; i < model.state_count(); ++i) ITG_TRY(visit(model.state(i).input));
  return kNoError;
}

class OverlapCheck {
 public:
  OverlapCheck(const Model& model, OpList ops, Span<int32_t> last_uses)
      : model_(model), ops_(ops), last_uses_(last_uses) {}

  Error sources() {
    ITG_TRY(for_each_source(model_, [this](int32_t source) {
      last_uses_[static_cast<size_t>(source)] = last_use(model_, source, -1);
      return kNoError;
    }));
    return for_each_source(model_, [this](int32_t source) { return against_sources(-1, source); });
  }

  // Each output of node `n` against everything alive while it runs.
  Error node(int32_t n) {
    const Span<const int32_t> outputs = model_.node(n).outputs;
    for (const int32_t output : outputs)
      last_uses_[static_cast<size_t>(output)] = last_use(model_, output, n);
    for (const int32_t output : outputs) {
      ITG_TRY(against_sources(n, output));
      for (int32_t m = 0; m <= n; ++m)
        for (const int32_t other : model_.node(m).outputs) ITG_TRY(pair(n, output, other));
    }
    return kNoError;
  }

 private:
  Error against_sources(int32_t n, int32_t tensor) {
    return for_each_source(model_, [this, n, tensor](int32_t source) { return pair(n, tensor, source); });
  }

  Error pair(int32_t n, int32_t tensor, int32_t other) const {
    if (tensor == other || last_uses_[static_cast<size_t>(other)] < n) return kNoError;
    if (!share_bytes(model_, tensor, other) || may_stand_on(n, tensor, other)) return kNoError;
    return {Status::kPlanOverlap, n, tensor, other};
  }

  // In place: the operator allows it, the input dies here, and both fill the same bytes.
  bool may_stand_on(int32_t n, int32_t tensor, int32_t input) const {
    if (n < 0 || last_uses_[static_cast<size_t>(input)] != n) return false;
    const NodeInfo node = model_.node(n);
    const OpDef* const def = find_op(ops_, model_, node);
    if (def == nullptr || def->alias_input < 0 || static_cast<size_t>(def->alias_input) >= node.inputs.size)
      return false;
    if (node.outputs[0] != tensor || node.inputs[static_cast<size_t>(def->alias_input)] != input)
      return false;
    for (size_t i = 0; i < node.inputs.size; ++i)  // read elsewhere too: overwritten while still needed
      if (static_cast<int32_t>(i) != def->alias_input && node.inputs[i] == input) return false;
    return model_.activation_offset(tensor) == model_.activation_offset(input) &&
           model_.tensor(tensor).bytes() == model_.tensor(input).bytes();
  }

  const Model& model_;
  OpList ops_;
  Span<int32_t> last_uses_;
};

}  // namespace

int32_t last_use(const Model& model, int32_t tensor, int32_t written_at) {
  if (leaves_model(model, tensor)) return model.node_count();
  for (int32_t n = model.node_count() - 1; n > written_at; --n)
    for (const int32_t input : model.node(n).inputs)
      if (input == tensor) return n;
  return written_at;
}

Error check_overlaps(const Model& model, OpList ops, Span<int32_t> last_uses) {
  OverlapCheck check(model, ops, last_uses);
  ITG_TRY(check.sources());
  for (int32_t n = 0; n < model.node_count(); ++n) ITG_TRY(check.node(n));
  return kNoError;
}

}  // namespace intaglio
