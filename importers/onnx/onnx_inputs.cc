// The inputs of an ONNX file's graph.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "importers/draft/read_options.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

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
  // The type of 8-bit numbers: codes where the network computes on codes, else the float numbers that they are.
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

namespace {

using Type = onnx_file::TensorProto;

constexpr int64_t kMostElements = int64_t{1} << 28;

// The file's dimensions; what is open there is as the values have it.
std::vector<int64_t> constant_dims(const InputConstant& given, const onnx_file::TypeProto::Tensor& type) {
  const auto count = static_cast<int64_t>(given.values.size());
  std::vector<int64_t> dims;
  int64_t* open = nullptr;
  int open_count = 0;
  for (const auto& dim : type.shape->dim) dims.push_back(std::max<int64_t>(dim.dim_value.value_or(0), 0));
  if (!type.shape.has() && count > 1) dims.push_back(0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && given.dims.size() == dims.size()) dims[i] = given.dims[i];
    if (dims[i] == 0) open = &dims[i];
    open_count += dims[i] == 0 ? 1 : 0;
  }
  // An array that states its dimensions would be read in another order by an input of others.
  bool fits = count == 1 || given.dims.empty() || given.dims.size() == dims.size();
  for (size_t i = 0; fits && count != 1 && i < given.dims.size(); ++i)
    fits = dims[i] == 0 || dims[i] == given.dims[i];
  int64_t known = 1;
  for (const int64_t dim : dims) {
    if (dim <= kMostElements) known *= std::max<int64_t>(dim, 1);
    if (dim > kMostElements || known > kMostElements)
      fail("--constant ", given.input, ": the input is too large");
  }
  if (open_count == 1 && count % known == 0) {
    *open = count / known;
    known = count;
  }
  if (!fits || open_count > 1 || (count != 1 && count != known) || (open_count == 1 && *open == 0))
    fail("--constant ", given.input, " gives ", count, " values, which do not fit the input's shape ",
         shape_text(Shape(dims.begin(), dims.end())));
  return dims;
}

std::unique_ptr<Type> made_constant(const InputConstant& given, const onnx_file::TypeProto::Tensor& type) {
  auto constant = std::make_unique<Type>();
  uint64_t count = 1;
  for (const int64_t dim : constant_dims(given, type)) {
    constant->dims.push_back(dim);
    count *= static_cast<uint64_t>(dim);
  }
  const bool is_real = is_onnx_real(type.elem_type);
  constant->data_type = is_real ? int32_t{Type::FLOAT} : type.elem_type;
  for (uint64_t i = 0; i < count; ++i) {
    const float value = given.values[given.values.size() == 1 ? 0 : i];
    if (!is_real && (value != std::nearbyint(value) || std::abs(value) > 16777216.0f))
      fail("--constant ", given.input, ": the input holds integers, and ", value, " is none of 24 bits");
    if (is_real)
      constant->float_data.push_back(value);
    else if (type.elem_type == Type::INT64)
      constant->int64_data.push_back(static_cast<int64_t>(value));
    else
      constant->int32_data.push_back(static_cast<int32_t>(value));
  }
  return constant;
}

// Inputs that the file has no values for are those that can be given some.
[[noreturn]] void fail_of_names(const onnx_file::GraphProto& graph, const OnnxFile& file,
                                const std::string& wanted) {
  constexpr size_t kMostNames = 16;
  std::string list;
  size_t count = 0;
  for (const auto& input : graph.input) {
    if (file.values.count(input.name) != 0) continue;  // old files list their weights here
    if (count++ < kMostNames) list += (list.empty() ? "" : ", ") + quoted(input.name);
  }
  if (count > kMostNames) list += text(", and ", count - kMostNames, " others");
  fail("--constant names the input ", quoted(wanted), ", which the model does not have; it has ",
       count == 0 ? "none" : list);
}

}  // namespace

void take_onnx_constants(const onnx_file::GraphProto& graph, const std::vector<InputConstant>& given,
                         OnnxFile& file) {
  for (const InputConstant& one : given) {
    const auto input = std::find_if(graph.input.begin(), graph.input.end(),
                                    [&](const auto& candidate) { return candidate.name == one.input; });
    if (input == graph.input.end()) fail_of_names(graph, file, one.input);
    if (!input->type->tensor_type.has()) fail("input ", quoted(one.input), " is no tensor");
    auto constant = made_constant(one, *input->type->tensor_type);
    OnnxValue value;
    value.constant = constant.get();
    if (!file.values.emplace(one.input, value).second)
      fail("--constant names the input ", quoted(one.input), ", which is a constant already");
    file.own_constants.push_back(std::move(constant));
  }
}

std::string words_of_condition(const onnx_file::GraphProto& graph, const std::string& name) {
  std::unordered_set<std::string> read{name}, constants;
  for (const int i : needed_in_order(graph, {name})) {
    const onnx_file::NodeProto& node = graph.node[i];
    if (node.op_type != "Shape" && node.op_type != "Size") read.insert(node.input.begin(), node.input.end());
  }
  for (const auto& constant : graph.initializer) constants.insert(constant.name);
  std::string names, options;
  for (const auto& input : graph.input) {
    if (read.count(input.name) == 0 || constants.count(input.name) != 0) continue;
    names += text(names.empty() ? "" : ", ", quoted(input.name));
    const auto& dims = input.type->tensor_type->shape->dim;
    const bool is_number =
        std::all_of(dims.begin(), dims.end(), [](const auto& d) { return d.dim_value.value_or(0) == 1; });
    options += " " + as_constant(input.name, is_number ? 1 : 2 /* or more */);
  }
  const char* const words = "a run computes its condition, so each run computes both branches";
  if (names.empty()) return words;
  return text(words, "; where ", names, " is the same in each run, give it:", options, " leaves one branch");
}

}  // namespace intaglio::importers
