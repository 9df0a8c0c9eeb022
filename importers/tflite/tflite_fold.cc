// Operators of constants alone, as converters leave them around shapes that were open. They are computed here
// and leave no node.
#include <algorithm>
#include <cmath>

#include "importers/draft/constant_values.h"
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_op.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

std::vector<Values> all_values(TfliteOp& op) {
  std::vector<Values> all;
  for (size_t i = 0; i < op.input_count(); ++i) all.push_back(op.values(i));
  if (all.empty()) fail("it has no inputs");
  return all;
}

void fold_concatenation(TfliteOp& op) {
  const std::vector<Values> parts = all_values(op);
  const int32_t axis = op.options<tflite::ConcatenationOptions>().axis();
  op.set_values(concatenated(parts, static_cast<size_t>(normal_axis(axis, parts[0].shape.size()))));
}

void fold_pack(TfliteOp& op) {
  std::vector<Values> parts = all_values(op);
  const int32_t axis = normal_axis(op.options<tflite::PackOptions>().axis(), parts[0].shape.size() + 1);
  for (Values& part : parts) {
    if (part.shape.size() < static_cast<size_t>(axis)) fail("its inputs do not fit");
    part.shape.insert(part.shape.begin() + axis, 1);
  }
  op.set_values(concatenated(parts, static_cast<size_t>(axis)));
}

void fold_gather(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t axis = op.options<tflite::GatherOptions>().axis();
  const Values x = op.values(0), indices = op.values(1);
  if (indices.is_real) fail("its indices are no integers");
  op.set_values(gathered(x, static_cast<size_t>(normal_axis(axis, x.shape.size())), indices));
}

void fold_strided_slice(TfliteOp& op) {
  op.check_inputs(4, 4);
  const Values x = op.values(0);
  const TfliteSlice slice = read_tflite_strided_slice(op, x.shape);
  Values y = sliced(x, slice.begin, slice.strides, slice.shape);
  y.shape = slice.squeezed;
  op.set_values(y);
}

void fold_slice(TfliteOp& op) {
  op.check_inputs(3, 3);
  const Values x = op.values(0);
  const TfliteSlice slice = read_tflite_slice(op, x.shape);
  op.set_values(sliced(x, slice.begin, slice.strides, slice.shape));
}

// RESHAPE, SQUEEZE, EXPAND_DIMS: the file has the shape.
void fold_reshape(TfliteOp& op) {
  Values x = op.values(0);
  const Shape shape = op.output_shape_in_file();
  check_folded_size(shape);
  if (elements(shape) != elements(x.shape))
    fail(shape_text(x.shape), " cannot be reshaped to ", shape_text(shape),
         ": the numbers of elements differ");
  x.shape = shape;
  op.set_values(x);
}

void fold_cast(TfliteOp& op) {
  op.check_inputs(1, 1);
  const Values x = op.values(0);
  op.set_values(op.output_is_real() ? as_real(x) : as_integers(x));
}

void fold_transpose(TfliteOp& op) {
  op.check_inputs(2, 2);
  Permutation permutation;
  for (const int64_t axis : op.integers(1)) permutation.push_back(narrow(axis, "axis"));
  op.set_values(transposed(op.values(0), permutation));
}

template <Reduction kReduction>
void fold_reduction(TfliteOp& op) {
  op.check_inputs(2, 2);
  const Values x = op.values(0);
  const bool keep = op.options<tflite::ReducerOptions>().keep_dims();
  op.set_values(reduced(kReduction, x, normal_axes(op.integers(1), x.shape.size()), keep));
}

void fold_fill(TfliteOp& op) {
  op.check_inputs(2, 2);
  Values y = op.values(1);
  if (elements(y.shape) != 1) fail("its value is no single number");
  y.shape = Shape(op.integers(0).size(), 1);
  op.set_values(tiled(y, op.integers(0)));
}

void fold_range(TfliteOp& op) {
  op.check_inputs(3, 3);
  op.set_values(progression(op.values(0), op.values(1), op.values(2)));
}

// The shape that two shapes have together.
void fold_broadcast_args(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto shape_of = [&](size_t i) {
    Shape shape;
    for (const int64_t dim : op.integers(i)) shape.push_back(narrow(dim, "dimension"));
    return shape;
  };
  const Shape shape = broadcast_shape(shape_of(0), shape_of(1));
  op.set_values({{static_cast<int32_t>(shape.size())}, false, {shape.begin(), shape.end()}, {}});
}

template <Arithmetic kOperation>
void fold_arithmetic(TfliteOp& op) {
  op.check_inputs(2, 2);
  op.set_values(combined(kOperation, op.values(0), op.values(1)));
}

struct Entry {
  Builtin builtin;
  void (*fold)(TfliteOp& op);
};

constexpr Entry kFolds[] = {
    {Builtin::ADD, fold_arithmetic<Arithmetic::kAdd>},
    {Builtin::BROADCAST_ARGS, fold_broadcast_args},
    {Builtin::CAST, fold_cast},
    {Builtin::CONCATENATION, fold_concatenation},
    {Builtin::DIV, fold_arithmetic<Arithmetic::kDiv>},
    {Builtin::EXPAND_DIMS, fold_reshape},
    {Builtin::FILL, fold_fill},
    {Builtin::FLOOR_DIV, fold_arithmetic<Arithmetic::kFloorDiv>},
    {Builtin::FLOOR_MOD, fold_arithmetic<Arithmetic::kMod>},
    {Builtin::GATHER, fold_gather},
    {Builtin::MAXIMUM, fold_arithmetic<Arithmetic::kMax>},
    {Builtin::MINIMUM, fold_arithmetic<Arithmetic::kMin>},
    {Builtin::MUL, fold_arithmetic<Arithmetic::kMul>},
    {Builtin::PACK, fold_pack},
    {Builtin::RANGE, fold_range},
    {Builtin::REDUCE_MAX, fold_reduction<Reduction::kMax>},
    {Builtin::REDUCE_MIN, fold_reduction<Reduction::kMin>},
    {Builtin::REDUCE_PROD, fold_reduction<Reduction::kProduct>},
    {Builtin::RESHAPE, fold_reshape},
    {Builtin::SLICE, fold_slice},
    {Builtin::SQUEEZE, fold_reshape},
    {Builtin::STRIDED_SLICE, fold_strided_slice},
    {Builtin::SUB, fold_arithmetic<Arithmetic::kSub>},
    {Builtin::SUM, fold_reduction<Reduction::kSum>},
    {Builtin::TRANSPOSE, fold_transpose},
};

void import_shape(TfliteOp& op) {
  op.check_inputs(1, 1);
  const Shape shape = op.is_constant(0) ? op.constant(0).shape : op.shape(op.any_activation(0));
  op.set_values({{static_cast<int32_t>(shape.size())}, false, {shape.begin(), shape.end()}, {}});
}

void import_rank(TfliteOp& op) {
  op.check_inputs(1, 1);
  const size_t rank = op.is_constant(0) ? op.shape_in_file(0).size() : op.shape(op.any_activation(0)).size();
  op.set_values({{}, false, {static_cast<int64_t>(rank)}, {}});
}

void import_zeros_like(TfliteOp& op) {
  op.check_inputs(1, 1);
  const DraftTensor x = op.is_constant(0) ? op.constant(0) : op.draft().tensor(op.any_activation(0));
  DraftTensor zeros = tflite_tensor(op.file(), op.output_index(0));
  if (zeros.dtype == DType::kS8 && zeros.scales.size() != 1) fail("its output is int8 and needs one scale");
  if (zeros.dtype != DType::kS8) {  // a scale of integers says nothing
    zeros.scales.clear();
    zeros.zero_point = 0;
    zeros.axis = -1;
  }
  op.draft().budget->check_numbers(elements(x.shape));
  zeros.shape = x.shape;
  zeros.constant = true;
  zeros.data.assign(static_cast<size_t>(elements(x.shape)) * element_bytes(zeros.dtype),
                    zeros.dtype == DType::kS8 ? static_cast<uint8_t>(zeros.zero_point) : uint8_t{0});
  op.set_constant(std::move(zeros));
}

constexpr TfliteOperator kTfliteFoldOperators[] = {
    {Builtin::RANK, import_rank, {}, "It becomes a constant."},
    {Builtin::SHAPE, import_shape, {}, "It becomes a constant."},
    {Builtin::ZEROS_LIKE, import_zeros_like, {}, "It becomes a constant."},
};

}  // namespace

std::vector<Builtin> folded_tflite_operators() {
  std::vector<Builtin> list;
  for (const Entry& entry : kFolds) list.push_back(entry.builtin);
  return list;
}

bool folds_tflite_constants(Builtin builtin) {
  return std::any_of(std::begin(kFolds), std::end(kFolds),
                     [&](const Entry& entry) { return entry.builtin == builtin; });
}

bool fold_tflite_constants(TfliteOp& op, Builtin builtin) {
  if (op.input_count() == 0 || !folds_tflite_constants(builtin) || !op.holds_numbers()) return false;
  if (builtin == Builtin::GATHER && op.options<tflite::GatherOptions>().batch_dims() != 0) return false;
  for (const Entry& entry : kFolds)
    if (entry.builtin == builtin) entry.fold(op);
  return true;
}

Span<const TfliteOperator> tflite_fold_operators() { return kTfliteFoldOperators; }

// Operators of constants: through their own handlers, and then run.

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
      int32_t& made = file_.made_of(output);
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
    file_.made_of(output) = draft().put(std::move(constant));
  }
}

}  // namespace intaglio::importers
