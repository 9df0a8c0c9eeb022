// From the bytes of an ONNX file to a draft: inputs, then each node by its handler.
#include <google/protobuf/io/coded_stream.h>

#include <memory>

#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {
namespace {

constexpr int kMaxMessageDepth = 32;

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems)
      : options_(options), problems_(problems) {
    google::protobuf::io::CodedInputStream stream(bytes.data, static_cast<int>(bytes.size));
    stream.SetRecursionLimit(kMaxMessageDepth);
    if (!model_.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
      fail(
          "neither a TFLite file (no identifier TFL3) nor an ONNX file (the protobuf is damaged or cut "
          "short)");
    if (!model_.has_graph())
      fail("neither a TFLite file (no identifier TFL3) nor an ONNX file (it has no graph)");
    file_.draft = &draft_;
    file_.opset = opset();
  }

  Draft read() {
    const onnx_file::GraphProto& graph = model_.graph();
    if (!options_.external_data_folder.empty())
      load_external_data(*model_.mutable_graph(), options_.external_data_folder);
    if (graph.sparse_initializer_size() > 0) fail("sparse initializers are not supported");
    for (const auto& entry : model_.metadata_props())
      if (entry.key() == kAddBitsKey && entry.value() == text(int32_t{AddOptions().add_bits}))
        draft_.add_bits = AddOptions().add_bits;
    check_count(static_cast<size_t>(graph.node_size()), "nodes", kMaxFileNodes);
    check_count(static_cast<size_t>(graph.output_size()), "outputs", kMaxFileEnds);
    for (const auto& tensor : graph.initializer())
      if (!file_.values.emplace(tensor.name(), OnnxValue{-1, &tensor, false}).second)
        fail("initializer ", quoted(tensor.name()), " stands twice in the file");
    read_inputs(graph);
    for (int i = 0; i < graph.node_size(); ++i) read_node(graph.node(i), i);
    if (problems_.empty()) read_outputs(graph);
    return std::move(draft_);
  }

 private:
  int64_t opset() const {
    for (const auto& entry : model_.opset_import()) {
      if (!is_standard_onnx(entry.domain())) continue;
      if (entry.version() < kFirstOpset || entry.version() > kLastOpset)
        fail("ONNX opset ", entry.version(), " is not supported (", kFirstOpset, " to ", kLastOpset,
             " are); convert the model with onnx.version_converter");
      return entry.version();
    }
    fail("the ONNX file does not say which opset it uses");
  }

  void read_inputs(const onnx_file::GraphProto& graph) {
    std::vector<const onnx_file::ValueInfoProto*> inputs;
    std::vector<std::string> names;
    for (const auto& input : graph.input()) {
      if (file_.values.count(input.name()) != 0) continue;  // old files list their weights here
      inputs.push_back(&input);
      names.push_back(input.name());
    }
    check_count(names.size(), "inputs", kMaxFileEnds);
    check_shape_names(names, options_);
    for (const auto* input : inputs) read_input(*input);
  }

  void read_input(const onnx_file::ValueInfoProto& input) {
    const auto& type = input.type().tensor_type();
    if (!input.type().has_tensor_type() || !is_onnx_real(type.elem_type()))
      fail("input ", quoted(input.name()), " has the element type ", type.elem_type(),
           "; only float (1) is supported, and others of reals, which are taken as float");
    if (type.elem_type() != onnx_file::TensorProto::FLOAT)
      draft_.notes.push_back(text("input ", quoted(input.name()),
                                  " is not float in the file; here it is, and so are "
                                  "all results"));
    Shape in_file;
    std::vector<std::string> open_names;
    for (const auto& dim : type.shape().dim()) {
      if (dim.dim_value() > INT32_MAX)
        fail("input ", quoted(input.name()), " has the dimension ", dim.dim_value());
      in_file.push_back(dim.dim_value() < 1 ? 0 : static_cast<int32_t>(dim.dim_value()));
      open_names.push_back(dim.dim_param());
    }
    if (!type.has_shape() || in_file.empty())
      fail("input ", quoted(input.name()), " has no shape in the file");
    const Shape shape = input_shape(input.name(), in_file, open_names, options_);
    for (size_t i = 0; i < shape.size(); ++i)
      file_.shapes_changed |= in_file[i] >= 1 && shape[i] != in_file[i];
    // A batch that the file leaves open is often written as 1 in its Reshape constants.
    file_.shapes_changed |= in_file[0] == 0 && shape[0] != 1;
    int32_t tensor = -1;
    try {
      tensor = add_activation(draft_, input.name(), DType::kF32, shape);
    } catch (const ImportError& error) {
      fail("input ", quoted(input.name()), ": ", error.what());
    }
    if (!file_.values.emplace(input.name(), OnnxValue{tensor, nullptr, false}).second)
      fail("input ", quoted(input.name()), " is listed twice");
    draft_.inputs.push_back(tensor);
  }

  void read_operator(const onnx_file::NodeProto& node) {
    const bool standard = is_standard_onnx(node.domain());
    OnnxOp op(file_, node);
    if (standard && fold_onnx_constants(op)) return;
    const OnnxOperator* const known = find_onnx_operator(node.domain(), node.op_type());
    if (known == nullptr)
      fail("this operator is not supported", standard ? "" : " (domain " + quoted(node.domain()) + ")");
    known->import(op);
    op.check_all_read();
  }

  void read_node(const onnx_file::NodeProto& node, int number) {
    try {
      const auto parts = decompose_qlinear(node);
      for (const auto& part : parts) read_operator(part);
      if (parts.empty()) read_operator(node);
      return;
    } catch (const ImportError& error) {
      const std::string name = !node.name().empty()     ? node.name()
                               : node.output_size() > 0 ? node.output(0)
                                                        : text("node_", number);
      problems_.add(text("node ", quoted(name), " (", shown(node.op_type()), "): ", error.what()));
    } catch (const ReadsFailed&) {
    }
    for (const std::string& output : node.output()) file_.values[output].failed = true;
  }

  void read_outputs(const onnx_file::GraphProto& graph) {
    for (const auto& output : graph.output()) {
      const auto found = file_.values.find(output.name());
      if (found == file_.values.end() || found->second.tensor < 0)
        fail("output ", quoted(output.name()), " is not written by any node");
      int32_t tensor = found->second.tensor;
      if (is_model_input(draft_, tensor) || is_model_output(draft_, tensor)) {
        const int32_t copy = add_activation_like(draft_, output.name(), tensor, draft_.tensor(tensor).shape);
        add_node(draft_, Op::kReshape, output.name(), "Identity", {tensor}, copy);
        tensor = copy;
      }
      draft_.tensor(tensor).name = output.name();
      draft_.outputs.push_back(tensor);
    }
  }

  const ReadOptions& options_;
  Problems& problems_;
  onnx_file::ModelProto model_;
  OnnxFile file_;
  Draft draft_;
};

}  // namespace

Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems) {
  return Reader(bytes, options, problems).read();
}

}  // namespace intaglio::importers
