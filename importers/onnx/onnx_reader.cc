// From the bytes of an ONNX file to a draft: inputs, then each node by its handler.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_order.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {
namespace {

constexpr int kMaxMessageDepth = 32;
constexpr size_t kMaxCalls = 4096, kMaxDepth = 32;  // of functions

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
    for (const auto& entry : model_.metadata_props())
      if (entry.key() == kAddBitsKey && entry.value() == text(int32_t{AddOptions().add_bits}))
        draft_.add_bits = AddOptions().add_bits;
    check_count(static_cast<size_t>(graph.output_size()), "outputs", kMaxFileEnds);
    read_initializers(graph);
    has_codes_ = quantizes(graph);
    read_inputs(graph);
    const std::vector<std::string> outputs = output_names(graph);
    read_nodes(graph, outputs);
    if (problems_.empty()) read_outputs(outputs);
    note_ranges(file_.ranges);
    return std::move(draft_);
  }

 private:
  // What FakeQuantize has and codes have not.
  void note_ranges(const OnnxRangeCounts& counts) {
    if (counts.moved > 0)
      draft_.notes.push_back(
          text(counts.moved, " of ", counts.all,
               " ranges of FakeQuantize do not have 0 among their values; they are moved by ",
               std::round(counts.furthest * 100) / 100, " of a step at most"));
    if (counts.odd > 0)
      draft_.notes.push_back(
          text(counts.odd, " of ", counts.all,
               " ranges of FakeQuantize begin an odd number of steps below 0: there a number "
               "in the middle of two codes becomes the other one"));
  }

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

  void read_initializers(const onnx_file::GraphProto& graph) {
    if (graph.sparse_initializer_size() > 0) fail("sparse initializers are not supported");
    for (const auto& tensor : graph.initializer())
      if (!file_.values.emplace(tensor.name(), OnnxValue{-1, &tensor, false}).second)
        fail("initializer ", quoted(tensor.name()), " stands twice in the file");
  }

  void read_nodes(const onnx_file::GraphProto& graph, const std::vector<std::string>& outputs) {
    node_count_ += static_cast<size_t>(graph.node_size());
    check_count(node_count_, "nodes", kMaxFileNodes);
    for (const int i : needed_in_order(graph, outputs)) read_node(graph.node(i), i);
  }

  // The branch that the condition takes stands in place of the node.
  void read_if(OnnxOp& op) {
    op.check_inputs(1, 1);
    if (!op.is_constant(0))
      fail("its condition is computed by a run; only one that the file and its shapes decide is supported");
    const std::vector<int64_t> condition = op.integers(0).values;
    if (condition.size() != 1) fail("its condition must be one value, it has ", condition.size());
    const onnx_file::GraphProto& branch = op.graph(condition[0] != 0 ? "then_branch" : "else_branch");
    if (branch.output_size() != op.output_count())
      fail("its branch has ", branch.output_size(), " outputs where ", op.output_count(), " are expected");
    read_initializers(branch);
    std::vector<std::string> outputs;
    for (const auto& output : branch.output()) outputs.push_back(output.name());
    read_nodes(branch, outputs);
    for (int i = 0; i < op.output_count(); ++i) op.set_alias(branch.output(i).name(), i);
  }

  // The function's nodes stand in place of the node that calls it.
  void read_function(const onnx_file::FunctionProto& function, const onnx_file::NodeProto& node) {
    if (calls_.size() >= kMaxCalls || depth_ >= kMaxDepth)
      fail("the file calls its functions more than ", kMaxCalls, " times, or more than ", kMaxDepth,
           " in one another");
    call_bytes_ += function.ByteSizeLong();
    if (call_bytes_ > kMaxModelBytes)
      fail("the functions that nodes call are larger than the limit of ", kMaxModelBytes, " bytes together");
    const std::string prefix =
        text(node.name().empty() ? node.op_type() : node.name(), "/", calls_.size(), "/");
    calls_.push_back(called_onnx_function(function, node, prefix));
    const onnx_file::GraphProto& body = *calls_.back();
    ++depth_;
    read_nodes(body, {node.output().begin(), node.output().end()});
    --depth_;
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

  // What 8-bit numbers become: codes where the network computes on codes, else the float numbers that they are.
  DType input_dtype(const onnx_file::ValueInfoProto& input) const {
    if (!input.type().has_tensor_type()) fail("input ", quoted(input.name()), " is no tensor");
    const int32_t type = input.type().tensor_type().elem_type();
    if (is_onnx_real(type)) return DType::kF32;
    if (type == Type::INT32 || type == Type::INT64 || type == Type::BOOL) return DType::kS32;
    if (type == Type::UINT8 || type == Type::INT8) return has_codes_ ? DType::kS8 : DType::kF32;
    fail("input ", quoted(input.name()), " holds ", onnx_type_name(type),
         "; float, float16, double, int8, uint8, int32, int64 and bool are supported");
  }

  // Whether the file quantizes: an operator that says so in its name.
  static bool quantizes(const onnx_file::GraphProto& graph) {
    return std::any_of(graph.node().begin(), graph.node().end(), [](const auto& node) {
      return node.op_type().find("Linear") != std::string::npos && node.op_type() != "LinearRegressor";
    });
  }

  void note_integers(int32_t tensor, int32_t type) {
    DraftTensor& input = draft_.tensor(tensor);
    const std::string start =
        text("input ", quoted(input.name), " is ", onnx_type_name(type), " in the file; here ");
    if (input.dtype == DType::kS32) {
      if (type != Type::INT32) draft_.notes.push_back(start + "it is int32");
    } else if (input.dtype == DType::kF32) {
      draft_.notes.push_back(start + "it is float, with the same numbers");
      if (type == Type::UINT8)
        draft_.pictures.push_back(
            {static_cast<int32_t>(draft_.inputs.size()) - 1, {0.0f}, {1.0f}, false, true});
    } else {
      input.scales = {1.0f};
      input.zero_point = type == Type::UINT8 ? -128 : 0;
      if (type == Type::UINT8) draft_.notes.push_back(start + "its codes are int8: the file's minus 128");
    }
  }

  void read_input(const onnx_file::ValueInfoProto& input) {
    const auto& type = input.type().tensor_type();
    const DType dtype = input_dtype(input);
    if (is_onnx_real(type.elem_type()) && type.elem_type() != Type::FLOAT)
      draft_.notes.push_back(text("input ", quoted(input.name()),
                                  " is not float in the file; here it is, and so are all results"));
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
      tensor = add_activation(draft_, input.name(), dtype, shape);
    } catch (const ImportError& error) {
      fail("input ", quoted(input.name()), ": ", error.what());
    }
    const bool is_integer = !is_onnx_real(type.elem_type());
    const int64_t code_type = dtype == DType::kS8 ? type.elem_type() : 0;
    if (!file_.values.emplace(input.name(), OnnxValue{tensor, nullptr, false, is_integer, code_type}).second)
      fail("input ", quoted(input.name()), " is listed twice");
    draft_.inputs.push_back(tensor);
    if (is_integer) note_integers(tensor, type.elem_type());
  }

  void read_operator(const onnx_file::NodeProto& node) {
    const bool standard = is_standard_onnx(node.domain());
    OnnxOp op(file_, node);
    if (standard && node.op_type() == "If") return read_if(op);
    if (standard && fold_onnx_constants(op)) return;
    const OnnxOperator* const known = find_onnx_operator(node.domain(), node.op_type());
    const auto* const function = known == nullptr ? find_onnx_function(model_, node) : nullptr;
    if (function != nullptr) return read_function(*function, node);
    if (known == nullptr)
      fail("this operator is not supported", standard ? "" : " (domain " + quoted(node.domain()) + ")",
           node.domain() == "com.microsoft.nchwc"
               ? "; onnxruntime wrote the file for one machine: save it with ORT_ENABLE_EXTENDED, not ALL"
               : "",
           node.op_type() == "NonMaxSuppression" ? cut_before(activations_of(node)) : "");
    if (op.input_count() > 0 && op.has_input(0) && op.all_constant()) return op.evaluate(known->import);
    known->import(op);
    op.check_all_read();
  }

  // Tensors that the node reads and that have been imported.
  std::vector<std::string> activations_of(const onnx_file::NodeProto& node) const {
    std::vector<std::string> names;
    for (const std::string& input : node.input()) {
      const auto found = file_.values.find(input);
      if (found == file_.values.end() || found->second.tensor < 0) continue;
      if (!is_model_input(draft_, found->second.tensor)) names.push_back(input);
    }
    return names;
  }

  void read_node(const onnx_file::NodeProto& node, int number) {
    try {
      const auto parts = decomposed_onnx(file_, node);
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

  std::vector<std::string> output_names(const onnx_file::GraphProto& graph) const {
    std::vector<std::string> own, known;
    for (const auto& output : graph.output()) own.push_back(output.name());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output())
        if (!output.empty()) known.push_back(output);
    return chosen_outputs(options_, own, known);
  }

  // What a name stands for, as the caller gets it: integers as s32, a constant as a tensor that a run writes.
  int32_t output_tensor(const std::string& name) {
    const auto found = file_.values.find(name);
    const bool is_written =
        found != file_.values.end() && (found->second.tensor >= 0 || found->second.constant != nullptr);
    if (!is_written) fail("output ", quoted(name), " is not written by any node");
    onnx_file::NodeProto node;
    node.set_op_type("Identity");
    node.add_input(name);
    node.add_output(name);
    OnnxOp op(file_, node);
    if (found->second.constant == nullptr)
      return found->second.is_integer ? op.as_index(found->second.tensor) : found->second.tensor;
    try {
      return output_constant(op, name);
    } catch (const ImportError& error) {
      fail("output ", quoted(name), ": ", error.what());
    }
  }
  int32_t output_constant(OnnxOp& op, const std::string& name) {
    if (op.is_constant_of_reals(0)) {
      const OnnxConstant<float> constant = op.floats(0);
      return add_constant(draft_, name + "/constant", DType::kF32, at_least_1d(constant.shape),
                          constant.values);
    }
    const OnnxConstant<int64_t> constant = op.integers(0);
    std::vector<int32_t> narrowed;
    for (const int64_t value : constant.values) narrowed.push_back(narrow(value, "number"));
    return add_constant(draft_, name + "/constant", DType::kS32, at_least_1d(constant.shape), narrowed);
  }
  static Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

  void read_outputs(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      int32_t tensor = output_tensor(name);
      if (is_model_input(draft_, tensor) || is_model_output(draft_, tensor) ||
          draft_.tensor(tensor).constant) {
        const int32_t copy = add_activation_like(draft_, name, tensor, draft_.tensor(tensor).shape);
        add_node(draft_, Op::kReshape, name, "Identity", {tensor}, copy);
        tensor = copy;
      }
      draft_.tensor(tensor).name = name;
      draft_.outputs.push_back(tensor);
    }
  }

  using Type = onnx_file::TensorProto;

  const ReadOptions& options_;
  Problems& problems_;
  onnx_file::ModelProto model_;
  bool has_codes_ = false;                                     // of 8 bits, between its nodes
  size_t node_count_ = 0;                                      // with those of branches and functions
  std::vector<std::unique_ptr<onnx_file::GraphProto>> calls_;  // the bodies of the functions that nodes call
  size_t call_bytes_ = 0, depth_ = 0;
  OnnxFile file_;
  Draft draft_;
};

}  // namespace

Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems) {
  return Reader(bytes, options, problems).read();
}

}  // namespace intaglio::importers
