// The values of an ONNX graph that is written from a model's own nodes, while it is written.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exporters/onnx/onnx_graph.h"
#include "exporters/onnx/quantizers.h"

namespace intaglio::exporters {

// Where the channels of a tensor of four dimensions stand: at the end, as in the model, or behind the batch, as ONNX's operators on
// pictures want them.
enum ChannelOrder : uint8_t { kChannelsLast, kChannelsFirst };

// The axis of a tensor of the model in this order; `rank` is the tensor's.
int32_t axis_in(ChannelOrder order, int32_t axis, int32_t rank);
std::vector<int64_t> dims_of(const Shape& shape, ChannelOrder order = kChannelsLast);

// A tensor of codes is what they stand for behind its quantizer. It has one value, or one in each order: who asks for the other order
// first gets a Transpose, on the codes.
class ModelValues {
 public:
  // Gives `file`, which is empty, the model's inputs, outputs and states, with numbers for codes: in the model's shapes, or in those of
  // `ends`. Throws ImportError where that lacks an input.
  ModelValues(onnx_file::GraphProto& file, const Model& model, OnnxForm form, int64_t opset,
              const OnnxEnds* ends, std::vector<std::string>& notes);

  OnnxGraph& graph() { return graph_; }
  Quantizers& quantizers() { return quantizers_; }

  // A tensor that a node reads; constants are written when they are first asked for, as operands of this order. Those of less than
  // four dimensions are in the model's order, but constants beside pictures with channels first.
  std::string value(int32_t tensor, ChannelOrder order = kChannelsLast);
  // The same, whose elements stand in the model's order in either of the two.
  std::string flat(int32_t tensor);
  // Whether it is there in this order alone.
  bool is_first(int32_t tensor) const {
    const int32_t source = source_of(tensor);
    const auto& known = known_[static_cast<size_t>(source)];
    if (!known[kChannelsLast].empty()) return false;
    if (const auto start = starts_.find(source); start != starts_.end())
      return start->second.second == kChannelsFirst;
    return !known[kChannelsFirst].empty();
  }
  // `tensor` holds what `source` stands for.
  void set_same(int32_t tensor, int32_t source) { sources_[static_cast<size_t>(tensor)] = source_of(source); }

  // `tensor`, in the model's order, is this value.
  void set_value(int32_t tensor, const std::string& value) {
    known_[static_cast<size_t>(tensor)][kChannelsLast] = value;
  }

  // A step towards a node's result, under the node's name and `suffix`.
  OnnxNode& add(const NodeInfo& node, const std::string& op, const std::vector<std::string>& inputs,
                const std::string& suffix = {});
  // The same of a reduction, whose axes were an attribute before opset 18.
  std::string add_reduction(const NodeInfo& node, const std::string& op, const std::string& x,
                            const std::vector<int64_t>& axes, bool keeps, const std::string& suffix = {});
  std::string reals(const NodeInfo& node, const std::string& suffix, const std::vector<float>& values,
                    const std::vector<int64_t>& dims = {});
  std::string integers(const NodeInfo& node, const std::string& suffix, const std::vector<int64_t>& values);
  // A constant of the model in this shape: its element i is element order[i] there. An empty order leaves them. Codes have a scale for
  // each index of the first axis, or one.
  std::string weights(int32_t tensor, const std::vector<int64_t>& dims,
                      const std::vector<size_t>& order = {});

  std::string constant_name(int32_t tensor) {
    const std::string name = model_.tensor(tensor).name;
    return unused(name.empty() ? "constant" : name);
  }

  // What `value` is in the grid of the tensor, behind the node's bounds where there are some.
  std::string rounded(const NodeInfo& node, const std::string& value, int32_t tensor,
                      const std::string& suffix);
  // `value` is the node's result, but for its bounds and its quantizer; `is_new`: it was written for this node.
  void finish(const NodeInfo& node, const std::string& value, ChannelOrder order = kChannelsLast,
              bool is_new = true);
  // Behind the last node.
  void finish_graph();

 private:
  int32_t source_of(int32_t tensor) const {
    const int32_t source = sources_[static_cast<size_t>(tensor)];
    return source < 0 ? tensor : source;
  }
  // An input or output of the file.
  struct End {
    int32_t tensor = -1;
    std::string name;  // in the file
    OnnxTensor::DataType own_type = OnnxTensor::FLOAT, type = OnnxTensor::FLOAT;
    std::vector<int64_t> own_dims, dims;  // own: in the order of axes that the file has
    ChannelOrder order = kChannelsLast;   // of an input
    bool is_as_in_model() const { return type == own_type && dims == own_dims; }
  };
  End made_end(int32_t tensor, const std::vector<OnnxEnd>* in_file, const std::string& path, bool is_input,
               std::vector<std::string>& notes) const;
  // Fills the lists of ends, and gives them and all tensors names.
  onnx_file::GraphProto& with_ends(onnx_file::GraphProto& file, const OnnxEnds* ends,
                                   std::vector<std::string>& notes);
  // `value` in another type and shape, as `last` or under a name of its own.
  std::string adapted(const std::string& value, OnnxTensor::DataType type, bool casts,
                      const std::vector<int64_t>& dims, bool reshapes, const std::string& last);

  bool is_end(const std::string& name) const { return graph_.is_output(name) || graph_.is_input(name); }
  std::string unused(const std::string& name) { return graph_.reserve_name(name); }

  const Model& model_;
  int64_t opset_;
  std::vector<std::string> names_;  // by tensor
  std::vector<End> inputs_, outputs_;
  OnnxGraph graph_;
  Quantizers quantizers_;
  std::vector<std::array<std::string, 2>> known_;  // by tensor and order
  std::vector<int32_t> sources_;                   // by tensor; -1: itself
  std::unordered_map<int32_t, std::pair<std::string, ChannelOrder>> starts_;  // inputs, before their quantizers
};

// The function of one value that an operator computes in FP32, as nodes of ONNX. Throws ImportError where it is none.
std::string write_function(ModelValues& values, const NodeInfo& node, Op op, const NodeOptions& options,
                           const std::string& x);
// `node` is a Lookup or a GroupedLookup: a Gather of its tables. In the model's order: the import moves no Transpose through it.
std::string write_table(ModelValues& values, const Model& model, const NodeInfo& node);
// `node` is a Normalize: LayerNormalization, or its steps. In the model's order.
std::string write_normalize(ModelValues& values, const Model& model, const NodeInfo& node);

}  // namespace intaglio::exporters
