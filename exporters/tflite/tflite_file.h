// A TFLite file while it is written: tensors, operators, and their bytes at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "importers/tflite/tflite_generated.h"
#include "intaglio/tensor.h"

namespace intaglio::exporters {

struct TfliteTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int32_t> shape;
  std::vector<float> scales;  // empty: not quantized
  int32_t zero_point = 0;
  int32_t axis = 0;                // of the scales, if there are several
  std::vector<uint8_t> data = {};  // of a constant
  bool is_constant = false;
};

class TfliteFile {
 public:
  int32_t add_tensor(TfliteTensor tensor);
  // A constant of s32: a shape, axes, a permutation.
  int32_t add_numbers(const std::string& name, const std::vector<int32_t>& values,
                      std::vector<int32_t> shape = {});
  const TfliteTensor& tensor(int32_t i) const { return tensors_[static_cast<size_t>(i)]; }

  // Options are made by builder(); the default has none. `version` is the least of the operator in which it takes these
  // element types.
  void add_operator(tflite::Builtin code, int32_t version, const std::vector<int32_t>& inputs, int32_t output,
                    tflite::Options type = tflite::Options::NONE, flatbuffers::Offset<void> options = {});
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  std::vector<uint8_t> finish(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs);

 private:
  struct Operator {
    uint32_t opcode;
    std::vector<int32_t> inputs, outputs;
    tflite::Options type;
    flatbuffers::Offset<void> options;
  };

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<TfliteTensor> tensors_;
  std::vector<Operator> operators_;
  std::vector<std::pair<tflite::Builtin, int32_t>> opcodes_;  // and their versions
  std::map<std::pair<tflite::Builtin, int32_t>, uint32_t> opcode_of_;
};

}  // namespace intaglio::exporters
