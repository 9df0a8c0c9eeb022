// The inputs of an ONNX file's graph.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using Type = onnx_file::TensorProto;

class Inputs {
 public:
  Inputs(const onnx_file::GraphProto& graph, const ReadOptions& options, OnnxFile& file)
      : options_(options), file_(file), draft_(*file.draft), has_codes_(quantizes(graph)) {}

  void read(const onnx_file::GraphProto& graph) {
    std::vector<const onnx_file::ValueInfoProto*> inputs;
    std::vector<FileInput> in_file;
    for (const auto& input : graph.input) {
      if (file_.values.count(input.name) != 0) continue;  // old files list their weights here
      inputs.push_back(&input);
    }
    check_count(inputs.size(), "inputs", kMaxFileEnds);
    for (const auto* input : inputs) in_file.push_back(described(*input));
    check_file_inputs(in_file, options_);
    for (size_t i = 0; i < inputs.size(); ++i) read_input(*inputs[i], in_file[i]);
  }

 private:
  // What 8-bit numbers become: codes where the network computes on codes, else the float numbers that they are.
  DType input_dtype(const onnx_file::ValueInfoProto& input) const {
    if (!input.type->tensor_type.has()) fail("input ", quoted(input.name), " is no tensor");
    const int32_t type = input.type->tensor_type->elem_type;
    if (is_onnx_real(type)) return DType::kF32;
    if (type == Type::INT32 || type == Type::INT64 || type == Type::BOOL) return DType::kS32;
    if (type == Type::UINT8 || type == Type::INT8) return has_codes_ ? DType::kS8 : DType::kF32;
    fail("input ", quoted(input.name), " holds ", onnx_type_name(type),
         "; float, float16, double, int8, uint8, int32, int64 and bool are supported");
  }

  // Whether the file quantizes: an operator that says so in its name.
  static bool quantizes(const onnx_file::GraphProto& graph) {
    return std::any_of(graph.node.begin(), graph.node.end(), [](const auto& node) {
      return node.op_type.find("Linear") != std::string::npos && node.op_type != "LinearRegressor";
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

  static FileInput described(const onnx_file::ValueInfoProto& input) {
    const auto& type = *input.type->tensor_type;
    FileInput made{checked_name(input.name), {}, {}};
    for (const auto& dim : type.shape->dim) {
      if (dim.dim_value.value_or(0) > INT32_MAX)
        fail("input ", quoted(input.name), " has the dimension ", dim.dim_value.value_or(0));
      made.dims.push_back(dim.dim_value.value_or(0) < 1 ? 0
                                                        : static_cast<int32_t>(dim.dim_value.value_or(0)));
      made.open_names.push_back(dim.dim_param.value_or(""));
    }
    if (input.type->tensor_type.has() && !type.shape.has())
      fail("input ", quoted(input.name), " has no shape in the file");
    return made;
  }

  void read_input(const onnx_file::ValueInfoProto& input, const FileInput& described) {
    const auto& type = *input.type->tensor_type;
    const DType dtype = input_dtype(input);
    if (is_onnx_real(type.elem_type) && type.elem_type != Type::FLOAT)
      draft_.notes.push_back(text("input ", quoted(input.name),
                                  " is not float in the file; here it is, and so are all results"));
    const bool is_number = described.dims.empty();  // which has an axis here
    const Shape in_file = is_number ? Shape{1} : described.dims;
    const Shape shape = is_number ? in_file : input_shape(described, options_);
    for (size_t i = 0; i < shape.size(); ++i)
      file_.shapes_changed |= in_file[i] >= 1 && shape[i] != in_file[i];
    // A batch that the file leaves open is often written as 1 in its Reshape constants.
    file_.shapes_changed |= in_file[0] == 0 && shape[0] != 1;
    int32_t tensor = -1;
    try {
      tensor = add_activation(draft_, input.name, dtype, shape);
    } catch (const ImportError& error) {
      fail("input ", quoted(input.name), ": ", error.what());
    }
    const bool is_integer = !is_onnx_real(type.elem_type);
    OnnxCodes codes;
    if (dtype == DType::kS8) codes.type = type.elem_type;
    const OnnxValue value{tensor, nullptr, false, is_integer, type.elem_type == Type::BOOL, codes};
    if (!file_.values.emplace(input.name, value).second)
      fail("input ", quoted(input.name), " is listed twice");
    draft_.inputs.push_back(tensor);
    if (is_integer) note_integers(tensor, type.elem_type);
  }

  const ReadOptions& options_;
  OnnxFile& file_;
  Draft& draft_;
  bool has_codes_;
};

}  // namespace

void read_onnx_inputs(const onnx_file::GraphProto& graph, const ReadOptions& options, OnnxFile& file) {
  Inputs(graph, options, file).read(graph);
}

}  // namespace intaglio::importers
