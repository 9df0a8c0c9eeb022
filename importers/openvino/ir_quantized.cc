// Quantized layers of an OpenVINO IR: FakeQuantize, and weights that are stored as codes.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

const IrLayer* layer_at(IrOp& op, const IrSource& source) {
  return source.layer < 0 ? nullptr : &op.file().layers[static_cast<size_t>(source.layer)];
}

std::string element_type_of(const IrLayer& layer) {
  const auto found = layer.attributes.find("element_type");
  return found == layer.attributes.end() ? std::string() : found->second;
}

// Whether a constant of the type becomes one of int8 or uint8, which then is unsigned.
bool is_code(const std::string& type) {
  const IrNarrowType* const narrow = find_ir_narrow_type(type);
  return type == "i8" || type == "u8" || (narrow != nullptr && !narrow->is_real);
}
bool is_unsigned(const std::string& type) { return type[0] == 'u'; }

// Convert of a constant of up to 8 bits; the constant.
std::optional<IrSource> find_codes(IrOp& op, const IrSource& source) {
  const IrLayer* const convert = layer_at(op, source);
  if (convert == nullptr || convert->type != "Convert" || convert->inputs.empty()) return std::nullopt;
  const IrLayer* const constant = layer_at(op, convert->inputs[0]);
  if (constant == nullptr || constant->type != "Const") return std::nullopt;
  if (!is_code(element_type_of(*constant))) return std::nullopt;
  return convert->inputs[0];
}

// (codes - zero points) * scales, as NNCF stores weights.
struct StoredWeights {
  IrSource codes;
  IrShape shape;
  std::vector<float> scales, zero_points;
  IrShape scale_shape, zero_shape;  // the axis of several is the one that is not 1
};

std::optional<StoredWeights> find_stored(IrOp& op, const IrLayer& multiply) {
  if (multiply.type != "Multiply" || multiply.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto scales = op.find_constant(multiply.inputs[1 - side]);
    const IrLayer* const inner = layer_at(op, multiply.inputs[side]);
    if (!scales || inner == nullptr || scales->values.empty()) continue;
    auto codes = find_codes(op, multiply.inputs[side]);
    std::optional<IrConstant> zeros;
    if (!codes && inner->type == "Subtract" && inner->inputs.size() == 2) {
      codes = find_codes(op, inner->inputs[0]);
      zeros = op.find_constant(inner->inputs[1]);
      if (!zeros) continue;
    }
    if (!codes) continue;
    const IrLayer& constant = *layer_at(op, *codes);
    if (constant.outputs.empty()) continue;
    StoredWeights found{*codes, constant.outputs[0].shape, {}, {}, scales->shape, {}};
    for (const double value : scales->values) found.scales.push_back(static_cast<float>(value));
    if (!zeros) return found;
    found.zero_shape = zeros->shape;
    for (const double value : zeros->values) found.zero_points.push_back(static_cast<float>(value));
    return found;
  }
  return std::nullopt;
}

// Which axis of weights has a scale for each index; -1: one for all; kSeveralAxes: they differ along more. Shapes are aligned at
// their ends.
constexpr int64_t kSeveralAxes = -2;
int64_t scale_axis(const IrShape& weights, const IrShape& scales, size_t count) {
  if (count == 1) return -1;
  if (scales.size() > weights.size()) fail("its scales have more axes than the weights");
  const size_t missing = weights.size() - scales.size();
  int64_t axis = -1;
  for (size_t d = 0; d < scales.size(); ++d) {
    if (scales[d] == 1) continue;
    if (scales[d] != weights[missing + d])
      fail("its scales do not fit the weights: ", scales[d], " along an axis of ", weights[missing + d]);
    axis = axis == -1 ? static_cast<int64_t>(missing + d) : kSeveralAxes;
  }
  if (axis == -1) fail("its ", count, " scales have no axis");
  return axis;
}

// A number for each of the weights, of numbers that are repeated along axes of 1.
std::vector<float> repeated(IrOp& op, const std::vector<float>& values, const IrShape& from,
                            const IrShape& weights) {
  size_t count = 1;
  for (const int64_t dim : weights) count *= static_cast<size_t>(dim);
  op.file().check_room(count, sizeof(float));
  std::vector<float> all;
  all.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    size_t at = 0, step = 1, rest = i;
    for (size_t d = 0; d < weights.size(); ++d) {  // from the last axis on
      const auto dim = static_cast<size_t>(weights[weights.size() - 1 - d]);
      const size_t own = d < from.size() ? static_cast<size_t>(from[from.size() - 1 - d]) : 1;
      if (own != 1) at += rest % dim * step;
      step *= own;
      rest /= dim;
    }
    all.push_back(values.at(at));
  }
  return all;
}

// Weights whose zero points are no codes: FP32.
std::string add_real_weights(IrOp& op, const StoredWeights& stored, const IrShape& shape,
                             const std::string& output) {
  const auto codes = op.find_constant(stored.codes);
  if (!codes) fail("its codes are computed by a run");
  const std::vector<float> scales = repeated(op, stored.scales, stored.scale_shape, stored.shape),
                           zeros = repeated(op, stored.zero_points, stored.zero_shape, stored.shape);
  std::vector<float> values(codes->values.begin(), codes->values.end());
  for (size_t i = 0; i < values.size(); ++i) values[i] = (values[i] - zeros[i]) * scales[i];
  return op.add("Identity", {op.floats(values, shape)}, {}, output);
}

// The channels of weights with another shape: as many, along the first axis.
int64_t axis_in(const IrShape& shape, const IrShape& original, int64_t axis, size_t count) {
  if (axis < 0 || shape == original) return axis;
  if (shape.empty() || shape[0] != static_cast<int64_t>(count))
    fail("its ", count, " scales do not fit weights that another layer reads in another shape");
  return 0;
}

std::string add_dequantized(IrOp& op, const StoredWeights& stored, const IrShape& shape,
                            const std::string& output) {
  const bool has_no_sign = is_unsigned(element_type_of(*layer_at(op, stored.codes)));
  const auto is_code = [&](float zero) {
    return zero >= (has_no_sign ? 0.0f : -128.0f) && zero <= (has_no_sign ? 255.0f : 127.0f) &&
           zero == static_cast<float>(static_cast<int32_t>(zero));
  };
  if (!std::all_of(stored.zero_points.begin(), stored.zero_points.end(), is_code))
    return add_real_weights(op, stored, shape, output);
  const int64_t own = scale_axis(stored.shape, stored.scale_shape, stored.scales.size());
  if (!stored.zero_points.empty()) scale_axis(stored.shape, stored.zero_shape, stored.zero_points.size());
  std::vector<float> scales = stored.scales, zero_points = stored.zero_points;
  IrShape scale_shape;
  OnnxAttributes attributes;
  if (own == kSeveralAxes || (zero_points.size() > 1 && zero_points.size() != scales.size())) {
    // As those of groups do: blocks of one, each with its own.
    scales = repeated(op, scales, stored.scale_shape, stored.shape);
    if (!zero_points.empty()) zero_points = repeated(op, zero_points, stored.zero_shape, stored.shape);
    scale_shape = shape;
    attributes = {{"axis", 0}, {"block_size", 1}};
  } else if (own >= 0) {
    attributes = {{"axis", axis_in(shape, stored.shape, own, scales.size())}};
    scale_shape = {static_cast<int64_t>(scales.size())};
    if (zero_points.size() == 1) zero_points.resize(scales.size(), zero_points[0]);
  } else {
    attributes = {{"axis", 0}};
  }
  std::vector<std::string> inputs{op.reshaped_constant(stored.codes, shape), op.floats(scales, scale_shape)};
  if (!zero_points.empty()) {
    op.file().count_constant(zero_points.size(), sizeof(int32_t));
    auto& zeros = op.file().graph->initializer.add();
    zeros.name = op.file().unique(op.layer().name + "/zero_points");
    zeros.data_type = has_no_sign ? onnx_file::TensorProto::UINT8 : onnx_file::TensorProto::INT8;
    for (const int64_t dim : scale_shape) zeros.dims.push_back(dim);
    for (const float zero : zero_points) zeros.int32_data.push_back(static_cast<int32_t>(zero));
    inputs.push_back(zeros.name);
  }
  return op.add("DequantizeLinear", inputs, attributes, output);
}

// FakeQuantize's limits of weights with another shape.
std::string limit(IrOp& op, const IrSource& source, const IrShape& from, const IrShape& to) {
  const auto found = op.find_constant(source);
  if (!found) fail("a range of its weights is computed by a run; only a constant is supported");
  std::vector<float> values(found->values.begin(), found->values.end());
  if (values.size() == 1) return op.floats(values, {1});
  const int64_t own = scale_axis(from, found->shape, values.size());
  if (own == kSeveralAxes) return op.floats(repeated(op, values, found->shape, from), to);
  const int64_t axis = axis_in(to, from, own, values.size());
  IrShape shape(to.size(), 1);
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(values.size());
  return op.floats(values, shape);
}

std::string add_fake_quantize(IrOp& op, const std::vector<std::string>& inputs, const IrLayer& layer,
                              const std::string& output) {
  const auto levels = layer.attributes.find("levels");
  const IrShape list = levels == layer.attributes.end() ? IrShape() : ir_numbers(levels->second);
  if (list.size() != 1) fail("it has no levels");
  return op.add("FakeQuantize", inputs, {{"levels", list[0]}}, output, "org.openvinotoolkit");
}

void import_fake_quantize(IrOp& op) {
  op.check_inputs(5, 5);
  op.ignore("levels");
  op.expect("auto_broadcast", {"numpy"});
  // A constant is weights: who reads them asks for them in its own shape.
  std::vector<std::string> inputs{op.input(0)};
  for (size_t i = 1; i < 5; ++i) {
    const IrConstant range = op.constant(i);
    inputs.push_back(op.floats({range.values.begin(), range.values.end()}, range.shape));
  }
  add_fake_quantize(op, inputs, op.layer(), op.output());
}

// Whether it gives whole numbers alone, in steps of 1 from the range's lowest to its highest.
bool gives_codes(IrOp& op, const IrLayer& layer, double lowest, double highest) {
  if (layer.type != "FakeQuantize" || layer.inputs.size() != 5) return false;
  const auto low = op.find_constant(layer.inputs[3]), high = op.find_constant(layer.inputs[4]);
  const auto is = [](const std::optional<IrConstant>& range, double value) {
    return range && std::all_of(range->values.begin(), range->values.end(),
                                [&](double limit) { return limit == value; });
  };
  const auto levels = layer.attributes.find("levels");
  return levels != layer.attributes.end() && levels->second == "256" && is(low, lowest) && is(high, highest);
}

// The ends of a type of codes, which a run has as int32.
std::optional<std::pair<float, float>> range_of(const std::string& type) {
  if (type == "u8") return {{0.0f, 255.0f}};
  if (type == "i8") return {{-128.0f, 127.0f}};
  if (type == "u16") return {{0.0f, 65535.0f}};
  if (type == "i16") return {{-32768.0f, 32767.0f}};
  return std::nullopt;
}

// Numbers that are stored in 16 or 64 bits stay what they are.
void import_convert(IrOp& op) {
  op.check_inputs(1, 1);
  static constexpr const char* kReals[] = {"f32", "f16", "bf16", "f64", "FP32", "FP16", "BF16", "FP64"};
  const auto is_real = [](const std::string& type) {
    const IrNarrowType* const narrow = find_ir_narrow_type(type);
    return std::find(std::begin(kReals), std::end(kReals), type) != std::end(kReals) ||
           (narrow != nullptr && narrow->is_real);
  };
  const std::string to = op.word("destination_type", "f32");
  const IrLayer& from = op.writer(0);
  const std::string type = from.type == "Const" ? element_type_of(from)
                                                : from.outputs[static_cast<size_t>(op.source(0).port)].type;
  op.ignore("no_clamp");
  op.ignore("use_rounding");
  if (is_real(to) && is_real(type)) return op.alias(op.input(0));
  static constexpr std::pair<const char*, onnx_file::TensorProto::DataType> kTypes[] = {
      {"f32", onnx_file::TensorProto::FLOAT},
      {"f16", onnx_file::TensorProto::FLOAT},
      {"i64", onnx_file::TensorProto::INT64},
      {"i32", onnx_file::TensorProto::INT32},
      {"boolean", onnx_file::TensorProto::BOOL}};
  if (const auto range = range_of(to)) {
    const auto [least, most] = *range;
    if (gives_codes(op, from, least, most)) {
      op.file().shared->notes.push_back(
          text(quoted(op.output()), " is ", to, " in the file; here it is float, with the same numbers"));
      return op.alias(op.input(0));
    }
    op.file().shared->notes.push_back(
        text(quoted(op.output()), " is ", to, " in the file; here it is int32, with the same numbers"));
    const OnnxAttributes to_int32{{"to", onnx_file::TensorProto::INT32}};
    if (is_real(type)) {  // the ends of the type, then towards 0
      op.add("Cast", {op.add_inner("Clip", {op.input(0), op.number(least), op.number(most)})}, to_int32);
      return;
    }
    if (type == "boolean") {
      op.add("Cast", {op.input(0)}, to_int32);
      return;
    }
    // Integers wrap around: so many whole turns are taken off.
    const std::string x = op.add_inner("Cast", {op.input(0)}, {{"to", onnx_file::TensorProto::FLOAT}});
    const float turn = most - least + 1.0f;
    const std::string turns = op.add_inner(
        "Floor", {op.add_inner("Mul", {op.add_inner("Sub", {x, op.number(least)}), op.number(1.0f / turn)})});
    op.add("Cast", {op.add_inner("Sub", {x, op.add_inner("Mul", {turns, op.number(turn)})})}, to_int32);
    return;
  }
  for (const auto& [name, number] : kTypes)
    if (to == name) {
      op.add("Cast", {op.input(0)}, {{"to", number}});
      return;
    }
  fail("conversion to ", quoted(to), " is not supported");
}

void import_multiply(IrOp& op) {
  op.check_inputs(2, 2);
  op.expect("auto_broadcast", {"numpy", "none"});
  if (const auto stored = find_stored(op, op.layer())) {
    add_dequantized(op, *stored, stored->shape, op.output());
    return;
  }
  op.add("Mul", {op.input(0), op.input(1)});
}

constexpr IrOperator kIrQuantizedOperators[] = {
    {"Convert", import_convert},
    {"FakeQuantize", import_fake_quantize},
    {"Multiply", import_multiply},
};

}  // namespace

std::string ir_weights(IrOp& op, const IrSource& source, const IrShape& shape, int steps) {
  constexpr int kMostSteps = 16;
  const IrLayer* const layer = layer_at(op, source);
  if (layer == nullptr) fail("its weights have no edge");
  const IrShape own = layer->outputs.empty() ? IrShape() : layer->outputs[0].shape;
  const std::string name = op.file().unique(op.layer().name + "/weights");
  const bool goes_on = steps < kMostSteps;
  if (goes_on && layer->type == "Reshape" && layer->inputs.size() == 2) {
    const IrLayer* const inner = layer_at(op, layer->inputs[0]);
    if (inner != nullptr && inner->type != "Reshape")
      return ir_weights(op, layer->inputs[0], shape, steps + 1);
  }
  if (const auto stored = find_stored(op, *layer)) return add_dequantized(op, *stored, shape, name);
  if (goes_on && layer->type == "FakeQuantize" && layer->inputs.size() == 5 &&
      op.is_constant(layer->inputs[0])) {
    std::vector<std::string> inputs{ir_weights(op, layer->inputs[0], shape, steps + 1)};
    for (size_t i = 1; i < 5; ++i) inputs.push_back(limit(op, layer->inputs[i], own, shape));
    return add_fake_quantize(op, inputs, *layer, name);
  }
  if (layer->type == "Const") return op.reshaped_constant(source, shape);
  if (goes_on && layer->type == "Convert" && !layer->inputs.empty() && !find_codes(op, source)) {
    const IrLayer* const inner = layer_at(op, layer->inputs[0]);
    if (inner != nullptr && inner->type != "Convert")
      return ir_weights(op, layer->inputs[0], shape, steps + 1);
  }
  if (own == shape) return op.name_of(source);
  return op.add("Reshape", {op.name_of(source), op.integers_constant(shape)}, {}, name);
}

Span<const IrOperator> ir_quantized_operators() { return kIrQuantizedOperators; }

}  // namespace intaglio::importers
