#include "importers/openvino/ir_op.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "calibrator/host/system/half.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

namespace {

using Type = onnx_file::TensorProto;

// How the file writes an element type, and ONNX's for it.
struct ElementType {
  const char* name;
  Type::DataType type;
  size_t bytes;
};
constexpr ElementType kElementTypes[] = {
    {"f32", Type::FLOAT, 4},  {"f16", Type::FLOAT16, 2}, {"f64", Type::DOUBLE, 8}, {"i64", Type::INT64, 8},
    {"i32", Type::INT32, 4},  {"i16", Type::INT16, 2},   {"i8", Type::INT8, 1},    {"u8", Type::UINT8, 1},
    {"u16", Type::UINT16, 2}, {"u32", Type::UINT32, 4},  {"u64", Type::UINT64, 8}, {"boolean", Type::BOOL, 1},
};

const ElementType& element_type(const std::string& name) {
  for (const ElementType& type : kElementTypes)
    if (name == type.name) return type;
  fail("element type ", quoted(name), " is not supported");
}

int64_t count_of(const IrShape& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape)
    if (dim < 0 || (dim > 0 && count > INT32_MAX / dim))
      fail("its shape is open, or too large");
    else
      count *= dim;
  return count;
}

// The bytes of a Const in the .bin file, or what its narrow type was decoded to.
struct ConstantBytes {
  ElementType type;
  IrShape shape;
  const uint8_t* data = nullptr;
  size_t size = 0;
  std::vector<uint8_t> decoded;
};

ConstantBytes bytes_of(const IrGraph& file, const IrLayer& layer) {
  const auto attribute = [&](const char* name) -> const std::string& {
    const auto found = layer.attributes.find(name);
    if (found == layer.attributes.end()) fail("constant ", quoted(layer.name), " has no ", name);
    return found->second;
  };
  const auto number = [&](const char* name) {
    const std::string& text = attribute(name);
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size())
      fail("constant ", quoted(layer.name), " has the ", name, " ", quoted(text), ", which is no number");
    return value;
  };
  const std::string& type = attribute("element_type");
  const IrNarrowType* const narrow_type = find_ir_narrow_type(type);
  const ElementType known = narrow_type == nullptr ? element_type(type)
                                                   : ElementType{narrow_type->name,
                                                                 narrow_type->is_real     ? Type::FLOAT
                                                                 : narrow_type->is_signed ? Type::INT8
                                                                                          : Type::UINT8,
                                                                 narrow_type->is_real ? sizeof(float) : 1};
  ConstantBytes constant{known, ir_numbers(attribute("shape")), nullptr, 0, {}};
  const uint64_t offset = number("offset"), size = number("size");
  if (file.weights.empty())
    fail("constant ", quoted(layer.name),
         " stands in the file of weights, .bin, which has to lie beside the .xml");
  if (size > file.weights.size || offset > file.weights.size - size)
    fail("constant ", quoted(layer.name), " ends at byte ", offset + size, " of the .bin file, which has ",
         file.weights.size, "; is it of another .xml?");
  const auto count = static_cast<uint64_t>(count_of(constant.shape));
  if (size != (narrow_type == nullptr ? count * constant.type.bytes : ir_narrow_bytes(*narrow_type, count)))
    fail("constant ", quoted(layer.name), " has ", size, " bytes for ", count_of(constant.shape),
         " elements of ", constant.type.name);
  constant.data = file.weights.data + offset;
  constant.size = static_cast<size_t>(size);
  if (narrow_type == nullptr) return constant;
  file.check_room(count, constant.type.bytes);
  constant.decoded = decoded_ir_values(*narrow_type, constant.data, count);
  constant.data = constant.decoded.data();
  constant.size = constant.decoded.size();
  return constant;
}

template <typename T>
double read_as(const uint8_t* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return static_cast<double>(value);
}

double value_at(const ConstantBytes& constant, size_t i) {
  const uint8_t* const place = constant.data + i * constant.type.bytes;
  switch (constant.type.type) {
    case Type::FLOAT:
      return read_as<float>(place);
    case Type::DOUBLE:
      return read_as<double>(place);
    case Type::FLOAT16: {
      uint16_t bits;
      std::memcpy(&bits, place, sizeof bits);
      return static_cast<double>(real_of_half(bits));
    }
    case Type::INT64:
      return read_as<int64_t>(place);
    case Type::INT32:
      return read_as<int32_t>(place);
    case Type::INT16:
      return read_as<int16_t>(place);
    case Type::INT8:
      return read_as<int8_t>(place);
    case Type::UINT16:
      return read_as<uint16_t>(place);
    case Type::UINT32:
      return read_as<uint32_t>(place);
    case Type::UINT64:
      return read_as<uint64_t>(place);
    default:
      return *place;  // u8, boolean
  }
}

}  // namespace

std::string IrGraph::unique(std::string name) {
  if (name.empty()) name = "tensor";
  if (shared->taken.insert(name).second) return name;
  int64_t& number = shared->last_numbers[name];  // a file may ask for one name often
  std::string free;
  do free = text(name, "~", ++number);
  while (!shared->taken.insert(free).second);
  return free;
}

void IrGraph::check_room(uint64_t count, size_t bytes_each) const {
  shared->budget->check_memory(count * bytes_each, "a constant that it needs");
}

void IrGraph::count_constant(uint64_t count, size_t bytes_each) {
  shared->budget->spend_constant(count, bytes_each);
}

IrOp::IrOp(IrGraph& file, int32_t layer)
    : file_(file), index_(layer), layer_(file.layers[static_cast<size_t>(layer)]) {}

void IrOp::check_inputs(size_t least, size_t most) const {
  if (input_count() < least || input_count() > most)
    fail("it has ", input_count(), " inputs where ", least, " to ", most, " are expected");
  for (size_t i = 0; i < least; ++i)
    if (!has_input(i)) fail("its input ", i, " has no edge");
}

const IrShape& IrOp::input_shape(size_t i) const {
  if (!has_input(i)) fail("it has no input ", i);
  return writer(i).outputs[static_cast<size_t>(layer_.inputs[i].port)].shape;
}

const IrShape& IrOp::output_shape(size_t i) const {
  if (i >= layer_.outputs.size()) fail("it has no output ", i);
  return layer_.outputs[i].shape;
}

bool IrOp::is_read(size_t i) const {
  return std::any_of(file_.layers.begin(), file_.layers.end(), [&](const IrLayer& layer) {
    return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const IrSource& source) {
      return source.layer == index_ && source.port == static_cast<int32_t>(i);
    });
  });
}

std::string IrOp::input(size_t i) {
  if (!has_input(i)) fail("it has no input ", i);
  return name_of(layer_.inputs[i]);
}

std::string IrOp::name_of(const IrSource& source) {
  if (file_.failed.count(source.layer) != 0) throw ReadsFailed();
  const auto found = file_.names.find({source.layer, source.port});
  if (found != file_.names.end()) return found->second;
  const IrLayer& from = file_.layers[static_cast<size_t>(source.layer)];
  if (from.type != "Const") fail("it reads what layer ", quoted(from.name), " does not give");
  std::string name = reshaped_constant(
      source, ir_numbers(from.attributes.count("shape") != 0 ? from.attributes.at("shape") : std::string()));
  file_.names[{source.layer, source.port}] = name;
  return name;
}

std::string IrOp::reshaped_constant(const IrSource& source, const IrShape& shape) {
  const IrLayer& from = file_.layers[static_cast<size_t>(source.layer)];
  std::string& made = file_.constants[{source.layer, shape}];
  if (!made.empty()) return made;
  const ConstantBytes constant = bytes_of(file_, from);
  if (count_of(shape) != count_of(constant.shape))
    fail("constant ", quoted(from.name), " does not fit its reader");
  file_.count_constant(constant.size,
                       1);  // layers may read the same bytes in many shapes, and each is a copy
  auto& tensor = file_.graph->initializer.add();
  tensor.name = file_.unique(from.name);
  tensor.data_type = constant.type.type;
  for (const int64_t dim : shape) tensor.dims.push_back(dim);
  tensor.raw_data.set(constant.data, constant.size);
  return made = tensor.name;
}

std::string IrOp::output(size_t i) {
  if (i >= layer_.outputs.size()) fail("it has no output ", i);
  std::string& name = file_.names[{index_, static_cast<int32_t>(i)}];
  if (name.empty()) {
    const std::string own = layer_.outputs[i].name;
    name = file_.unique(!own.empty() ? own : i == 0 ? layer_.name : layer_.name + "." + std::to_string(i));
  }
  return name;
}

int32_t IrOp::constant_layer(const IrSource& source) const {
  static constexpr const char* kKeeping[] = {"Convert", "Reshape", "Squeeze", "Unsqueeze"};
  constexpr int kMostSteps = 16;
  IrSource at = source;
  for (int step = 0; at.layer >= 0 && step < kMostSteps; ++step) {
    const IrLayer& from = file_.layers[static_cast<size_t>(at.layer)];
    if (from.type == "Const") return at.layer;
    const bool keeps = std::any_of(std::begin(kKeeping), std::end(kKeeping),
                                   [&](const char* type) { return from.type == type; });
    if (!keeps || from.inputs.empty()) return -1;
    at = from.inputs[0];
  }
  return -1;
}

// Numbers that follow from shapes: ShapeOf, and Squeeze and Range of such numbers, as read_model() leaves the axes of a reduction.
std::optional<IrConstant> IrOp::numbers_of_shapes(const IrSource& source, int steps) const {
  constexpr double kMostNumbers = 64;
  if (source.layer < 0 || steps == 0) return std::nullopt;
  const IrLayer& layer = file_.layers[static_cast<size_t>(source.layer)];
  std::vector<IrConstant> inputs;
  if (layer.type == "ShapeOf" && layer.inputs.size() == 1 && layer.inputs[0].layer >= 0) {
    const IrSource& of = layer.inputs[0];
    const IrShape& shape =
        file_.layers[static_cast<size_t>(of.layer)].outputs[static_cast<size_t>(of.port)].shape;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; })) return std::nullopt;
    return IrConstant{{static_cast<int64_t>(shape.size())}, {shape.begin(), shape.end()}};
  }
  if (layer.type != "Range" && layer.type != "Squeeze") return std::nullopt;
  for (const IrSource& input : layer.inputs) {
    auto found = find_constant(input, steps - 1);
    if (!found) return std::nullopt;
    inputs.push_back(std::move(*found));
  }
  if (layer.type == "Squeeze") {
    if (inputs.empty() || inputs[0].values.size() != 1) return std::nullopt;
    return IrConstant{{}, inputs[0].values};
  }
  if (inputs.size() != 3) return std::nullopt;
  for (const IrConstant& input : inputs)
    if (input.values.size() != 1) return std::nullopt;
  const double start = inputs[0].values[0], stop = inputs[1].values[0], step = inputs[2].values[0];
  const double count = (stop - start) / step;
  if (!(count > 0 && count <= kMostNumbers)) return std::nullopt;
  IrConstant made{{0}, {}};
  for (double i = 0; i < count; ++i) made.values.push_back(start + i * step);
  made.shape[0] = static_cast<int64_t>(made.values.size());
  return made;
}

std::optional<IrConstant> IrOp::find_constant(const IrSource& source) const {
  constexpr int kMostSteps = 16;
  return find_constant(source, kMostSteps);
}

std::optional<IrConstant> IrOp::find_constant(const IrSource& source, int steps) const {
  const int32_t layer = constant_layer(source);
  if (layer < 0) return numbers_of_shapes(source, steps);
  const ConstantBytes bytes = bytes_of(file_, file_.layers[static_cast<size_t>(layer)]);
  IrConstant constant{bytes.shape, {}};
  const auto count = static_cast<size_t>(count_of(bytes.shape));
  for (size_t i = 0; i < count; ++i) constant.values.push_back(value_at(bytes, i));
  const IrLayer& last = file_.layers[static_cast<size_t>(source.layer)];
  if (last.type == "Const" || last.outputs.empty()) return constant;
  const IrShape& shape = last.outputs[static_cast<size_t>(source.port)].shape;
  if (count_of(shape) != static_cast<int64_t>(count))
    fail("constant ", quoted(last.name), " changes its size");
  constant.shape = shape;
  return constant;
}

IrConstant IrOp::constant(size_t i) const {
  if (!has_input(i)) fail("it has no input ", i);
  auto found = find_constant(layer_.inputs[i]);
  if (!found) fail("its input ", i, " is computed by a run; only a constant is supported");
  return *found;
}

std::vector<int64_t> IrOp::whole_numbers(size_t i) const {
  std::vector<int64_t> list;
  constexpr double kEnd = 9223372036854775808.0;  // as a real the greatest integer is one more
  for (const double value : constant(i).values) {
    if (!(value >= -kEnd && value <= kEnd)) fail("its input ", i, " holds ", value, ", which is no index");
    list.push_back(value == kEnd ? INT64_MAX : static_cast<int64_t>(value));
  }
  return list;
}

int64_t IrOp::whole_number(size_t i) const {
  const std::vector<int64_t> list = whole_numbers(i);
  if (list.size() != 1) fail("its input ", i, " has ", list.size(), " numbers where 1 is expected");
  return list[0];
}

float IrOp::real_number(size_t i) const {
  const IrConstant given = constant(i);
  if (given.values.size() != 1)
    fail("its input ", i, " has ", given.values.size(), " numbers where 1 is expected");
  return static_cast<float>(given.values[0]);
}

// ---- attributes

std::string IrOp::word(const char* name, const char* otherwise) const {
  read_.insert(name);
  const auto found = layer_.attributes.find(name);
  return found == layer_.attributes.end() ? otherwise : found->second;
}

int64_t IrOp::integer(const char* name, int64_t otherwise) const {
  const std::vector<int64_t> list = integers(name);
  if (list.empty()) return otherwise;
  if (list.size() != 1) fail("attribute ", name, " has ", list.size(), " numbers where 1 is expected");
  return list[0];
}

double IrOp::real(const char* name, double otherwise) const {
  const std::string text = word(name, "");
  if (text.empty()) return otherwise;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    fail("attribute ", name, " is ", quoted(text), ", which is no number");
  return value;
}

bool IrOp::flag(const char* name, bool otherwise) const {
  const std::string text = word(name, otherwise ? "true" : "false");
  if (text == "true" || text == "1") return true;
  if (text != "false" && text != "0")
    fail("attribute ", name, " is ", quoted(text), ", neither true nor false");
  return false;
}

std::vector<int64_t> IrOp::integers(const char* name) const { return ir_numbers(word(name, "")); }

void IrOp::expect(const char* name, std::initializer_list<const char*> values) const {
  const std::string text = word(name, *values.begin());
  for (const char* const value : values)
    if (text == value) return;
  fail("attribute ", name, " is ", quoted(text), ", which is not supported");
}

void IrOp::check_all_read() const {
  for (const auto& [name, value] : layer_.attributes)
    if (read_.count(name) == 0) fail("attribute ", quoted(name), " is not supported");
}

// ---- building

std::string IrOp::add(const char* op_type, const std::vector<std::string>& inputs,
                      const Attributes& attributes, const std::string& output_name, const char* domain) {
  if (++file_.shared->nodes > kMaxMadeNodes)
    fail("it and layers before it become more than ", kMaxMadeNodes, " nodes together");
  uint64_t names = layer_.name.size() + output_name.size();
  for (const std::string& name : inputs) names += name.size();
  file_.shared->budget->spend_memory(
      sizeof(onnx_file::NodeProto) + inputs.size() * sizeof(std::string) + names,
      "a node that it is made of");
  auto& node = file_.graph->node.add();
  node.op_type = op_type;
  node.name = layer_.name;
  node.domain = domain;
  for (const std::string& input : inputs) node.input.push_back(input);
  node.output.push_back(output_name.empty() ? output() : output_name);
  add_attributes(node, attributes);
  return node.output[0];
}

std::string IrOp::add_inner(const char* op_type, const std::vector<std::string>& inputs,
                            const Attributes& attributes) {
  return add(op_type, inputs, attributes, file_.unique(layer_.name + "/" + op_type));
}

std::string IrOp::reshaped(const std::string& x, const IrShape& shape) {
  return add_inner("Reshape", {x, integers_constant(shape)});
}

std::string IrOp::transposed(const std::string& x, const std::vector<int64_t>& order) {
  return add_inner("Transpose", {x}, {{"perm", order}});
}

std::string IrOp::with_axis(const std::string& x, int64_t axis) {
  return add_inner("Unsqueeze", {x, integers_constant({axis})});
}

onnx_file::NodeProto& IrOp::last_node() { return file_.graph->node[file_.graph->node.count() - 1]; }

void IrOp::alias(const std::string& name, size_t i) { file_.names[{index_, static_cast<int32_t>(i)}] = name; }

std::string IrOp::floats(const std::vector<float>& values, const IrShape& shape) {
  file_.count_constant(values.size(), sizeof(float));
  auto& tensor = file_.graph->initializer.add();
  tensor.name = file_.unique(layer_.name + "/constant");
  tensor.data_type = Type::FLOAT;
  for (const int64_t dim : shape) tensor.dims.push_back(dim);
  for (const float value : values) tensor.float_data.push_back(value);
  return tensor.name;
}

std::string IrOp::integers_constant(const std::vector<int64_t>& list) {
  file_.count_constant(list.size(), sizeof(int64_t));
  auto& tensor = file_.graph->initializer.add();
  tensor.name = file_.unique(layer_.name + "/constant");
  tensor.data_type = Type::INT64;
  tensor.dims.push_back(static_cast<int64_t>(list.size()));
  for (const int64_t value : list) tensor.int64_data.push_back(value);
  return tensor.name;
}

const IrOperator* find_ir_operator(const std::string& type) {
  for (const Span<const IrOperator> list :
       {ir_composed_operators(), ir_elementwise_operators(), ir_indexed_operators(), ir_layer_operators(),
        ir_loop_operators(), ir_quantized_operators(), ir_state_operators(), ir_shape_operators()})
    for (const IrOperator& known : list)
      if (type == known.type) return &known;
  return nullptr;
}

namespace {

constexpr IrNarrowType kNarrowTypes[] = {{"u2", 4, 1, false, false},   {"u3", 8, 3, false, false},
                                         {"u4", 2, 1, false, false},   {"u6", 4, 3, false, false},
                                         {"i4", 2, 1, false, true},    {"nf4", 2, 1, true, true},
                                         {"f4e2m1", 2, 1, true, true}, {"f8e4m3", 1, 1, true, true},
                                         {"f8e5m2", 1, 1, true, true}, {"f8e8m0", 1, 1, true, false}};

// The quantiles of a normal distribution that QLoRA's data type holds.
constexpr float kNormalFloats[] = {-1.0f,
                                   -0.6961928009986877f,
                                   -0.5250730514526367f,
                                   -0.39491748809814453f,
                                   -0.28444138169288635f,
                                   -0.18477343022823334f,
                                   -0.09105003625154495f,
                                   0.0f,
                                   0.07958029955625534f,
                                   0.16093020141124725f,
                                   0.24611230194568634f,
                                   0.33791524171829224f,
                                   0.44070982933044434f,
                                   0.5626170039176941f,
                                   0.7229568362236023f,
                                   1.0f};

// Element i of a row of `each` bits, the first in the highest ones of its byte.
int32_t from_the_top(const uint8_t* bytes, uint64_t i, int32_t each) {
  const auto in_byte = static_cast<uint64_t>(8 / each);
  const int32_t shift = 8 - each * static_cast<int32_t>(i % in_byte + 1);
  return bytes[i / in_byte] >> shift & ((1 << each) - 1);
}

// 8 values of 3 bits: their lower two in the first two bytes, the upper one in the third. Of 4 of 6 bits: their lower
// four in the first two, and the upper two in the third.
int32_t split_code(const IrNarrowType& type, const uint8_t* data, uint64_t i) {
  const auto values = static_cast<uint64_t>(type.values);
  const uint8_t* const group = data + i / values * 3;
  const uint64_t place = i % values;
  const int32_t low_bits = 16 / type.values, high_bits = 8 / type.values;
  const int32_t low = from_the_top(group, place, low_bits), high = from_the_top(group + 2, place, high_bits);
  return high << low_bits | low;
}

int32_t code_at(const IrNarrowType& type, const uint8_t* data, uint64_t i) {
  if (type.bytes == 3) return split_code(type, data, i);
  if (type.values == 4) return data[i / 4] >> (2 * (i % 4)) & 3;
  if (type.values == 1) return data[i];
  const int32_t code = i % 2 == 0 ? data[i / 2] & 15 : data[i / 2] >> 4;
  return type.is_signed && !type.is_real && code > 7 ? code - 16 : code;
}

float real_of(const std::string& type, int32_t code) {
  if (type == "nf4") return kNormalFloats[code];
  return real_of_small_float(code, type == "f4e2m1"   ? SmallFloat::kE2M1
                                   : type == "f8e4m3" ? SmallFloat::kE4M3
                                   : type == "f8e5m2" ? SmallFloat::kE5M2
                                                      : SmallFloat::kE8M0);
}

}  // namespace

const IrNarrowType* find_ir_narrow_type(const std::string& name) {
  for (const IrNarrowType& type : kNarrowTypes)
    if (name == type.name) return &type;
  return nullptr;
}

std::vector<uint8_t> decoded_ir_values(const IrNarrowType& type, const uint8_t* data, uint64_t count) {
  const size_t each = type.is_real ? sizeof(float) : 1;
  std::vector<uint8_t> decoded(static_cast<size_t>(count) * each);
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t code = code_at(type, data, i);
    if (!type.is_real) {
      decoded[i] = static_cast<uint8_t>(code);
      continue;
    }
    const float value = real_of(type.name, code);
    std::memcpy(decoded.data() + i * each, &value, each);
  }
  return decoded;
}

}  // namespace intaglio::importers
