// Small TFLite files in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "importers/tflite/tflite_generated.h"

namespace intaglio::test {

enum TfliteType : int8_t {
  kTfliteFloat = 0,
  kTfliteInt32 = 2,
  kTfliteUint8 = 3,
  kTfliteInt64 = 4,
  kTfliteInt8 = 9
};
enum TfliteCode : int32_t {
  kTfliteAdd = 0,
  kTfliteAveragePool = 1,
  kTfliteConv = 3,
  kTfliteDepthwise = 4,
  kTfliteDequantize = 6,
  kTfliteFullyConnected = 9,
  kTfliteMaxPool = 17,
  kTfliteRelu = 19,
  kTfliteRelu6 = 21,
  kTfliteReshape = 22,
  kTfliteSoftmax = 25,
  kTflitePad = 34,
  kTfliteTranspose = 39,
  kTfliteMean = 40,
  kTfliteSqueeze = 43,
  kTfliteQuantize = 114
};

// Quantization of a tensor; no scales: none.
struct TfliteScales {
  std::vector<float> scale;
  int64_t zero_point = 0;
  int32_t axis = 0;
};

class TfliteBuilder {
 public:
  TfliteBuilder() { buffers_.push_back(tflite::CreateBuffer(fbb_)); }

  int32_t tensor(const std::string& name, int8_t type, const std::vector<int32_t>& shape,
                 const TfliteScales& scales = {}, uint32_t buffer = 0) {
    flatbuffers::Offset<tflite::Quantization> quantization;
    if (!scales.scale.empty()) {
      const std::vector<int64_t> zero_points(scales.scale.size(), scales.zero_point);
      quantization = tflite::CreateQuantizationDirect(fbb_, &scales.scale, &zero_points, scales.axis);
    }
    return this->tensor(name, type, shape, quantization, buffer);
  }
  int32_t tensor(const std::string& name, int8_t type, const std::vector<int32_t>& shape,
                 flatbuffers::Offset<tflite::Quantization> quantization, uint32_t buffer = 0) {
    tensors_.push_back(tflite::CreateTensorDirect(fbb_, &shape, type, buffer, name.c_str(), quantization));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  uint32_t buffer(const std::vector<uint8_t>& bytes) {
    buffers_.push_back(tflite::CreateBufferDirect(fbb_, &bytes));
    return static_cast<uint32_t>(buffers_.size()) - 1;
  }
  // A buffer whose bytes stand behind the model's tables.
  uint32_t buffer_behind(uint64_t offset, uint64_t size) {
    buffers_.push_back(tflite::CreateBuffer(fbb_, 0, offset, size));
    return static_cast<uint32_t>(buffers_.size()) - 1;
  }
  // A tensor with axes that the file leaves open: -1 in the signature.
  int32_t open_tensor(const std::string& name, int8_t type, const std::vector<int32_t>& shape,
                      const std::vector<int32_t>& signature) {
    tensors_.push_back(
        tflite::CreateTensorDirect(fbb_, &shape, type, 0, name.c_str(), 0, false, 0, &signature));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  // A tensor that keeps its value from run to run, or one whose values are stored sparse.
  int32_t variable_tensor(const std::string& name, int8_t type, const std::vector<int32_t>& shape) {
    tensors_.push_back(tflite::CreateTensorDirect(fbb_, &shape, type, 0, name.c_str(), 0, true));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  int32_t sparse_tensor(const std::string& name, int8_t type, const std::vector<int32_t>& shape,
                        const std::vector<uint8_t>& stored,
                        flatbuffers::Offset<tflite::Sparsity> sparsity = 0) {
    buffers_.push_back(tflite::CreateBufferDirect(fbb_, &stored));
    tensors_.push_back(tflite::CreateTensorDirect(
        fbb_, &shape, type, static_cast<uint32_t>(buffers_.size()) - 1, name.c_str(), 0, false,
        sparsity.IsNull() ? tflite::CreateSparsity(fbb_) : sparsity));
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  template <typename T>
  int32_t constant(const std::string& name, int8_t type, const std::vector<int32_t>& shape,
                   const std::vector<T>& values, const TfliteScales& scales = {}) {
    std::vector<uint8_t> data(values.size() * sizeof(T));
    if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
    fbb_.ForceVectorAlignment(data.size(), 1, 16);
    buffers_.push_back(tflite::CreateBufferDirect(fbb_, &data));
    return tensor(name, type, shape, scales, static_cast<uint32_t>(buffers_.size()) - 1);
  }
  void op(int32_t code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
          tflite::Options kind = tflite::Options::NONE, flatbuffers::Offset<void> options = 0) {
    codes_.push_back(
        tflite::CreateOperatorCode(fbb_, static_cast<int8_t>(code < 127 ? code : 127), 0, 1, code));
    operators_.push_back(tflite::CreateOperatorDirect(fbb_, static_cast<uint32_t>(codes_.size()) - 1, &inputs,
                                                      &outputs, kind, options));
  }
  // STABLEHLO_COMPOSITE, which stands for a graph.
  void composite(const std::string& name, int32_t graph, const std::vector<int32_t>& inputs,
                 const std::vector<int32_t>& outputs) {
    const auto options = tflite::CreateCompositeOptionsDirect(fbb_, name.c_str(), graph);
    newer_op(206, inputs, outputs, tflite::NewerOptions::CompositeOptions, options.Union());
  }
  // An operator whose options stand in the newer union.
  void newer_op(int32_t code, const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
                tflite::NewerOptions kind, flatbuffers::Offset<void> options) {
    codes_.push_back(tflite::CreateOperatorCode(fbb_, 127, 0, 1, code));
    operators_.push_back(tflite::CreateOperatorDirect(fbb_, static_cast<uint32_t>(codes_.size()) - 1, &inputs,
                                                      &outputs, tflite::Options::NONE, 0, nullptr, kind,
                                                      options));
  }
  void custom(const std::string& name, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs, const std::vector<uint8_t>& options = {}) {
    constexpr int32_t kCustom = 32;
    codes_.push_back(tflite::CreateOperatorCodeDirect(fbb_, kCustom, name.c_str(), 1, kCustom));
    operators_.push_back(tflite::CreateOperatorDirect(fbb_, static_cast<uint32_t>(codes_.size()) - 1, &inputs,
                                                      &outputs, tflite::Options::NONE, 0, &options));
  }
  // An entry of the file's metadata.
  void metadata(const std::string& name, const std::vector<uint8_t>& bytes) {
    buffers_.push_back(tflite::CreateBufferDirect(fbb_, &bytes));
    metadata_.push_back(
        tflite::CreateMetadataDirect(fbb_, name.c_str(), static_cast<uint32_t>(buffers_.size()) - 1));
  }
  flatbuffers::FlatBufferBuilder& fbb() { return fbb_; }

  // Operators added since the last graph become one; finish() puts the last one first, as the model's own.
  void end_graph(const std::vector<int32_t>& inputs = {}, const std::vector<int32_t>& outputs = {}) {
    graphs_.push_back(tflite::CreateSubGraphDirect(fbb_, &tensors_, &inputs, &outputs, &operators_));
    tensors_.clear();
    operators_.clear();
  }

  std::string finish(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs) {
    end_graph(inputs, outputs);
    std::rotate(graphs_.begin(), graphs_.end() - 1, graphs_.end());
    tflite::FinishModelBuffer(
        fbb_, tflite::CreateModelDirect(fbb_, 3, &codes_, &graphs_, nullptr, &buffers_, &metadata_));
    return {reinterpret_cast<const char*>(fbb_.GetBufferPointer()), fbb_.GetSize()};
  }

 private:
  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
  std::vector<flatbuffers::Offset<tflite::Metadata>> metadata_;
  std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs_;
};

}  // namespace intaglio::test
