#include "exporters/tflite/tflite_file.h"

#include <algorithm>
#include <cstring>

#include "importers/draft/import_error.h"

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

}  // namespace intaglio::exporters
