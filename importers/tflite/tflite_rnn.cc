// TFLite's plain recurrent operators, spelled out. Their variable tensors become states.
#include <algorithm>

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
  const int32_t by_rank = rank == 1 ? row
                                    : add_transpose(op.draft(), op.name(), op.source(),
                                                    steps.reshape(row, {batch, units, rank}), {0, 2, 1});
  const int32_t newest = steps.reshape(by_rank, {batch, 1, 1, filters});
  // The state by rows of time, the oldest first: a depthwise convolution reads it as a picture of one column.
  Variable state(steps, 4, {batch, memory, 1, filters}, row);
  int32_t kept = newest;
  if (memory > 1) {
    const int32_t younger = add_slice(op.draft(), op.name(), op.source(), state.value(), {0, 1, 0, 0},
                                      {1, 1, 1, 1}, {batch, memory - 1, 1, filters});
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

constexpr TfliteOperator kTfliteRnnOperators[] = {
    {Builtin::RNN, import_rnn, {Op::kFullyConnected, Op::kAdd}, "Its variable tensor becomes a state."},
    {Builtin::SVDF,
     import_svdf,
     {Op::kFullyConnected, Op::kConcat, Op::kDepthwiseConv2d},
     "Its variable tensor becomes a state, in FP32."},
    {Builtin::UNIDIRECTIONAL_SEQUENCE_RNN,
     import_sequence_rnn,
     {Op::kFullyConnected, Op::kAdd},
     "Step by step, at most 512. Its variable tensor becomes a state."},
};

}  // namespace

Span<const TfliteOperator> tflite_rnn_operators() { return kTfliteRnnOperators; }

}  // namespace intaglio::importers
