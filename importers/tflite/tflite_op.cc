#include "importers/tflite/tflite_op.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

namespace {

constexpr size_t kMaxIntegers = size_t{1} << 20;  // of one constant

DType dtype_of(int8_t type) {
  switch (type) {
    case kTfliteFloat32:
    case kTfliteFloat16:
    case kTfliteBool:     // truth values are the numbers 1 and 0
    case kTfliteInt16:    // the numbers that its codes stand for
    case kTfliteComplex:  // magnitudes
      return DType::kF32;
    case kTfliteInt32:
    case kTfliteInt64:
      return DType::kS32;
    case kTfliteInt8:
    case kTfliteInt4:
    case kTfliteUint8:  // its codes are shifted by -128
      return DType::kS8;
    case 5:
      fail("strings are not supported");
    default:
      fail("element type ", int{type}, " is not supported");
  }
}

Shape shape_of(const tflite::Tensor& tensor) {
  Shape shape;
  if (tensor.shape() != nullptr) shape.assign(tensor.shape()->begin(), tensor.shape()->end());
  return shape;
}

// Whether a tensor of this shape, which is as the file has it, has so many elements.
bool is_count_of(const Shape& shape, size_t count) {
  uint64_t elements = 1;
  for (const int32_t dim : shape) {
    if (dim < 0 || elements * static_cast<uint64_t>(dim) > kMaxIntegers) return false;
    elements *= static_cast<uint64_t>(dim);
  }
  return elements == count;
}

// The verifier does not ask that vectors of 64-bit numbers are aligned.
int64_t long_at(const flatbuffers::Vector<int64_t>& values, uint32_t i) {
  int64_t value = 0;
  std::memcpy(&value, values.Data() + size_t{i} * sizeof value, sizeof value);
  return value;
}

bool is_plain_integer(const tflite::Tensor& tensor) {
  return tensor.type() == kTfliteInt32 || tensor.type() == kTfliteInt64;
}

// The code of 0 of uint8 is 128 above that of int8.
int64_t code_shift(const tflite::Tensor& tensor) { return tensor.type() == kTfliteUint8 ? 128 : 0; }

// The zero point of each channel, in int8, where some is not the code of 0.
std::vector<int32_t> channel_zero_points(const tflite::Tensor& tensor) {
  const tflite::Quantization* const quantization = tensor.quantization();
  if (quantization == nullptr || quantization->scale() == nullptr || quantization->zero_point() == nullptr)
    return {};
  const auto& given = *quantization->zero_point();
  if (quantization->scale()->size() < 2 || given.size() != quantization->scale()->size()) return {};
  std::vector<int32_t> zero_points;
  bool any = false;
  for (uint32_t i = 0; i < given.size(); ++i) {
    const int64_t zero_point = long_at(given, i) - code_shift(tensor);
    if (zero_point < -128 || zero_point > 127) return {};
    any = any || zero_point != 0;
    zero_points.push_back(static_cast<int32_t>(zero_point));
  }
  return any ? zero_points : std::vector<int32_t>();
}

// A scale that is nearly nothing, as of a tensor that is always 0, becomes the least one: whatever its codes are, the numbers
// are below 2^-32. A constant may have a zero point for each channel: it becomes reals on their grid.
void read_quantization(const tflite::Tensor& tensor, bool is_constant, DraftTensor& made) {
  const tflite::Quantization* quantization = tensor.quantization();
  if (made.dtype == DType::kF32 || quantization == nullptr || quantization->scale() == nullptr) return;
  const auto* scale = quantization->scale();
  if (scale->size() == 0) return;
  // A bias has the product of two scales, which may be smaller.
  const float least = std::ldexp(1.0f, is_plain_integer(tensor) ? -80 : -40);
  for (const float s : *scale) {
    const bool is_dead = s > 0.0f && s < least;
    if (!is_dead && !(s >= least && s <= std::ldexp(1.0f, 40)))
      fail("the scale ", s, " is not above 0 and at most 2^40");
    made.scales.push_back(is_dead ? least : s);
  }
  if (scale->size() > 1) {
    // TFLite itself does not read the axis of a bias; some files state the weights'.
    made.axis = made.shape.size() == 1 ? 0 : normal_axis(quantization->axis(), made.shape.size());
    if (static_cast<int64_t>(scale->size()) != made.shape[static_cast<size_t>(made.axis)])
      fail(scale->size(), " scales do not fit axis ", made.axis, " of ", shape_text(made.shape));
  }
  const int64_t shift = code_shift(tensor);
  if (is_constant && made.dtype == DType::kS8 && !channel_zero_points(tensor).empty()) {
    made.dtype = DType::kF32;
    return;
  }
  made.zero_point = static_cast<int32_t>(-shift);
  if (quantization->zero_point() == nullptr) return;
  const auto* zero_points = quantization->zero_point();
  for (uint32_t i = 0; i < zero_points->size(); ++i) {
    const int64_t zero_point = long_at(*zero_points, i);
    const bool varies = zero_point != long_at(*zero_points, 0);
    if (zero_point < shift - 128 || zero_point > shift + 127 || (made.axis >= 0 && zero_point != shift) ||
        varies)
      fail("the zero point ", zero_point, " is not allowed",
           made.axis >= 0 ? " with a scale for each channel" : "");
    made.zero_point = static_cast<int32_t>(zero_point - shift);
  }
}

// The file's tensor with index and name in front of what is wrong with it.
template <typename Body>
auto with_name(const TfliteFile& file, int32_t index, Body&& body) {
  try {
    return body();
  } catch (const ImportError& error) {
    fail("tensor ", quoted(tflite_tensor_name(file, index)), ": ", error.what());
  }
}

// A constant's bytes: in its buffer, or behind the model's tables, where large files and some converters put them.
Span<const uint8_t> stored_data(const TfliteFile& file, const tflite::Tensor& tensor) {
  const auto* buffers = file.model->buffers();
  if (tensor.buffer() == 0) return {};  // the empty one, by the format's rule
  if (buffers == nullptr || tensor.buffer() >= buffers->size())
    fail("its buffer ", tensor.buffer(), " does not exist; the file has ",
         buffers == nullptr ? 0 : buffers->size());
  const tflite::Buffer& buffer = *buffers->Get(tensor.buffer());
  if (buffer.data() != nullptr && buffer.data()->size() > 0)
    return {buffer.data()->data(), buffer.data()->size()};
  if (buffer.offset() < 2) return {};  // 0 and 1 say that there is none
  const uint64_t size = file.bytes.size;
  if (buffer.offset() > size || buffer.size() > size - buffer.offset())
    fail("its ", buffer.size(), " bytes at ", buffer.offset(), " are not in the file, which has ", size);
  return {file.bytes.data + buffer.offset(), static_cast<size_t>(buffer.size())};
}

bool has_data(const TfliteFile& file, const tflite::Tensor& tensor) {
  return stored_data(file, tensor).size > 0;
}

// With the scales that codes of 16 bits have in the file, where `with_codes`: then its type is s32.
DraftTensor described(const TfliteFile& file, int32_t index, bool with_codes) {
  const tflite::Tensor& tensor = file.tensor(index);
  return with_name(file, index, [&] {
    if (tensor.sparsity() != nullptr && !has_data(file, tensor)) fail("it is sparse and no constant");
    if (tensor.is_variable()) fail("variable tensors are not supported");
    DraftTensor made;
    made.name = tflite_tensor_name(file, index);
    made.dtype = with_codes && tensor.type() == kTfliteInt16 ? DType::kS32 : dtype_of(tensor.type());
    made.shape = shape_of(tensor);
    made.is_of_file = true;
    read_quantization(tensor, has_data(file, tensor), made);
    return made;
  });
}

// Each element of its result is one of its inputs', or lies between some: what they are bounded by bounds it.
bool chooses_elements(const Draft& draft, const DraftNode& node) {
  const Int8Form form = traits(node.op).int8;
  return form == Int8Form::kMoves || form == Int8Form::kSelects || form == Int8Form::kJoins ||
         form == Int8Form::kCompares || form == Int8Form::kInterpolates ||
         draft.tensor(node.output()).dtype == DType::kS32;  // indices
}

}  // namespace

bool tflite_allows(const tflite::Tensor& tensor, const Shape& shape) {
  const auto* const signature = tensor.shape_signature();
  const Shape said = shape_of(tensor);
  if (said.empty()) return true;  // older converters record no shape where an axis is open
  if (said.size() != shape.size()) return false;
  const bool has_signature = signature != nullptr && signature->size() == shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    if (said[d] != shape[d] && !(has_signature && signature->Get(static_cast<uint32_t>(d)) == -1))
      return false;
  return true;
}

std::string tflite_tensor_name(const TfliteFile& file, int32_t tensor) {
  const auto* name = file.tensor(tensor).name();
  // Converters join the names of all that they fuse. Much that is made of an operator has its name: what is longer is cut.
  return name != nullptr && name->size() > 0 ? name->str().substr(0, kMaxFileNameBytes)
                                             : text("tensor_", tensor);
}

DraftTensor tflite_tensor(const TfliteFile& file, int32_t index) { return described(file, index, false); }

TfliteOp::TfliteOp(TfliteFile& file, const tflite::Operator& op, std::string source, const std::string& name,
                   bool has_output)
    : FileOperator(*file.draft, file.casts, name, std::move(source), name),
      file_(file),
      op_(op),
      first_node_(static_cast<std::ptrdiff_t>(file.draft->nodes.size())) {
  const auto count = static_cast<int32_t>(file.graph->tensors()->size());
  const auto take = [&](const flatbuffers::Vector<int32_t>* list, int32_t least,
                        std::vector<int32_t>& indices) {
    if (list == nullptr) return;
    for (const int32_t index : *list) {
      if (index < least || index >= count)
        fail("tensor index ", index, " does not exist; the file has ", count, " tensors");
      indices.push_back(index);
    }
  };
  take(op.inputs(), -1, inputs_);
  take(op.outputs(), 0, outputs_);
  if (outputs_.empty() && has_output) fail("it has no output");
}

void TfliteOp::check_inputs(size_t least, size_t most) const {
  if (inputs_.size() < least || inputs_.size() > most)
    fail("it has ", inputs_.size(), " inputs where ", least, " to ", most, " are expected");
}

const tflite::Tensor& TfliteOp::tensor(size_t input) const {
  if (!has_input(input)) fail("input ", input, " is missing");
  return file_.tensor(inputs_[input]);
}

bool TfliteOp::is_constant(size_t i) const {
  if (has_data(file_, tensor(i))) return true;
  const int32_t made = file_.made_of(inputs_[i]);
  return made >= 0 && file_.draft->tensor(made).constant;
}

int32_t TfliteOp::activation(size_t i) { return as_real(any_activation(i)); }

int32_t TfliteOp::any_activation(size_t i) {
  if (is_constant(i) && file_.evaluation != nullptr) return evaluated_input(i);
  if (is_constant(i))
    fail("input ", i, " (", quoted(tflite_tensor_name(file_, inputs_[i])), ") is a constant");
  const int32_t made = file_.made_of(inputs_[i]);
  if (made == TfliteFile::kFailed) throw ReadsFailed{};
  if (made == TfliteFile::kNotMade)
    fail("input ", i, " (", quoted(tflite_tensor_name(file_, inputs_[i])),
         tensor(i).is_variable() ? ") is a variable tensor, which is not supported"
                                 : ") is read before anything writes it");
  return made;
}

int32_t TfliteOp::activation_or_constant(size_t i) {
  if (!is_constant(i) || file_.evaluation != nullptr) return activation(i);
  return draft().put(is_plain_integer(tensor(i)) ? real_constant(i) : constant(i));
}

DraftTensor TfliteOp::constant(size_t i) const {
  (void)tensor(i);
  return tflite_constant(file_, inputs_[i]);
}

bool TfliteOp::is_empty(size_t i) const {
  const int32_t made = has_input(i) ? file_.made_of(inputs_[i]) : -1;
  return made >= 0 && file_.draft->tensor(made).constant && elements(file_.draft->tensor(made).shape) == 0;
}

int32_t TfliteOp::constant_of_graph(int32_t index) {
  const int32_t known = file_.made_of(index);
  if (known >= 0) return known;
  DraftTensor constant = tflite_constant(file_, index);
  const tflite::Tensor& source = file_.tensor(index);
  if (shape_of(source).empty()) constant.shape.clear();
  return draft().put(std::move(constant));
}

bool has_tflite_data(const TfliteFile& file, int32_t index) { return has_data(file, file.tensor(index)); }

// Bytes of an element in memory.
static uint64_t decoded_bytes(int8_t type) {
  return type == kTfliteUint8 || type == kTfliteInt8 || type == kTfliteInt4 ? 1 : 4;
}

DraftTensor tflite_constant(TfliteFile& file, int32_t index) {
  const tflite::Tensor& source = file.tensor(index);
  const int32_t known = file.made_of(index);
  if (known >= 0 && file.draft->tensor(known).constant) {
    file.draft->budget->spend_constant(file.draft->tensor(known).data.size() / 4, 4);
    DraftTensor folded = file.draft->tensor(known);
    if (folded.shape.empty()) folded.shape = {1};
    check_shape(folded.shape, folded.dtype);
    return folded;
  }
  DraftTensor made = described(file, index, true);
  with_name(file, index, [&] {
    if (!has_data(file, source)) fail("it must be a constant");
    if (made.shape.empty()) made.shape = {1};
    check_shape(made.shape, made.dtype);
    const bool is_moved =
        made.dtype == DType::kF32 && !made.scales.empty();  // by a zero point for each channel
    if (is_moved) made.dtype = DType::kS8;
    file.draft->budget->spend_constant(static_cast<uint64_t>(elements(made.shape)),
                                       is_moved ? sizeof(float) : decoded_bytes(source.type()));
    made.constant = true;
    made.data = tflite_bytes(source, made.shape, stored_data(file, source));
    convert_stored(source.type(), made);
    if (!is_moved) return;
    const std::vector<int32_t> zero_points = channel_zero_points(source);
    const size_t behind = elements_behind(made.shape, made.axis);
    std::vector<int32_t> steps;
    for (const int8_t code : values_of<int8_t>(made))
      steps.push_back(code - zero_points[steps.size() / behind % zero_points.size()]);
    set_reals_on_grid(made, steps);
  });
  return made;
}

std::vector<int64_t> TfliteOp::integers(size_t i) const {
  const tflite::Tensor& source = tensor(i);
  const int32_t known = file_.made_of(inputs_[i]);
  const size_t size = source.type() == kTfliteInt64 ? 8 : 4;
  std::vector<int64_t> values;
  with_name(file_, inputs_[i], [&] {
    if (source.type() != kTfliteInt32 && source.type() != kTfliteInt64) fail("it must hold int32 or int64");
    if (known >= 0 && file_.draft->tensor(known).constant) {
      file_.draft->budget->spend_constant(file_.draft->tensor(known).data.size() / 4, sizeof(int64_t));
      for (const int32_t value : values_of<int32_t>(file_.draft->tensor(known))) values.push_back(value);
      return;
    }
    if (!has_data(file_, source)) fail("it must be a constant");
    if (source.sparsity() != nullptr) fail("sparse integers are not supported");
    const Span<const uint8_t> data = stored_data(file_, source);
    if (data.size % size != 0 || data.size / size > kMaxIntegers) fail("it holds ", data.size, " bytes");
    file_.draft->budget->spend_constant(data.size / size, sizeof(int64_t));
    for (size_t at = 0; at < data.size; at += size) {
      int64_t wide = 0;
      int32_t small = 0;
      std::memcpy(size == 8 ? static_cast<void*>(&wide) : &small, data.data + at, size);
      values.push_back(size == 8 ? wide : small);
    }
    if (!is_count_of(shape_of(source), values.size()))
      fail("its shape ", shape_text(shape_of(source)), " does not fit what it holds");
  });
  return values;
}

bool TfliteOp::holds_numbers() const {
  const auto is_number = [](int8_t type) {
    return type == kTfliteFloat32 || type == kTfliteFloat16 || type == kTfliteInt32 || type == kTfliteInt64;
  };
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (has_input(i) && (!is_number(tensor(i).type()) || !is_constant(i))) return false;
  return is_number(file_.tensor(outputs_[0]).type());
}

Shape TfliteOp::shape_in_file(size_t i) const { return shape_of(tensor(i)); }

Values TfliteOp::values(size_t i) const {
  const tflite::Tensor& source = tensor(i);
  const int32_t known = file_.made_of(inputs_[i]);
  Values values;
  values.shape = known >= 0 ? file_.draft->tensor(known).shape : shape_of(source);
  values.is_real = source.type() == kTfliteFloat32 || source.type() == kTfliteFloat16;
  if (values.is_real) values.reals = values_of<float>(constant(i));
  if (!values.is_real) values.integers = integers(i);
  with_name(file_, inputs_[i], [&] {
    check_folded_size(values.shape);
    const auto count = static_cast<size_t>(elements(values.shape));
    if (count != values.reals.size() + values.integers.size())
      fail("its shape ", shape_text(values.shape), " does not fit what it holds");
  });
  return values;
}

Shape TfliteOp::output_shape_in_file() const { return shape_of(file_.tensor(outputs_[0])); }

int32_t TfliteOp::output(const Shape& shape, size_t i) {
  if (outputs_.size() != 1 && !many_outputs_)
    fail("it has ", outputs_.size(), " outputs where 1 is expected");
  const tflite::Tensor& in_file = file_.tensor(outputs_[i]);
  DraftTensor made = tflite_tensor(file_, outputs_[i]);
  if (made.dtype == DType::kS8 && made.scales.empty()) take_plain_numbers(made);
  if (made.dtype == DType::kS32) {  // a run computes with integers in FP32
    made.dtype = DType::kF32;
    made.scales.clear();
    made.zero_point = 0;
    made.axis = -1;
  }
  if (made.dtype == DType::kS8 && made.scales.size() != 1)
    fail("tensor ", quoted(made.name), " is int8 and needs one scale, it has ", made.scales.size());
  check_shape(shape, made.dtype);
  check_output(shape, i);
  made.shape = shape;
  int32_t& index = file_.made_of(outputs_[i]);
  if (index != TfliteFile::kNotMade) fail("tensor ", quoted(made.name), " is written twice, or is an input");
  if (has_data(file_, in_file)) fail("tensor ", quoted(made.name), " is a constant and must not be written");
  index = draft().put(std::move(made));
  return index;
}

int32_t TfliteOp::output_of_type(int32_t x, const Shape& shape, size_t i) {
  const int32_t made = output(shape, i);
  if (draft().tensor(made).dtype != draft().tensor(x).dtype)
    fail("its output has another element type than its input");
  return made;
}

int32_t as_tflite_s16(TfliteFile& file, int32_t index, int32_t made, const std::string& source) {
  const DraftTensor codes = described(file, index, true);
  if (codes.scales.size() != 1) return made;
  return add_within_s16({*file.draft, codes.name, source}, made, codes.scales[0], codes.zero_point, 0);
}

void TfliteOp::round_outputs() {
  const bool chooses = std::all_of(draft().nodes.begin() + first_node_, draft().nodes.end(),
                                   [&](const DraftNode& node) { return chooses_elements(draft(), node); });
  for (const int32_t output : outputs_) {
    const tflite::Tensor& in_file = file_.tensor(output);
    int32_t& made = file_.made_of(output);
    if (in_file.type() != kTfliteInt16 || made < 0 || draft().tensor(made).constant) continue;
    const DraftTensor codes = described(file_, output, true);
    bool same_scale = true;
    for (size_t i = 0; i < inputs_.size(); ++i)
      same_scale = same_scale && (!has_input(i) || holds_integers(i) ||  // a shape, axes, indices
                                  described(file_, inputs_[i], true).scales == codes.scales);
    if (!chooses || !same_scale) made = as_tflite_s16(file_, output, made, source());
  }
}

// Integers in an operator's view.

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

void TfliteOp::set_made(size_t i, int32_t tensor) {
  int32_t& made = file_.made_of(outputs_[i]);
  if (made != TfliteFile::kNotMade) fail("its output is written twice, or is an input");
  made = tensor;
}

void TfliteOp::set_index_output(int32_t made, size_t i) {
  const DraftTensor in_file = tflite_tensor(file_, outputs_.at(i));
  if (in_file.dtype != DType::kS32) fail("its output must hold int32 or int64");
  set_number_output(made, i);
}

void TfliteOp::set_number_output(int32_t made, size_t i) {
  const DraftTensor in_file = tflite_tensor(file_, outputs_.at(i)), &from = draft().tensor(made);
  const bool is_allowed = in_file.shape.empty() || tflite_allows(file_.tensor(outputs_[i]), from.shape);
  if (!is_allowed && !file_.shapes_changed)
    fail("its output is ", shape_text(in_file.shape), " in the file, its inputs give ",
         shape_text(from.shape));
  set_made(i, made);
}

bool TfliteOp::output_is_real() const { return file_.tensor(outputs_[0]).type() == 0; }

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
  const int32_t made = file_.made_of(inputs_[0]);
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

bool TfliteOp::output_is_unsigned() const { return file_.tensor(outputs_.at(0)).type() == kTfliteUint8; }

bool TfliteOp::output_holds_integers(size_t i) const {
  return tflite_tensor(file_, outputs_.at(i)).dtype == DType::kS32;
}

int32_t TfliteOp::index_activation(size_t i) {
  const int32_t tensor = any_activation(i);
  if (!holds_integers(i)) fail("input ", i, " must hold integers");
  return as_index(tensor);
}

// Outputs of an operator: their shape in the file, and those that are another tensor, a constant, or have its input's scale.
void TfliteOp::set_values(const Values& values) {
  DraftTensor constant;
  constant.name = name();
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
  const tflite::Tensor& in_file = file_.tensor(outputs_[i]);
  const Shape of_file = tflite_tensor(file_, outputs_[i]).shape;
  const bool is_number = of_file.empty() && shape == Shape{1};  // which has no axis in the file
  if (!is_number && !tflite_allows(in_file, shape) && !file_.shapes_changed)
    fail("its output is ", shape_text(of_file), " in the file, its inputs give ", shape_text(shape));
}

int32_t TfliteOp::output_same(int32_t x, const Shape& shape, size_t i) {
  const int32_t made = output_of_type(x, shape, i);
  const DraftTensor& to = draft().tensor(made);
  same_to_ = -1;
  if (to.same_quantization(draft().tensor(x))) return made;
  same_to_ = made;
  same_from_ = add_activation_like(draft(), name(), x, shape);
  return same_from_;
}

void TfliteOp::finish_same() {
  if (same_to_ >= 0) add_requantize(origin(), same_from_, same_to_);
}

void TfliteOp::set_moved(int32_t x, int32_t moved, const Shape& shape) {
  add(Op::kReshape, {moved}, output_same(x, shape));
  finish_same();
}

void TfliteOp::alias_output(int32_t made) {
  const DraftTensor output = tflite_tensor(file_, outputs_.at(0)), &from = draft().tensor(made);
  if (output.dtype != from.dtype || output.shape != from.shape || !output.same_quantization(from))
    fail("its output ", shape_text(output.shape), " differs from what was assigned, ", shape_text(from.shape),
         ", in shape, type or scale");
  set_made(0, made);
}

void TfliteOp::set_constant(DraftTensor constant) {
  if (outputs_.size() != 1) fail("it has ", outputs_.size(), " outputs where 1 is expected");
  set_made(0, draft().put(std::move(constant)));
}

}  // namespace intaglio::importers
