// Operators that take and give codes, as onnxruntime's quantizer writes them, decomposed: DequantizeLinear
// of each input, the FP32 operator, QuantizeLinear. A pass then makes one int8 node of the three.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using onnx_file::NodeProto;

void set(NodeProto& node, const char* name, int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_file::AttributeProto::INT);
  attribute.set_i(value);
}

class Decomposer {
 public:
  Decomposer(const NodeProto& node, int64_t codes_type) : node_(node), codes_type_(codes_type) {
    if (node.output_size() != 1) fail("it has ", node.output_size(), " outputs where 1 is expected");
  }

  void check_inputs(int least, int most) const {
    if (node_.input_size() < least || node_.input_size() > most)
      fail("it has ", node_.input_size(), " inputs where ", least, " to ", most, " are expected");
  }
  bool has(int i) const { return i < node_.input_size() && !node_.input(i).empty(); }
  const std::string& input(int i) const { return node_.input(i); }
  int input_count() const { return node_.input_size(); }

  // Input i, whose scale and zero point are the next two.
  std::string real(int i, int64_t axis = 1) {
    NodeProto& node = add("DequantizeLinear", {input(i), input(i + 1)});
    if (has(i + 2)) node.add_input(input(i + 2));
    set(node, "axis", axis);
    return node.output(0);
  }
  // A bias of int32 codes, whose scale is the product of those of inputs `a` and `b`.
  std::string real_bias(int i, int a, int b) {
    NodeProto& cast = add("Cast", {input(i)});
    set(cast, "to", onnx_file::TensorProto::FLOAT);
    const std::string codes = cast.output(0);
    const std::string scale = add("Mul", {input(a), input(b)}).output(0);
    return add("Mul", {codes, scale}).output(0);
  }
  // The operator itself, with the node's attributes but those named.
  std::string operation(const char* op_type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& without = {}) {
    NodeProto& node = add(op_type, inputs);
    for (const auto& attribute : node_.attribute()) {
      bool keep = true;
      for (const std::string& name : without) keep = keep && attribute.name() != name;
      if (keep) *node.add_attribute() = attribute;
    }
    return node.output(0);
  }
  // The result, with the scale in input i and the zero point behind it.
  void codes(const std::string& result, int i) {
    NodeProto& node = add("QuantizeLinear", {result, input(i)});
    if (has(i + 1))
      node.add_input(input(i + 1));
    else if (codes_type_ != 0)
      set(node, "output_dtype", codes_type_);
    node.set_output(0, node_.output(0));
  }
  void end(const std::string& result) { add("Identity", {result}).set_output(0, node_.output(0)); }
  void check_channels_first() const {
    for (const auto& attribute : node_.attribute())
      if (attribute.name() == "channels_last" && attribute.i() != 0) fail("channels_last is not supported");
  }

  std::vector<NodeProto> take() { return std::move(nodes_); }

 private:
  NodeProto& add(const char* op_type, const std::vector<std::string>& inputs) {
    nodes_.emplace_back();
    NodeProto& node = nodes_.back();
    node.set_op_type(op_type);
    node.set_name(node_.name());
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(node_.output(0) + "/" + std::to_string(nodes_.size()));
    return node;
  }

  const NodeProto& node_;
  int64_t codes_type_;  // 0: it is not known
  std::vector<NodeProto> nodes_;
};

void decompose_conv(Decomposer& s) {
  s.check_inputs(8, 9);
  std::vector<std::string> inputs{s.real(0), s.real(3, 0)};
  if (s.has(8)) inputs.push_back(s.real_bias(8, 1, 4));
  s.codes(s.operation("Conv", inputs), 6);
}

void decompose_mat_mul(Decomposer& s) {
  s.check_inputs(8, 8);
  s.codes(s.operation("MatMul", {s.real(0), s.real(3)}), 6);
}

// Without a scale for it the result is FP32.
void decompose_gemm(Decomposer& s, const NodeProto& node) {
  s.check_inputs(6, 9);
  int64_t rows_are_channels = 0;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "transB") rows_are_channels = attribute.i();
    if (attribute.name() == "alpha" && attribute.f() != 1.0f && s.has(6))
      fail("alpha ", attribute.f(), " with a bias is not supported");
  }
  std::vector<std::string> inputs{s.real(0), s.real(3, rows_are_channels != 0 ? 0 : 1)};
  if (s.has(6)) inputs.push_back(s.real_bias(6, 1, 4));
  const std::string result = s.operation("Gemm", inputs);
  s.has(7) ? s.codes(result, 7) : s.end(result);
}

void decompose_binary(Decomposer& s, const char* op_type) {
  s.check_inputs(7, 8);
  s.codes(s.operation(op_type, {s.real(0), s.real(3)}), 6);
}

void decompose_unary(Decomposer& s, const char* op_type) {
  s.check_inputs(4, 5);
  s.check_channels_first();
  s.codes(s.operation(op_type, {s.real(0)}, {"channels_last", "opset"}), 3);
}

void decompose_concat(Decomposer& s) {
  s.check_inputs(5, 2 + 3 * 64);
  if (s.input_count() % 3 != 2) fail("it has ", s.input_count(), " inputs, which is not 2 and three each");
  std::vector<std::string> inputs;
  for (int i = 2; i < s.input_count(); i += 3) inputs.push_back(s.real(i));
  s.codes(s.operation("Concat", inputs), 0);
}

struct Row {
  const char* op_type;
  void (*decompose)(Decomposer& s, const NodeProto& node);
  Op becomes[4];
  const char* limits;
  bool is_standard = false;  // not com.microsoft's alone
};

constexpr Row kRows[] = {
    {"QGemm", decompose_gemm, {Op::kFullyConnected}, "As Gemm; alpha is 1 where it has a bias."},
    {"QLinearAdd", [](Decomposer& s, const NodeProto&) { decompose_binary(s, "Add"); }, {Op::kAdd}, ""},
    {"QLinearAveragePool",
     [](Decomposer& s, const NodeProto&) { decompose_unary(s, "AveragePool"); },
     {Op::kAvgPool2d},
     "As AveragePool, with channels first."},
    {"QLinearConcat",
     [](Decomposer& s, const NodeProto&) { decompose_concat(s); },
     {Op::kConcat},
     "At most 64 inputs."},
    {"QLinearConv",
     [](Decomposer& s, const NodeProto&) { decompose_conv(s); },
     {Op::kConv2d, Op::kDepthwiseConv2d},
     "As Conv.",
     true},
    {"QLinearGlobalAveragePool",
     [](Decomposer& s, const NodeProto&) { decompose_unary(s, "GlobalAveragePool"); },
     {Op::kMean},
     "Rank 4, channels first."},
    {"QLinearLeakyRelu",
     [](Decomposer& s, const NodeProto&) { decompose_unary(s, "LeakyRelu"); },
     {Op::kLeakyRelu},
     ""},
    {"QLinearMatMul",
     [](Decomposer& s, const NodeProto&) { decompose_mat_mul(s); },
     {Op::kFullyConnected, Op::kBatchMatMul},
     "As MatMul.",
     true},
    {"QLinearMul", [](Decomposer& s, const NodeProto&) { decompose_binary(s, "Mul"); }, {Op::kMul}, ""},
    {"QLinearSigmoid",
     [](Decomposer& s, const NodeProto&) { decompose_unary(s, "Sigmoid"); },
     {Op::kSigmoid},
     ""},
    {"QLinearSoftmax",
     [](Decomposer& s, const NodeProto&) { decompose_unary(s, "Softmax"); },
     {Op::kSoftmax},
     "It is computed in FP32."},
};

}  // namespace

std::vector<NodeProto> decompose_qlinear(const NodeProto& node, int64_t codes_type) {
  const bool is_microsoft = node.domain() == "com.microsoft";
  for (const Row& row : kRows) {
    if (node.op_type() != row.op_type) continue;
    if (!is_microsoft && !(row.is_standard && is_standard_onnx(node.domain()))) continue;
    Decomposer decomposer(node, codes_type);
    row.decompose(decomposer, node);
    return decomposer.take();
  }
  return {};
}

std::vector<ImportedOperator> onnx_qlinear_operators() {
  std::vector<ImportedOperator> list;
  for (const Row& row : kRows) {
    ImportedOperator made = imported_operator("com.microsoft", row.op_type, row.becomes, row.limits, true);
    made.is_float = false;
    list.push_back(made);
    made.domain = "";
    if (row.is_standard) list.push_back(made);
  }
  return list;
}

}  // namespace intaglio::importers
