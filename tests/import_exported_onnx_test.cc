// An int8 model as ONNX, with the inputs and outputs of the network that it was imported from: it gives the same bytes when it is imported
// again.
#include <map>
#include <set>

#include "exporters/onnx/onnx_export.h"
#include "exporters/readback.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/decibels.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_exported_onnx_test {
namespace {

using Node = OnnxBuilder::Node;

Span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

ImportOptions with_batch(int32_t batch) {
  ImportOptions options;
  options.batch = batch;
  return options;
}

struct Calibrated : CalibratedNetwork {
  explicit Calibrated(const OnnxBuilder& file, const CalibratorOptions& options = {}, int32_t batch = 1)
      : CalibratedNetwork(file, options, with_batch(batch)) {}

  Outcome<OnnxExport> to_onnx(OnnxForm form = OnnxForm::kQdq) const {
    const Result<Model> model = Model::open(int8.view());
    REQUIRE(static_cast<bool>(model));
    const auto ends = read_onnx_ends(span_of(network), "net.onnx");
    REQUIRE_MESSAGE(ends, ends.message());
    return export_onnx(*model, "net.int8.itg", form, &*ends);
  }
};

// Outputs as real numbers, from real inputs.
std::vector<std::vector<float>> run_real(AlignedBytes bytes, const Samples& samples) {
  RunningModel model(std::move(bytes));
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  std::vector<std::vector<float>> results;
  for (const std::vector<float>& sample : samples) results.push_back(run_reals(model, sample));
  return results;
}

int count(const onnx_file::ModelProto& file, const std::string& op) {
  int found = 0;
  for (const Node& node : file.graph->node) found += node.op_type == op;
  return found;
}

// Every value is written once and before it is read, every constant is read, every node is needed.
void check_order(const onnx_file::ModelProto& file) {
  std::set<std::string> written{""}, read;
  for (const auto& input : file.graph->input) CHECK(written.insert(input.name).second);
  for (const auto& tensor : file.graph->initializer) CHECK(written.insert(tensor.name).second);
  for (const Node& node : file.graph->node) {
    CAPTURE(node.name);
    for (const std::string& input : node.input) {
      CAPTURE(input);
      CHECK(written.count(input) == 1);
      read.insert(input);
    }
    for (const std::string& output : node.output) CHECK(written.insert(output).second);
  }
  for (const auto& output : file.graph->output) {
    CHECK(written.count(output.name) == 1);
    read.insert(output.name);
  }
  for (const std::string& name : written) {
    CAPTURE(name);
    CHECK((name.empty() || read.count(name) == 1));
  }
}

// The dB between the model's outputs and those of the file that was made of it, imported again.
double sqnr_back(const Calibrated& net, const OnnxExport& made) {
  Import back(made.bytes);
  REQUIRE_MESSAGE(back.good(), back.message());
  const auto a = run_real(AlignedBytes(net.int8.view()), net.samples),
             b = run_real(back.write(), net.samples);
  SignalAndNoise compared;
  for (size_t i = 0; i < a.size(); ++i) compared.add(a[i], b[i]);
  return compared.sqnr_db();
}

// Exports and imports again: the same outputs, to the bit.
onnx_file::ModelProto check_same_bytes(const Calibrated& net, int32_t batch = 1) {
  const auto made = net.to_onnx();
  REQUIRE_MESSAGE(made, made.message());
  for (const std::string& note : made->notes) FAIL_CHECK(note);
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  check_order(file);
  Import back(made->bytes, with_batch(batch));
  REQUIRE_MESSAGE(back.good(), back.message());
  const auto a = run_real(AlignedBytes(net.int8.view()), net.samples);
  const auto b = run_real(back.write(), net.samples);
  CHECK(a == b);
  return file;
}

// A network that grows node by node; each value has the name of what wrote it.
struct Network {
  OnnxBuilder file{13};
  Random random;
  int number = 0;

  explicit Network(uint32_t seed, int64_t opset = 13) : file(opset), random(seed) {
    file.input("x", {1, 3, 9, 8});
  }

  std::string floats(const std::vector<int64_t>& dims, float least, float most) {
    size_t size = 1;
    for (const int64_t dim : dims) size *= static_cast<size_t>(dim);
    const std::string name = "constant" + std::to_string(number++);
    file.floats(name, dims, random.reals(size, least, most));
    return name;
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs) {
    const std::string name = op + std::to_string(number++);
    last = &file.node(op, inputs, name);
    return name;
  }
  std::string conv(const std::string& x, int64_t in, int64_t out, int64_t kernel, int64_t groups = 1,
                   bool bias = true) {
    std::vector<std::string> inputs{x, floats({out, in / groups, kernel, kernel}, -0.4f, 0.4f)};
    if (bias) inputs.push_back(floats({out}, -0.5f, 0.5f));
    const std::string y = node("Conv", inputs);
    set(*last, "pads", std::vector<int64_t>(4, kernel / 2));
    if (groups > 1) set(*last, "group", groups);
    return y;
  }
  std::string batch_norm(const std::string& x, int64_t channels) {
    return node("BatchNormalization", {x, floats({channels}, 0.5f, 1.5f), floats({channels}, -0.3f, 0.3f),
                                       floats({channels}, -0.3f, 0.3f), floats({channels}, 0.5f, 1.5f)});
  }
  Node* last = nullptr;
};

// A Conv of values from outside on each side of an If.
void add_branches(Node& choice, const std::vector<std::string>& conv_inputs) {
  for (const char* const side : {"then_branch", "else_branch"}) {
    onnx_file::AttributeProto& attribute = choice.attribute.add();
    attribute.name = side;
    attribute.type = onnx_file::AttributeProto::GRAPH;
    onnx_file::GraphProto& branch = attribute.g.make();
    Node& conv = branch.node.add();
    conv.op_type = "Conv";
    conv.input = conv_inputs;
    conv.output = {std::string(side) + "_y"};
    branch.output.add().name = conv.output[0];
  }
}

}  // namespace

TEST_CASE("a network of everything that is common comes back to the bit") {
  const Calibrated net(small_network());
  const onnx_file::ModelProto file = check_same_bytes(net);
  // Batch normalization is in the weights. Layers have the names of the network's nodes.
  CHECK(count(file, "BatchNormalization") == 0);
  std::map<std::string, std::string> kinds;
  for (const Node& node : file.graph->node) kinds[node.name] = node.op_type;
  for (const char* const name : {"c1_node", "c2_node", "p_node", "g_node"}) CHECK(kinds.count(name) == 1);
  CHECK(file.opset_import[0].version == 13);
  CHECK(file.graph->input[0].name == "x");
  CHECK(file.graph->output[0].name == "y");
  // Weights are codes with a scale a channel, biases int32 with the products' scales.
  std::map<std::string, const onnx_file::TensorProto*> constants;
  for (const auto& tensor : file.graph->initializer) constants[tensor.name] = &tensor;
  REQUIRE(constants.count("w1/s8") == 1);
  CHECK(constants["w1/s8"]->data_type == onnx_file::TensorProto::INT8);
  CHECK(constants["w1/s8"]->dims.count() == 4);
  CHECK(constants["w1/scale"]->dims[0] == 4);
  CHECK(constants["b1/s32"]->data_type == onnx_file::TensorProto::INT32);
  CHECK(constants.count("w1") == 0);
  CHECK(constants.count("gamma") == 0);
}

TEST_CASE("every way to calibrate comes back to the bit") {
  CalibratorOptions answers, symmetric, recovered, kept;
  answers.int8_answers = true;
  symmetric.symmetric = true;
  symmetric.power_of_two = true;
  recovered.recover = recovery::kAll;
  const int32_t second[] = {1};
  kept.float_nodes = second;
  for (const CalibratorOptions* const options : {&answers, &symmetric, &recovered, &kept})
    check_same_bytes(Calibrated(small_network(), *options));
}

TEST_CASE("narrow codes, and those from -127 on, are bounds of the file") {
  CalibratorOptions tengine, narrow;
  tengine.compat = Compat::kTengine;
  SlotSetting six;
  six.role = SlotRole::kActivations;
  six.bits = 6;
  narrow.slots = {&six, 1};
  for (const CalibratorOptions* const options : {&tengine, &narrow})
    for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
      CAPTURE(static_cast<int>(form));
      const auto made = Calibrated(small_network(), *options).to_onnx(form);
      REQUIRE_MESSAGE(made, made.message());
    }
}

TEST_CASE("a batch of two comes back to the bit") { check_same_bytes(Calibrated(small_network(), {}, 2), 2); }

TEST_CASE("residuals, joins, lone batch norm, products without a bias, shared weights") {
  Network net(3);
  const std::string a = net.node("Relu", {net.conv("x", 3, 8, 3)});
  const std::string b = net.batch_norm(net.conv(a, 8, 8, 3, 8, false), 8);
  const std::string sum = net.node("Relu", {net.node("Add", {b, a})});
  const std::string lone = net.batch_norm(sum, 8);  // behind a Relu: a layer of its own
  const std::string wide = net.node("Sigmoid", {net.conv(lone, 8, 4, 1)});
  const std::string third = net.conv(a, 8, 4, 1);
  const std::string joined = net.node("Concat", {sum, wide, third});
  set(*net.last, "axis", int64_t{1});
  const std::string pooled = net.node("MaxPool", {joined});
  set(*net.last, "kernel_shape", std::vector<int64_t>{3, 2});
  set(*net.last, "strides", std::vector<int64_t>{3, 2});
  const std::string flat = net.node("Flatten", {pooled});
  const std::string product = net.node("MatMul", {flat, net.floats({16 * 3 * 4, 10}, -0.2f, 0.2f)});
  const std::string biased = net.node("Relu", {net.node("Add", {product, net.floats({10}, -0.5f, 0.5f)})});
  const std::string shared = net.floats({10, 10}, -0.3f, 0.3f);
  const std::string one = net.node("Relu", {net.node("MatMul", {biased, shared})});
  const std::string two = net.node("MatMul", {one, shared});
  net.file.output(two);
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
  CHECK(count(file, "BatchNormalization") == 0);
  CHECK(count(file, "Conv") == 5);  // four, and the lone batch norm
}

TEST_CASE("tables for groups of channels are a Gather of reals, and come back to the bit") {
  CalibratorOptions options;
  options.recover = recovery::kDepthwiseScales;
  const Calibrated net(uneven_network(), options);
  const Result<Model> model = Model::open(net.int8.view());
  int grouped = 0;
  for (int32_t n = 0; n < model->node_count(); ++n) grouped += model->node(n).op == Op::kGroupedLookup;
  REQUIRE(grouped > 0);
  const onnx_file::ModelProto file = check_same_bytes(net);
  CHECK(count(file, "Gather") == grouped);
  CHECK(count(file, "Sigmoid") == 2 - grouped);
  const auto expected = run_real(AlignedBytes(net.int8.view()), net.samples);
  for (const OnnxForm form : {OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    CAPTURE(static_cast<int>(form));
    const auto made = net.to_onnx(form);
    REQUIRE_MESSAGE(made, made.message());
    Import back(made->bytes);
    REQUIRE_MESSAGE(back.good(), back.message());
    const auto results = run_real(back.write(), net.samples);
    for (size_t i = 0; i < results.size(); ++i)
      for (size_t j = 0; j < results[i].size(); ++j)
        CHECK(results[i][j] == doctest::Approx(expected[i][j]).epsilon(1e-4));
  }
}

TEST_CASE("tables for groups of channels between Transposes come back to the bit") {
  CalibratorOptions options;
  options.recover = recovery::kDepthwiseScales;
  const onnx_file::ModelProto file =
      check_same_bytes(Calibrated(uneven_network(Around::kTransposes), options));
  CHECK(count(file, "Gather") > 0);
}

TEST_CASE("factors a channel in a normalization come back") {
  CalibratorOptions options;
  options.recover = recovery::kDepthwiseScales;
  const Calibrated net(uneven_network(Around::kNormalization), options);
  const Result<Model> model = Model::open(net.int8.view());
  int grouped = 0;
  for (int32_t n = 0; n < model->node_count(); ++n) grouped += model->node(n).op == Op::kGroupedLookup;
  REQUIRE(grouped > 0);
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    CAPTURE(static_cast<int>(form));
    const auto made = net.to_onnx(form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(sqnr_back(net, *made) > 40.0);
  }
}

TEST_CASE("tables for groups of channels between reshapes come back to the bit") {
  CalibratorOptions options;
  options.recover = recovery::kDepthwiseScales;
  check_same_bytes(Calibrated(uneven_network(Around::kReshapes), options));
}

TEST_CASE("pixels that the import has moved into a window come back to the bit") {
  OnnxBuilder net(13);
  Random random(8);
  net.input("x", {1, 3, 8, 12});
  net.output("y");
  net.floats("w1", {6, 12, 3, 3}, random.reals(6 * 12 * 9, -0.3f, 0.3f));
  net.floats("b1", {6}, random.reals(6, -0.3f, 0.3f));
  net.floats("w2", {4, 6, 1, 1}, random.reals(4 * 6, -0.3f, 0.3f));
  set(net.node("SpaceToDepth", {"x"}, "blocks"), "blocksize", int64_t{2});
  set(net.node("Conv", {"blocks", "w1", "b1"}, "c1"), "pads", std::vector<int64_t>(4, 1));
  net.node("Relu", {"c1"}, "r1");
  net.node("Conv", {"r1", "w2"}, "y");
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net));
  CHECK(count(file, "SpaceToDepth") == 0);
}

TEST_CASE("nodes without names, and with the same name") {
  for (const bool same : {false, true}) {
    Network net(5);
    const std::string a = net.node("Relu", {net.conv("x", 3, 6, 3)});
    const std::string b = net.node("Relu", {net.conv(a, 6, 6, 3)});
    net.file.output(net.conv(b, 6, 4, 1));
    for (Node& node : net.file.graph().node) node.name = same ? "node" : "";
    check_same_bytes(Calibrated(net.file));
  }
}

TEST_CASE("random chains come back to the bit") {
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    Network net(seed);
    std::string x = "x", before;
    int64_t channels = 3, held = 0;
    for (int i = 0; i < 6; ++i) {
      const int64_t kernel = net.random.between(0, 1) == 0 ? 1 : 3;
      switch (net.random.between(0, 6)) {
        case 0:
          x = net.conv(x, channels, channels, kernel, channels, net.random.between(0, 1) == 0);
          break;
        case 1:
          x = net.batch_norm(x, channels);
          break;
        case 2:
          x = net.node(net.random.between(0, 1) == 0 ? "Relu" : "Sigmoid", {x});
          break;
        case 3:
          if (held == channels && before != x) {
            x = net.node("Add", {x, before});
            break;
          }
          before = x;
          held = channels;
          [[fallthrough]];
        default:
          x = net.conv(x, channels, net.random.between(2, 9), kernel);
          channels = net.file.graph().initializer[net.file.graph().initializer.count() - 1].dims[0];
      }
    }
    x = net.node("GlobalAveragePool", {net.conv(x, channels, 5, 1)});
    net.file.output(net.node("Flatten", {x}));
    check_same_bytes(Calibrated(net.file));
  }
}

TEST_CASE("sums of three and more come back to the bit, in the model's order") {
  for (uint32_t seed = 1; seed <= 16; ++seed) {
    CAPTURE(seed);
    Network net(seed);
    const std::string a = net.conv("x", 3, 4, 3), b = net.node("Sigmoid", {a}), c = net.conv("x", 3, 4, 1);
    std::vector<std::string> terms{a, b, c};
    const int64_t more = net.random.between(0, 2);
    for (int64_t i = 0; i < more; ++i) terms.push_back(net.conv(b, 4, 4, 1));
    if (seed % 4 == 0) terms.push_back(a);  // twice
    std::rotate(terms.begin(), terms.begin() + net.random.between(0, static_cast<int>(terms.size()) - 1),
                terms.end());
    const std::string sum = net.node("Sum", terms);
    net.file.output(seed % 3 == 0 ? sum : net.conv(sum, 4, 3, 1));
    check_same_bytes(Calibrated(net.file));
  }
}

TEST_CASE("what comes back in FP32 is noted by name, in each form") {
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    Network net(9);
    net.file.floats("scales", {4}, {1, 1, 2, 2});
    const std::string wide = net.node("Resize", {"x", "", "scales"});
    set(*net.last, "mode", "linear");
    set(*net.last, "coordinate_transformation_mode", "align_corners");
    const std::string narrow = net.conv(wide, 3, 2, 3);  // the Resize has readers of two scales
    net.file.output(net.node("Concat", {wide, narrow}));
    set(*net.last, "axis", int64_t{1});
    const auto made = Calibrated(net.file).to_onnx(form);
    REQUIRE_MESSAGE(made, made.message());
    REQUIRE(!made->notes.empty());
    CHECK_MESSAGE(made->notes[0].find("'" + wide + "_node' (Resize)") != std::string::npos, made->notes[0]);
    for (size_t i = 1; i < made->notes.size(); ++i)  // how much that is
      CHECK_MESSAGE(made->notes[i].find("output '") == 0, made->notes[i]);
  }
}

TEST_CASE("an If that a run decides comes back to the bit") {
  Network net(20);
  const std::string x = net.conv("x", 3, 3, 3);
  const std::string weights = net.floats({4, 3, 3, 3}, -0.4f, 0.4f);
  const std::string most = net.node("ReduceMax", {x});
  set(*net.last, "keepdims", int64_t{0});
  const std::string y = net.node("If", {net.node("Greater", {most, net.floats({}, 0.5f, 0.5f)})});
  add_branches(*net.last, {x, weights});
  net.file.output(net.conv(y, 4, 4, 1));
  check_same_bytes(Calibrated(net.file));
}

TEST_CASE("a node that becomes several: its value is that of the last one, in the model and in the file") {
  Network net(10);
  const std::string base = net.node("Sigmoid", {net.conv("x", 3, 6, 3)});
  const std::string exponents = net.node("Sigmoid", {net.conv("x", 3, 6, 3)});
  const std::string power = net.node("Pow", {base, exponents});  // exp(exponents * log(base))
  net.file.output(net.conv(power, 6, 4, 3));
  const Calibrated calibrated(net.file);
  const Result<Model> model = Model::open(calibrated.int8.view());
  REQUIRE(static_cast<bool>(model));
  for (int32_t n = 0; n < model->node_count(); ++n) {
    const NodeInfo node = model->node(n);
    if (std::string(model->tensor(node.outputs[0]).name) != power) continue;
    CHECK(std::string(node.name).find("Pow") == 0);
    CHECK(std::string(model->tensor(node.inputs[0]).name).find(power + "~") == 0);
  }
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    const auto made = calibrated.to_onnx(form);
    REQUIRE_MESSAGE(made, made.message());
    Import back(made->bytes);
    REQUIRE_MESSAGE(back.good(), back.message());
    SignalAndNoise distance;
    const auto a = run_real(AlignedBytes(calibrated.int8.view()), calibrated.samples);
    const auto b = run_real(back.write(), calibrated.samples);
    for (size_t i = 0; i < a.size(); ++i) distance.add(a[i], b[i]);
    CHECK(distance.sqnr_db() > 25);
  }
}

TEST_CASE("a file that would give other values is not written, however well its layers agree") {
  const auto calibrated = [](uint32_t seed) {
    Network net(12);
    const std::string x = net.node("Relu", {net.conv("x", 3, 6, 3)});
    net.random = Random(seed);
    net.file.output(net.conv(x, 6, 4, 3));
    return Calibrated(net.file);
  };
  const Calibrated net = calibrated(1), other = calibrated(2);  // the last layer has other weights
  const Result<Model> model = Model::open(net.int8.view()), wrong = Model::open(other.int8.view());
  REQUIRE((model && wrong));
  std::vector<std::string> notes;
  CHECK(exporters::compare_runs(*model, *model, "net.itg", notes));
  CHECK(notes.empty());
  const auto told = exporters::compare_runs(*model, *wrong, "net.itg", notes);
  REQUIRE(!told);
  CHECK_MESSAGE(told.message().find("would not give what the model gives: output '") != std::string::npos,
                told.message());
}

TEST_CASE("weights that follow from constants come back to the bit") {
  const char* const kSources[] = {"Identity", "Reshape", "Transpose", "Mul", "Cast"};
  for (const std::string source : kSources) {
    CAPTURE(source);
    Network net(13);
    std::vector<int64_t> dims = {6, 3, 3, 3};
    if (source == "Reshape") dims = {6, 27};
    if (source == "Transpose") dims = {3, 6, 3, 3};
    std::vector<std::string> inputs = {net.floats(dims, -0.4f, 0.4f)};
    if (source == "Reshape") inputs.push_back("shape"), net.file.integers("shape", {6, 3, 3, 3});
    if (source == "Mul") inputs.push_back(net.floats({}, 2, 2));
    const std::string weights = net.node(source, inputs);
    if (source == "Transpose") set(*net.last, "perm", std::vector<int64_t>{1, 0, 2, 3});
    if (source == "Cast") set(*net.last, "to", int64_t{onnx_file::TensorProto::FLOAT});
    const std::string y = net.node("Conv", {"x", weights});
    net.file.output(net.conv(net.node("Relu", {y}), 6, 4, 1));
    const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
    CHECK(count(file, source) == (source == "Identity" ? 1 : 0));  // that gives the output its name
  }
}

TEST_CASE("a matrix behind a part of a sequence comes back to the bit") {
  OnnxBuilder file(13);
  Random random(17);
  file.input("x", {1, 3, 12});
  file.floats("w1", {5, 3, 3}, random.reals(5 * 9, -0.4f, 0.4f));
  file.floats("w2", {4, 20}, random.reals(4 * 20, -0.4f, 0.4f));
  for (const auto& [name, number] : {std::pair("from", 3), std::pair("to", 7), std::pair("axis", 2)})
    file.integers(name, {number});
  file.node("Conv", {"x", "w1"}, "c");
  file.node("Relu", {"c"}, "r");
  file.node("Slice", {"r", "from", "to", "axis"}, "part");
  file.node("Flatten", {"part"}, "flat");
  set(file.node("Gemm", {"flat", "w2"}, "y"), "transB", int64_t{1});
  file.output("y");
  check_same_bytes(Calibrated(file));
}

TEST_CASE("a matrix that is read twice, once turned, comes back to the bit") {
  Network net(14);
  const std::string matrix = net.floats({12, 12}, -0.4f, 0.4f);
  const std::string flat = net.node("Flatten", {net.node("GlobalAveragePool", {net.conv("x", 3, 12, 3)})});
  const std::string turned = net.node("Transpose", {matrix});
  set(*net.last, "perm", std::vector<int64_t>{1, 0});
  net.file.output(net.node("MatMul", {net.node("Relu", {net.node("MatMul", {flat, matrix})}), turned}));
  check_same_bytes(Calibrated(net.file));
}

TEST_CASE("a division by a constant, and a constant that is taken off, come back to the bit") {
  for (const std::string op : {"Div", "Sub"}) {
    Network net(18);
    const std::string sum = net.node(
        "Add", {net.node("Relu", {net.conv("x", 3, 4, 3)}), net.node("Relu", {net.conv("x", 3, 4, 1)})});
    const std::string y = net.node(op, {sum, net.floats({4, 1, 1}, 1.75f, 2.75f)});
    net.file.output(net.conv(net.node("Add", {y, sum}), 4, 4, 1));
    check_same_bytes(Calibrated(net.file));
  }
}

TEST_CASE("numbers that the import has brought past a slice count once") {
  Network net(19);
  const std::string x = net.conv("x", 3, 4, 3);
  std::vector<std::string> parts;
  for (const int64_t part : {0, 1}) {
    const std::string name = "slice" + std::to_string(part);
    net.file.integers(name + "_from", {2 * part});
    net.file.integers(name + "_to", {2 * part + 2});
    net.file.integers(name + "_axis", {1});
    const std::string own = net.node("Slice", {x, name + "_from", name + "_to", name + "_axis"});
    parts.push_back(
        net.node("Mul", {net.node("Mul", {own, net.floats({1}, 0.3f, 0.7f)}), net.floats({1}, 2.0f, 9.0f)}));
  }
  const std::string joined = net.node("Concat", parts);
  set(*net.last, "axis", int64_t{1});
  net.file.output(net.conv(joined, 4, 4, 3));
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
  CHECK(count(file, "Mul") == 0);
}

TEST_CASE("the branch that an If takes comes back to the bit") {
  Network net(15);
  onnx_file::TensorProto& condition = net.file.integers("condition", {1});
  condition.data_type = onnx_file::TensorProto::BOOL;
  condition.dims.clear();
  condition.int64_data.clear();
  condition.int32_data.push_back(1);
  const std::string x = net.conv("x", 3, 3, 3);
  const std::string weights = net.floats({4, 3, 3, 3}, -0.4f, 0.4f);
  const std::string y = net.node("If", {"condition"});
  add_branches(*net.last, {x, weights});
  net.file.output(net.conv(y, 4, 4, 1));
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
  CHECK(count(file, "If") == 0);
}

TEST_CASE("inputs and outputs have the types of the network's file") {
  using onnx_file::TensorProto;
  for (const TensorProto::DataType type : {TensorProto::BFLOAT16, TensorProto::DOUBLE})
    for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
      Network net(16);
      net.file.output(net.conv(net.node("Relu", {net.conv("x", 3, 6, 3)}), 6, 4, 1));
      for (TensorProto& tensor : net.file.graph().initializer) {
        std::vector<float> values(tensor.raw_data.size() / sizeof(float));
        memcpy(values.data(), tensor.raw_data.data(), tensor.raw_data.size());
        std::vector<uint16_t> halves;
        for (const float value : values) {
          uint32_t bits = 0;
          memcpy(&bits, &value, sizeof bits);
          halves.push_back(static_cast<uint16_t>(bits >> 16));
        }
        const std::vector<double> doubles(values.begin(), values.end());
        tensor.data_type = type;
        if (type == TensorProto::DOUBLE)
          tensor.raw_data.set(doubles.data(), sizeof(double) * doubles.size());
        else
          tensor.raw_data.set(halves.data(), sizeof(uint16_t) * halves.size());
      }
      for (auto* const ends : {&net.file.graph().input, &net.file.graph().output})
        for (auto& end : *ends) end.type.make().tensor_type.make().elem_type = type;
      const auto made = Calibrated(net.file).to_onnx(form);
      REQUIRE_MESSAGE(made, made.message());
      const onnx_file::ModelProto file = parsed_onnx(made->bytes);
      check_order(file);
      CHECK(file.graph->input[0].type->tensor_type->elem_type == type);
      CHECK(file.graph->output[0].type->tensor_type->elem_type == type);
      for (const TensorProto& tensor : file.graph->initializer) CHECK(tensor.data_type != type);
      CHECK(count(file, "Cast") == 2);
    }
}

TEST_CASE("each output of a node keeps its writer") {
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize}) {
    Network net(4);
    const std::string x = net.conv("x", 3, 6, 3);
    net.node("Split", {x});
    Node& split = *net.last;
    set(split, "axis", int64_t{1});
    split.output.clear();
    for (const char* const part : {"first", "second", "third"}) split.output.push_back(part);
    for (const char* const part : {"third", "first"}) net.file.output(part);
    net.file.output(net.conv("second", 2, 3, 3));
    const auto made = Calibrated(net.file).to_onnx(form);
    REQUIRE_MESSAGE(made, made.message());
    check_order(parsed_onnx(made->bytes));
    Import back(made->bytes);
    CHECK_MESSAGE(back.good(), back.message());
  }
}

TEST_CASE("networks of opset 7 to 10 come back to the bit") {
  for (const int64_t opset : {7, 8, 9, 10}) {
    CAPTURE(opset);
    Network net(8, opset);
    const auto add_floats = [&](const std::string& name, const std::vector<float>& values) {
      auto& attribute = net.last->attribute.add();
      attribute.name = name;
      attribute.type = onnx_file::AttributeProto::FLOATS;
      for (const float value : values) attribute.floats.push_back(value);
    };
    std::string y = net.node("Dropout", {net.node("Relu", {net.batch_norm(net.conv("x", 3, 6, 3), 6)})});
    y = net.node("Pad", {y});
    set(*net.last, "pads", std::vector<int64_t>{0, 0, 1, 1, 0, 0, 0, 2});
    net.file.floats("scales", {4}, {1, 1, 2, 2});
    if (opset < 9) {
      y = net.node("Upsample", {y});
      add_floats("scales", {1, 1, 2, 2});
    } else {
      y = net.node(opset == 9 ? "Upsample" : "Resize", {y, "scales"});
    }
    if (opset < 10) {
      y = net.node("Slice", {net.conv(y, 6, 4, 3)});
      set(*net.last, "starts", std::vector<int64_t>{1, 2});
      set(*net.last, "ends", std::vector<int64_t>{12, 9});
      set(*net.last, "axes", std::vector<int64_t>{2, 3});
    }
    net.file.output(net.conv(y, opset < 10 ? 4 : 6, 4, 3));
    const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
    CHECK(file.opset_import[0].version == 13);
    CHECK(count(file, "Resize") == 1);
  }
}

TEST_CASE("a Softmax of opset 11 over the last axis has it") {
  Network net(7, 11);
  const std::string a = net.node("Clip", {net.conv("x", 3, 6, 3)});
  const std::string flat = net.node("Flatten", {net.node("GlobalAveragePool", {a})});
  const std::string scores = net.node("Gemm", {flat, net.floats({6, 4}, -1, 1), net.floats({4}, -1, 1)});
  net.file.output(net.node("Softmax", {scores}));
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
  CHECK(file.opset_import[0].version == 13);
  for (const Node& node : file.graph->node)
    if (node.op_type == "Softmax") CHECK(node.attribute[0].i.value_or(0) == 1);
}

TEST_CASE("an old Softmax over several axes comes back to the bit") {
  Network net(7, 11);
  const std::string map = net.node("Softmax", {net.conv("x", 3, 6, 3)});
  net.file.output(net.node("Relu", {net.conv(map, 6, 2, 1)}));
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
}

TEST_CASE("FakeQuantize has the same codes, and scales but for rounding") {
  const Calibrated net(small_network());
  const auto made = net.to_onnx(OnnxForm::kFakeQuantize);
  REQUIRE_MESSAGE(made, made.message());
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  check_order(file);
  CHECK(count(file, "FakeQuantize") >= made->layers + made->activations);
  CHECK(count(file, "QuantizeLinear") == 0);
  for (const Node& node : file.graph->node)
    if (node.op_type == "FakeQuantize") CHECK(node.domain == "org.openvinotoolkit");
  Import back(made->bytes);
  REQUIRE_MESSAGE(back.good(), back.message());
  const auto a = run_real(AlignedBytes(net.int8.view()), net.samples);
  const auto b = run_real(back.write(), net.samples);
  for (size_t s = 0; s < a.size(); ++s)
    for (size_t i = 0; i < a[s].size(); ++i) CHECK(std::fabs(a[s][i] - b[s][i]) < 0.02f);
}

TEST_CASE("operators of codes: no layer stands between quantizers, and the same bytes come back") {
  CalibratorOptions options;
  options.int8_answers = true;
  const Calibrated net(small_network(), options);
  const auto made = net.to_onnx(OnnxForm::kQOperator);
  REQUIRE_MESSAGE(made, made.message());
  CHECK(made->notes.empty());
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  check_order(file);
  CHECK(count(file, "QLinearConv") == 2);
  for (const char* const one : {"QGemm", "QLinearAdd", "MaxPool"}) {
    CAPTURE(one);
    CHECK(count(file, one) == 1);
  }
  for (const char* const gone : {"Conv", "Gemm", "Add", "Relu", "Clip"}) CHECK(count(file, gone) == 0);
  Import back(made->bytes);
  REQUIRE_MESSAGE(back.good(), back.message());
  CHECK(run_real(AlignedBytes(net.int8.view()), net.samples) == run_real(back.write(), net.samples));
}

TEST_CASE("operators of codes: products without a bias, and bounds in any field of the file") {
  CalibratorOptions options;
  options.int8_answers = true;
  options.recover = recovery::kNone;  // whose biases would be added behind products
  Network net(12);
  const std::string conv = net.conv("x", 3, 4, 3);
  for (const float bound : {-0.0f, 6.0f}) {
    auto& tensor = net.file.floats(bound < 1 ? "low" : "high", {}, {});
    tensor.raw_data.reset();
    tensor.float_data.push_back(bound);
  }
  const std::string flat = net.node("Flatten", {net.node("Clip", {conv, "low", "high"})});
  const std::string one =
      net.node("Relu", {net.node("MatMul", {flat, net.floats({4 * 9 * 8, 8}, -0.2f, 0.2f)})});
  const std::string two = net.node("MatMul", {one, net.floats({8, 5}, -0.3f, 0.3f)});
  const std::string product = net.node("MatMul", {two, net.floats({5, 5}, -0.3f, 0.3f)});
  net.file.output(net.node("Add", {product, net.floats({5}, -0.5f, 0.5f)}));
  const Calibrated calibrated(net.file, options);
  const auto made = calibrated.to_onnx(OnnxForm::kQOperator);
  REQUIRE_MESSAGE(made, made.message());
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  check_order(file);
  CHECK(count(file, "QLinearConv") == 1);
  CHECK(count(file, "Clip") == 0);
  CHECK(count(file, "QGemm") == 3);
  Import back(made->bytes);
  REQUIRE_MESSAGE(back.good(), back.message());
  CHECK(run_real(AlignedBytes(calibrated.int8.view()), calibrated.samples) ==
        run_real(back.write(), calibrated.samples));
}

namespace {

// The type and the sizes of the file's first input, or output.
std::pair<int32_t, std::vector<int64_t>> first_end(const onnx_file::ModelProto& file, bool is_input) {
  const auto& tensor = *(is_input ? file.graph->input[0] : file.graph->output[0]).type->tensor_type;
  std::vector<int64_t> dims;
  for (const auto& dim : tensor.shape->dim) dims.push_back(dim.dim_value.value_or(0));
  return {tensor.elem_type, dims};
}

}  // namespace

TEST_CASE("pictures come in as in the network's file, and numbers and places go out so") {
  using onnx_file::TensorProto;
  Network net(21);
  net.node("ReduceMax", {net.conv("x", 3, 4, 3)});
  set(*net.last, "keepdims", int64_t{0});
  net.file.output(net.last->output[0]);
  const std::string best =
      net.node("ArgMax", {net.node("Flatten", {net.node("GlobalAveragePool", {net.conv("x", 3, 5, 3)})})});
  set(*net.last, "axis", int64_t{1});
  net.file.output(best);
  auto& outputs = net.file.graph().output;
  auto& number = outputs[0].type.make().tensor_type.make();
  number.shape.make();
  number.elem_type = TensorProto::FLOAT;
  outputs[1].type.make().tensor_type.make().elem_type = TensorProto::INT64;
  const onnx_file::ModelProto file = check_same_bytes(Calibrated(net.file));
  CHECK(first_end(file, true).second == std::vector<int64_t>{1, 3, 9, 8});
  CHECK(first_end(file, false).second.empty());  // a number
  CHECK(file.graph->output[1].type->tensor_type->elem_type == TensorProto::INT64);
}

TEST_CASE("an input of the network's file that leaves sizes open, or is a cube, or is channels last") {
  Network net(22);
  net.file.output(net.conv("x", 3, 4, 3));
  const Calibrated calibrated(net.file);
  const Result<Model> model = Model::open(calibrated.int8.view());
  const auto dims_with = [&](const std::vector<int64_t>& dims, std::vector<std::string>& notes) {
    OnnxEnds ends;
    ends.path = "net.onnx";
    ends.inputs = {{"x", onnx_file::TensorProto::FLOAT, true, dims}};
    ends.outputs = {{net.file.graph().output[0].name, onnx_file::TensorProto::FLOAT, false, {}}};
    const auto made = export_onnx(*model, "net.int8.itg", OnnxForm::kQdq, &ends);
    REQUIRE_MESSAGE(made, made.message());
    notes = made->notes;
    return first_end(parsed_onnx(made->bytes), true).second;
  };
  const std::vector<int64_t> first{1, 3, 9, 8}, last{1, 9, 8, 3};
  std::vector<std::string> notes;
  CHECK(dims_with({0, 3, 0, 0}, notes) == first);
  CHECK(dims_with({4, 3, 640, 640}, notes) == first);
  CHECK(notes.empty());
  CHECK(dims_with({0, 0, 0, 3}, notes) == last);
  CHECK(notes.empty());
  CHECK(dims_with({0, 0, 0, 0}, notes) == first);
  REQUIRE(notes.size() == 1);
  CHECK_MESSAGE(notes[0].find("do not say which axis the channels are") != std::string::npos, notes[0]);
}

TEST_CASE("a file without the model's inputs and outputs, and one that is none") {
  const Calibrated net(small_network());
  const Result<Model> model = Model::open(net.int8.view());
  OnnxBuilder other(13);
  other.input("z", {1, 3, 8, 8});
  other.node("Relu", {"z"}, "y");
  other.output("y");
  const std::string bytes = other.bytes();
  const auto ends = read_onnx_ends(span_of(bytes), "other.onnx");
  REQUIRE(ends);
  const auto made = export_onnx(*model, "net.int8.itg", OnnxForm::kQdq, &*ends);
  REQUIRE(!made);
  CHECK(made.message() ==
        "net.int8.itg: its input 'x' is not in other.onnx; give the network that the model was imported from");
  for (const std::string& damaged : {std::string("no file"), std::string(), bytes.substr(0, 40)}) {
    const auto none = read_onnx_ends(span_of(damaged), "damaged.onnx");
    REQUIRE(!none);
    CHECK(none.message().find("damaged.onnx: ") == 0);
  }
}

}  // namespace intaglio::test::import_exported_onnx_test
