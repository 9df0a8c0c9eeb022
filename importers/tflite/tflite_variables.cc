#include "importers/tflite/tflite_op.h"

#include <algorithm>

#include "importers/draft/read_options.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

TfliteVariable& variable_of(TfliteOp& op) {
  TfliteVariables& variables = op.variables();
  const auto handle = variables.handles.find(op.input_index(0));
  if (handle == variables.handles.end()) fail("its first input is no variable");
  return variables.by_name[handle->second];
}

void import_var_handle(TfliteOp& op) {
  const auto& options = op.options<tflite::VarHandleOptions>();
  // A file may give every handle the same long name, and each is kept.
  constexpr uint32_t kMostNameBytes = 4096;
  const auto part = [&](const flatbuffers::String* text) {
    if (text != nullptr && text->size() > kMostNameBytes)
      fail("its name has ", text->size(), " bytes; ", kMostNameBytes, " are allowed");
    return text == nullptr ? std::string() : text->str();
  };
  const std::string name = part(options.container()) + "/" + part(options.shared_name());
  if (!op.variables().handles.emplace(op.output_index(0), name).second) fail("its output is written twice");
  op.variables().by_name[name];
}

// The handles of the graph that CALL_ONCE names, and the constants that are assigned to them.
void read_initial_values(TfliteFile& file, const tflite::SubGraph& graph) {
  if (graph.tensors() == nullptr || graph.operators() == nullptr) return;
  check_count(graph.operators()->size(), "operators that set variables", kMaxFileNodes);
  check_count(graph.tensors()->size(), "tensors of variables", kMaxFileTensors);
  TfliteFile once;
  once.model = file.model;
  once.graph = &graph;
  once.draft = file.draft;
  once.made.assign(graph.tensors()->size(), TfliteFile::kNotMade);
  for (const tflite::Operator* each : *graph.operators()) {
    const Builtin code = tflite_builtin(*file.model, *each);
    TfliteOp op(once, *each, "CALL_ONCE", "initial value", code != Builtin::ASSIGN_VARIABLE);
    if (code == Builtin::VAR_HANDLE) {
      import_var_handle(op);
    } else if (code == Builtin::ASSIGN_VARIABLE) {
      op.check_inputs(2, 2);
      TfliteVariable& variable = variable_of(op);
      variable.initial = op.constant(1);
    } else {
      fail("the graph that it calls holds ", tflite_operator_name(code),
           "; only constants that are assigned to variables are supported");
    }
  }
  for (auto& [name, variable] : once.variables.by_name)
    file.variables.by_name[name].initial = std::move(variable.initial);
}

// Where a state's next value is an end of the model already, a copy of it.
int32_t own_tensor(Draft& draft, int32_t tensor, const std::string& name) {
  if (!is_model_input(draft, tensor) && !is_model_output(draft, tensor)) return tensor;
  const int32_t copy = add_activation_like(draft, name + "/next", tensor, draft.tensor(tensor).shape);
  add_node({draft, name + "/next", "ASSIGN_VARIABLE"}, Op::kReshape, {tensor}, copy);
  return copy;
}

void import_call_once(TfliteOp& op) {
  const auto* graphs = op.file().model->subgraphs();
  const int32_t index = op.options<tflite::CallOnceOptions>().init_subgraph();
  if (index < 1 || static_cast<uint32_t>(index) >= graphs->size())
    fail("graph ", index, " does not exist, or is this one; the file has ", graphs->size());
  if (!op.variables().called.insert(index).second) fail("graph ", index, " is called twice");
  read_initial_values(op.file(), *graphs->Get(static_cast<uint32_t>(index)));
}

void import_read_variable(TfliteOp& op) {
  op.check_inputs(1, 1);
  TfliteVariable& variable = variable_of(op);
  if (variable.current < 0) {
    const int32_t input = op.output(op.output_shape_in_file());
    variable.input = variable.current = input;
    op.draft().inputs.push_back(input);
    return;
  }
  op.alias_output(variable.current);
}

void import_assign_variable(TfliteOp& op) {
  op.check_inputs(2, 2);
  variable_of(op).current = op.activation(1);
}

constexpr TfliteOperator kTfliteVariableOperators[] = {
    {Builtin::ASSIGN_VARIABLE, import_assign_variable, {}, "It becomes the next value of a state."},
    {Builtin::CALL_ONCE, import_call_once, {}, "Of a graph that assigns constants to variables."},
    {Builtin::READ_VARIABLE, import_read_variable, {}, "It becomes a state."},
    {Builtin::VAR_HANDLE, import_var_handle, {}, ""},
};

}  // namespace

Span<const TfliteOperator> tflite_variable_operators() { return kTfliteVariableOperators; }

void add_tflite_states(const TfliteVariables& variables, Draft& draft) {
  for (const auto& [name, variable] : variables.by_name) {
    if (variable.input < 0) continue;  // what nothing reads
    const DraftTensor& input = draft.tensor(variable.input);
    if (variable.current == variable.input)
      fail("variable ", quoted(name),
           " is read and never assigned; export the model with a constant in its place");
    DraftState state;
    if (!variable.initial.data.empty()) {
      if (variable.initial.dtype != input.dtype || elements(variable.initial.shape) != elements(input.shape))
        fail("variable ", quoted(name), " is ", shape_text(input.shape),
             " where it is read, its first value ", shape_text(variable.initial.shape),
             " or of another type");
      state.initial = variable.initial.data;
    }
    const auto at = std::find(draft.inputs.begin(), draft.inputs.end(), variable.input);
    state.input = static_cast<size_t>(at - draft.inputs.begin());
    state.output = draft.outputs.size();
    draft.outputs.push_back(own_tensor(draft, variable.current, name));
    draft.states.push_back(std::move(state));
    draft.notes.push_back(text("variable ", quoted(name), " ", shape_text(input.shape),
                               " is a state: it goes from run to run, and Session::reset() begins anew"));
  }
}

}  // namespace intaglio::importers
