// Operators of constants alone: what exporters write around shapes, and weights that a file reshapes. They
// are computed here and leave no node.
#include <algorithm>
#include <cmath>
#include <utility>

#include "importers/onnx/onnx_op.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kMaxFlat = int64_t{1} << 24;  // elements of what is reshaped

bool gives_truth(const std::string& source);

// The element type of what the node gives of integers: it counts where it is one of codes, or of bools.
int64_t type_of_result(OnnxOp& op) {
  const std::string& source = op.source();
  if (source == "Cast") return op.integer("to", 0);
  if (source == "EyeLike" && op.has("dtype")) return op.integer("dtype", 0);
  if (source == "NonZero") return onnx_file::TensorProto::INT64;
  if (source == "ConstantOfShape") return op.tensor("value")->data_type;
  if (gives_truth(source)) return onnx_file::TensorProto::BOOL;
  const int like = source == "Where" ? 1 : 0;
  if (op.is_truth(like)) return onnx_file::TensorProto::BOOL;
  return op.type_of_codes(like);
}

void fold_gather(OnnxOp& op) {
  op.check_inputs(2, 2);
  const Values x = folded_input(op, 0), indices = folded_input(op, 1);
  if (indices.is_real) fail("its indices are no integers");
  set_folded(op,
             gathered(x, static_cast<size_t>(normal_axis(op.integer("axis", 0), x.shape.size())), indices));
}

void fold_slice(OnnxOp& op) {
  const Values x = folded_input(op, 0);
  const OnnxSlice slice = read_onnx_slice(op, x.shape);
  set_folded(op, sliced(x, slice.begin, slice.strides, slice.shape));
}

void fold_split(OnnxOp& op) {
  const Values x = folded_input(op, 0);
  const OnnxParts parts = read_onnx_parts(op, x.shape);
  std::vector<int32_t> begin(x.shape.size(), 0);
  const std::vector<int32_t> ones(x.shape.size(), 1);
  for (int i = 0; i < op.output_count(); ++i) {
    Shape shape = x.shape;
    shape[parts.axis] = parts.sizes[static_cast<size_t>(i)];
    if (!op.output_name(i).empty()) set_folded(op, sliced(x, begin, ones, shape), i);
    begin[parts.axis] += shape[parts.axis];
  }
}

void fold_concat(OnnxOp& op) {
  std::vector<Values> parts;
  for (int i = 0; i < op.input_count(); ++i) parts.push_back(folded_input(op, i));
  set_folded(op, concatenated(
                     parts, static_cast<size_t>(normal_axis(op.integer("axis", 1), parts[0].shape.size()))));
}

void fold_transpose(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Values x = folded_input(op, 0);
  const Permutation permutation = read_onnx_permutation(op, x.shape.size());
  set_folded(op, transposed(x, permutation));
  if (op.grid(0) == nullptr) return;
  OnnxGrid grid = *op.grid(0);
  if (grid.axis >= 0) grid.axis = inverse(permutation).at(static_cast<size_t>(grid.axis));
  op.set_grid(grid);
}

// Max, Min and Sum take any number of inputs.
template <Arithmetic kOperation>
void fold_arithmetic(OnnxOp& op) {
  const bool many = kOperation == Arithmetic::kMax || kOperation == Arithmetic::kMin || op.source() == "Sum";
  op.check_inputs(many ? 1 : 2, many ? 64 : 2);
  if (op.integer("fmod", 0) != 0) fail("fmod is not supported");
  Values y = folded_input(op, 0);
  for (int i = 1; i < op.input_count(); ++i) {
    Values next = folded_input(op, i);
    if (kOperation == Arithmetic::kPow && y.is_real) next = as_real(std::move(next));
    y = combined(kOperation, y, next);
  }
  set_folded(op, y);
}

void fold_shift(OnnxOp& op) {
  const std::string way = op.string("direction", "");
  if (way != "LEFT" && way != "RIGHT") fail("its direction ", quoted(way), " is not LEFT or RIGHT");
  way == "LEFT" ? fold_arithmetic<Arithmetic::kShiftLeft>(op) : fold_arithmetic<Arithmetic::kShiftRight>(op);
}

template <Op kFunction>
void fold_function(OnnxOp& op) {
  op.check_inputs(1, 1);
  set_folded(op, mapped(kFunction, folded_input(op, 0)));
}

template <Arithmetic kOperation, int8_t kNumber>
void fold_with_number(OnnxOp& op) {
  op.check_inputs(1, 1);
  set_folded(op, combined(kOperation, folded_input(op, 0), kNumber));
}

template <Reduction kReduction>
void fold_reduction(OnnxOp& op) {
  op.check_inputs(1, 2);
  const Values x = folded_input(op, 0);
  const auto given = op.has_input(1) ? op.integers(1).values : op.integers("axes");
  const bool is_noop = op.integer("noop_with_empty_axes", 0) != 0, nothing = given.empty() && is_noop;
  const bool keep = op.integer("keepdims", 1) != 0;
  set_folded(op, nothing ? x : reduced(kReduction, x, normal_axes(given, x.shape.size()), keep));
}

void fold_cast(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Values x = folded_input(op, 0);
  const int64_t to = op.integer("to", 0);
  op.ignore("saturate");
  using Type = onnx_file::TensorProto;
  if (is_onnx_real(to)) return set_folded(op, as_real(x));
  if (to == Type::BOOL)
    return set_folded(op, combined(Arithmetic::kEqual, combined(Arithmetic::kEqual, x, 0), 0));
  if (to != Type::INT64 && to != Type::INT32 && !is_onnx_code(to))
    fail("it casts a constant to ", onnx_type_name(to));
  set_folded(op, as_integers(x));
}

// Dimensions that an input gives.
Shape shape_input(OnnxOp& op, int input) {
  Shape shape;
  for (const int64_t dim : op.integers(input).values) {
    if (dim < 0 || dim > kMaxFlat) fail("its shape has the dimension ", dim);
    shape.push_back(static_cast<int32_t>(dim));
  }
  if (shape.size() > 16) fail("its shape has ", shape.size(), " dimensions");
  check_folded_size(shape);
  return shape;
}

void fold_expand(OnnxOp& op) {
  op.check_inputs(2, 2);
  set_folded(op, expanded(folded_input(op, 0), shape_input(op, 1)));
}

void fold_tile(OnnxOp& op) {
  op.check_inputs(2, 2);
  set_folded(op, tiled(folded_input(op, 0), op.integers(1).values));
}

void fold_where(OnnxOp& op) {
  op.check_inputs(3, 3);
  set_folded(op, chosen(folded_input(op, 0), folded_input(op, 1), folded_input(op, 2)));
}

void fold_range(OnnxOp& op) {
  op.check_inputs(3, 3);
  set_folded(op, progression(folded_input(op, 0), folded_input(op, 1), folded_input(op, 2)));
}

void fold_nonzero(OnnxOp& op) {
  op.check_inputs(1, 1);
  set_folded(op, places_of_nonzero(folded_input(op, 0)));
}

Values filled(const Shape& shape, const Values& value) {
  const auto count = static_cast<size_t>(elements(shape));
  Values y{shape, value.is_real, {}, {}};
  if (value.is_real) y.reals.assign(count, value.reals.at(0));
  if (!value.is_real) y.integers.assign(count, value.integers.at(0));
  return y;
}

void fold_constant_of_shape(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Shape shape = shape_input(op, 0);
  const auto* value = op.tensor("value");
  if (value == nullptr) return set_folded(op, filled(shape, {{}, true, {}, {0.0f}}));
  const Values one = op.is_real(*value) ? Values{{}, true, {}, op.floats_of(*value).values}
                                        : Values{{}, false, op.integers_of(*value).values, {}};
  if (one.reals.size() + one.integers.size() != 1) fail("its value is no single number");
  set_folded(op, filled(shape, one));
}

// A grid with a scale for each channel goes on where an axis of the new shape has the same channels.
void keep_grid(OnnxOp& op, const Shape& from, const Shape& to) {
  if (op.grid(0) == nullptr) return;
  OnnxGrid grid = *op.grid(0);
  const int32_t axis = grid.axis;
  if (axis >= 0) {
    grid.axis = -1;
    for (int32_t d = 0; d < static_cast<int32_t>(to.size()); ++d)
      if (to[static_cast<size_t>(d)] == from.at(static_cast<size_t>(axis)) &&
          elements_behind(to, d) == elements_behind(from, axis))
        grid.axis = d;
    if (grid.axis < 0) return;
  }
  op.set_grid(grid);
}

void set_reshaped(OnnxOp& op, Values x, const Shape& shape) {
  const Shape from = std::exchange(x.shape, shape);
  set_folded(op, x);
  keep_grid(op, from, shape);
}

template <Shape (*kShape)(OnnxOp& op, const Shape& from)>
void fold_shape(OnnxOp& op) {
  const Values x = folded_input(op, 0);
  set_reshaped(op, x, kShape(op, x.shape));
}

void fold_identity(OnnxOp& op) {
  op.check_inputs(1, 1);
  const Values x = folded_input(op, 0);
  set_reshaped(op, x, x.shape);
}

void fold_reshape(OnnxOp& op) {
  op.check_inputs(2, 2);
  const Values x = folded_input(op, 0);
  std::vector<int64_t> list = op.integers(1).values;
  const bool zero_copies = op.integer("allowzero", 0) == 0;
  const int64_t count = elements(x.shape);
  int64_t known = 1;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == 0 && zero_copies && i >= x.shape.size()) fail("it copies a dimension that is not there");
    if (list[i] == 0 && zero_copies) list[i] = x.shape[i];
    if (list[i] > kMaxFlat) fail("its target shape has the dimension ", list[i]);
    if (list[i] > 0) known *= list[i];
    if (list[i] < -1 || known > kMaxFlat) fail("its target shape has the dimension ", list[i]);
  }
  Shape shape;
  for (const int64_t dim : list)
    shape.push_back(static_cast<int32_t>(dim >= 0 ? dim : count / std::max<int64_t>(known, 1)));
  check_folded_size(shape);
  if (elements(shape) != count) fail("its target shape does not fit ", shape_text(x.shape));
  set_reshaped(op, x, shape);
}

struct Entry {
  const char* source;
  void (*fold)(OnnxOp& op);
  bool gives_truth = false;
};

constexpr Entry kFolds[] = {
    {"Abs", fold_function<Op::kAbs>},
    {"Add", fold_arithmetic<Arithmetic::kAdd>},
    {"And", fold_arithmetic<Arithmetic::kAnd>, true},
    {"BitShift", fold_shift},
    {"BitwiseAnd", fold_arithmetic<Arithmetic::kBitAnd>},
    {"BitwiseNot", fold_with_number<Arithmetic::kBitXor, -1>},
    {"BitwiseOr", fold_arithmetic<Arithmetic::kBitOr>},
    {"BitwiseXor", fold_arithmetic<Arithmetic::kBitXor>},
    {"Cast", fold_cast},
    {"Ceil", fold_function<Op::kCeil>},
    {"Concat", fold_concat},
    {"ConstantOfShape", fold_constant_of_shape},
    {"Div", fold_arithmetic<Arithmetic::kDiv>},
    {"Equal", fold_arithmetic<Arithmetic::kEqual>, true},
    {"Exp", fold_function<Op::kExp>},
    {"Expand", fold_expand},
    {"Flatten", fold_shape<flattened_shape>},
    {"Floor", fold_function<Op::kFloor>},
    {"Gather", fold_gather},
    {"Greater", fold_arithmetic<Arithmetic::kGreater>, true},
    {"GreaterOrEqual", fold_arithmetic<Arithmetic::kGreaterEqual>, true},
    {"Identity", fold_identity},
    {"Less", fold_arithmetic<Arithmetic::kLess>, true},
    {"LessOrEqual", fold_arithmetic<Arithmetic::kLessEqual>, true},
    {"Log", fold_function<Op::kLog>},
    {"Max", fold_arithmetic<Arithmetic::kMax>},
    {"Min", fold_arithmetic<Arithmetic::kMin>},
    {"Mod", fold_arithmetic<Arithmetic::kMod>},
    {"Mul", fold_arithmetic<Arithmetic::kMul>},
    {"Neg", fold_with_number<Arithmetic::kMul, -1>},
    {"NonZero", fold_nonzero},
    {"Not", fold_with_number<Arithmetic::kEqual, 0>, true},
    {"Or", fold_arithmetic<Arithmetic::kOr>, true},
    {"Pow", fold_arithmetic<Arithmetic::kPow>},
    {"Range", fold_range},
    {"Reciprocal", fold_function<Op::kReciprocal>},
    {"ReduceMax", fold_reduction<Reduction::kMax>},
    {"ReduceMean", fold_reduction<Reduction::kMean>},
    {"ReduceMin", fold_reduction<Reduction::kMin>},
    {"ReduceProd", fold_reduction<Reduction::kProduct>},
    {"ReduceSum", fold_reduction<Reduction::kSum>},
    {"Reshape", fold_reshape},
    {"Slice", fold_slice},
    {"Split", fold_split},
    {"Sqrt", fold_function<Op::kSqrt>},
    {"Squeeze", fold_shape<squeezed_shape>},
    {"Sub", fold_arithmetic<Arithmetic::kSub>},
    {"Sum", fold_arithmetic<Arithmetic::kAdd>},
    {"Tile", fold_tile},
    {"Transpose", fold_transpose},
    {"Unsqueeze", fold_shape<unsqueezed_shape>},
    {"Where", fold_where},
};

const Entry* find_fold(const std::string& source) {
  for (const Entry& entry : kFolds)
    if (source == entry.source) return &entry;
  return nullptr;
}

bool gives_truth(const std::string& source) {
  const Entry* const entry = find_fold(source);
  return entry != nullptr && entry->gives_truth;
}

}  // namespace

Values folded_input(OnnxOp& op, int input) {
  Values values;
  values.is_real = op.is_constant_of_reals(input);
  if (values.is_real) {
    auto constant = op.floats(input);
    values.shape = std::move(constant.shape);
    values.reals = std::move(constant.values);
  } else {
    auto constant = op.integers(input);
    values.shape = std::move(constant.shape);
    values.integers = std::move(constant.values);
  }
  return values;
}

void set_folded(OnnxOp& op, const Values& values, int output) {
  if (values.is_real) return op.set_floats({values.shape, values.reals}, output);
  const int64_t type = type_of_result(op);
  if (!is_onnx_code(type) && type != onnx_file::TensorProto::BOOL)
    return op.set_integers({values.shape, values.integers}, output);
  op.set_codes({values.shape, values.integers}, static_cast<onnx_file::TensorProto::DataType>(type), output);
}

bool fold_onnx_constants(OnnxOp& op) {
  const Entry* const entry = find_fold(op.source());
  if (entry == nullptr || op.input_count() == 0 || !op.has_input(0) || !op.all_constant()) return false;
  entry->fold(op);
  op.check_all_read();
  return true;
}

std::vector<std::string> folded_onnx_operators() {
  std::vector<std::string> list;
  for (const Entry& entry : kFolds) list.emplace_back(entry.source);
  return list;
}

// Operators of constants: through their own handlers, and then run.

bool OnnxOp::is_integer(int i) const {
  const OnnxValue& input = value(i);
  return input.constant == nullptr ? input.is_integer : !is_real(*input.constant);
}

// A constant as an input of what is run.
int32_t OnnxOp::evaluated_input(int i) {
  const auto known = file_.evaluated.find(node_.input[i]);
  if (known != file_.evaluated.end()) return known->second;
  DraftTensor constant;
  constant.name = node_.input[i];
  if (is_constant_of_reals(i)) {
    const OnnxConstant<float> reals = floats(i);
    constant.shape = reals.shape;
    set_values(constant, reals.values);
  } else {
    const OnnxConstant<int64_t> given = integers(i);
    constant.shape = given.shape;
    constant.dtype = DType::kS32;
    std::vector<int32_t> narrowed;
    for (const int64_t number : given.values) narrowed.push_back(narrow(number, "number"));
    set_values(constant, narrowed);
  }
  return file_.evaluated[node_.input[i]] = file_.evaluation->input(std::move(constant));
}

void OnnxOp::set_evaluated(const DraftTensor& result, const OnnxValue& made, int i) {
  bool of_numbers =
      elements(result.shape) == 1;  // of single numbers a single number, which the draft has as [1]
  for (int input = 0; input < input_count(); ++input)
    if (has_input(input)) of_numbers = of_numbers && value(input).constant->dims.count() == 0;
  const Shape shape = of_numbers ? Shape() : result.shape;
  if (result.dtype == DType::kF32 && !made.is_integer && !made.is_truth)
    return set_floats({shape, values_of<float>(result)}, i);
  OnnxConstant<int64_t> integers{shape, {}};
  if (result.dtype == DType::kF32)
    for (const float number : values_of<float>(result)) integers.values.push_back(std::llrint(number));
  else if (result.dtype == DType::kS32)
    for (const int32_t number : values_of<int32_t>(result)) integers.values.push_back(number);
  else
    fail("it gives codes of constants, which is not supported");
  if (made.is_truth) return set_codes(integers, onnx_file::TensorProto::BOOL, i);
  set_integers(integers, i);
}

void OnnxOp::evaluate(void (*import)(OnnxOp& op)) {
  std::vector<DraftTensor> results;
  std::vector<std::pair<int, OnnxValue>> outputs;
  {
    const EvaluationScope scope(file_);
    import(*this);
    check_all_read();
    std::vector<int32_t> tensors;
    for (int i = 0; i < output_count(); ++i) {
      const auto found = file_.values.find(output_name(i));
      if (output_name(i).empty() || found == file_.values.end() ||
          !file_.evaluation->has_made(found->second.tensor))
        continue;
      tensors.push_back(found->second.tensor);
      outputs.emplace_back(i, found->second);
      file_.values.erase(found);
    }
    if (!tensors.empty()) results = file_.evaluation->finish(tensors);
  }
  for (size_t i = 0; i < results.size(); ++i) set_evaluated(results[i], outputs[i].second, outputs[i].first);
}

}  // namespace intaglio::importers
