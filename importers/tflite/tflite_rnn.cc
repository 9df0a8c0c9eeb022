// TFLite's plain recurrent operators, spelled out. Their variable tensors become states.
#include <algorithm>
#include <cmath>

#include "importers/tflite/tflite_operators.h"
#include "importers/tflite/tflite_steps.h"

namespace intaglio::importers {

namespace {

using tflite::Activation;

// ---- RNN: h' = f(W x + R h + b)

void import_rnn_of(TfliteOp& op, bool has_time, bool time_major, Activation activation) {
  op.check_inputs(5, 5);
  Steps steps(op);
  const Sequence sequence = read_sequence(steps, has_time, time_major);
  const int32_t y = add_output(steps, sequence);
  const int32_t size = steps.info(y).shape.back();
  Variable h(steps, 4, {sequence.batch, size}, y);
  Stack inputs(steps, sequence.x, sequence.inputs), recurrent(steps, h.value(), size);
  inputs.add(1, 3, size);
  recurrent.add(2, std::nullopt, size);
  const int32_t all = inputs.product(sequence.x);
  std::vector<int32_t> rows;
  for (int32_t t = 0; t < sequence.steps; ++t) {
    const int32_t sums =
        steps.binary(Op::kAdd, rows_of(steps, sequence, all, t), recurrent.product(h.value()));
    h.set(steps.as(y, steps.activate(sums, activation)));
    rows.push_back(h.value());
  }
  write_rows(steps, sequence, rows, y);
  steps.note_reals(y, "its sums are handed on in FP32; weights and outputs stay int8");
}

void import_sequence_rnn(TfliteOp& op) {
  const auto& options = op.options<tflite::SequenceRNNOptions>();
  import_rnn_of(op, true, options.time_major(), options.activation());
}

void import_rnn(TfliteOp& op) {
  import_rnn_of(op, false, false, op.options<tflite::RNNOptions>().activation());
}

// ---- SVDF: each filter's last `memory` values, weighted over time; `rank` filters add up to a unit.

void import_svdf(TfliteOp& op) {
  op.check_inputs(5, 5);
  const auto& options = op.options<tflite::SVDFOptions>();
  Steps steps(op);
  const Sequence sequence = read_sequence(steps, false, false);
  const int32_t y = add_output(steps, sequence);
  const Shape time = op.shape_in_file(2);
  const int32_t units = steps.info(y).shape.back(), rank = options.rank();
  if (rank < 1 || time.size() != 2 || time[0] != int64_t{units} * rank || time[1] < 1)
    fail("its weights over time have the shape ", shape_text(time), "; ", units, " units of rank ", rank,
         " are expected");
  check_shape(time, DType::kF32);
  const int32_t filters = time[0], memory = time[1], batch = sequence.batch;
  Stack features(steps, sequence.x, sequence.inputs);
  features.add(1, std::nullopt, filters);
  const int32_t row = features.product(sequence.x);
  // Filters of one unit stand side by side in the file; here those of one rank do.
  const int32_t by_rank =
      rank == 1 ? row : add_transpose(op.origin(), steps.reshape(row, {batch, units, rank}), {0, 2, 1});
  const int32_t newest = steps.reshape(by_rank, {batch, 1, 1, filters});
  // The state by rows of time, the oldest first: a depthwise convolution reads it as a picture of one column.
  Variable state(steps, 4, {batch, memory, 1, filters}, row);
  int32_t kept = newest;
  if (memory > 1) {
    const int32_t younger =
        add_slice(op.origin(), state.value(), {0, 1, 0, 0}, {1, 1, 1, 1}, {batch, memory - 1, 1, filters});
    kept = steps.real({batch, memory, 1, filters});
    op.add(Op::kConcat, {younger, newest}, kept).options.as<ConcatOptions>().axis = 1;
  }
  state.set(kept);
  const std::vector<double> by_filter = reals_of(op, 2, time);
  const auto n = [](int32_t count) { return static_cast<size_t>(count); };
  std::vector<float> by_time(by_filter.size()), bias(n(units), 0.0f);
  for (size_t u = 0; u < n(units); ++u)
    for (size_t r = 0; r < n(rank); ++r)
      for (size_t m = 0; m < n(memory); ++m)
        by_time[(m * n(rank) + r) * n(units) + u] =
            static_cast<float>(by_filter[(u * n(rank) + r) * n(memory) + m]);
  if (op.has_input(3)) {
    const std::vector<double> given = reals_of(op, 3, {units});
    std::transform(given.begin(), given.end(), bias.begin(),
                   [](double value) { return static_cast<float>(value); });
  }
  const int32_t sums = steps.real({batch, 1, 1, units});
  auto& window = op.add(Op::kDepthwiseConv2d,
                        {steps.reshape(kept, {batch, memory * rank, 1, units}),
                         steps.constant({memory * rank, 1, units}, by_time), steps.constant({units}, bias)},
                        sums)
                     .options.as<Window2d>();
  window.kernel_h = memory * rank;
  window.kernel_w = 1;
  const int32_t value = steps.activate(steps.reshape(sums, {batch, units}), options.activation());
  write_rows(steps, sequence, {steps.as(y, value)}, y);
  steps.note_reals(
      y,
      "its state and its weights over time are FP32, where the file has 16 bits; its other weights stay int8");
}

// TFLite's LSTM, spelled out step by step. Its variable tensors go from run to run, as they do in TFLite itself: they
// become states. In a quantized file products of codes are exact sums, gates and cell are FP32, and what a step hands on
// is rounded to the file's codes.

using tflite::Activation;

// Where the inputs of one direction stand. Gates in the order input, forget, cell, output.
struct LstmInputs {
  size_t weights, recurrent, peepholes, biases, projection, h, c;
  size_t norms;  // 0: none are possible
};
constexpr LstmInputs kForwardOnly{1, 5, 9, 12, 16, 18, 19, 20};
constexpr LstmInputs kOfTwo[] = {{1, 5, 9, 12, 16, 35, 36, 0}, {18, 22, 26, 29, 33, 37, 38, 0}};

// In a quantized file the sums of gates have 16 bits of 2^-12.
constexpr float kLargestGate = 32767.0f / 4096.0f;

struct LstmClips {
  Activation activation = Activation::Tanh;
  float cell = 0.0f, projection = 0.0f;  // 0: none
};

class Lstm {
 public:
  Lstm(Steps& steps, const Sequence& sequence, const LstmInputs& at, const LstmClips& clips, int32_t y)
      : steps_(steps), sequence_(sequence), at_(at), clips_(clips), like_(y) {
    TfliteOp& op = steps.op();
    for (size_t i = 0; at.norms > 0 && i < 4; ++i)
      if (op.has_input(at.norms + i)) fail("layer normalization inside is not supported");
    coupled_ = !op.has_input(at.weights);
    size_ = op.shape_in_file(at.weights + 1).empty() ? 0 : op.shape_in_file(at.weights + 1)[0];
    projects_ = op.has_input(at.projection);
    const Shape projection = projects_ ? op.shape_in_file(at.projection) : Shape{size_, size_};
    if (size_ < 1 || size_ > (1 << 20) || projection.size() != 2) fail("its weights have no rows");
    width_ = projection[0];
    if (projects_ && steps.is_codes(y)) fail("a projection is supported in float32 alone");
  }

  int32_t width() const { return width_; }

  // The results of the steps, in the order of time.
  std::vector<int32_t> run(bool reversed) {
    TfliteOp& op = steps_.op();
    Variable h(steps_, at_.h, {sequence_.batch, width_}, like_);
    Stack inputs(steps_, sequence_.x, sequence_.inputs), recurrent(steps_, h.value(), width_);
    for (size_t gate = coupled_ ? 1 : 0; gate < 4; ++gate) {
      inputs.add(at_.weights + gate, at_.biases + gate, size_);
      recurrent.add(at_.recurrent + gate, std::nullopt, size_);
    }
    std::optional<Stack> projection;
    const int32_t all = inputs.product(sequence_.x);
    Variable c(steps_, at_.c, {sequence_.batch, size_}, all);
    largest_ = std::min(largest_of(op, at_.c), clips_.cell > 0.0f ? clips_.cell : INFINITY);
    for (size_t i = 0; i < 3; ++i) {
      if (!op.has_input(at_.peepholes + i)) continue;
      const std::vector<double> values = reals_of(op, at_.peepholes + i, {size_});
      std::vector<float> reals;
      for (const double value : values) reals.push_back(static_cast<float>(value));
      peepholes_[i] = steps_.constant({1, size_}, reals);
    }
    std::vector<int32_t> rows(static_cast<size_t>(sequence_.steps));
    for (int32_t i = 0; i < sequence_.steps; ++i) {
      const int32_t t = reversed ? sequence_.steps - 1 - i : i;
      int32_t gates =
          steps_.binary(Op::kAdd, rows_of(steps_, sequence_, all, t), recurrent.product(h.value()));
      if (steps_.is_codes(like_)) gates = steps_.clamp(gates, -kLargestGate, kLargestGate);
      c.set(next_cell(gates, c.value()));
      int32_t value =
          steps_.binary(Op::kMul, gate(gates, 3, c.value()), steps_.activate(c.value(), clips_.activation));
      if (projects_) {
        if (!projection) {
          projection.emplace(steps_, value, size_);
          projection->add(at_.projection, at_.projection + 1, width_);
        }
        value = projection->product(value);
        if (clips_.projection > 0.0f) value = steps_.clamp(value, -clips_.projection, clips_.projection);
      }
      h.set(steps_.as(like_, value));
      rows[static_cast<size_t>(t)] = h.value();
    }
    return rows;
  }

 private:
  // Sums of one gate, of those that there are.
  int32_t sums(int32_t gates, int32_t gate) {
    return steps_.columns(gates, (gate - (coupled_ ? 1 : 0)) * size_, size_);
  }
  // For all gates but the cell's; `cell` is the input of its peephole.
  int32_t gate(int32_t gates, int32_t i, int32_t cell) {
    int32_t x = sums(gates, i);
    const int32_t peephole = peepholes_[i == 3 ? 2 : i];
    if (peephole >= 0) x = steps_.binary(Op::kAdd, x, steps_.binary(Op::kMul, cell, peephole));
    return steps_.unary(Op::kSigmoid, x);
  }
  int32_t next_cell(int32_t gates, int32_t cell) {
    const int32_t forget = gate(gates, 1, cell);
    int32_t input;
    if (coupled_) {  // 1 - forget
      const std::vector<float> minus_one{-1.0f}, one{1.0f};
      input = steps_.binary(Op::kAdd, steps_.binary(Op::kMul, forget, steps_.constant({1, 1}, minus_one)),
                            steps_.constant({1, 1}, one));
    } else {
      input = gate(gates, 0, cell);
    }
    const int32_t kept = steps_.binary(Op::kMul, forget, cell);
    const int32_t added = steps_.binary(Op::kMul, input, steps_.activate(sums(gates, 2), clips_.activation));
    const int32_t next = steps_.binary(Op::kAdd, kept, added);
    return largest_ < INFINITY ? steps_.clamp(next, -largest_, largest_) : next;
  }

  Steps& steps_;
  const Sequence& sequence_;
  LstmInputs at_;
  LstmClips clips_;
  int32_t like_;
  int32_t size_ = 0, width_ = 0;
  float largest_ = INFINITY;  // of the cell
  bool coupled_ = false, projects_ = false;
  int32_t peepholes_[3] = {-1, -1, -1};
};

constexpr const char* kGatesNote =
    "its gates and cell are computed in FP32, where the file has 16 bits; weights and outputs stay int8";

void import_lstm_of(TfliteOp& op, bool has_time, bool time_major, const LstmClips& clips) {
  op.check_inputs(20, 24);
  Steps steps(op);
  const Sequence sequence = read_sequence(steps, has_time, time_major);
  const int32_t y = add_output(steps, sequence);
  Lstm lstm(steps, sequence, kForwardOnly, clips, y);
  if (lstm.width() != steps.info(y).shape.back())
    fail("its output has ", steps.info(y).shape.back(), " values a step, its weights give ", lstm.width());
  write_rows(steps, sequence, lstm.run(false), y);
  steps.note_reals(y, kGatesNote);
}

void import_sequence_lstm(TfliteOp& op) {
  const auto& options = op.options<tflite::UnidirectionalSequenceLSTMOptions>();
  if (options.diagonal_recurrent_tensors()) fail("diagonal recurrent weights are not supported");
  import_lstm_of(op, true, options.time_major(),
                 {options.activation(), options.cell_clip(), options.proj_clip()});
}

void import_lstm(TfliteOp& op) {
  const auto& options = op.options<tflite::LSTMOptions>();
  if (options.kernel_type() != 0) fail("its kernel is the basic one; only the full one is supported");
  import_lstm_of(op, false, false, {options.activation(), options.cell_clip(), options.proj_clip()});
}

void import_two_lstms(TfliteOp& op) {
  op.check_inputs(39, 48);
  for (size_t i = 39; i < op.input_count(); ++i)
    if (op.has_input(i)) fail("input ", i, ", of another layer, is not supported");
  const auto& options = op.options<tflite::BidirectionalSequenceLSTMOptions>();
  const LstmClips clips{options.activation(), options.cell_clip(), options.proj_clip()};
  op.allow_outputs();
  if (op.output_count() != (options.merge_outputs() ? 1u : 2u))
    fail("it has ", op.output_count(), " outputs");
  Steps steps(op);
  const Sequence sequence = read_sequence(steps, true, options.time_major());
  const int32_t y = add_output(steps, sequence);
  if (steps.is_codes(y)) fail("it is supported in float32 alone");
  Lstm forward(steps, sequence, kOfTwo[0], clips, y), backward(steps, sequence, kOfTwo[1], clips, y);
  std::vector<int32_t> rows = forward.run(false);
  const std::vector<int32_t> back = backward.run(true);
  const int32_t width = forward.width() + (options.merge_outputs() ? backward.width() : 0);
  if (width != steps.info(y).shape.back())
    fail("its output has ", steps.info(y).shape.back(), " values a step, its weights give ", width);
  if (!options.merge_outputs()) {
    write_rows(steps, sequence, rows, y);
    write_rows(steps, sequence, back, op.output(sequence.output_shape(backward.width()), 1));
    return;
  }
  for (size_t t = 0; t < rows.size(); ++t) {
    const int32_t both = steps.real({sequence.batch, width});
    op.add(Op::kConcat, {rows[t], back[t]}, both).options.as<ConcatOptions>().axis = 1;
    rows[t] = both;
  }
  write_rows(steps, sequence, rows, y);
}

constexpr TfliteOperator kTfliteRnnOperators[] = {
    {Builtin::BIDIRECTIONAL_SEQUENCE_LSTM,
     import_two_lstms,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "As UNIDIRECTIONAL_SEQUENCE_LSTM; one layer's input alone.",
     kFloatOnly},
    {Builtin::LSTM,
     import_lstm,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "As UNIDIRECTIONAL_SEQUENCE_LSTM; the full kernel."},
    {Builtin::RNN, import_rnn, {Op::kFullyConnected, Op::kAdd}, "Its variable tensor becomes a state."},
    {Builtin::SVDF,
     import_svdf,
     {Op::kFullyConnected, Op::kConcat, Op::kDepthwiseConv2d},
     "Its variable tensor becomes a state, in FP32."},
    {Builtin::UNIDIRECTIONAL_SEQUENCE_LSTM,
     import_sequence_lstm,
     {Op::kFullyConnected, Op::kSigmoid, Op::kTanh, Op::kMul},
     "Step by step, at most 512. Its variable tensors become states. Gates and cell are FP32; no layer normalization; "
     "projections in float32."},
    {Builtin::UNIDIRECTIONAL_SEQUENCE_RNN,
     import_sequence_rnn,
     {Op::kFullyConnected, Op::kAdd},
     "Step by step, at most 512. Its variable tensor becomes a state."},
};

}  // namespace

Span<const TfliteOperator> tflite_rnn_operators() { return kTfliteRnnOperators; }

}  // namespace intaglio::importers
