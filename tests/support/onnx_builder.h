// Small ONNX files in memory.
#pragma once

#include <string>
#include <vector>

#include "importers/onnx/onnx_file.h"

namespace intaglio::test {

inline onnx_file::NodeProto& append_node(onnx_file::GraphProto& graph, const std::string& op,
                                         const std::vector<std::string>& inputs, const std::string& output) {
  auto& node = graph.node.add();
  node.op_type = op;
  for (const std::string& input : inputs) node.input.push_back(input);
  node.output.push_back(output);
  return node;
}

// The file of these bytes, which must outlive it.
inline onnx_file::ModelProto parsed_onnx(const std::string& bytes) {
  return onnx_file::parse_model(bytes).value();
}
onnx_file::ModelProto parsed_onnx(std::string&&) = delete;

class OnnxBuilder {
 public:
  using Node = onnx_file::NodeProto;

  explicit OnnxBuilder(int64_t opset = 13) {
    model_.ir_version = 7;
    model_.opset_import.add().version = opset;
  }

  // A dimension of 0 is left open, with the name "N".
  void input(const std::string& name, const std::vector<int64_t>& dims) {
    describe(graph().input.add(), name, dims);
  }
  OnnxBuilder& output(const std::string& name) {
    graph().output.add().name = name;
    return *this;
  }

  onnx_file::TensorProto& floats(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
    onnx_file::TensorProto& tensor = initializer(name, dims, onnx_file::TensorProto::FLOAT);
    tensor.raw_data.set(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  onnx_file::TensorProto& integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx_file::TensorProto& tensor =
        initializer(name, {static_cast<int64_t>(values.size())}, onnx_file::TensorProto::INT64);
    for (const int64_t value : values) tensor.int64_data.push_back(value);
    return tensor;
  }

  Node& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    Node& node = append_node(graph(), op, inputs, output);
    node.name = output + "_node";
    return node;
  }

  // A node of the domain "own", which the file names once.
  onnx_file::FunctionProto& function(const std::string& name, const std::string& input = "a",
                                     const std::string& output = "b") {
    if (model_.functions.empty()) {
      auto& domain = model_.opset_import.add();
      domain.domain = "own";
      domain.version = 1;
    }
    auto& function = model_.functions.add();
    function.name = name;
    function.domain = "own";
    function.input.push_back(input);
    function.output.push_back(output);
    return function;
  }

  onnx_file::GraphProto& graph() { return model_.graph.make(); }
  onnx_file::ModelProto& model() { return model_; }
  std::string bytes() const { return serialize(model_); }

 private:
  static void describe(onnx_file::ValueInfoProto& value, const std::string& name,
                       const std::vector<int64_t>& dims) {
    value.name = name;
    auto& type = value.type.make().tensor_type.make();
    type.elem_type = onnx_file::TensorProto::FLOAT;
    for (const int64_t dim : dims) {
      auto& made = type.shape.make().dim.add();
      if (dim > 0) made.dim_value = dim;
      if (dim == 0) made.dim_param = "N";
    }
  }
  onnx_file::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& dims,
                                      onnx_file::TensorProto::DataType type) {
    onnx_file::TensorProto& tensor = graph().initializer.add();
    tensor.name = name;
    tensor.data_type = type;
    for (const int64_t dim : dims) tensor.dims.push_back(dim);
    return tensor;
  }

  onnx_file::ModelProto model_;
};

inline void set(OnnxBuilder::Node& node, const std::string& name, int64_t value) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::INT;
  attribute.i = value;
}
inline void set(OnnxBuilder::Node& node, const std::string& name, float value) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::FLOAT;
  attribute.f = value;
}
inline void set(OnnxBuilder::Node& node, const std::string& name, const char* value) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::STRING;
  attribute.s = value;
}
inline void set(OnnxBuilder::Node& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::INTS;
  for (const int64_t value : values) attribute.ints.push_back(value);
}

inline void set(OnnxBuilder::Node& node, const std::string& name, const std::vector<float>& values) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::FLOATS;
  for (const float value : values) attribute.floats.push_back(value);
}

}  // namespace intaglio::test
