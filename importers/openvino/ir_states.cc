// States of an OpenVINO IR: ReadValue gives what Assign took of the same variable in the run before. An input and an output
// of the network stand for the two.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

// What a variable begins with: nothing to say of zeros.
std::vector<double> first_values(IrOp& op) {
  if (!op.has_input(0)) return {};
  std::optional<IrConstant> first;
  if (op.writer(0).type == "Broadcast" && !op.writer(0).inputs.empty() && op.writer(0).inputs[0].layer >= 0) {
    first = op.find_constant(op.writer(0).inputs[0]);
    if (first && first->values.size() != 1) first.reset();
  } else {
    first = op.find_constant(op.source(0));
  }
  if (!first) fail("its first value is computed by a run; only a constant is supported");
  const bool is_zero =
      std::all_of(first->values.begin(), first->values.end(), [](double value) { return value == 0; });
  return is_zero ? std::vector<double>() : first->values;
}

void import_read_value(IrOp& op) {
  op.check_inputs(0, 1);
  IrState& state = op.file().states[op.word("variable_id", "")];
  if (!state.input.empty()) fail("its variable is read twice");
  op.expect("variable_type", {"f32", "f16", "dynamic"});
  op.ignore("variable_shape");
  const std::vector<double> first = first_values(op);
  auto& input = op.file().graph->input.add();
  input.name = op.output();
  auto& tensor = input.type.make().tensor_type.make();
  tensor.elem_type = onnx_file::TensorProto::FLOAT;
  for (const int64_t dim : op.output_shape()) {
    auto& made = tensor.shape.make().dim.add();
    if (dim >= 0) made.dim_value = dim;
  }
  state.input = op.output();
  state.first.assign(first.begin(), first.end());
}

void import_assign(IrOp& op) {
  op.check_inputs(1, 1);
  IrState& state = op.file().states[op.word("variable_id", "")];
  if (!state.output.empty()) fail("its variable is assigned twice");
  state.output = op.add_inner("Identity", {op.input(0)});
  op.file().graph->output.add().name = state.output;
  if (!op.layer().outputs.empty()) op.alias(state.output);
}

constexpr IrOperator kIrStateOperators[] = {
    {"Assign", import_assign},
    {"ReadValue", import_read_value},
};

}  // namespace

Span<const IrOperator> ir_state_operators() { return kIrStateOperators; }

}  // namespace intaglio::importers
