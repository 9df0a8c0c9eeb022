#include "tests/hostile/hostile_runs.h"
#include "tests/support/small_onnx_network.h"

using namespace intaglio::test;

namespace {

using Ints = std::vector<int64_t>;

// Spectra, pictures of patches, pools and their reverse, sequences, bits; each on its own input.
OnnxBuilder small_operators() {
  Random random(9);
  OnnxBuilder file(20);
  file.input("signal", {1, 12, 1});
  file.integers("step", {4});
  file.integers("length", {4});
  file.floats("window", {4}, random.reals(4, 0, 1));
  file.node("STFT", {"signal", "step", "window", "length"}, "frames");
  file.integers("axis", {1});
  set(file.node("DFT", {"signal", "", "axis"}, "bins"), "onesided", int64_t{1});
  file.input("patches", {1, 8, 9});
  file.integers("sides", {4, 4});
  file.integers("block", {2, 2});
  set(file.node("Col2Im", {"patches", "sides", "block"}, "picture"), "strides", Ints{1, 1});
  auto& pool = file.node("MaxPool", {"picture"}, "most");
  pool.output.push_back("places");
  auto& back = file.node("MaxUnpool", {"most", "places"}, "again");
  for (auto* const node : {&pool, &back}) {
    set(*node, "kernel_shape", Ints{2, 2});
    set(*node, "strides", Ints{2, 2});
  }
  file.input("rows", {2, 4, 3});
  file.integers("lengths", {3, 4});
  auto& reverse = file.node("ReverseSequence", {"rows", "lengths"}, "reversed");
  set(reverse, "batch_axis", int64_t{0});
  set(reverse, "time_axis", int64_t{1});
  auto& whole = file.node("Cast", {"reversed"}, "whole");
  set(whole, "to", int64_t{intaglio::onnx_file::TensorProto::INT64});
  file.integers("mask", {21});
  file.node("BitwiseAnd", {"whole", "mask"}, "and");
  file.node("BitwiseXor", {"and", "mask"}, "xor");
  file.integers("places_left", {2});
  set(file.node("BitShift", {"xor", "places_left"}, "shifted"), "direction", "LEFT");
  for (const char* const name : {"frames", "bins", "again", "shifted"}) file.output(name);
  return file;
}

// Two heads of queries and one of keys, with tables of angles, and a step of an LSTM.
OnnxBuilder small_attention() {
  Random random(10);
  OnnxBuilder file(21);
  auto& domain = file.model().opset_import.add();
  domain.domain = "com.microsoft";
  domain.version = 1;
  for (const auto& [name, columns] : {std::pair<const char*, int64_t>{"q", 8}, {"k", 4}, {"v", 4}})
    file.input(name, {1, 3, columns});
  const auto number = [&](const char* name, const Ints& dims, int32_t value) {
    auto& tensor = file.integers(name, {});
    tensor.dims.clear();
    for (const int64_t dim : dims) tensor.dims.push_back(dim);
    tensor.data_type = intaglio::onnx_file::TensorProto::INT32;
    tensor.int32_data.push_back(value);
  };
  number("length", {1}, 2);
  number("total", {1}, 3);
  file.floats("cos", {4, 2}, random.reals(8, -1, 1));
  file.floats("sin", {4, 2}, random.reals(8, -1, 1));
  auto& attention =
      file.node("GroupQueryAttention", {"q", "k", "v", "", "", "length", "total", "cos", "sin"}, "y");
  attention.domain = "com.microsoft";
  attention.output.push_back("keys");
  attention.output.push_back("values");
  set(attention, "num_heads", int64_t{2});
  set(attention, "kv_num_heads", int64_t{1});
  set(attention, "do_rotary", int64_t{1});
  file.floats("w", {1, 20, 8}, random.reals(160, -1, 1));
  file.floats("r", {1, 20, 5}, random.reals(100, -1, 1));
  set(file.node("LSTM", {"y", "w", "r"}, "sequence"), "hidden_size", int64_t{5});
  for (const char* const name : {"keys", "values", "sequence"}) file.output(name);
  return file;
}

// Places that a run computes, regions of a picture, and a body that runs for each slice.
OnnxBuilder small_regions() {
  Random random(11);
  OnnxBuilder file(20);
  file.input("x", {1, 4, 6, 6});
  file.input("offset", {1, 16, 5, 5});
  file.input("mask", {1, 8, 5, 5});
  file.floats("w", {2, 4, 2, 2}, random.reals(32, -1, 1));
  file.floats("b", {2}, random.reals(2, -1, 1));
  set(file.node("DeformConv", {"x", "w", "offset", "b", "mask"}, "deformed"), "offset_group", int64_t{2});
  file.floats("corners", {2, 4}, {0, 0, 3, 3, 1, 1, 5, 4});
  file.integers("pictures", {0, 0});
  auto& regions = file.node("RoiAlign", {"deformed", "corners", "pictures"}, "regions");
  set(regions, "output_height", int64_t{2});
  set(regions, "output_width", int64_t{3});
  set(regions, "sampling_ratio", int64_t{2});
  file.integers("whole", {2, 4, 3});
  file.node("Reshape", {"regions", "whole"}, "slices");
  file.floats("zeros", {4, 3}, std::vector<float>(12, 0.0f));
  auto& scan = file.node("Scan", {"zeros", "slices"}, "last");
  scan.output.push_back("rows");
  set(scan, "num_scan_inputs", int64_t{1});
  auto& attribute = scan.attribute.add();
  attribute.name = "body";
  attribute.type = intaglio::onnx_file::AttributeProto::GRAPH;
  auto& body = attribute.g.make();
  for (const char* const name : {"in", "piece"}) body.input.add().name = name;
  for (const char* const name : {"out", "row"}) body.output.add().name = name;
  append_node(body, "Add", {"in", "piece"}, "out");
  append_node(body, "Tanh", {"out"}, "row");
  auto& function = file.function("Twice", "in", "out");
  function.attribute.push_back("slope");
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"in", "half"}, {"half", "out"}}) {
    intaglio::onnx_file::NodeProto node;
    node.op_type = "LeakyRelu";
    node.input.push_back(from);
    node.output.push_back(to);
    auto& slope = node.attribute.add();
    slope.name = "alpha";
    slope.type = intaglio::onnx_file::AttributeProto::FLOAT;
    slope.ref_attr_name = "slope";
    function.node.add(std::move(node));
  }
  auto& call = file.node("Twice", {"last"}, "called");
  call.domain = "own";
  set(call, "slope", 0.5f);
  for (const char* const name : {"last", "rows", "called"}) file.output(name);
  return file;
}

// Trees, classifiers, a Normalizer and a OneHotEncoder of ai.onnx.ml; and an RNN whose weights a run gives.
OnnxBuilder small_classical() {
  OnnxBuilder file(17);
  const auto classical = [&](const char* op, const std::vector<std::string>& inputs,
                             const char* output) -> auto& {
    auto& node = file.node(op, inputs, output);
    node.domain = "ai.onnx.ml";
    return node;
  };
  file.input("x", {3, 2});
  auto& trees = classical("TreeEnsembleClassifier", {"x"}, "leaf");
  trees.output.push_back("shares");
  set(trees, "nodes_treeids", Ints{0, 0, 0, 0, 0, 7, 7, 7});
  set(trees, "nodes_nodeids", Ints{0, 1, 2, 3, 4, 0, 1, 2});
  set(trees, "nodes_featureids", Ints{0, 0, 1, 0, 0, 1, 0, 0});
  set(trees, "nodes_truenodeids", Ints{1, 0, 3, 0, 0, 1, 0, 0});
  set(trees, "nodes_falsenodeids", Ints{2, 0, 4, 0, 0, 2, 0, 0});
  set(trees, "nodes_values", std::vector<float>{0, 0, 1.5f, 0, 0, 1, 0, 0});
  auto& modes = trees.attribute.add();
  modes.name = "nodes_modes";
  modes.type = intaglio::onnx_file::AttributeProto::STRINGS;
  for (const bool is_leaf : {false, true, false, true, true, false, true, true})
    modes.strings.push_back(is_leaf ? "LEAF" : "BRANCH_LEQ");
  set(trees, "class_treeids", Ints{0, 0, 0, 7, 7});
  set(trees, "class_nodeids", Ints{1, 3, 4, 1, 2});
  set(trees, "class_ids", Ints{0, 1, 1, 0, 1});
  set(trees, "class_weights", std::vector<float>{0.5f, 0.5f, 0.5f, 0.25f, 0.25f});
  set(trees, "classlabels_int64s", Ints{10, 20});
  set(classical("Normalizer", {"shares"}, "scaled"), "norm", "L1");
  auto& linear = classical("LinearClassifier", {"scaled"}, "label");
  linear.output.push_back("scores");
  set(linear, "coefficients", std::vector<float>{1, 1});
  set(linear, "intercepts", std::vector<float>{-1});
  set(linear, "classlabels_ints", Ints{4, 8});
  file.integers("columns", {1, 0});
  classical("ArrayFeatureExtractor", {"scores", "columns"}, "swapped");
  auto& machine = classical("SVMClassifier", {"x"}, "winner");
  machine.output.push_back("pairs");
  set(machine, "classlabels_ints", Ints{3, 5, 9});
  set(machine, "kernel_type", "RBF");
  set(machine, "kernel_params", std::vector<float>{0.5f, 0, 3});
  set(machine, "support_vectors", std::vector<float>{1, 0, 0, 1, -1, -1});
  set(machine, "vectors_per_class", Ints{1, 1, 1});
  set(machine, "coefficients", std::vector<float>{1, -0.5f, 0.25f, 0.75f, 2, 0.5f});
  set(machine, "rho", std::vector<float>{0.2f, -0.1f, 0.3f});
  set(classical("OneHotEncoder", {"x"}, "places"), "cats_int64s", Ints{0, 2});
  file.input("steps", {2, 1, 3});
  file.input("w", {1, 4, 3});
  file.input("r", {1, 4, 4});
  set(file.node("RNN", {"steps", "w", "r"}, "states"), "hidden_size", int64_t{4});
  for (const char* const name : {"leaf", "label", "swapped", "winner", "pairs", "places", "states"})
    file.output(name);
  return file;
}

intaglio::onnx_file::GraphProto& body_of(OnnxBuilder::Node& node, const char* name) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = intaglio::onnx_file::AttributeProto::GRAPH;
  return attribute.g.make();
}

// A function that a node calls, a branch that a run decides, and a loop of three runs.
OnnxBuilder small_programs() {
  OnnxBuilder file(17);
  auto& function = file.function("leaky");
  function.attribute.push_back("slope");
  auto& leaky = function.node.add();
  leaky.op_type = "LeakyRelu";
  leaky.input.push_back("a");
  leaky.output.push_back("b");
  auto& alpha = leaky.attribute.add();
  alpha.name = "alpha";
  alpha.type = intaglio::onnx_file::AttributeProto::FLOAT;
  alpha.ref_attr_name = "slope";
  file.input("x", {1, 4});
  auto& call = file.node("leaky", {"x"}, "called");
  call.domain = "own";
  set(call, "slope", 0.25f);
  file.floats("zero", {}, {0});
  set(file.node("ReduceSum", {"called"}, "sum"), "keepdims", int64_t{0});
  file.node("Greater", {"sum", "zero"}, "yes");
  auto& decision = file.node("If", {"yes"}, "chosen");
  for (const char* const side : {"then_branch", "else_branch"}) {
    auto& branch = body_of(decision, side);
    append_node(branch, side[0] == 't' ? "Relu" : "Neg", {"called"}, side);
    branch.output.add().name = side;
  }
  file.integers("runs", {3});
  auto& loop = file.node("Loop", {"runs", "", "chosen"}, "last");
  loop.output.push_back("rows");
  auto& body = body_of(loop, "body");
  for (const char* const name : {"number", "goes_on", "in"}) body.input.add().name = name;
  append_node(body, "Add", {"in", "chosen"}, "out");
  append_node(body, "Tanh", {"out"}, "row");
  for (const char* const name : {"goes_on", "out", "row"}) body.output.add().name = name;
  for (const char* const name : {"last", "rows"}) file.output(name);
  return file;
}

// Files of quantizers: a reduced range between QuantizeLinear and DequantizeLinear, a transposed convolution, codes of 16 bits
// in int32, weights of 4 bits in blocks whose scales have signs, and ranges along several axes.
OnnxBuilder small_quantizers() {
  Random random(12);
  OnnxBuilder file(21);
  auto& domain = file.model().opset_import.add();
  domain.domain = "org.openvinotoolkit";
  domain.version = 1;
  using Type = intaglio::onnx_file::TensorProto;
  const auto codes = [&](const char* name, const Ints& dims, int32_t type,
                         const std::vector<int32_t>& values) {
    auto& tensor = file.floats(name, dims, {});
    tensor.data_type = type;
    tensor.raw_data.reset();
    for (const int32_t value : values) tensor.int32_data.push_back(value);
  };
  constexpr int32_t kInt4 = 22;  // two in a byte
  file.floats("scale", {}, {1.0f / 64});
  codes("zero", {}, Type::UINT8, {3});
  codes("least", {}, Type::UINT8, {0});
  codes("most", {}, Type::UINT8, {127});
  codes("wide_zero", {}, Type::INT32, {0});
  file.input("x", {1, 2, 4, 4});
  file.node("QuantizeLinear", {"x", "scale", "zero"}, "x_q");
  file.node("Clip", {"x_q", "least", "most"}, "x_c");
  file.node("DequantizeLinear", {"x_c", "scale", "zero"}, "x_r");
  codes("w", {2, 3, 2, 2}, Type::INT8, std::vector<int32_t>(24, -101));
  file.floats("w_scales", {3}, {0.5f, 0.25f, 0.125f});
  set(file.node("DequantizeLinear", {"w", "w_scales"}, "w_r"), "axis", int64_t{1});
  set(file.node("ConvTranspose", {"x_r", "w_r"}, "up"), "strides", Ints{2, 2});
  file.node("QuantizeLinear", {"up", "scale", "zero"}, "up_q");
  file.node("DequantizeLinear", {"up_q", "scale", "zero"}, "up_r");
  file.floats("v", {3, 1, 3, 3}, random.reals(27, -1, 1));
  file.floats("v_low", {3, 1, 1, 3}, std::vector<float>(9, -1.0f));
  file.floats("v_high", {3, 1, 1, 3}, random.reals(9, 0.5f, 1));
  auto& range = file.node("FakeQuantize", {"v", "v_low", "v_high", "v_low", "v_high"}, "v_r");
  range.domain = "org.openvinotoolkit";
  set(range, "levels", int64_t{256});
  set(file.node("Conv", {"up_r", "v_r"}, "kept"), "group", int64_t{3});
  file.node("QuantizeLinear", {"kept", "scale", "wide_zero"}, "kept_q");
  file.node("DequantizeLinear", {"kept_q", "scale", "wide_zero"}, "kept_r");
  file.integers("rows", {6, 18});
  file.node("Reshape", {"kept_r", "rows"}, "flat");
  codes("u", {18, 2}, kInt4, std::vector<int32_t>(18, 0x5b));
  file.floats("u_scales", {2, 2}, {0.5f, -0.25f, -1, 2});
  auto& blocks = file.node("DequantizeLinear", {"u", "u_scales"}, "u_r");
  set(blocks, "axis", int64_t{0});
  set(blocks, "block_size", int64_t{9});
  file.node("MatMul", {"flat", "u_r"}, "y");
  file.output("y");
  return file;
}

}  // namespace

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (OnnxBuilder network : {small_network(), small_operators(), small_attention(), small_regions(),
                              small_classical(), small_programs(), small_quantizers()}) {
    const std::string file = serialize(network.model());
    seeds.emplace_back(file.begin(), file.end());
  }
  return seeds;
}
