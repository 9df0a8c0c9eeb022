// Weights and biases of a recurrent operator, which the file has or a run computes.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

// An input [directions, rows, columns], or [directions, rows]: then `columns` is 1.
struct RecurrentWeights {
  std::string name;
  int32_t rows = 0, columns = 1;
  std::vector<float> values;  // of a constant
  int32_t tensor = -1;        // [directions * rows, columns] of the draft; -1: a constant
};

// Has the shape `expected`; throws where the input has another one.
RecurrentWeights read_recurrent_weights(OnnxOp& op, int input, const Shape& expected);
// Has as many elements as `expected`, `what` they are; zeros where the input is absent.
RecurrentWeights read_recurrent_vectors(OnnxOp& op, int input, const char* what, const Shape& expected);
// A note where a model's caller gives the weights in inputs 1 and 2.
void note_given_weights(OnnxOp& op);

// One direction's rows `first` to `first + count`: [count, columns].
int32_t add_rows(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count);
// The same of vectors: [1, count]. As a bias: [count] where it and the weights beside it are constants.
int32_t add_row(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count);
int32_t add_bias(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count,
                 const RecurrentWeights& weights);
// The sum of both biases of a direction, `count` each, of which the second has an effect in the first `summed`.
int32_t add_sum_of_biases(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t count,
                          int32_t summed, const RecurrentWeights& weights);
// A bias of zeros for weights of so many rows; -1 where these are no constants, which need none.
int32_t add_no_bias(OnnxOp& op, int32_t count, const RecurrentWeights& weights);

// x [m, columns] by rows of weights, which every step reads, and a bias of the functions above.
int32_t add_product(OnnxOp& op, int32_t x, int32_t weights, int32_t bias);

}  // namespace intaglio::importers
