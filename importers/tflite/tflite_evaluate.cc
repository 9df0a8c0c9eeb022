// Operators of constants: through their own handlers, and then run.
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {
namespace {

DraftTensor as_integers(DraftTensor result) {
  std::vector<int32_t> numbers;
  for (const float number : values_of<float>(result))
    numbers.push_back(narrow(std::llrint(number), "number"));
  result.dtype = DType::kS32;
  result.zero_point = 0;
  set_values(result, numbers);
  return result;
}

}  // namespace

bool TfliteOp::all_constant() const {
  bool any = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!has_input(i)) continue;
    if (!is_constant(i)) return false;
    any = true;
  }
  return any;
}

// A constant as an input of what is run.
int32_t TfliteOp::evaluated_input(size_t i) {
  const auto known = file_.evaluated.find(inputs_[i]);
  if (known != file_.evaluated.end()) return known->second;
  DraftTensor made = tflite_tensor(file_, inputs_[i]);
  if (made.dtype == DType::kS32 && made.scales.empty()) {
    std::vector<int32_t> narrowed;
    for (const int64_t number : integers(i)) narrowed.push_back(narrow(number, "number"));
    if (static_cast<int64_t>(narrowed.size()) != elements(made.shape))
      fail("input ", i, " holds ", narrowed.size(), " numbers, its shape ", shape_text(made.shape), " needs ",
           elements(made.shape));
    importers::set_values(made, narrowed);
  } else {
    made = constant(i);
    if (made.dtype == DType::kS8 && made.scales.size() > 1) made = dequantized(std::move(made));
    if (made.dtype == DType::kS8 && made.scales.empty())
      fail("tensor ", quoted(made.name), " is int8 and needs one scale, it has 0");
  }
  return file_.evaluated[inputs_[i]] = file_.evaluation->input(std::move(made));
}

void TfliteOp::evaluate(void (*import)(TfliteOp& op)) {
  std::vector<DraftTensor> results;
  std::vector<int32_t> outputs;  // of the file
  std::vector<std::pair<int32_t, DraftTensor>> given;
  {
    const EvaluationScope scope(file_);
    import(*this);
    std::vector<int32_t> tensors;
    for (const int32_t output : outputs_) {
      int32_t& made = file_.made[static_cast<size_t>(output)];
      if (!file_.evaluation->has_made(made)) continue;
      if (draft().tensor(made).constant) {  // the handler has computed it itself
        given.emplace_back(output, draft().tensor(made));
      } else {
        tensors.push_back(made);
        outputs.push_back(output);
      }
      made = TfliteFile::kNotMade;
    }
    if (!tensors.empty()) results = file_.evaluation->finish(tensors);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const bool gives_integers = tflite_tensor(file_, outputs[i]).dtype == DType::kS32;
    if (gives_integers && results[i].dtype == DType::kF32) results[i] = as_integers(std::move(results[i]));
    given.emplace_back(outputs[i], std::move(results[i]));
  }
  for (auto& [output, constant] : given) {
    draft().budget->spend_constant(constant.data.size() / 4, 4);
    draft().tensors.push_back(std::move(constant));
    file_.made[static_cast<size_t>(output)] = static_cast<int32_t>(draft().tensors.size()) - 1;
  }
}

}  // namespace intaglio::importers
