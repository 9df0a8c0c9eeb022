#include "importers/onnx/onnx_given.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "importers/draft/read_options.h"
#include "importers/onnx/onnx_order.h"

namespace intaglio::importers {
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
