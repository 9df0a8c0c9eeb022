// The graph of an ONNX file while it is written: who writes and who reads each value, and constants.
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

// Nodes and constants of a graph, which finish() puts into it. Pointers to nodes and constants stay valid until then.
class OnnxGraph {
 public:
  // `graph` has its inputs and outputs, and no more.
  explicit OnnxGraph(onnx_file::GraphProto& graph);

  std::vector<OnnxNode*> nodes();                    // those that were not removed
  OnnxNode* writer(const std::string& value) const;  // nullptr: an input, a constant or nothing
  std::vector<OnnxUse> uses(const std::string& value) const;
  bool is_input(const std::string& value) const { return inputs_.count(value) != 0; }
  bool is_output(const std::string& value) const { return outputs_.count(value) != 0; }
  bool is_known(const std::string& value) const { return names_.count(value) != 0; }
  // nullptr: it is none.
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

  // Nodes in an order in which each value is written before it is read, each with a name of its own, without those that nothing needs,
  // and without constants that nobody reads.
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
};

// Each takes the place of an attribute of this name.
void set_attribute(OnnxNode& node, const std::string& name, int64_t value);
void set_attribute(OnnxNode& node, const std::string& name, const std::vector<int64_t>& values);
void set_real(OnnxNode& node, const std::string& name, float value);
void set_words(OnnxNode& node, const std::string& name, const std::string& words);

// The first operator set in which quantizers with a scale for each channel exist.
inline constexpr int64_t kQuantizedOpset = 13;

}  // namespace intaglio::exporters
