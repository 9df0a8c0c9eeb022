#include "importers/onnx/onnx_op.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

using onnx_file::TensorProto;

std::string OnnxFile::unique_name(const std::string& name) {
  const auto take = [&](const std::string& free) {
    return values.count(free) == 0 && taken.insert(free).second;
  };
  if (take(name)) return name;
  int64_t& number = last_numbers[name];  // a file may ask for one name often
  std::string free;
  do free = text(name, "~", ++number);
  while (!take(free));
  return free;
}

bool OnnxOp::is_real(const TensorProto& tensor) {
  return is_onnx_real(tensor.data_type) || is_onnx_small_real(tensor.data_type);
}

static const std::string& name_of(const onnx_file::NodeProto& node) {
  const auto named = std::find_if(node.output.begin(), node.output.end(),
                                  [](const std::string& output) { return !output.empty(); });
  if (named == node.output.end()) fail("it has no output");
  return node.name.empty() ? *named : node.name;
}

static const std::string& result_of(const onnx_file::NodeProto& node) {
  const std::string& name = name_of(node);  // there is an output
  return node.output[0].empty() ? name : node.output[0];
}

OnnxOp::OnnxOp(OnnxFile& file, const onnx_file::NodeProto& node)
    : FileOperator(*file.draft, file.casts, name_of(node), node.op_type, result_of(node)),
      OnnxNodeAttributes(node),
      file_(file),
      node_(node) {}

void OnnxOp::check_inputs(int least, int most) const {
  if (node_.input.count() < least || node_.input.count() > most)
    fail("it has ", node_.input.count(), " inputs where ", least, " to ", most, " are expected");
}

void OnnxOp::check_outputs(int most) const {
  for (int i = most; i < output_count(); ++i)
    if (!output_name(i).empty())
      fail("its output ", quoted(output_name(i)), " is not supported; only the first ",
           most == 1 ? "is" : text(most, " are"));
}

const OnnxValue& OnnxOp::value(int i) const {
  if (!has_input(i)) fail("input ", i, " is missing");
  const auto found = file_.values.find(node_.input[i]);
  if (found == file_.values.end())
    fail("input ", i, " (", quoted(node_.input[i]), ") is read before anything writes it");
  if (found->second.failed) throw ReadsFailed{};
  return found->second;
}

bool OnnxOp::is_constant(int i) const { return value(i).constant != nullptr; }

bool OnnxOp::is_constant_of(int i, TensorProto::DataType type) const {
  const TensorProto* tensor = value(i).constant;
  return tensor != nullptr && tensor->data_type == type;
}

bool OnnxOp::all_constant() const {
  for (int i = 0; i < node_.input.count(); ++i)
    if (has_input(i) && !is_constant(i)) return false;
  return true;
}

template <size_t kCount>
static bool is_one_of(const std::string& source, const char* const (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), source) != std::end(list);
}

// Operators of codes that give codes of the same type. What can leave the type's range counts on from its other end.
static bool counts_on(const std::string& source) {
  return is_one_of(source, {"Abs", "Add", "Div", "Mul", "Neg", "Pow", "Sub", "Sum"});
}
static bool gives_codes(const std::string& source) {
  return counts_on(source) || is_one_of(source, {"Clip", "Max", "Min", "Mod", "ReduceMax", "Relu",
                                                 "ReduceMin", "ScatterND", "Sign", "Where"});
}
// Those that ONNX defines for codes, without a scale: they compute on the numbers themselves.
static bool takes_codes(const std::string& source) {
  return gives_codes(source) || is_one_of(source, {"ConvInteger", "Equal", "Greater", "GreaterOrEqual",
                                                   "Less", "LessOrEqual", "MatMulInteger"});
}

int32_t OnnxOp::activation(int i) {
  const int32_t tensor = activation_or_codes(i);
  if (file_.draft->tensor(tensor).dtype == DType::kF32) return tensor;
  if (!is_int8_codes(i) || !takes_codes(source()))
    fail("input ", i, " (", quoted(node_.input[i]),
         ") holds int8 codes; a DequantizeLinear must stand between");
  return numbers_of_codes(i);
}

// The codes as the file counts them: with the scale 1, and the zero point that this makes.
int32_t OnnxOp::numbers_of_codes(int i) {
  computes_on_codes_ = true;
  const int32_t codes = value(i).tensor;
  const Shape shape = draft().tensor(codes).shape;
  const std::string name = input_name(i) + "/numbers";
  const int32_t plain = add_activation_like(draft(), name + "/codes", codes, shape);
  draft().tensor(plain).scales = {1.0f};
  draft().tensor(plain).zero_point = -middle_code(i);
  add_same_codes(origin(), codes, plain);
  const int32_t numbers = add_activation(draft(), name, DType::kF32, shape);
  add(Op::kDequantize, {plain}, numbers);
  return numbers;
}

int32_t OnnxOp::codes_of_numbers(int32_t numbers, int64_t type) {
  constexpr float kCodes = 256.0f;
  const int32_t middle = type == TensorProto::UINT8 ? 128 : 0;
  const Shape shape = draft().tensor(numbers).shape, one(std::max<size_t>(shape.size(), 1), 1);
  const auto with = [&](Op op, int32_t x, float number) {
    const int32_t constant =
        add_constant(draft(), name() + "/number", DType::kF32, one, std::vector<float>{number});
    const int32_t y = new_tensor(shape);
    add(op, {x, constant}, y);
    return y;
  };
  if (counts_on(source())) {  // numbers - 256 * floor((numbers - least) / 256)
    const int32_t turns =
        with(Op::kMul, with(Op::kAdd, numbers, static_cast<float>(128 - middle)), 1 / kCodes);
    const int32_t whole = new_tensor(shape), within = new_tensor(shape);
    add(Op::kFloor, {turns}, whole);
    add(Op::kAdd, {numbers, with(Op::kMul, whole, -kCodes)}, within);
    numbers = within;
  }
  const int32_t codes = add_activation(draft(), output_name(), DType::kS8, shape);
  draft().tensor(codes).scales = {1.0f};
  draft().tensor(codes).zero_point = -middle;
  add(Op::kQuantize, {numbers}, codes);
  return codes;
}

bool OnnxOp::is_int8_codes(int i) const {
  const OnnxValue& input = value(i);
  return input.constant == nullptr && !input.is_integer && is_onnx_code(input.codes.type) &&
         tensor_of(i).dtype == DType::kS8;
}

int32_t OnnxOp::middle_code(int i) const { return value(i).codes.type == TensorProto::UINT8 ? 128 : 0; }

const DraftTensor& OnnxOp::tensor_of(int i) const { return file_.draft->tensor(value(i).tensor); }

int32_t OnnxOp::activation_or_codes(int i) { return as_real(any_activation(i)); }

int32_t OnnxOp::any_activation(int i) {
  if (is_constant(i) && file_.evaluation != nullptr) return evaluated_input(i);
  if (is_constant(i)) fail("input ", i, " (", quoted(node_.input[i]), ") is a constant");
  return value(i).tensor;
}

template <typename Read>
static auto read_constant(OnnxFile& file, const std::string& name, const TensorProto* tensor, Read&& read) {
  if (tensor == nullptr) {
    const auto found = file.values.find(name);
    const bool is_input = found != file.values.end() && found->second.tensor >= 0 &&
                          is_model_input(*file.draft, found->second.tensor);
    const auto words = [&] {
      const Shape& shape = file.draft->tensor(found->second.tensor).shape;
      return "; if it is the same in each run, import with " + as_constant(name, elements(shape));
    };
    fail("input ", quoted(name), " must be a constant", is_input ? words() : "");
  }
  try {
    const Shape shape = stored_onnx_shape(*tensor);
    const auto count = static_cast<uint64_t>(elements(shape));
    // Constants are decoded where they are used: a file may use one often, or make many from little.
    file.draft->budget->spend_constant(count, OnnxOp::is_real(*tensor) ? sizeof(float) : sizeof(int64_t));
    return read(shape, count);
  } catch (const ImportError& error) {
    fail("constant ", quoted(name), ": ", error.what());
  }
}

OnnxConstant<float> OnnxOp::floats(int i) {
  const TensorProto* tensor = value(i).constant;
  if (tensor != nullptr && !is_real(*tensor) && computes_integers()) return numbers(i);
  return read_constant(file_, node_.input[i], tensor, [&](const Shape& shape, uint64_t count) {
    return stored_onnx_floats(*tensor, shape, count);
  });
}

OnnxConstant<int64_t> OnnxOp::integers(int i) {
  const TensorProto* tensor = value(i).constant;
  return read_constant(file_, node_.input[i], tensor, [&](const Shape& shape, uint64_t count) {
    return stored_onnx_integers(*tensor, shape, count);
  });
}

OnnxConstant<float> OnnxOp::floats_of(const TensorProto& tensor) {
  return read_constant(file_, output_name(), &tensor, [&](const Shape& shape, uint64_t count) {
    return stored_onnx_floats(tensor, shape, count);
  });
}

OnnxConstant<float> OnnxOp::numbers(int i) {
  if (is_constant_of_reals(i)) return floats(i);
  const OnnxConstant<int64_t> integers = this->integers(i);
  OnnxConstant<float> numbers{integers.shape, {}};
  for (const int64_t value : integers.values) {
    const bool is_end = value == INT64_MAX || value == INT64_MIN;  // what exporters write for "no bound"
    const auto number = static_cast<float>(value);
    // Values just below 2^63 round to it, which no int64 holds.
    if (!is_end && (number >= 0x1p63f || static_cast<int64_t>(number) != value))
      fail("constant ", quoted(node_.input[i]), " holds ", value, ", which float does not hold");
    numbers.values.push_back(number);
  }
  return numbers;
}

int32_t OnnxOp::activation_or_numbers(int i) {
  if (!is_constant(i) || file_.evaluation != nullptr) return activation(i);
  const OnnxConstant<float> constant = numbers(i);
  const Shape shape = at_least_1d(constant.shape);
  return add_constant(draft(), input_name(i), DType::kF32, shape, constant.values);
}

OnnxConstant<int64_t> OnnxOp::integers_of(const TensorProto& tensor) {
  return read_constant(file_, output_name(), &tensor, [&](const Shape& shape, uint64_t count) {
    return stored_onnx_integers(tensor, shape, count);
  });
}

void OnnxOp::take_grid(int i, int32_t axis, int32_t constant, int32_t draft_axis) {
  const OnnxGrid* const known = grid(i);
  if (known == nullptr) return;
  DraftTensor& tensor = draft().tensor(constant);
  if (known->is_near || (known->scales.size() > 1 && known->axis != axis)) {
    if (draft_axis >= 0) take_near_grid(tensor, draft_axis);
    return;
  }
  tensor.scales = known->scales;
  tensor.axis = known->scales.size() > 1 ? draft_axis : -1;
}

const OnnxGrid* OnnxOp::grid(int i) const {
  const auto found = file_.grids.find(node_.input[i]);
  return found == file_.grids.end() ? nullptr : &found->second;
}

void OnnxOp::set_value(OnnxValue value, int i) {
  if (node_.output[i].empty()) return;  // nobody asks for it
  if (value.tensor >= 0 && draft().tensor(value.tensor).name == node_.output[i])
    draft().tensor(value.tensor).is_of_file = true;
  if (!file_.values.emplace(node_.output[i], value).second)
    fail("its output ", quoted(node_.output[i]), " is written twice");
}

void OnnxOp::set_output(int32_t tensor, int i) {
  if (computes_on_codes_ && gives_codes(source()) && draft().tensor(tensor).dtype == DType::kF32) {
    const OnnxCodes codes{onnx_codes_read(file_, node_).type, 0.0f, 0};
    return set_codes_output(codes_of_numbers(tensor, codes.type), codes);
  }
  set_output(tensor, i, computes_integers());
  if (hands_on_truth()) note_truth(i);
}

void OnnxOp::set_output(int32_t tensor, int i, bool is_integer) {
  const bool can_be_codes = draft().tensor(tensor).dtype != DType::kS32;
  set_value(
      {tensor, nullptr, false, is_integer, false, can_be_codes ? onnx_codes_read(file_, node_) : OnnxCodes()},
      i);
}

void OnnxOp::set_constant(const TensorProto* constant, int i) {
  set_value({-1, constant, false, false, false, {}}, i);
}

void OnnxOp::set_alias(const std::string& name, int i) {
  const auto found = file_.values.find(name);
  if (found == file_.values.end()) fail("its branch does not write ", quoted(name));
  if (found->second.failed) throw ReadsFailed{};
  const OnnxValue value = found->second;
  const auto grid = file_.grids.find(name);
  if (grid != file_.grids.end()) file_.grids.emplace(output_name(i), OnnxGrid(grid->second));
  set_value(value, i);
}

void OnnxOp::set_own_constant(std::unique_ptr<TensorProto> constant, int i) {
  set_constant(constant.get(), i);
  file_.own_constants.push_back(std::move(constant));
}

template <typename T>
static std::unique_ptr<TensorProto> made_constant(const OnnxConstant<T>& constant,
                                                  TensorProto::DataType type) {
  auto made = std::make_unique<TensorProto>();
  made->data_type = type;
  for (const int32_t dim : constant.shape) made->dims.push_back(dim);
  made->raw_data.set(constant.values.data(), constant.values.size() * sizeof(T));
  return made;
}

void OnnxOp::set_floats(const OnnxConstant<float>& constant, int i) {
  draft().budget->spend_constant(constant.values.size(), sizeof(float));
  set_own_constant(made_constant(constant, TensorProto::FLOAT), i);
}

void OnnxOp::set_integers(const OnnxConstant<int64_t>& constant, int i) {
  draft().budget->spend_constant(constant.values.size(), sizeof(int64_t));
  set_own_constant(made_constant(constant, TensorProto::INT64), i);
}

void OnnxOp::set_codes(const OnnxConstant<int64_t>& constant, TensorProto::DataType type, int i) {
  draft().budget->spend_constant(constant.values.size(), sizeof(int32_t));
  auto made = std::make_unique<TensorProto>();
  made->data_type = type;
  for (const int32_t dim : constant.shape) made->dims.push_back(dim);
  if (type == kOnnxUint4 || type == kOnnxInt4)
    for (const uint8_t byte : packed_codes_of_4_bits(constant.values)) made->int32_data.push_back(byte);
  else
    for (const int64_t code : constant.values) made->int32_data.push_back(static_cast<int32_t>(code));
  set_own_constant(std::move(made), i);
}

int32_t OnnxOp::new_tensor_like(int32_t x, const Shape& shape) {
  return add_activation_like(draft(), output_name(), x, shape);
}

// Integers in a node's view.

using onnx_file::TensorProto;

int32_t OnnxOp::index_activation(int i) {
  const int32_t tensor = any_activation(i);
  if (!is_integer(i)) fail("input ", i, " (", quoted(node_.input[i]), ") must hold integers");
  return as_index(tensor);
}

bool OnnxOp::take_plain_codes(int i, float scale, int32_t zero_point) {
  const int32_t tensor = any_activation(i);
  if (!is_integer(i) || !is_model_input(draft(), tensor)) return false;
  for (const DraftNode& node : draft().nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end()) return false;
  draft().tensor(tensor).scales = {scale};
  draft().tensor(tensor).zero_point = zero_point;
  file_.values[node_.input[i]].is_integer = false;
  return true;
}

OnnxCodes onnx_codes_read(const OnnxFile& file, const onnx_file::NodeProto& node) {
  OnnxCodes codes;
  for (const std::string& name : node.input) {
    const auto found = file.values.find(name);
    if (found == file.values.end()) continue;
    const OnnxValue& value = found->second;
    const OnnxCodes own =
        value.constant == nullptr ? value.codes : OnnxCodes{value.constant->data_type, 0.0f, 0};
    if (!is_onnx_code(own.type)) continue;
    if (codes.type == 0)
      codes = own;
    else if (own.scale != codes.scale || own.zero_point != codes.zero_point)
      codes.scale = NAN;
  }
  return codes;
}

int64_t OnnxOp::type_of_codes(int i) const {
  if (!is_constant(i)) return value(i).codes.type;
  return is_onnx_code(type_of_constant(i)) ? type_of_constant(i) : 0;
}

void OnnxOp::set_codes_output(int32_t tensor, const OnnxCodes& codes) {
  set_value({tensor, nullptr, false, false, false, codes});
}

// Whether all inputs are integers, bools and constants: then so is the result. Constants of reals make it real.
bool OnnxOp::computes_integers() const {
  bool any = false;
  for (const std::string& name : node_.input) {
    const auto found = file_.values.find(name);
    if (name.empty() || found == file_.values.end()) continue;
    const OnnxValue& input = found->second;
    const bool is_number = input.is_integer || (computes_on_codes_ && is_onnx_code(input.codes.type));
    if (input.constant != nullptr ? OnnxOp::is_real(*input.constant) : !is_number) return false;
    any = any || input.constant == nullptr || file_.evaluation != nullptr;
  }
  return any;
}

bool OnnxOp::is_truth(int i) const {
  const OnnxValue& input = value(i);
  return input.constant == nullptr ? input.is_truth : input.constant->data_type == TensorProto::BOOL;
}

// The result of operators that give no bools of their own has the type of the first input, or of the first that is chosen from.
bool OnnxOp::hands_on_truth() const {
  const int input = source() == "Where" ? 1 : 0;
  const bool is_known = has_input(input) && file_.values.count(input_name(input)) != 0;
  return is_known && is_truth(input);
}

void OnnxOp::set_truth_output(int32_t tensor) {
  set_output(tensor, 0, computes_integers());
  note_truth();
}

void OnnxOp::note_truth(int i) {
  const auto found = file_.values.find(output_name(i));
  if (found != file_.values.end()) found->second.is_truth = true;
}

bool OnnxOp::is_whole(int i) const { return value(i).is_whole; }

void OnnxOp::note_whole() {
  const auto found = file_.values.find(output_name(0));
  if (found != file_.values.end()) found->second.is_whole = true;
}

// Pictures and volumes in a node's view.
int32_t OnnxOp::nhwc(int32_t tensor) {
  const Shape& shape = draft().tensor(tensor).shape;
  if (shape.size() != 4)
    fail("its input has the shape ", shape_text(shape), "; [batch, channels, height, width] is expected");
  return add_transpose(named(draft().tensor(tensor).name), tensor, kToNhwc);
}

int32_t OnnxOp::nhwc_or_line(int32_t tensor) {
  const Shape shape = draft().tensor(tensor).shape;
  if (shape.size() != 3) return nhwc(tensor);
  axes_ = 1;
  return nhwc(
      add_reshape(named(draft().tensor(tensor).name + "/row"), tensor, {shape[0], shape[1], 1, shape[2]}));
}

int32_t OnnxOp::ndhwc(int32_t tensor) {
  axes_ = 3;
  return add_transpose(named(draft().tensor(tensor).name), tensor, {0, 2, 3, 4, 1});
}

std::vector<int64_t> OnnxOp::spatial(const char* name, size_t count, int64_t of_line) const {
  std::vector<int64_t> values = integers(name);
  if (values.empty()) return values;
  if (values.size() != axes_ * count)
    fail("attribute ", name, " has ", values.size(), " values; ", axes_ * count, " are expected");
  if (axes_ == 1)  // in front of each, the height's
    for (size_t i = 0; i < count; ++i)
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(2 * i), of_line);
  return values;
}

void OnnxOp::set_nhwc_output(int32_t tensor) {
  const int32_t nchw = add_transpose(result(), tensor, kToNchw);
  const Shape shape = draft().tensor(nchw).shape;
  set_output(axes_ == 1 ? add_reshape(result(), nchw, {shape[0], shape[1], shape[3]}) : nchw);
}

}  // namespace intaglio::importers
