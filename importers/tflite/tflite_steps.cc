#include "importers/tflite/tflite_steps.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

using tflite::Activation;

int32_t Steps::activate(int32_t x, Activation activation) {
  switch (activation) {
    case Activation::None:
      return x;
    case Activation::Relu:
      return clamp(x, 0.0f, INFINITY);
    case Activation::ReluN1To1:
      return clamp(x, -1.0f, 1.0f);
    case Activation::Relu6:
      return clamp(x, 0.0f, 6.0f);
    case Activation::Tanh:
      return unary(Op::kTanh, x);
    default:
      fail("fused activation ", static_cast<int>(activation), " is not supported");
  }
}

int32_t Steps::reshape(int32_t x, const Shape& shape) { return add_reshape(op_.origin(), x, shape); }

int32_t Steps::columns(int32_t x, int32_t first, int32_t count) {
  const Shape shape = info(x).shape;
  if (first == 0 && shape[1] == count) return x;
  return add_slice(op_.origin(), x, {0, first}, {1, 1}, {shape[0], count});
}

int32_t Steps::product(int32_t x, int32_t weights, int32_t bias) {
  return op_.make(Op::kFullyConnected, {x, weights, bias}, {info(x).shape[0], info(weights).shape[0]});
}

int32_t Steps::as(int32_t like, int32_t x) {
  if (!is_codes(like)) return x;
  const int32_t y = add_activation_like(op_.draft(), op_.name(), like, info(x).shape);
  op_.add(Op::kQuantize, {x}, y);
  return y;
}

int32_t Steps::constant(const Shape& shape, const std::vector<float>& values) {
  return add_constant(op_.draft(), op_.name(), DType::kF32, shape, values);
}

void Steps::note_reals(int32_t y, const char* what) {
  if (is_codes(y))
    op_.draft().notes.push_back(text("node ", quoted(op_.name()), " (", op_.source(), "): ", what));
}

std::vector<double> reals_of(TfliteOp& op, size_t input, const Shape& expected) {
  if (!op.has_input(input) || !op.is_constant(input)) fail("input ", input, " must be a constant");
  if (op.shape_in_file(input) != expected)
    fail("input ", input, " has the shape ", shape_text(op.shape_in_file(input)), "; ", shape_text(expected),
         " is expected");
  std::vector<double> reals;
  const DraftTensor constant = op.constant(input);
  if (constant.dtype == DType::kS32) {
    const auto codes = values_of<int32_t>(constant);
    if (constant.scales.empty()) fail("input ", input, " is int32 and has no scale");
    const size_t behind = elements_behind(constant.shape, constant.axis);
    for (size_t i = 0; i < codes.size(); ++i)
      reals.push_back(static_cast<double>(constant.scales[i / behind % constant.scales.size()]) * codes[i]);
    return reals;
  }
  for (const float value : values_of<float>(dequantized(constant)))
    reals.push_back(static_cast<double>(value));
  return reals;
}

Stack::Stack(Steps& steps, int32_t x, int32_t columns) : steps_(steps), x_(x) {
  made_.name = steps.op().name() + "/weights";
  made_.shape = {0, columns};
  made_.constant = true;
  made_.dtype = steps.info(x).dtype;
  if (made_.dtype == DType::kS8) made_.axis = 0;
}

void Stack::add(size_t weights, std::optional<size_t> bias, int32_t rows) {
  TfliteOp& op = steps_.op();
  const Shape shape{rows, made_.shape[1]};
  std::vector<double> real_bias(static_cast<size_t>(rows), 0.0);
  if (bias && op.has_input(*bias)) real_bias = reals_of(op, *bias, {rows});
  made_.shape[0] += rows;
  if (made_.dtype == DType::kF32) {
    for (const double value : reals_of(op, weights, shape)) {
      const auto real = static_cast<float>(value);
      const auto* const bytes = reinterpret_cast<const uint8_t*>(&real);
      made_.data.insert(made_.data.end(), bytes, bytes + sizeof real);
    }
    for (const double value : real_bias) reals_.push_back(static_cast<float>(value));
    return;
  }
  const DraftTensor part = op.constant(weights);
  if (part.shape != shape)
    fail("input ", weights, " has the shape ", shape_text(part.shape), "; ", shape_text(shape),
         " is expected");
  if (part.dtype != DType::kS8 || part.scales.empty() || part.zero_point != 0 || part.axis > 0)
    fail("input ", weights, " must hold int8 weights with the zero point 0, as its input holds codes");
  made_.data.insert(made_.data.end(), part.data.begin(), part.data.end());
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const float scale = part.scales[part.scales.size() == 1 ? 0 : row];
    made_.scales.push_back(scale);
    const double code =
        real_bias[row] / (static_cast<double>(steps_.info(x_).scales[0]) * static_cast<double>(scale));
    if (!(std::fabs(code) < 2147483647.0)) fail("its bias ", real_bias[row], " is too large for its scale");
    codes_.push_back(static_cast<int32_t>(std::nearbyint(code)));
  }
}

int32_t Stack::product(int32_t x) {
  if (weights_ < 0) {
    Draft& draft = steps_.op().draft();
    const int32_t rows = made_.shape[0];
    const bool is_codes = made_.dtype == DType::kS8;
    check_shape(made_.shape, made_.dtype);
    weights_ = draft.put(std::move(made_));
    const std::string name = steps_.op().name() + "/bias";
    bias_ = is_codes ? add_constant(draft, name, DType::kS32, {rows}, codes_)
                     : add_constant(draft, name, DType::kF32, {rows}, reals_);
  }
  return steps_.product(x, weights_, bias_);
}

Variable::Variable(Steps& steps, size_t input, const Shape& shape, int32_t like) : steps_(steps) {
  TfliteOp& op = steps.op();
  if (!op.has_input(input)) fail("input ", input, ", a variable tensor, is missing");
  const int32_t index = op.input_index(input);
  if (!op.file().tensor(index).is_variable())
    fail("input ", input, " is no variable tensor; a state that comes from elsewhere is not supported");
  check_shape(shape, DType::kF32);
  const Shape in_file = op.shape_in_file(input);
  if (!op.shapes_changed()) check_shape(in_file, DType::kF32);
  if (!op.shapes_changed() && elements(in_file) != elements(shape))
    fail("input ", input, " has the shape ", shape_text(in_file), "; ", shape_text(shape), " is expected");
  name_ = tflite_tensor_name(op.file(), index);
  if (op.variables().by_name.count(name_) != 0) name_ += text("~", index);
  TfliteVariable& variable = op.variables().by_name[name_];
  DraftTensor held;
  held.name = name_;
  held.shape = shape;
  held.dtype = steps.info(like).dtype;
  check_shape(shape, held.dtype);
  if (held.dtype == DType::kS8) {
    held.scales = steps.info(like).scales;
    held.zero_point = steps.info(like).zero_point;
    variable.initial = held;  // zero, as a code
    variable.initial.data.assign(static_cast<size_t>(elements(shape)), static_cast<uint8_t>(held.zero_point));
  }
  variable.input = variable.current = op.draft().put(std::move(held));
  op.draft().inputs.push_back(variable.input);
}

int32_t Variable::value() const { return steps_.op().variables().by_name.at(name_).current; }

void Variable::set(int32_t tensor) { steps_.op().variables().by_name.at(name_).current = tensor; }

float largest_of(TfliteOp& op, size_t variable) {
  const tflite::Tensor& tensor = op.file().tensor(op.input_index(variable));
  const auto* const quantization = tensor.quantization();
  const auto* const scales = quantization == nullptr ? nullptr : quantization->scale();
  const bool has_scale = tensor.type() == kTfliteInt16 && scales != nullptr && scales->size() == 1;
  const float largest = has_scale ? 32767.0f * scales->Get(0) : INFINITY;
  if (!(largest > 0.0f)) fail("input ", variable, " has the scale ", scales->Get(0));
  return largest;
}

Shape Sequence::output_shape(int32_t width) const {
  if (!has_time) return {batch, width};
  return time_major ? Shape{steps, batch, width} : Shape{batch, steps, width};
}

Sequence read_sequence(Steps& steps, bool has_time, bool time_major) {
  Sequence sequence;
  const int32_t x = steps.op().activation(0);
  const Shape shape = steps.info(x).shape;
  if (shape.size() != (has_time ? 3u : 2u))
    fail("its input has the shape ", shape_text(shape), "; rank ", has_time ? 3 : 2, " is expected");
  sequence.has_time = has_time;
  sequence.time_major = time_major || !has_time;
  sequence.steps = has_time ? shape[time_major ? 0 : 1] : 1;
  sequence.batch = has_time ? shape[time_major ? 1 : 0] : shape[0];
  sequence.inputs = shape.back();
  if (sequence.steps > kMaxTfliteSteps)
    fail("it takes ", sequence.steps, " steps; at most ", kMaxTfliteSteps, " are supported");
  if (steps.is_codes(x) && steps.info(x).scales.size() != 1) fail("its input has no scale");
  sequence.x = steps.reshape(x, {sequence.steps * sequence.batch, sequence.inputs});
  return sequence;
}

int32_t rows_of(Steps& steps, const Sequence& sequence, int32_t all, int32_t t) {
  if (sequence.steps == 1) return all;
  const int32_t width = steps.info(all).shape[1], batch = sequence.batch;
  TfliteOp& op = steps.op();
  if (sequence.time_major || batch == 1)
    return add_slice(op.origin(), all, {t * batch, 0}, {1, 1}, {batch, width});
  const int32_t cube = steps.reshape(all, {batch, sequence.steps, width});
  const int32_t cut = add_slice(op.origin(), cube, {0, t, 0}, {1, 1, 1}, {batch, 1, width});
  return steps.reshape(cut, {batch, width});
}

void write_rows(Steps& steps, const Sequence& sequence, const std::vector<int32_t>& rows, int32_t y) {
  TfliteOp& op = steps.op();
  if (rows.size() == 1) {
    op.add(Op::kReshape, {rows[0]}, y);
    return;
  }
  const int32_t width = steps.info(rows[0]).shape[1];
  std::vector<int32_t> parts;
  for (const int32_t row : rows)
    parts.push_back(steps.reshape(
        row, sequence.time_major ? Shape{1, sequence.batch, width} : Shape{sequence.batch, 1, width}));
  const int32_t axis = sequence.time_major ? 0 : 1;
  parts = joined_in_groups(op.origin(), std::move(parts), axis);
  op.add(Op::kConcat, parts, y).options.as<ConcatOptions>().axis = axis;
}

int32_t add_output(Steps& steps, const Sequence& sequence) {
  const Shape in_file = steps.op().output_shape_in_file();
  if (in_file.empty()) fail("its output has no axis");
  const int32_t y = steps.op().output(sequence.output_shape(in_file.back()));
  if (steps.is_codes(y) != steps.is_codes(sequence.x))
    fail("its output has another element type than its input");
  return y;
}

}  // namespace intaglio::importers
