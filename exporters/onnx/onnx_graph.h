// The graph of an ONNX file while it is rewritten: who writes and who reads each value, and constants.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "importers/onnx/onnx_file.h"
#include "intaglio/model.h"

namespace intaglio::exporters {

using OnnxNode = onnx_file::NodeProto;
using OnnxTensor = onnx_file::TensorProto;

// One place where a value is read.
struct OnnxUse {
  OnnxNode* node = nullptr;
  int input = 0;
};

// Takes the nodes and initializers out of a graph, and puts them back with finish(). Pointers to nodes and constants
// stay valid between the two.
class OnnxGraph {
 public:
  explicit OnnxGraph(onnx_file::GraphProto& graph);

  std::vector<OnnxNode*> nodes();                    // those that were not removed
  OnnxNode* writer(const std::string& value) const;  // nullptr: an input, a constant or nothing
  std::vector<OnnxUse> uses(const std::string& value) const;
  bool is_input(const std::string& value) const { return inputs_.count(value) != 0; }
  // Whether the value's name is known outside: an output, or what the graph of a node (the branch of an If) reads.
  bool is_output(const std::string& value) const { return outputs_.count(value) != 0; }
  bool is_known(const std::string& value) const { return names_.count(value) != 0; }
  // An initializer, or the tensor of a Constant node; nullptr: none.
  const OnnxTensor* constant(const std::string& value) const;

  // A name that nothing has yet: this one, or with a number behind it.
  std::string unused_name(const std::string& wanted);
  // The same, which the caller's own value will have: from now on nothing else gets it.
  std::string reserve_name(const std::string& wanted) { return *names_.insert(unused_name(wanted)).first; }
  // The node's operator, name, inputs and outputs; no value of these outputs is there yet.
  OnnxNode& add_node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                     const std::string& output);
  // A constant of this name, of `bytes` of raw data.
  void add_constant(const std::string& name, OnnxTensor::DataType type, const std::vector<int64_t>& dims,
                    const void* data, size_t bytes);
  void add_output(OnnxNode& node, const std::string& output);           // one more, behind its others
  void set_input(OnnxNode& node, int input, const std::string& value);  // adds inputs up to this one
  void rename_output(OnnxNode& writer, std::string value, const std::string& name);
  void remove(OnnxNode& node);
  // Removes a constant that nobody reads any more, so that its name is unused.
  void release_constant(const std::string& value);

  // Puts everything back: nodes in an order in which each value is written before it is read, without those that
  // nothing needs, without constants that nobody reads. Shapes noted for values that are gone go, too.
  void finish();

 private:
  void remove_dead();
  std::vector<OnnxNode*> sorted();

  onnx_file::GraphProto& graph_;
  std::deque<OnnxNode> nodes_;
  std::unordered_set<const OnnxNode*> removed_;
  std::deque<OnnxTensor> constants_;
  std::unordered_map<std::string, const OnnxTensor*> constant_of_;
  std::unordered_map<std::string, OnnxNode*> writers_;
  std::unordered_map<std::string, std::vector<OnnxUse>> uses_;
  std::unordered_set<std::string> inputs_, outputs_, names_;
  std::unordered_map<const OnnxNode*, std::vector<std::string>> captured_;  // what their graphs read
};

// The attribute; nullptr where the node has none of this name.
const onnx_file::AttributeProto* find_attribute(const OnnxNode& node, const std::string& name);
void remove_attribute(OnnxNode& node, const std::string& name);
void set_attribute(OnnxNode& node, const std::string& name, int64_t value);
void set_attribute(OnnxNode& node, const std::string& name, const std::vector<int64_t>& values);
void set_real(OnnxNode& node, const std::string& name, float value);
void set_words(OnnxNode& node, const std::string& name, const std::string& words);

// The same graph in the operator set in which quantizers with a scale for each channel exist.

inline constexpr int64_t kQuantizedOpset = 13;

// Rewrites the nodes of a graph of opset `from` for opset 13, exactly. `from` is at least 7. Throws ImportError where a
// node has a form that has no exact one there, or none that is known here.
void raise_opset(OnnxGraph& graph, int64_t from);

// Where the weights of a model's layer stand in the layer's node of the ONNX file.

struct LayerLayout {
  std::vector<int64_t> dims;  // in the file
  int32_t axis = 0;           // of the output channels there
  std::vector<size_t> order;  // element i of the file is element order[i] of the model
  // The import has taken moves of pixels in front of the Conv into its window: the model's is written.
  bool has_own_window = false;
};

// `layer` is a node of the model with weights, Conv2D, DepthwiseConv2D or FullyConnected, and `node` is its Conv, Gemm,
// MatMul or BatchNormalization. `network` is what the file is imported as, in FP32. Throws ImportError where they do not
// fit each other.
//
//   Conv                [oc, ic, kh, kw] of the model's [oc, kh, kw, ic] or [kh, kw, oc]; with a window of its own the
//                       model's sizes
//   Gemm, MatMul        [k, n], or [n, k] with transB, of [n, k]; columns that the import brought from the order of
//                       NCHW into that of NHWC go back
//   BatchNormalization  [c, 1, 1, 1] of [1, 1, c]: a depthwise convolution is written
LayerLayout layer_layout(const OnnxGraph& graph, const OnnxNode& node, const Model& model,
                         const NodeInfo& layer, const Model& network);

}  // namespace intaglio::exporters
