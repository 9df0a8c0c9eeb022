// States of an OpenVINO IR: ReadValue gives what Assign took of the same variable in the run before. An input and an output
// of the network stand for the two.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {

namespace {

// The start of a variable; empty for zeros.
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

// Recurrent layers of an OpenVINO IR: sequences, and cells, which are sequences of one step. ONNX has the steps in front of
// the batch, LSTM's gates in another order, and a bias of each of the two products.

// How a layer's gates stand in ONNX: number i there is number order[i] here.
struct Cell {
  const char* onnx;
  std::vector<int64_t> order;
  size_t states;
};

Cell cell_of(const std::string& type) {
  if (type.compare(0, 4, "LSTM") == 0) return {"LSTM", {1, 3, 0, 2}, 2};  // f i c o here, i o f c there
  if (type.compare(0, 3, "GRU") == 0) return {"GRU", {0, 1, 2}, 1};
  return {"RNN", {0}, 1};
}

// Parts of `size` along the second axis, one behind the other.
std::vector<std::string> gates_of(IrOp& op, const std::string& x, size_t count, int64_t size) {
  if (count == 1) return {x};
  std::vector<std::string> parts{
      op.add_inner("Split", {x, op.integers_constant(std::vector<int64_t>(count, size))}, {{"axis", 1}})};
  auto& node = op.last_node();
  for (size_t i = 1; i < count; ++i) {
    parts.push_back(op.file().unique(parts[0]));
    node.output.push_back(parts.back());
  }
  return parts;
}
std::string joined(IrOp& op, const std::vector<std::string>& parts) {
  return parts.size() == 1 ? parts[0] : op.add_inner("Concat", parts, {{"axis", 1}});
}
std::string reordered(IrOp& op, const std::string& x, const Cell& cell, int64_t size) {
  if (std::is_sorted(cell.order.begin(), cell.order.end())) return x;
  const std::vector<std::string> parts = gates_of(op, x, cell.order.size(), size);
  std::vector<std::string> list;
  for (const int64_t gate : cell.order) list.push_back(parts[static_cast<size_t>(gate)]);
  return joined(op, list);
}

// [directions, gates * size] here. With `linear_before_reset` the last gate has two.
std::string biases(IrOp& op, const std::string& x, const Cell& cell, int64_t directions, int64_t size,
                   bool has_two) {
  const auto zeros = [&](size_t gates) {
    const auto columns = static_cast<int64_t>(gates) * size;
    return op.floats(std::vector<float>(static_cast<size_t>(directions * columns), 0.0f),
                     {directions, columns});
  };
  if (!has_two) return joined(op, {reordered(op, x, cell, size), zeros(cell.order.size())});
  const std::vector<std::string> parts = gates_of(op, x, 4, size);
  return joined(op, {parts[0], parts[1], parts[2], zeros(2), parts[3]});
}

// Those of each direction, as the file names them.
void add_activations(IrOp& op, onnx_file::NodeProto& node, int64_t directions) {
  const std::string list = op.word("activations", "");
  std::vector<std::string> names;
  std::string name;
  for (const char c : list + ",") {
    if (c == ' ') continue;
    if (c != ',') {
      name += c;
      continue;
    }
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    if (!name.empty()) names.push_back(name);
    name.clear();
  }
  for (const char* const unused : {"activations_alpha", "activations_beta"}) op.ignore(unused);
  if (names.empty()) return;
  auto& attribute = node.attribute.add();
  attribute.name = "activations";
  attribute.type = onnx_file::AttributeProto::STRINGS;
  for (int64_t d = 0; d < directions; ++d)
    for (const std::string& made : names) attribute.strings.push_back(made);
}

// Sequences: X [batch, steps, inputs], states [batch, directions, size], lengths, W, R, B. Cells: X [batch, inputs],
// states [batch, size], W, R, B.
void import_recurrent(IrOp& op) {
  const std::string& type = op.layer().type;
  const Cell cell = cell_of(type);
  const bool is_cell = type.find("Cell") != std::string::npos;
  const size_t weights = 1 + cell.states + (is_cell ? 0 : 1);
  op.check_inputs(weights + 2, weights + 3);
  constexpr int64_t kMostSize = 1 << 16;
  const int64_t size = op.integer("hidden_size", 0);
  if (size < 1 || size > kMostSize) fail("hidden_size ", size, " is not possible");
  const std::string direction = op.word("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const bool has_two = op.flag("linear_before_reset", false);
  if (has_two && cell.order.size() != 3) fail("linear_before_reset is a GRU's alone");
  op.ignore("input_forget");
  if (op.flag("input_forget", false)) fail("input_forget is not supported");

  const auto whole = [&](size_t i, int64_t axis) {
    return is_cell ? op.with_axis(op.input(i), axis) : op.input(i);
  };
  const auto steps_first = [&](size_t i) {  // a cell has one step, and one direction
    return is_cell ? op.with_axis(op.input(i), 0) : op.transposed(op.input(i), {1, 0, 2});
  };
  std::vector<std::string> inputs{steps_first(0), reordered(op, whole(weights, 0), cell, size),
                                  reordered(op, whole(weights + 1, 0), cell, size)};
  inputs.push_back(
      op.has_input(weights + 2) ? biases(op, whole(weights + 2, 0), cell, directions, size, has_two) : "");
  inputs.push_back(is_cell ? "" : op.input(weights - 1));
  for (size_t i = 1; i <= cell.states; ++i) inputs.push_back(steps_first(i));
  IrOp::Attributes attributes;
  attributes.push_back({"hidden_size", size});
  if (has_two) attributes.push_back({"linear_before_reset", 1});
  attributes.push_back({"direction", direction});
  const auto clip = static_cast<float>(op.real("clip", 0.0));
  if (clip > 0.0f) attributes.push_back({"clip", clip});

  std::vector<std::string> made{op.add_inner(cell.onnx, inputs, attributes)};
  auto& node = op.last_node();
  add_activations(op, node, directions);
  for (size_t i = 0; i < cell.states; ++i) {
    made.push_back(op.file().unique(made[0]));
    node.output.push_back(made.back());
  }
  const auto end = [&](const char* operation, const std::vector<std::string>& from,
                       const IrOp::Attributes& how, size_t output) {
    if (output < op.layer().outputs.size()) op.add(operation, from, how, op.output(output));
  };
  const size_t first = is_cell ? 0 : 1;  // of the states among the outputs
  if (!is_cell) end("Transpose", {made[0]}, {{"perm", OnnxList{2, 1, 0, 3}}}, 0);
  for (size_t i = 0; i < cell.states; ++i) {
    if (is_cell)
      end("Squeeze", {made[i + 1], op.integers_constant({0})}, {}, first + i);
    else
      end("Transpose", {made[i + 1]}, {{"perm", OnnxList{1, 0, 2}}}, first + i);
  }
}

constexpr IrOperator kIrStateOperators[] = {
    {"Assign", import_assign},         {"GRUCell", import_recurrent},      {"GRUSequence", import_recurrent},
    {"LSTMCell", import_recurrent},    {"LSTMSequence", import_recurrent}, {"RNNCell", import_recurrent},
    {"RNNSequence", import_recurrent}, {"ReadValue", import_read_value},
};

}  // namespace

Span<const IrOperator> ir_state_operators() { return kIrStateOperators; }

}  // namespace intaglio::importers
