#include "importers/onnx/onnx_decomposer.h"

#include <algorithm>

#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {

using onnx_file::AttributeProto;
using onnx_file::NodeProto;

constexpr int kMostStrings = 65536;  // of a constant, which many nodes may read

OnnxDecomposer::OnnxDecomposer(OnnxFile& file, const NodeProto& node)
    : OnnxNodeAttributes(node), file_(file), node_(node) {
  const auto named = std::find_if(node.output.begin(), node.output.end(),
                                  [](const std::string& output) { return !output.empty(); });
  if (named == node.output.end()) fail("it has no output");
  first_output_ = *named;
}

void OnnxDecomposer::check_inputs(int least, int most) const {
  int named = node_.input.count();  // what is left out at the end may stand there without a name
  while (named > 0 && !has(named - 1)) --named;
  if (node_.input.count() < least || named > most)
    fail("it has ", named, " inputs where ", least, " to ", most, " are expected");
}

void OnnxDecomposer::check_one_output() const {
  if (node_.output.count() != 1) fail("it has ", node_.output.count(), " outputs where 1 is expected");
}

bool OnnxDecomposer::holds_codes(int i) const {
  const auto found = has(i) ? file_.values.find(input(i)) : file_.values.end();
  return found != file_.values.end() && found->second.codes.type != 0;
}

Shape OnnxDecomposer::shape(int i) const {
  if (!has(i)) fail("input ", i, " is missing");
  if (file_.values.count(input(i)) == 0)
    fail("input ", i, " (", quoted(input(i)), ") is read before anything writes it");
  return shape_of(input(i));
}

Shape OnnxDecomposer::shape_of(const std::string& name) const {
  const auto found = file_.values.find(name);
  if (found == file_.values.end()) fail("nothing writes ", quoted(name));
  if (found->second.failed) throw ReadsFailed{};
  if (found->second.constant == nullptr) return file_.draft->tensor(found->second.tensor).shape;
  Shape shape;
  for (const int64_t dim : found->second.constant->dims) shape.push_back(narrow(dim, "dimension"));
  return shape;
}

bool OnnxDecomposer::all_constant() const { return OnnxOp(file_, node_).all_constant(); }

std::vector<int64_t> OnnxDecomposer::list(const char* name, size_t count, int64_t least) const {
  std::vector<int64_t> numbers = list(name);
  if (numbers.empty()) numbers.assign(count, least);
  if (numbers.size() != count) fail(name, " has ", numbers.size(), " numbers where ", count, " are expected");
  for (const int64_t number : numbers)
    if (number < least || number > kMaxTensorBytes) fail(name, " holds ", number);
  return numbers;
}

std::vector<int64_t> OnnxDecomposer::constant(int i) const {
  OnnxOp op(file_, node_);
  if (!op.has_input(i) || !op.is_constant(i)) return {};
  return op.integers(i).values;
}

std::vector<float> OnnxDecomposer::real_constant(int i) const {
  OnnxOp op(file_, node_);
  if (!op.has_input(i) || !op.is_constant(i)) return {};
  return op.floats(i).values;
}

std::vector<std::string> OnnxDecomposer::string_constant(int i) const {
  const auto found = has(i) ? file_.values.find(input(i)) : file_.values.end();
  if (found == file_.values.end() || found->second.constant == nullptr ||
      found->second.constant->data_type != onnx_file::TensorProto::STRING)
    return {};
  const auto& words = found->second.constant->string_data;
  if (words.size() > kMostStrings)
    fail("constant ", quoted(input(i)), " holds ", words.size(), " strings; at most ", kMostStrings,
         " are supported");
  return {words.begin(), words.end()};
}

void OnnxDecomposer::check_room(size_t numbers) const {
  file_.draft->budget->check_numbers(static_cast<int64_t>(numbers));
}

NodeProto& OnnxDecomposer::append(const char* op_type, const std::vector<std::string>& inputs,
                                  const std::string& output) {
  if (++file_.made_nodes > kMaxMadeNodes)
    fail("it and nodes before it become more than ", kMaxMadeNodes, " simpler nodes together");
  uint64_t names = node_.name.size() + output.size();
  for (const std::string& name : inputs) names += name.size();
  file_.draft->budget->spend_memory(sizeof(NodeProto) + inputs.size() * sizeof(std::string) + names,
                                    "a node that it is made of");
  NodeProto& node = nodes_.emplace_back();
  node.op_type = op_type;
  node.name = node_.name;
  for (const std::string& name : inputs) node.input.push_back(name);
  node.output.push_back(output.empty() ? unique(text(first_output_, "/", nodes_.size())) : output);
  return node;
}

std::string OnnxDecomposer::add(const char* op_type, const std::vector<std::string>& inputs,
                                const OnnxAttributes& attributes, const std::string& output) {
  NodeProto& node = append(op_type, inputs, output);
  add_attributes(node, attributes);
  return node.output[0];
}

std::string OnnxDecomposer::add_own(const char* op_type, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& without, const std::string& output) {
  NodeProto& node = append(op_type, inputs, output);
  for (const AttributeProto& attribute : node_.attribute) {
    if (std::find(without.begin(), without.end(), attribute.name) != without.end()) continue;
    node.attribute.add() = attribute;
    ignore(attribute.name);
  }
  return node.output[0];
}

void OnnxDecomposer::add_outputs(const std::vector<std::string>& names) {
  for (const std::string& name : names) nodes_.back().output.push_back(name);
}

std::string OnnxDecomposer::number(float value) { return add("Constant", {}, {{"value_float", value}}); }

std::string OnnxDecomposer::whole(int64_t value) { return add("Constant", {}, {{"value_int", value}}); }

std::string OnnxDecomposer::integers(const std::vector<int64_t>& list) {
  return add("Constant", {}, {{"value_ints", list}});
}

std::string OnnxDecomposer::numbers(const std::vector<float>& list) {
  NodeProto& node = append("Constant", {}, {});
  AttributeProto& attribute = node.attribute.add();
  attribute.name = "value_floats";
  attribute.type = AttributeProto::FLOATS;
  attribute.floats = list;
  return node.output[0];
}

std::string OnnxDecomposer::counted(int64_t count, int64_t step) {
  constexpr int64_t kMost = 1 << 20;
  if (count < 1 || count > kMost) fail("it counts ", count, " steps; 1 to ", kMost, " are supported");
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i * step);
  return integers(numbers);
}

std::vector<std::string> OnnxDecomposer::split(const std::string& x, int64_t axis,
                                               const std::vector<int64_t>& sizes) {
  // From opset 13 on the sizes are an input.
  if (file_.opset >= 13) {
    add("Split", {x, integers(sizes)}, {{"axis", axis}});
  } else {
    add("Split", {x}, {{"axis", axis}, {"split", sizes}});
  }
  NodeProto& made = nodes_.back();
  for (size_t i = 1; i < sizes.size(); ++i) made.output.push_back(unique(text(made.output[0], "/", i)));
  return {made.output.begin(), made.output.end()};
}

std::string OnnxDecomposer::slice(const std::string& x, int64_t axis, int64_t begin, int64_t end) {
  // From opset 10 on the places are inputs.
  if (file_.opset >= 10) return add("Slice", {x, integers({begin}), integers({end}), integers({axis})});
  return add("Slice", {x}, {{"starts", OnnxList{begin}}, {"ends", OnnxList{end}}, {"axes", OnnxList{axis}}});
}

std::string OnnxDecomposer::stacked(std::vector<std::string> parts, const std::string& output, int64_t axis,
                                    bool are_numbers) {
  // From opset 13 on the axes are an input.
  const std::string axes = file_.opset >= 13 ? integers({axis}) : "";
  for (std::string& part : parts) {
    const auto found = file_.values.find(part);
    if (are_numbers && found != file_.values.end() && found->second.tensor >= 0) continue;
    part =
        axes.empty() ? add("Unsqueeze", {part}, {{"axes", OnnxList{axis}}}) : add("Unsqueeze", {part, axes});
  }
  return joined(std::move(parts), output, axis);
}

void OnnxDecomposer::choose(const std::string& yes, const std::string& no, const std::string& output) {
  const Shape condition = shape(0), a = at_least_1d(shape_of(yes)), b = at_least_1d(shape_of(no));
  if (elements(condition) != 1)
    fail("its condition must be one value, it has the shape ", shape_text(condition));
  if (a != b)
    fail("its branches give ", shape_text(a), " and ", shape_text(b), "; a run that chooses needs the same");
  add("Where", {reshaped(input(0), {1}), yes, no}, {}, output);
}

std::string OnnxDecomposer::joined(std::vector<std::string> parts, const std::string& output, int64_t axis) {
  constexpr size_t kMostParts = 64;  // of one Concat
  const OnnxAttributes along{{"axis", axis}};
  while (parts.size() > kMostParts) {
    std::vector<std::string> fewer;
    for (size_t i = 0; i < parts.size(); i += kMostParts) {
      const auto first = parts.begin() + static_cast<std::ptrdiff_t>(i);
      const size_t count = std::min(kMostParts, parts.size() - i);
      fewer.push_back(add("Concat", {first, first + static_cast<std::ptrdiff_t>(count)}, along));
    }
    parts = std::move(fewer);
  }
  return add("Concat", parts, along, output);
}

std::string OnnxDecomposer::clip(const std::string& x, float low, float high, const std::string& output) {
  // From opset 11 on the bounds are inputs.
  if (file_.opset < 11) return add("Clip", {x}, {{"min", low}, {"max", high}}, output);
  const std::string least = number(low);
  return add("Clip", {x, least, number(high)}, {}, output);
}

std::string OnnxDecomposer::cast(const std::string& x, onnx_file::TensorProto::DataType to) {
  return add("Cast", {x}, {{"to", to}});
}

std::string OnnxDecomposer::dequantized(int codes, int scale, int zero_point, int64_t axis) {
  std::vector<std::string> inputs{input(codes), input(scale)};
  if (has(zero_point)) inputs.push_back(input(zero_point));
  return add("DequantizeLinear", inputs, {{"axis", axis}});
}

std::string OnnxDecomposer::real_bias(int i, int a, int b) {
  const std::string codes = as_real(input(i));
  return add("Mul", {codes, add("Mul", {input(a), input(b)})});
}

void OnnxDecomposer::codes(const std::string& result, int i, int64_t axis) {
  OnnxAttributes attributes{{"axis", axis}};
  if (has(i + 1)) {
    add("QuantizeLinear", {result, input(i), input(i + 1)}, attributes, output(0));
    return;
  }
  const int64_t type = onnx_codes_read(file_, node_).type;
  if (type != 0) attributes.push_back({"output_dtype", type});
  add("QuantizeLinear", {result, input(i)}, attributes, output(0));
}

namespace {

constexpr char kClassicalDomain[] = "ai.onnx.ml";

template <typename Call>
void for_each_decomposition(Call call) {
  for (const auto rows :
       {onnx_fused_decompositions(), onnx_attention_decompositions(), onnx_trigonometric_decompositions(),
        onnx_bits_decompositions(), onnx_composed_decompositions(), onnx_scan_decompositions(),
        onnx_regions_decompositions(), onnx_classical_decompositions()})
    for (const OnnxDecomposition& row : rows) call(row);
}

}  // namespace

std::vector<NodeProto> decomposed_onnx(OnnxFile& file, const NodeProto& node) {
  const bool is_microsoft = node.domain == "com.microsoft", is_standard = is_standard_onnx(node.domain),
             is_classical = node.domain == kClassicalDomain;
  std::vector<NodeProto> nodes;
  if (!is_microsoft && !is_standard && !is_classical) return nodes;
  for_each_decomposition([&](const OnnxDecomposition& row) {
    if (node.op_type != row.op_type || is_classical != row.is(kOfMl)) return;
    if (!is_classical && !is_microsoft && !row.is(kStandard)) return;
    OnnxDecomposer decomposer(file, node);
    row.decompose(decomposer);
    nodes = decomposer.take();
    if (!nodes.empty()) decomposer.check_all_read();
  });
  return nodes;
}

std::vector<ImportedOperator> decomposed_onnx_operators() {
  std::vector<ImportedOperator> list;
  for_each_decomposition([&](const OnnxDecomposition& row) {
    if (row.limits == nullptr) return;
    ImportedOperator made = imported_operator(row.is(kOfMl) ? kClassicalDomain : "com.microsoft", row.op_type,
                                              row.becomes, row.limits, true);
    made.is_float = !row.is(kOfCodes);
    if (row.is(kOfCodes) || !row.is(kStandard)) list.push_back(made);
    made.domain = "";
    if (row.is(kStandard)) list.push_back(made);
  });
  return list;
}

}  // namespace intaglio::importers
