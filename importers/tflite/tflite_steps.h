// TFLite's recurrent operators, spelled out step by step: what LSTM, RNN and SVDF have in common.
#pragma once

#include <optional>

#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

inline constexpr int32_t kMaxTfliteSteps = kMaxNodes / 16;  // each becomes some fifteen nodes

// Draft nodes of one operator.
class Steps {
 public:
  explicit Steps(TfliteOp& op) : op_(op) {}

  TfliteOp& op() { return op_; }
  const DraftTensor& info(int32_t tensor) { return op_.draft().tensor(tensor); }
  bool is_codes(int32_t tensor) { return info(tensor).dtype == DType::kS8; }

  int32_t real(const Shape& shape) { return op_.new_tensor(shape); }
  int32_t unary(Op function, int32_t x) { return add_unary(op_, function, x); }
  int32_t binary(Op function, int32_t a, int32_t b) { return op_.make(function, {a, b}, info(a).shape); }
  int32_t clamp(int32_t x, float low, float high) { return add_bounded(op_, x, low, high); }
  int32_t activate(int32_t x, tflite::Activation activation);
  int32_t reshape(int32_t x, const Shape& shape);
  int32_t columns(int32_t x, int32_t first, int32_t count);  // of [rows, columns]
  int32_t product(int32_t x, int32_t weights, int32_t bias);
  // As the tensor `like` holds it: rounded to its codes, if it has any.
  int32_t as(int32_t like, int32_t x);
  int32_t constant(const Shape& shape, const std::vector<float>& values);
  void note_reals(int32_t y, const char* what);  // where y has codes

 private:
  TfliteOp& op_;
};

// The reals that a constant input stands for: float32, float16, or 8, 16 or 32 bits with a scale.
std::vector<double> reals_of(TfliteOp& op, size_t input, const Shape& expected);

// Weights of several gates, [rows of all, columns], for products with `x`: codes where it has codes, else reals.
class Stack {
 public:
  Stack(Steps& steps, int32_t x, int32_t columns);

  // The rows of one gate: its weights, and its bias if there is one.
  void add(size_t weights, std::optional<size_t> bias, int32_t rows);
  // x times all of them.
  int32_t product(int32_t x);

 private:
  Steps& steps_;
  int32_t x_;
  DraftTensor made_;
  std::vector<float> reals_;
  std::vector<int32_t> codes_;
  int32_t weights_ = -1, bias_ = -1;
};

// A variable tensor of the operator as a state. It holds values as `like` does, and begins with zero.
class Variable {
 public:
  Variable(Steps& steps, size_t input, const Shape& shape, int32_t like);

  int32_t value() const;     // as it is at this place of the graph
  void set(int32_t tensor);  // from here on

 private:
  Steps& steps_;
  std::string name_;
};

// The largest real that a variable of 16 bits holds, of either sign; infinity for one in FP32.
float largest_of(TfliteOp& op, size_t variable);

// x [batch, steps, inputs], [steps, batch, inputs] or, of one step, [batch, inputs].
struct Sequence {
  int32_t x = -1;  // [rows, inputs]
  int32_t steps = 1, batch = 1, inputs = 1;
  bool has_time = true, time_major = false;

  Shape output_shape(int32_t width) const;
};
Sequence read_sequence(Steps& steps, bool has_time, bool time_major);
// Rows of step t of what was computed of all rows at once.
int32_t rows_of(Steps& steps, const Sequence& sequence, int32_t all, int32_t t);
// Writes the rows of every step, each [batch, width], into y, in the order of the input.
void write_rows(Steps& steps, const Sequence& sequence, const std::vector<int32_t>& rows, int32_t y);
// The first output, of the input's element type.
int32_t add_output(Steps& steps, const Sequence& sequence);

}  // namespace intaglio::importers
