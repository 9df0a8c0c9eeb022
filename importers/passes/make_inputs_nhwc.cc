// A model input in NCHW that is transposed to NHWC, at once or behind operators of preprocessing, becomes
// an NHWC input: pictures come in as they are. Others that read it get it transposed back.
#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

bool reaches_nhwc(const Draft& draft, int32_t input) {
  std::vector<bool> reached(draft.tensors.size(), false);
  reached[static_cast<size_t>(input)] = true;
  for (const DraftNode& node : draft.nodes) {
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t read) {
      return read >= 0 && reached[static_cast<size_t>(read)];
    });
    if (reads && node.op == Op::kTranspose &&
        to_vector(node.options.as<TransposeOptions>().permutation) == kToNhwc)
      return true;
    if (reads && traits(node.op).is(kPreprocesses)) reached[static_cast<size_t>(node.output())] = true;
  }
  return false;
}

// Once: where others read the input in another order, turning it may make a Transpose of theirs one to NHWC.
bool was_turned(const Draft& draft, int32_t input) {
  return std::find(draft.nhwc_inputs.begin(), draft.nhwc_inputs.end(), input) != draft.nhwc_inputs.end();
}

// What gives a state has its order of axes.
void turn_state(Draft& draft, DraftState& state, const Shape& nchw) {
  int32_t& next = draft.outputs[state.output];
  next = add_transpose(draft, draft.tensor(next).name, "Transpose", next, kToNhwc);
  const DType dtype = draft.tensor(next).dtype;
  if (!state.initial.empty())
    state.initial = permuted_data(state.initial, element_bytes(dtype), nchw, kToNhwc);
}

}  // namespace

bool make_inputs_nhwc(Draft& draft) {
  bool changed = false;
  for (const int32_t input : draft.inputs) {
    if (draft.tensor(input).shape.size() != 4 || was_turned(draft, input) || !reaches_nhwc(draft, input))
      continue;
    draft.nhwc_inputs.push_back(input);
    const Shape nchw = draft.tensor(input).shape;
    const Shape nhwc = permuted(nchw, kToNhwc);
    const int32_t back = add_activation_like(draft, draft.tensor(input).name, input, nchw);
    for (DraftNode& node : draft.nodes) std::replace(node.inputs.begin(), node.inputs.end(), input, back);
    draft.tensor(input).shape = nhwc;
    if (input == draft.inputs[0] && draft.time_axis >= 0 && draft.time_axis < 4)
      draft.time_axis = inverse(kToNhwc)[static_cast<size_t>(draft.time_axis)];
    add_node(draft, Op::kTranspose, draft.tensor(input).name, "Transpose", {input}, back)
        .options.as<TransposeOptions>()
        .permutation = draft.list(kToNchw);
    std::rotate(draft.nodes.begin(), draft.nodes.end() - 1, draft.nodes.end());
    changed = true;
    const auto state = std::find_if(draft.states.begin(), draft.states.end(), [&](const DraftState& each) {
      return draft.inputs[each.input] == input;
    });
    if (state != draft.states.end()) {
      turn_state(draft, *state, nchw);
      continue;
    }
    draft.notes.push_back(text("input ", quoted(draft.tensor(input).name), " is taken as NHWC ",
                               shape_text(nhwc), "; in the file it is NCHW ", shape_text(nchw)));
  }
  return changed;
}

}  // namespace intaglio::importers
