// Outputs of an operator: their shape in the file, and those that are another tensor, a constant, or have its input's scale.
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

void TfliteOp::set_values(const Values& values) {
  DraftTensor constant;
  constant.name = name_;
  constant.constant = true;
  constant.shape = values.shape;
  constant.dtype = values.is_real ? DType::kF32 : DType::kS32;
  std::vector<int32_t> narrowed;
  for (const int64_t value : values.integers) narrowed.push_back(narrow(value, "number"));
  draft().budget->spend_constant(values.reals.size() + values.integers.size(), 4);
  values.is_real ? importers::set_values(constant, values.reals) : importers::set_values(constant, narrowed);
  set_constant(std::move(constant));
}

void TfliteOp::check_output(const Shape& shape, size_t i) const {
  const tflite::Tensor& in_file = *file_.graph->tensors()->Get(static_cast<uint32_t>(outputs_[i]));
  const Shape of_file = tflite_tensor(file_, outputs_[i]).shape;
  const bool is_number = of_file.empty() && shape == Shape{1};  // which has no axis in the file
  if (!is_number && !tflite_allows(in_file, shape) && !file_.shapes_changed)
    fail("its output is ", shape_text(of_file), " in the file, its inputs give ", shape_text(shape));
}

int32_t TfliteOp::output_same(int32_t x, const Shape& shape, size_t i) {
  const int32_t made = output(shape, i);
  const DraftTensor& to = draft().tensor(made);
  if (to.dtype != draft().tensor(x).dtype) fail("its output has another element type than its input");
  same_to_ = -1;
  if (to.same_quantization(draft().tensor(x))) return made;
  same_to_ = made;
  same_from_ = add_activation_like(draft(), name_, x, shape);
  return same_from_;
}

void TfliteOp::finish_same() {
  if (same_to_ >= 0) add_requantize(draft(), name_, source_, same_from_, same_to_);
}

void TfliteOp::alias_output(int32_t made) {
  const DraftTensor output = tflite_tensor(file_, outputs_.at(0)), &from = draft().tensor(made);
  if (output.dtype != from.dtype || output.shape != from.shape || !output.same_quantization(from))
    fail("its output ", shape_text(output.shape), " differs from what was assigned, ", shape_text(from.shape),
         ", in shape, type or scale");
  int32_t& index = file_.made[static_cast<size_t>(outputs_[0])];
  if (index != TfliteFile::kNotMade) fail("its output is written twice, or is an input");
  index = made;
}

void TfliteOp::set_constant(DraftTensor constant) {
  if (outputs_.size() != 1) fail("it has ", outputs_.size(), " outputs where 1 is expected");
  int32_t& index = file_.made[static_cast<size_t>(outputs_[0])];
  if (index != TfliteFile::kNotMade) fail("its output is written twice, or is an input");
  draft().tensors.push_back(std::move(constant));
  index = static_cast<int32_t>(draft().tensors.size()) - 1;
}

}  // namespace intaglio::importers
