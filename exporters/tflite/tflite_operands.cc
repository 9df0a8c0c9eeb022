#include "exporters/tflite/tflite_operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibrator/quantization/scales.h"
#include "importers/draft/import_error.h"
#include "importers/params/params_layers.h"

namespace intaglio::exporters {
namespace {

constexpr size_t kBufferAlignment = 16;
constexpr uint32_t kFileVersion = 3;

// TensorType of TFLite.
int8_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 0;
    case DType::kS32:
      return 2;
    case DType::kS8:
      return 9;
    default:
      importers::fail("a tensor of an element type that TFLite does not have");
  }
}

}  // namespace

int32_t TfliteFile::add_tensor(TfliteTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return static_cast<int32_t>(tensors_.size()) - 1;
}

int32_t TfliteFile::add_numbers(const std::string& name, const std::vector<int32_t>& values,
                                std::vector<int32_t> shape) {
  if (shape.empty()) shape = {static_cast<int32_t>(values.size())};
  TfliteTensor tensor{name, DType::kS32, std::move(shape), {}, 0, 0, {}, true};
  tensor.data.resize(values.size() * sizeof(int32_t));
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return add_tensor(std::move(tensor));
}

void TfliteFile::add_operator(tflite::Builtin code, int32_t version, const std::vector<int32_t>& inputs,
                              int32_t output, tflite::Options type, flatbuffers::Offset<void> options) {
  const auto [place, is_new] =
      opcode_of_.emplace(std::make_pair(code, version), static_cast<uint32_t>(opcodes_.size()));
  if (is_new) opcodes_.emplace_back(code, version);
  operators_.push_back({place->second, inputs, {output}, type, options});
}

std::vector<uint8_t> TfliteFile::finish(const std::vector<int32_t>& inputs,
                                        const std::vector<int32_t>& outputs) {
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers{
      tflite::CreateBuffer(builder_)};  // the first is empty
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors;
  for (const TfliteTensor& tensor : tensors_) {
    uint32_t buffer = 0;
    if (tensor.is_constant) {
      builder_.ForceVectorAlignment(tensor.data.size(), 1, kBufferAlignment);
      const auto data = builder_.CreateVector(tensor.data);
      buffer = static_cast<uint32_t>(buffers.size());
      buffers.push_back(tflite::CreateBuffer(builder_, data));
    }
    flatbuffers::Offset<tflite::Quantization> quantization;
    if (!tensor.scales.empty()) {
      const std::vector<int64_t> zero_points(tensor.scales.size(), tensor.zero_point);
      quantization = tflite::CreateQuantizationDirect(builder_, &tensor.scales, &zero_points, tensor.axis);
    }
    tensors.push_back(tflite::CreateTensorDirect(builder_, &tensor.shape, type_of(tensor.dtype), buffer,
                                                 tensor.name.c_str(), quantization));
  }
  std::vector<flatbuffers::Offset<tflite::Operator>> operators;
  for (const Operator& op : operators_)
    operators.push_back(
        tflite::CreateOperatorDirect(builder_, op.opcode, &op.inputs, &op.outputs, op.type, op.options));
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes;
  for (const auto& [code, version] : opcodes_)
    codes.push_back(tflite::CreateOperatorCode(builder_,
                                               static_cast<int8_t>(std::min(static_cast<int>(code), 127)), 0,
                                               version, static_cast<int32_t>(code)));
  const std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs{
      tflite::CreateSubGraphDirect(builder_, &tensors, &inputs, &outputs, &operators)};
  tflite::FinishModelBuffer(
      builder_, tflite::CreateModelDirect(builder_, kFileVersion, &codes, &graphs, "intaglio", &buffers));
  return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
}

namespace {

using tflite::Builtin;

std::vector<int32_t> dims_of(const Shape& shape) { return {shape.dims, shape.dims + shape.rank}; }

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The reals of a constant; empty for any other tensor.
std::vector<float> reals_of_16_bits(const TensorInfo& info) {
  const auto* const codes = reinterpret_cast<const int16_t*>(info.constant.data);
  std::vector<float> values(info.constant.size / sizeof(int16_t));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = info.quantization.scales[0] * static_cast<float>(codes[i]);
  return values;
}

struct AxisPadding {
  int32_t before = 0, after = 0;
  bool is_same = false, is_none = false;
};

AxisPadding axis_padding(int32_t in, int32_t out, int32_t kernel, int32_t stride, int32_t dilation,
                         int32_t before, int32_t after) {
  const int32_t extent = (kernel - 1) * dilation + 1;
  const int32_t total = std::max((out - 1) * stride + extent - in, 0);
  const bool fits = out == (in + stride - 1) / stride;
  return {before, after, fits && before == total / 2 && after == total - total / 2,
          before == 0 && after == 0};
}

struct Paddings {
  AxisPadding h, w;
  bool is_none() const { return h.is_none && w.is_none; }
  bool is_same() const { return h.is_same && w.is_same; }
};

Paddings paddings(const Model& model, const NodeInfo& node) {
  const auto& window = node.options.as<Window2d>();
  const Shape in = model.tensor(node.inputs[0]).shape, out = model.tensor(node.outputs[0]).shape;
  return {axis_padding(in[1], out[1], window.kernel_h, window.stride_h, window.dilation_h, window.pad_top,
                       window.pad_bottom),
          axis_padding(in[2], out[2], window.kernel_w, window.stride_w, window.dilation_w, window.pad_left,
                       window.pad_right)};
}

// TFLite's name for these bounds, or for their absence alone where not `takes_activation`; false: it has none.
bool activation_of(const Clamp& clamp, const TensorInfo& out, bool takes_activation,
                   tflite::Activation& found, int32_t& narrower) {
  struct Known {
    tflite::Activation activation;
    float min, max;
  };
  constexpr Known kKnown[] = {{tflite::Activation::None, -INFINITY, INFINITY},
                              {tflite::Activation::Relu, 0.0f, INFINITY},
                              {tflite::Activation::Relu6, 0.0f, 6.0f},
                              {tflite::Activation::ReluN1To1, -1.0f, 1.0f}};
  for (const Known& known : kKnown) {
    found = known.activation;
    if (found != tflite::Activation::None && !takes_activation) break;
    if (out.dtype == DType::kF32) {
      if (clamp.min == known.min && clamp.max == known.max) return true;
      continue;
    }
    const float scale = out.quantization.scales[0];
    const auto code = [&](float real, int32_t otherwise) {
      return std::isinf(real) ? otherwise : quantize_value(real, {scale, out.quantization.zero_point});
    };
    const int32_t lo = code(known.min, -128), hi = code(known.max, 127);
    if (clamp.hi == hi && clamp.lo == lo) return true;
    if (clamp.hi == hi && lo == -128 && clamp.lo == -127) {  // codes of -127 to 127 have no form of their own
      ++narrower;
      return true;
    }
  }
  return false;
}

}  // namespace

int32_t TfliteOperands::tensor(int32_t index) {
  int32_t& known = tensors_[static_cast<size_t>(index)];
  if (known < 0) known = file_.add_tensor(described(index));
  return known;
}

TensorInfo TfliteOperands::info(int32_t index) const {
  TensorInfo info = model_.tensor(index);
  if (info.dtype != DType::kS16) return info;
  info.dtype = DType::kF32;
  info.quantization = {};
  return info;
}

TfliteTensor TfliteOperands::described(int32_t index) const {
  const TensorInfo info = this->info(index);
  TfliteTensor tensor{info.name,
                      info.dtype,
                      dims_of(info.shape),
                      {},
                      info.quantization.zero_point,
                      std::max(info.quantization.axis, 0),
                      {},
                      info.is_constant()};
  tensor.scales.assign(info.quantization.scales.begin(), info.quantization.scales.end());
  if (model_.tensor(index).dtype == DType::kS16) {
    tensor.data = bytes_of(reals_of_16_bits(model_.tensor(index)));
  } else {
    tensor.data.assign(info.constant.begin(), info.constant.end());
  }
  return tensor;
}

int32_t TfliteOperands::add_like(int32_t index, const std::string& name) {
  TfliteTensor made = described(index);
  made.name = name;
  return file_.add_tensor(std::move(made));
}

int32_t TfliteOperands::add_reals(const std::string& name, const std::vector<int32_t>& shape,
                                  const std::vector<float>& values) {
  return file_.add_tensor({name, DType::kF32, shape, {}, 0, 0, bytes_of(values), true});
}

int32_t TfliteOperands::weights(const NodeInfo& node, int32_t index) {
  if (node.op != Op::kDepthwiseConv2d) return tensor(index);
  TfliteTensor made = described(index);
  made.shape.insert(made.shape.begin(), 1);  // [1, kh, kw, c]
  if (made.scales.size() > 1) made.axis = 3;
  return file_.add_tensor(std::move(made));
}

int32_t TfliteOperands::bias(int32_t index, const TensorInfo& in, const TensorInfo& weights) {
  TfliteTensor made = described(index);
  if (made.dtype == DType::kF32) return tensor(index);
  made.scales = bias_scales(in, weights);
  return file_.add_tensor(std::move(made));
}

int32_t TfliteOperands::real(int32_t index) {
  if (model_.tensor(index).dtype == DType::kF32) return tensor(index);
  int32_t& known = reals_[static_cast<size_t>(index)];
  if (known >= 0) return known;
  TfliteTensor made = described(index);
  made.name += "/real";
  made.dtype = DType::kF32;
  made.scales.clear();
  known = file_.add_tensor(std::move(made));
  file_.add_operator(Builtin::DEQUANTIZE, 2, {tensor(index)}, known);
  return known;
}

int32_t TfliteOperands::real_weights(const NodeInfo& node, int32_t index) {
  const TensorInfo info = model_.tensor(index);
  TfliteTensor made{info.name, DType::kF32, dims_of(info.shape), {}, 0, 0, {}, true};
  if (node.op == Op::kDepthwiseConv2d) made.shape.insert(made.shape.begin(), 1);
  const auto* const codes = reinterpret_cast<const int8_t*>(info.constant.data);
  const Span<const float> scales = info.quantization.scales;
  const int32_t axis = std::max(info.quantization.axis, 0);
  const auto behind = static_cast<size_t>(info.shape.elements(axis + 1, info.shape.rank));
  std::vector<float> values(static_cast<size_t>(info.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scales[scales.size == 1 ? 0 : i / behind % scales.size] * static_cast<float>(codes[i]);
  made.data = bytes_of(values);
  return file_.add_tensor(std::move(made));
}

int32_t TfliteOperands::real_bias(int32_t index, const TensorInfo& in, const TensorInfo& weights) {
  const TensorInfo info = model_.tensor(index);
  TfliteTensor made{info.name, DType::kF32, dims_of(info.shape), {}, 0, 0, {}, true};
  const auto* const codes = reinterpret_cast<const int32_t*>(info.constant.data);
  const std::vector<float> scales = bias_scales(in, weights);
  std::vector<float> values(static_cast<size_t>(info.shape.elements()));
  for (size_t c = 0; c < values.size(); ++c)
    values[c] = static_cast<float>(static_cast<double>(codes[c]) *
                                   static_cast<double>(scales[scales.size() == 1 ? 0 : c]));
  made.data = bytes_of(values);
  return file_.add_tensor(std::move(made));
}

bool TfliteOperands::has_plain_padding(const NodeInfo& node) const {
  const Paddings found = paddings(model_, node);
  return found.is_none() || found.is_same();
}

TfliteOperands::Padded TfliteOperands::pad(const NodeInfo& node, int32_t x, Fill fill) {
  const Paddings found = paddings(model_, node);
  if (found.is_none()) return {x, tflite::Padding::Valid};
  if (found.is_same()) return {x, tflite::Padding::Same};
  const TensorInfo in = model_.tensor(node.inputs[0]);
  TfliteTensor padded = file_.tensor(x);
  const std::string name = model_.tensor(node.outputs[0]).name;
  padded.name = name + "/padded";
  padded.shape[1] += found.h.before + found.h.after;
  padded.shape[2] += found.w.before + found.w.after;
  const int32_t result = file_.add_tensor(std::move(padded));
  const int32_t pads = file_.add_numbers(
      name + "/pads", {0, 0, found.h.before, found.h.after, found.w.before, found.w.after, 0, 0}, {4, 2});
  if (fill == Fill::kZero)
    file_.add_operator(Builtin::PAD, usual_version(in), {x, pads}, result);
  else
    file_.add_operator(Builtin::PADV2, usual_version(in),
                       {x, pads, scalar(name + "/fill", in, std::numeric_limits<float>::lowest(), -128)},
                       result);
  return {result, tflite::Padding::Valid};
}

int32_t TfliteOperands::value(const NodeInfo& node, float real) {
  const TensorInfo in = model_.tensor(node.inputs[0]);
  const std::string name = model_.tensor(node.outputs[0]).name + std::string("/value");
  if (in.dtype != DType::kS8) return scalar(name, in, real, 0);
  return scalar(name, in, real,
                quantize_value(real, {in.quantization.scales[0], in.quantization.zero_point}));
}

int32_t TfliteOperands::scalar(const std::string& name, const TensorInfo& like, float real, int32_t code) {
  TfliteTensor made{name, like.dtype, {1}, {}, like.quantization.zero_point, 0, {}, true};
  if (like.dtype == DType::kS8) {
    made.scales = {like.quantization.scales[0]};
    made.data = bytes_of(std::vector<int8_t>{static_cast<int8_t>(code)});
  } else {
    made.data = bytes_of(std::vector<float>{real});
  }
  return file_.add_tensor(std::move(made));
}

void TfliteOperands::with_bounds(const NodeInfo& node,
                                 const std::function<void(tflite::Activation, int32_t)>& write) {
  bound(node, true, write);
}

void TfliteOperands::with_bounds_behind(const NodeInfo& node, const std::function<void(int32_t)>& write) {
  bound(node, false, [&](tflite::Activation, int32_t to) { write(to); });
}

void TfliteOperands::bound(const NodeInfo& node, bool takes_activation,
                           const std::function<void(tflite::Activation, int32_t)>& write) {
  const int32_t output = node.outputs[0];
  const TensorInfo out = info(output);
  const auto clamp = node.options.value<Clamp>();
  tflite::Activation activation{};
  if (activation_of(clamp, out, takes_activation, activation, narrower))
    return write(activation, tensor(output));
  const std::string name = out.name;
  int32_t from = add_like(output, name + "/unbounded");
  write(tflite::Activation::None, from);
  const bool is_real = out.dtype == DType::kF32;
  const bool has_low = is_real ? clamp.min != -INFINITY : clamp.lo > -128;
  const bool has_high = is_real ? clamp.max != INFINITY : clamp.hi < 127;
  if (has_low) {
    const int32_t to = has_high ? add_like(output, name + "/at_least") : tensor(output);
    file_.add_operator(Builtin::MAXIMUM, usual_version(out),
                       {from, scalar(name + "/least", out, clamp.min, clamp.lo)}, to);
    from = to;
  }
  if (has_high)
    file_.add_operator(Builtin::MINIMUM, usual_version(out),
                       {from, scalar(name + "/most", out, clamp.max, clamp.hi)}, tensor(output));
}

}  // namespace intaglio::exporters
