// That a plan keeps activations apart that are needed at the same time: what liveness.h promises, for plans in which
// nodes run one after the other, and for those in which segments of nodes run together (streaming/).
#pragma once

#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

static_assert(kMaxTensors <= UINT16_MAX && kMaxNodes + 1 <= UINT16_MAX);

// Plan says of node n when the nodes that run together with it begin and end (first_of, last_of: n itself where it
// runs alone), and how many bytes a tensor takes in the plan. Where nodes may run by rows (kByRows), it says whether node n does
// (by_rows), whether its output may then stand on rows of an input (may_follow), and until which node the model's input comes
// (fed_until; -1: it is there before).
template <typename Plan>
class OverlapCheck {
 public:
  OverlapCheck(const Model& model, OpList ops, uint16_t* memory, const Plan& plan)
      : model_(model), ops_(ops), plan_(plan), last_uses_(memory), placed_(memory + model.tensor_count()) {}

  Error check() {
    find_last_uses();
    for (const int32_t input : model_.inputs()) ITG_TRY(place(-1, input));
    for (int32_t i = 0; i < model_.state_count(); ++i) ITG_TRY(place(-1, model_.state(i).input));
    for (int32_t n = 0; n < model_.node_count(); ++n)
      for (const int32_t output : model_.node_outputs(n)) ITG_TRY(place(n, output));
    return kNoError;
  }

 private:
  // Counted from 1 on: 0 is before the first node.
  void find_last_uses() {
    const int32_t nodes = model_.node_count();
    for (int32_t t = 0; t < model_.tensor_count(); ++t) use(t, -1);
    for (int32_t n = 0; n < nodes; ++n) {
      const NodeInfo node = model_.node(n);
      for (const int32_t input : node.inputs)
        if (input >= 0) use(input, plan_.last_of(n));
      for (const int32_t output : node.outputs) use(output, plan_.last_of(n));
    }
    for (const int32_t output : model_.outputs()) use(output, nodes);
    for (int32_t i = 0; i < model_.state_count(); ++i) use(model_.state(i).output, nodes);
    if constexpr (Plan::kByRows)  // it is written until then, whether a node reads it or not
      for (const int32_t input : model_.inputs())
        if (const int32_t fed = plan_.fed_until(input); fed > last_use_of(input)) use(input, fed);
  }
  void use(int32_t tensor, int32_t n) { last_uses_[tensor] = static_cast<uint16_t>(n + 1); }
  int32_t last_use_of(int32_t tensor) const { return last_uses_[tensor] - 1; }

  uint32_t begin_of(int32_t tensor) const { return model_.activation_offset(tensor); }
  uint32_t end_of(int32_t tensor) const {  // within activation_bytes, which 32 bits hold
    return begin_of(tensor) + plan_.bytes(model_, tensor);
  }

  // Node `n` (-1: what runs it all) writes `tensor`. Those placed before stand apart from each other, in the order of their
  // bytes: it takes the place of those that it stands on, none of which may be needed any more.
  Error place(int32_t n, int32_t tensor) {
    const uint32_t begin = begin_of(tensor), end = end_of(tensor);
    int32_t first = 0;
    for (int32_t after = count_; first < after;) {
      const int32_t middle = first + (after - first) / 2;
      if (end_of(placed_[middle]) <= begin) {
        first = middle + 1;
      } else {
        after = middle;
      }
    }
    int32_t last = first;
    for (; last < count_ && begin_of(placed_[last]) < end; ++last) {
      const int32_t other = placed_[last];
      if (last_use_of(other) >= plan_.first_of(n) && !may_stand_on(n, tensor, other))
        return {Status::kPlanOverlap, n, tensor, other};
    }
    if (last == first) {
      for (int32_t i = count_++; i > first; --i) placed_[i] = placed_[i - 1];
    } else {
      for (int32_t i = last; i < count_; ++i) placed_[first + 1 + i - last] = placed_[i];
      count_ -= last - first - 1;
    }
    placed_[first] = static_cast<uint16_t>(tensor);
    return kNoError;
  }

  // In place: the operator allows it, the input dies here, and both fill the same bytes. By rows: as the plan says.
  bool may_stand_on(int32_t n, int32_t tensor, int32_t input) const {
    if (n < 0 || last_use_of(input) != n) return false;
    if constexpr (Plan::kByRows)
      if (plan_.by_rows(n)) return plan_.may_follow(n, tensor, input);
    const NodeInfo node = model_.node(n);
    const OpDef* const def = find_op(ops_, model_, node);
    if (def == nullptr || def->alias_input < 0 || static_cast<size_t>(def->alias_input) >= node.inputs.size)
      return false;
    if (node.outputs[0] != tensor || node.inputs[static_cast<size_t>(def->alias_input)] != input)
      return false;
    for (size_t i = 0; i < node.inputs.size; ++i)  // read elsewhere too: overwritten while still needed
      if (static_cast<int32_t>(i) != def->alias_input && node.inputs[i] == input) return false;
    return begin_of(tensor) == begin_of(input) && end_of(tensor) == end_of(input);
  }

  const Model& model_;
  OpList ops_;
  const Plan plan_;
  uint16_t* last_uses_;  // one a tensor
  uint16_t* placed_;
  int32_t count_ = 0;  // of those placed
};

}  // namespace intaglio
