// What an operator's view says and makes of integers.
#include "importers/tflite/tflite_op.h"

#include "importers/tflite/tflite_stored.h"

namespace intaglio::importers {

// Integers that a run computes with, as FP32.
DraftTensor TfliteOp::real_constant(size_t i) const {
  constexpr int64_t kMostExact = int64_t{1} << 24;
  DraftTensor made = tflite_tensor(file_, inputs_[i]);
  if (made.shape.empty()) made.shape = {1};
  check_shape(made.shape, made.dtype);
  std::vector<float> reals;
  for (const int64_t v : integers(i)) {
    if (v < -kMostExact || v > kMostExact)
      fail("constant ", quoted(made.name), " holds ", v,
           ": integers of a run are computed in FP32, which is exact up to ", kMostExact);
    reals.push_back(static_cast<float>(v));
  }
  if (static_cast<int64_t>(reals.size()) != elements(made.shape))
    fail("constant ", quoted(made.name), " holds ", reals.size(), " numbers, its shape ",
         shape_text(made.shape), " needs ", elements(made.shape));
  made.dtype = DType::kF32;
  made.constant = true;
  importers::set_values(made, reals);
  return made;
}

int32_t TfliteOp::integer(size_t i) const {
  const std::vector<int64_t> values = integers(i);
  if (values.size() != 1) fail("input ", i, " must be one number, it has ", values.size());
  return narrow(values[0], "input");
}

void TfliteOp::set_index_output(int32_t made, size_t i) {
  const DraftTensor in_file = tflite_tensor(file_, outputs_.at(i));
  if (in_file.dtype != DType::kS32) fail("its output must hold int32 or int64");
  set_number_output(made, i);
}

void TfliteOp::set_number_output(int32_t made, size_t i) {
  const DraftTensor in_file = tflite_tensor(file_, outputs_.at(i)), &from = draft().tensor(made);
  const bool is_allowed =
      in_file.shape.empty() ||
      tflite_allows(*file_.graph->tensors()->Get(static_cast<uint32_t>(outputs_[i])), from.shape);
  if (!is_allowed && !file_.shapes_changed)
    fail("its output is ", shape_text(in_file.shape), " in the file, its inputs give ",
         shape_text(from.shape));
  int32_t& index = file_.made[static_cast<size_t>(outputs_[i])];
  if (index != TfliteFile::kNotMade) fail("its output is written twice, or is an input");
  index = made;
}

bool TfliteOp::output_is_real() const {
  return file_.graph->tensors()->Get(static_cast<uint32_t>(outputs_[0]))->type() == 0;
}

bool TfliteOp::holds_integers(size_t i) const {
  const tflite::Tensor& in_file = tensor(i);
  const auto* quantization = in_file.quantization();
  const bool has_scale =
      quantization != nullptr && quantization->scale() != nullptr && quantization->scale()->size() > 0;
  return tflite_tensor(file_, inputs_[i]).dtype != DType::kF32 && !has_scale;
}

bool TfliteOp::is_unsigned(size_t i) const { return tensor(i).type() == kTfliteUint8; }

// 8 bits without a scale: numbers, where input 0 holds such. What a quantized operator gives must have a scale.
void TfliteOp::take_plain_numbers(DraftTensor& output) const {
  if (!has_input(0) || is_constant(0) || !holds_integers(0)) return;
  const int32_t made = file_.made[static_cast<size_t>(inputs_[0])];
  if (made < 0) return;
  const DraftTensor& input = file_.draft->tensor(made);
  if (input.dtype == DType::kS32) return;
  output.dtype = input.dtype;
  output.scales = input.scales;
  output.zero_point = input.zero_point;
}

bool TfliteOp::output_holds_plain_codes() const {
  const DraftTensor output = tflite_tensor(file_, outputs_.at(0));
  return output.dtype == DType::kS8 && output.scales.empty();
}

bool TfliteOp::output_is_unsigned() const {
  return file_.graph->tensors()->Get(static_cast<uint32_t>(outputs_.at(0)))->type() == kTfliteUint8;
}

bool TfliteOp::output_holds_integers(size_t i) const {
  return tflite_tensor(file_, outputs_.at(i)).dtype == DType::kS32;
}

int32_t TfliteOp::index_activation(size_t i) {
  const int32_t tensor = any_activation(i);
  if (!holds_integers(i)) fail("input ", i, " must hold integers");
  return as_index(tensor);
}

int32_t TfliteOp::as_real(int32_t tensor) { return file_.casts.as_real(draft(), source(), tensor); }
int32_t TfliteOp::as_index(int32_t tensor) { return file_.casts.as_index(draft(), source(), tensor); }

}  // namespace intaglio::importers
