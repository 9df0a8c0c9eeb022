// A TFLite file while it is written: tensors, operators and their bytes at the end; a model's tensors as it has them, and what stands
// before or behind an operator there: padding, bounds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "exporters/tflite/tflite_export.h"
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

class TfliteOperands {
 public:
  TfliteOperands(const Model& model, TfliteFile& file) : model_(model), file_(file) {}

  // A tensor of the model, added where it is first asked for; constants with their data.
  int32_t tensor(int32_t index);
  // The same, which is not added yet.
  TfliteTensor described(int32_t index) const;
  // As the file has it: what has 16 bits in the model is FP32.
  TensorInfo info(int32_t index) const;
  // A new activation like one of the model.
  int32_t add_like(int32_t index, const std::string& name);
  int32_t add_reals(const std::string& name, const std::vector<int32_t>& shape,
                    const std::vector<float>& values);
  // The constants of layers, whose shape differs: depthwise weights, biases with their scales.
  int32_t weights(const NodeInfo& node, int32_t index);
  int32_t bias(int32_t index, const TensorInfo& in, const TensorInfo& weights);
  // FP32 in place of codes: of an activation by Dequantize, of a layer's constants by their values.
  int32_t real(int32_t index);
  int32_t real_weights(const NodeInfo& node, int32_t index);
  int32_t real_bias(int32_t index, const TensorInfo& in, const TensorInfo& weights);

  // The padding mode of a window, and the tensor that the operator reads: `x`, or what a Pad in front of it gives.
  struct Padded {
    int32_t x;
    tflite::Padding mode;
  };
  enum class Fill { kZero, kLowest };  // of a Pad: the real 0, or the lowest value that the tensor can hold
  Padded pad(const NodeInfo& node, int32_t x, Fill fill);
  // One number as a constant of the node's input's type and grid.
  int32_t value(const NodeInfo& node, float real);
  // Whether TFLite has this padding without an operator of its own.
  bool has_plain_padding(const NodeInfo& node) const;

  // Calls write(activation, output) for the node's bounds: those that are no activation become Maximum and Minimum behind
  // it.
  void with_bounds(const NodeInfo& node, const std::function<void(tflite::Activation, int32_t)>& write);
  // Calls write(output) of an operator that takes no activation: all bounds become Maximum and Minimum behind it.
  void with_bounds_behind(const NodeInfo& node, const std::function<void(int32_t)>& write);
  int32_t narrower = 0;  // bounds of -127 where the file has -128

 private:
  void bound(const NodeInfo& node, bool takes_activation,
             const std::function<void(tflite::Activation, int32_t)>& write);
  int32_t scalar(const std::string& name, const TensorInfo& like, float real, int32_t code);

  const Model& model_;
  TfliteFile& file_;
  std::vector<int32_t> tensors_ = std::vector<int32_t>(static_cast<size_t>(model_.tensor_count()), -1);
  std::vector<int32_t> reals_ = tensors_;
};

// The version in which an operator takes what this tensor holds: int8 came with the second of nearly all.
inline int32_t usual_version(const TensorInfo& tensor) { return tensor.dtype == DType::kS8 ? 2 : 1; }

// A model's nodes as operators of a TFLite file.

// Adds all nodes of the model, in order. `result` gets counts and notes. Throws ImportError, which names the node that TFLite
// has no form for.
void write_nodes(const Model& model, TfliteFile& file, TfliteOperands& operands, TfliteExport& result);

// A model's tables of 256 codes in a TFLite file, which has none.

// `node` is a Lookup. A table that another scale, a bound of zero and six, or a function known to TFLite makes becomes that
// operator. Another one is a Gather: exact, and slower than the function.
void write_lookup(const Model& model, TfliteFile& file, TfliteOperands& operands, const NodeInfo& node);

// `node` is a Normalize, which TFLite does not have: its steps in FP32, to the FP32 tensor `result` of the file.
void write_normalize(TfliteFile& file, TfliteOperands& operands, const NodeInfo& node, int32_t result);

}  // namespace intaglio::exporters
