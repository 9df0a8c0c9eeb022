// A model's tensors as a TFLite file has them, and what stands before or behind an operator there: padding, bounds.
#pragma once

#include <functional>

#include "exporters/tflite/tflite_export.h"
#include "exporters/tflite/tflite_file.h"

namespace intaglio::exporters {

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
