// ONNX LSTM, GRU and RNN, spelled out step by step.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_op.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// Weights and biases of a recurrent operator, which the file has or a run computes.

// An input [directions, rows, columns], or [directions, rows]: then `columns` is 1.
struct RecurrentWeights {
  std::string name;
  int32_t rows = 0, columns = 1;
  std::vector<float> values;  // of a constant
  int32_t tensor = -1;        // [directions * rows, columns] of the draft; -1: a constant
};

RecurrentWeights as_computed(OnnxOp& op, int input, const Shape& expected) {
  RecurrentWeights weights{op.input_name(input), expected[1], expected.size() > 2 ? expected[2] : 1, {}, -1};
  const int32_t given = op.activation(input);
  if (op.shape(given) != expected)
    fail("input ", input, " has the shape ", shape_text(op.shape(given)), "; ", shape_text(expected),
         " is expected");
  weights.tensor = add_reshape(op.part("/weights"), given, {expected[0] * weights.rows, weights.columns});
  return weights;
}

std::vector<float> values_of_rows(const RecurrentWeights& from, size_t direction, int32_t first,
                                  int32_t count) {
  const auto columns = static_cast<size_t>(from.columns);
  const size_t row = direction * static_cast<size_t>(from.rows) + static_cast<size_t>(first);
  const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(row * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(static_cast<size_t>(count) * columns)};
}

int32_t add_vector(OnnxOp& op, const std::vector<float>& values, bool is_row) {
  const auto count = static_cast<int32_t>(values.size());
  return add_constant(op.draft(), op.name() + "/bias", DType::kF32, is_row ? Shape{1, count} : Shape{count},
                      values);
}

// Has the shape `expected`; throws where the input has another one.
RecurrentWeights read_recurrent_weights(OnnxOp& op, int input, const Shape& expected) {
  if (!op.is_constant(input)) return as_computed(op, input, expected);
  OnnxConstant<float> constant = op.floats(input);
  if (constant.shape != expected)
    fail("constant ", quoted(op.input_name(input)), " has the shape ", shape_text(constant.shape), "; ",
         expected[0], ", ", expected[1], " and ", expected[2], " are expected");
  return {op.input_name(input), expected[1], expected[2], std::move(constant.values), -1};
}

// Has as many elements as `expected`, `what` they are; zeros where the input is absent.
RecurrentWeights read_recurrent_vectors(OnnxOp& op, int input, const char* what, const Shape& expected) {
  if (op.has_input(input) && !op.is_constant(input)) return as_computed(op, input, expected);
  const auto count = static_cast<size_t>(elements(expected));
  RecurrentWeights vectors{op.name() + "/bias", expected[1], 1, {}, -1};
  vectors.values = op.has_input(input) ? op.floats(input).values : std::vector<float>(count, 0.0f);
  if (vectors.values.size() != count)
    fail("its ", what, " ", vectors.values.size(), " values; ", count, " are expected");
  return vectors;
}

// A note where a model's caller gives the weights in inputs 1 and 2.
void note_given_weights(OnnxOp& op) {
  std::string words, names;
  for (const int i : {1, 2}) {
    if (op.is_constant(i) || !is_model_input(op.draft(), op.activation(i))) continue;
    names += (names.empty() ? "" : ", ") + shown(op.input_name(i));
    words += " " + as_constant(op.input_name(i), elements(op.shape(op.activation(i))));
  }
  if (names.empty()) return;
  op.draft().notes.push_back(
      text("the weights ", names, " of ", op.source(), " ", quoted(op.name()),
           " are inputs of the model, and stay FP32; if they are the same in each run,", words,
           " makes them a part of it"));
}

// One direction's rows `first` to `first + count`: [count, columns].
int32_t add_rows(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count) {
  if (from.tensor < 0)
    return add_constant(op.draft(), from.name, DType::kF32, {count, from.columns},
                        values_of_rows(from, direction, first, count));
  const Shape whole = op.shape(from.tensor), part{count, from.columns};
  if (whole == part) return from.tensor;
  return add_slice(op.part("/rows"), from.tensor, {static_cast<int32_t>(direction) * from.rows + first, 0},
                   {1, 1}, part);
}

// The same of vectors: [1, count].
int32_t add_row(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count) {
  if (from.tensor < 0) return add_vector(op, values_of_rows(from, direction, first, count), true);
  return add_reshape(op.part("/bias"), add_rows(op, from, direction, first, count), {1, count});
}

// As a bias: [count] where it and the weights beside it are constants.
int32_t add_bias(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count,
                 const RecurrentWeights& weights) {
  if (from.tensor >= 0 || weights.tensor >= 0) return add_row(op, from, direction, first, count);
  return add_vector(op, values_of_rows(from, direction, first, count), false);
}

// The sum of both biases of a direction, `count` each, of which the second has an effect in the first `summed`.
int32_t add_sum_of_biases(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t count,
                          int32_t summed, const RecurrentWeights& weights) {
  if (from.tensor < 0) {
    std::vector<float> sums = values_of_rows(from, direction, 0, count);
    const std::vector<float> others = values_of_rows(from, direction, count, summed);
    for (size_t i = 0; i < others.size(); ++i) sums[i] += others[i];
    return add_vector(op, sums, weights.tensor >= 0);
  }
  const int32_t first = add_row(op, from, direction, 0, count);
  int32_t second = add_row(op, from, direction, count, summed);
  if (summed < count) {
    const Shape rest{1, count - summed};
    const int32_t zeros = add_constant(op.draft(), op.name() + "/zero", DType::kF32, rest,
                                       std::vector<float>(static_cast<size_t>(count - summed), 0.0f));
    const int32_t both = op.new_tensor({1, count});
    op.add(Op::kConcat, {second, zeros}, both).options.as<ConcatOptions>().axis = 1;
    second = both;
  }
  return add_binary(op, Op::kAdd, first, second);
}

// A bias of zeros for weights of so many rows; -1 where these are no constants, which need none.
int32_t add_no_bias(OnnxOp& op, int32_t count, const RecurrentWeights& weights) {
  if (weights.tensor >= 0) return -1;
  return add_constant(op.draft(), op.name() + "/zero", DType::kF32, {count},
                      std::vector<float>(static_cast<size_t>(count), 0.0f));
}

// x [m, columns] by rows of weights, which every step reads, and a bias of the functions above.
int32_t add_product(OnnxOp& op, int32_t x, int32_t weights, int32_t bias) {
  const bool is_constant = op.draft().tensor(weights).constant;
  const int32_t rows = op.shape(weights)[0];
  if (is_constant && op.draft().tensor(bias).constant) {
    return op.make(Op::kFullyConnected, {x, weights, bias}, {op.shape(x)[0], rows});
  }
  if (is_constant) op.draft().budget->check_numbers(rows);  // the product's own bias
  const int32_t y = add_matrix_product(op.part("/product"), x, weights, true);
  return bias < 0 ? y : add_binary(op, Op::kAdd, y, bias);
}

// The products of all inputs are one product; each step adds its own of the last state. Weights stand once in the file, however
// many steps read them.

constexpr int64_t kMaxSteps = kMaxNodes / 8;  // each becomes some ten nodes

// Inputs that both operators have: x [steps, batch, inputs], w [directions, gates * size, inputs], r [directions, gates * size,
// size], b [directions, 2 * gates * size], sequence_lens, initial_h [directions, batch, size].
struct Recurrent {
  int32_t x = -1;  // [steps * batch, inputs]
  int32_t steps = 0, batch = 0, inputs = 0, size = 0, gates = 0;
  size_t directions = 1;
  bool first_reversed = false;
  float clip = INFINITY;        // of the sums of gates
  std::vector<Op> activations;  // of each direction; kClamp: Relu
  RecurrentWeights w, r;
  RecurrentWeights b;  // of one column; zero where it is absent
};

// Those of each direction in turn.
std::vector<Op> read_activations(const OnnxOp& op, const std::vector<Op>& usual, size_t directions) {
  const std::vector<std::string> given = op.strings("activations");
  std::vector<Op> functions;
  for (size_t d = 0; d < directions; ++d) functions.insert(functions.end(), usual.begin(), usual.end());
  if (given.empty()) return functions;
  if (given.size() != functions.size())
    fail(given.size(), " activations are given where ", functions.size(), " are expected");
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == "Sigmoid")
      functions[i] = Op::kSigmoid;
    else if (given[i] == "Tanh")
      functions[i] = Op::kTanh;
    else if (given[i] == "Relu")
      functions[i] = Op::kClamp;
    else
      fail("activation ", quoted(given[i]), " is not supported; Sigmoid, Tanh and Relu are");
  }
  return functions;
}

Recurrent read_recurrent(OnnxOp& op, int32_t gates, const std::vector<Op>& activations) {
  Recurrent cell;
  if (op.integer("layout", 0) != 0) fail("layout 1 is not supported; export the model with layout 0");
  if (op.has("clip")) cell.clip = op.real("clip", 0.0f);
  if (!(cell.clip > 0.0f)) fail("clip is ", cell.clip, "; it must be above 0");
  op.ignore("activation_alpha");
  op.ignore("activation_beta");
  const std::string direction = op.string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    fail("direction ", quoted(direction), " is not known");
  cell.directions = direction == "bidirectional" ? 2 : 1;
  cell.first_reversed = direction == "reverse";
  cell.activations = read_activations(op, activations, cell.directions);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  check_rank(shape, 3);
  cell.steps = shape[0];
  if (cell.steps * static_cast<int64_t>(cell.directions) > kMaxSteps)
    fail("it takes ", cell.steps, " steps in ", cell.directions, " directions; at most ", kMaxSteps,
         " together are supported");
  cell.batch = shape[1];
  cell.inputs = shape[2];
  cell.gates = gates;
  const int64_t size = op.integer("hidden_size", 0);
  if (size < 1 || size > (1 << 20)) fail("hidden_size ", size, " is not possible");
  cell.size = static_cast<int32_t>(size);
  const auto directions = static_cast<int32_t>(cell.directions);
  cell.w = read_recurrent_weights(op, 1, {directions, gates * cell.size, cell.inputs});
  cell.r = read_recurrent_weights(op, 2, {directions, gates * cell.size, cell.size});
  cell.b = read_recurrent_vectors(op, 3, "bias has", {directions, 2 * gates * cell.size});
  note_given_weights(op);
  if (op.has_input(4)) {
    for (const int64_t length : op.integers(4).values)
      if (length != cell.steps)
        fail("sequence_lens holds ", length, "; all ", cell.steps, " steps are supported alone");
  }
  cell.x = add_reshape(op.part("/rows"), x, {cell.steps * cell.batch, cell.inputs});
  return cell;
}

// Columns of one gate, or rows of one step.
int32_t part(OnnxOp& op, int32_t x, int32_t row, int32_t rows, int32_t column, int32_t columns) {
  if (op.shape(x) == Shape{rows, columns}) return x;
  return add_slice(op.part("/part"), x, {row, column}, {1, 1}, {rows, columns});
}

// Input i, [directions, batch, size], of one direction; -1: absent, all zero.
int32_t initial(OnnxOp& op, int i, const Recurrent& cell, size_t direction) {
  if (!op.has_input(i)) return -1;
  const Shape expected{static_cast<int32_t>(cell.directions), cell.batch, cell.size};
  int32_t x = -1;
  if (op.is_constant(i)) {
    const OnnxConstant<float> constant = op.floats(i);
    if (constant.shape != expected)
      fail("input ", i, " has the shape ", shape_text(constant.shape), "; ", shape_text(expected),
           " is expected");
    if (std::all_of(constant.values.begin(), constant.values.end(),
                    [](float value) { return value == 0.0f; }))
      return -1;
    x = add_copied_constant(op.part("/state"), op.activation_or_numbers(i));
  } else {
    x = op.activation(i);
  }
  if (op.shape(x) != expected)
    fail("input ", i, " has the shape ", shape_text(op.shape(x)), "; ", shape_text(expected), " is expected");
  const int32_t rows =
      add_reshape(op.part("/state"), x, {static_cast<int32_t>(cell.directions) * cell.batch, cell.size});
  return part(op, rows, static_cast<int32_t>(direction) * cell.batch, cell.batch, 0, cell.size);
}

// x between -limit and limit.
// Activation `which` of a direction. As onnxruntime has it, clip bounds the sums of gates, and not the cell that the third
// one reads.
int32_t activate(OnnxOp& op, const Recurrent& cell, size_t direction, size_t which, int32_t x) {
  const Op function = cell.activations[direction * cell.activations.size() / cell.directions + which];
  if (which < 2 && cell.clip < INFINITY) x = add_bounded(op, x, -cell.clip, cell.clip);
  return function == Op::kClamp ? add_bounded(op, x, 0.0f, INFINITY) : add_unary(op, function, x);
}

struct State {
  int32_t h = -1, c = -1;  // -1: zero
};

// Joins tensors along the first axis.
int32_t joined(OnnxOp& op, const std::vector<int32_t>& parts, int output) {
  if (parts.size() == 1) return parts[0];
  Shape shape = op.shape(parts[0]);
  shape[0] *= static_cast<int32_t>(parts.size());
  const int32_t y = add_activation(op.draft(), op.output_name(output), DType::kF32, shape);
  op.add(Op::kConcat, joined_in_groups(op.origin(), parts, 0), y).options.as<ConcatOptions>().axis = 0;
  return y;
}

// Runs `step(direction, gates of x, the step's first row in them, state)` over all steps and sets the outputs.
template <typename Step>
void unroll(OnnxOp& op, const Recurrent& cell, bool has_cell_state, Step make_step) {
  op.check_outputs(has_cell_state ? 3 : 2);
  const int32_t all = cell.gates * cell.size;
  std::vector<std::vector<int32_t>> h_of(
      static_cast<size_t>(cell.steps));  // [step][direction], [batch, size]
  std::vector<int32_t> last_h, last_c;
  for (size_t d = 0; d < cell.directions; ++d) {
    auto step = make_step(d);
    const int32_t gates = add_product(op, cell.x, add_rows(op, cell.w, d, 0, all), step.input_bias);
    State state{initial(op, 5, cell, d), has_cell_state ? initial(op, 6, cell, d) : -1};
    const bool reversed = cell.first_reversed || d == 1;
    for (int32_t i = 0; i < cell.steps; ++i) {
      const int32_t t = reversed ? cell.steps - 1 - i : i;
      state = step.run(gates, t * cell.batch, state);
      h_of[static_cast<size_t>(t)].push_back(state.h);
    }
    last_h.push_back(state.h);
    last_c.push_back(state.c);
  }
  const auto directions = static_cast<int32_t>(cell.directions);
  if (!op.output_name(0).empty()) {
    std::vector<int32_t> rows;
    for (const auto& of_step : h_of) rows.insert(rows.end(), of_step.begin(), of_step.end());
    op.set_output(
        add_reshape(op.result(0), joined(op, rows, 0), {cell.steps, directions, cell.batch, cell.size}));
  }
  for (int i = 1; i < op.output_count(); ++i)
    if (!op.output_name(i).empty())
      op.set_output(add_reshape(op.result(i), joined(op, i == 1 ? last_h : last_c, i),
                                {directions, cell.batch, cell.size}),
                    i);
}

// Gates in the order input, output, forget, cell.
struct LstmStep {
  OnnxOp& op;
  const Recurrent& cell;
  size_t direction;
  int32_t r, zero, input_bias;
  std::vector<int32_t> peepholes;  // input, output, forget; empty: none

  // `seen`: the cell that its peephole sees; -1: zero.
  int32_t gate(int32_t gates, int32_t i, int32_t seen) {
    int32_t x = part(op, gates, 0, cell.batch, i * cell.size, cell.size);
    if (!peepholes.empty() && seen >= 0)
      x = add_binary(op, Op::kAdd, x, add_binary(op, Op::kMul, seen, peepholes[static_cast<size_t>(i)]));
    return activate(op, cell, direction, 0, x);
  }
  State run(int32_t all_gates, int32_t row, State state) {
    int32_t gates = part(op, all_gates, row, cell.batch, 0, 4 * cell.size);
    if (state.h >= 0) gates = add_binary(op, Op::kAdd, gates, add_product(op, state.h, r, zero));
    const int32_t fresh =
        activate(op, cell, direction, 1, part(op, gates, 0, cell.batch, 3 * cell.size, cell.size));
    int32_t c = add_binary(op, Op::kMul, gate(gates, 0, state.c), fresh);
    if (state.c >= 0)
      c = add_binary(op, Op::kAdd, add_binary(op, Op::kMul, gate(gates, 2, state.c), state.c), c);
    return {add_binary(op, Op::kMul, gate(gates, 1, c), activate(op, cell, direction, 2, c)), c};
  }
};

// Gates in the order update, reset, hidden.
struct GruStep {
  OnnxOp& op;
  const Recurrent& cell;
  size_t direction;
  bool linear_before_reset;
  int32_t r_gates, r_hidden, zero_gates, hidden_bias, input_bias;

  State run(int32_t gates, int32_t row, State state) {
    const int32_t size = cell.size, batch = cell.batch;
    int32_t hidden = part(op, gates, row, batch, 2 * size, size),
            both = part(op, gates, row, batch, 0, 2 * size);
    if (state.h >= 0) both = add_binary(op, Op::kAdd, both, add_product(op, state.h, r_gates, zero_gates));
    both = activate(op, cell, direction, 0, both);
    const int32_t update = part(op, both, 0, batch, 0, size), reset = part(op, both, 0, batch, size, size);
    if (state.h >= 0) {
      const int32_t old =
          linear_before_reset
              ? add_binary(op, Op::kMul, add_product(op, state.h, r_hidden, hidden_bias), reset)
              : add_product(op, add_binary(op, Op::kMul, reset, state.h), r_hidden, hidden_bias);
      hidden = add_binary(op, Op::kAdd, hidden, old);
    } else {  // a state of zero: the bias of its product is left
      const bool is_row = op.shape(hidden_bias).size() == 2;
      const int32_t bias = is_row ? hidden_bias
                                  : add_constant_bytes(op.draft(), op.name() + "/bias", DType::kF32,
                                                       {1, size}, op.draft().tensor(hidden_bias).data);
      hidden = add_binary(op, Op::kAdd, hidden,
                          linear_before_reset ? add_binary(op, Op::kMul, reset, bias) : bias);
    }
    hidden = activate(op, cell, direction, 1, hidden);
    // (1 - update) * hidden + update * h
    if (state.h >= 0) {
      const int32_t change = add_binary(op, Op::kMul, update, add_binary(op, Op::kSub, state.h, hidden));
      return {add_binary(op, Op::kAdd, hidden, change), -1};
    }
    return {add_binary(op, Op::kSub, hidden, add_binary(op, Op::kMul, update, hidden)), -1};
  }
};

void import_lstm(OnnxOp& op) {
  op.check_inputs(3, 8);
  if (op.integer("input_forget", 0) != 0) fail("input_forget is not supported");
  const Recurrent cell = read_recurrent(op, 4, {Op::kSigmoid, Op::kTanh, Op::kTanh});
  const bool has_peepholes = op.has_input(7);
  const RecurrentWeights peepholes =
      has_peepholes ? read_recurrent_vectors(op, 7, "peepholes have",
                                             {static_cast<int32_t>(cell.directions), 3 * cell.size})
                    : RecurrentWeights();
  unroll(op, cell, true, [&](size_t d) {
    const int32_t all = 4 * cell.size;
    std::vector<int32_t> of_gates;
    for (int32_t gate = 0; has_peepholes && gate < 3; ++gate)
      of_gates.push_back(add_row(op, peepholes, d, gate * cell.size, cell.size));
    return LstmStep{op,
                    cell,
                    d,
                    add_rows(op, cell.r, d, 0, all),
                    add_no_bias(op, all, cell.r),
                    add_sum_of_biases(op, cell.b, d, all, all, cell.w),
                    of_gates};
  });
}

void import_gru(OnnxOp& op) {
  op.check_inputs(3, 6);
  const bool linear_before_reset = op.integer("linear_before_reset", 0) != 0;
  const Recurrent cell = read_recurrent(op, 3, {Op::kSigmoid, Op::kTanh});
  unroll(op, cell, false, [&](size_t d) {
    const int32_t size = cell.size;
    return GruStep{op,
                   cell,
                   d,
                   linear_before_reset,
                   add_rows(op, cell.r, d, 0, 2 * size),
                   add_rows(op, cell.r, d, 2 * size, size),
                   add_no_bias(op, 2 * size, cell.r),
                   add_bias(op, cell.b, d, 5 * size, size, cell.r),
                   add_sum_of_biases(op, cell.b, d, 3 * size, 2 * size, cell.w)};
  });
}

// One gate: the state itself.
struct RnnStep {
  OnnxOp& op;
  const Recurrent& cell;
  size_t direction;
  int32_t r, zero, input_bias;

  State run(int32_t gates, int32_t row, State state) {
    gates = part(op, gates, row, cell.batch, 0, cell.size);
    if (state.h >= 0) gates = add_binary(op, Op::kAdd, gates, add_product(op, state.h, r, zero));
    return {activate(op, cell, direction, 0, gates), -1};
  }
};

void import_rnn(OnnxOp& op) {
  op.check_inputs(3, 6);
  const Recurrent cell = read_recurrent(op, 1, {Op::kTanh});
  unroll(op, cell, false, [&](size_t d) {
    return RnnStep{op,
                   cell,
                   d,
                   add_rows(op, cell.r, d, 0, cell.size),
                   add_no_bias(op, cell.size, cell.r),
                   add_sum_of_biases(op, cell.b, d, cell.size, cell.size, cell.w)};
  });
}

constexpr OnnxOperator kOnnxRecurrentOperators[] = {
    {"GRU",
     import_gru,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "Step by step, at most 1024. Sigmoid, Tanh and Relu inside; layout 0."},
    {"LSTM",
     import_lstm,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "Step by step, at most 1024. Sigmoid, Tanh and Relu inside; layout 0."},
    {"RNN",
     import_rnn,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kAdd},
     "Step by step, at most 1024. Sigmoid, Tanh or Relu inside; layout 0."},
};

}  // namespace

Span<const OnnxOperator> onnx_recurrent_operators() { return kOnnxRecurrentOperators; }

}  // namespace intaglio::importers
