// Small ONNX files in memory.
#pragma once

#include <string>
#include <vector>

#include "importers/onnx/intaglio_onnx.pb.h"

namespace intaglio::test {

inline onnx_file::NodeProto& append_node(onnx_file::GraphProto& graph, const std::string& op,
                                         const std::vector<std::string>& inputs, const std::string& output) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

class OnnxBuilder {
 public:
  using Node = onnx_file::NodeProto;

  explicit OnnxBuilder(int64_t opset = 13) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(opset);
  }

  // A dimension of 0 is left open, with the name "N".
  void input(const std::string& name, const std::vector<int64_t>& dims) {
    describe(*graph().add_input(), name, dims);
  }
  OnnxBuilder& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  onnx_file::TensorProto& floats(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
    onnx_file::TensorProto& tensor = initializer(name, dims, onnx_file::TensorProto::FLOAT);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  onnx_file::TensorProto& integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx_file::TensorProto& tensor =
        initializer(name, {static_cast<int64_t>(values.size())}, onnx_file::TensorProto::INT64);
    for (const int64_t value : values) tensor.add_int64_data(value);
    return tensor;
  }

  Node& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    Node& node = append_node(graph(), op, inputs, output);
    node.set_name(output + "_node");
    return node;
  }

  onnx_file::GraphProto& graph() { return *model_.mutable_graph(); }
  onnx_file::ModelProto& model() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }

 private:
  static void describe(onnx_file::ValueInfoProto& value, const std::string& name,
                       const std::vector<int64_t>& dims) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_file::TensorProto::FLOAT);
    for (const int64_t dim : dims) {
      auto& made = *type.mutable_shape()->add_dim();
      if (dim > 0) made.set_dim_value(dim);
      if (dim == 0) made.set_dim_param("N");
    }
  }
  onnx_file::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& dims,
                                      onnx_file::TensorProto::DataType type) {
    onnx_file::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    return tensor;
  }

  onnx_file::ModelProto model_;
};

inline void set(OnnxBuilder::Node& node, const std::string& name, int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::INT);
  attribute.set_i(value);
}
inline void set(OnnxBuilder::Node& node, const std::string& name, float value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::FLOAT);
  attribute.set_f(value);
}
inline void set(OnnxBuilder::Node& node, const std::string& name, const char* value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::STRING);
  attribute.set_s(value);
}
inline void set(OnnxBuilder::Node& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

inline void set(OnnxBuilder::Node& node, const std::string& name, const std::vector<float>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

}  // namespace intaglio::test
