// An int8 model as TFLite: what comes back from the file gives the same codes, or codes as near as the file's own forms of
// an operator allow.
#include <functional>
#include <set>

#include "exporters/readback.h"
#include "exporters/tflite/tflite_export.h"
#include "importers/tflite/tflite_generated.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/small_onnx_network.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_exported_tflite_test {
namespace {

using tflite::Builtin;

CalibratorOptions answers_in_codes() {
  CalibratorOptions options;
  options.int8_answers = true;
  options.recover = recovery::kNone;
  return options;
}

// An int8 model, its file, and the model that comes back.
struct Exported {
  Exported(AlignedBytes model, Samples inputs)
      : int8(std::move(model)),
        samples(std::move(inputs)),
        file(export_tflite(*Model::open(int8.view()), "net.int8.itg")) {}
  explicit Exported(CalibratedNetwork net) : Exported(std::move(net.int8), std::move(net.samples)) {}
  explicit Exported(const OnnxBuilder& network, const CalibratorOptions& options = answers_in_codes())
      : Exported(CalibratedNetwork(network, options)) {}

  size_t count(Builtin builtin) const {
    size_t found = 0;
    const auto* const model = tflite::GetModel(file->bytes.data());
    for (const auto* const node : *model->subgraphs()->Get(0)->operators())
      found += model->opcodes()->Get(node->opcode())->builtin_code() == static_cast<int32_t>(builtin);
    return found;
  }
  // Each tensor of the file is one that an operator reads or writes, and each name stands for one.
  void check_tensors() const {
    const auto* const graph = tflite::GetModel(file->bytes.data())->subgraphs()->Get(0);
    std::set<int32_t> used;
    for (const auto* const node : *graph->operators()) {
      used.insert(node->inputs()->begin(), node->inputs()->end());
      used.insert(node->outputs()->begin(), node->outputs()->end());
    }
    std::set<std::string> names;
    for (uint32_t t = 0; t < graph->tensors()->size(); ++t) {
      const std::string name = graph->tensors()->Get(t)->name()->str();
      CAPTURE(name);
      CHECK(used.count(static_cast<int32_t>(t)) == 1);
      CHECK(names.insert(name).second);
    }
  }
  // The largest difference of outputs: in codes, of FP32 outputs in units.
  double difference() {
    REQUIRE_MESSAGE(file, file.message());
    check_tensors();
    Import back(Span<const uint8_t>(file->bytes.data(), file->bytes.size()));
    REQUIRE_MESSAGE(back.good(), back.message());
    RunningModel a(AlignedBytes(int8.view())), b(back.write());
    REQUIRE_MESSAGE(a.error().ok(), text_of(a.error(), &a.model()));
    REQUIRE_MESSAGE(b.error().ok(), text_of(b.error(), &b.model()));
    double worst = 0;
    for (const std::vector<float>& sample : samples) {
      const auto x = run(a, sample), y = run(b, sample);
      REQUIRE(x.size() == y.size());
      for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(x[i] - y[i]));
    }
    return worst;
  }
  static std::vector<double> run(RunningModel& model, const std::vector<float>& sample) {
    set_real_input(model, sample);
    model.session().run();
    if (model.session().output().info.dtype == DType::kF32) {
      const auto values = model.output<float>();
      return {values.begin(), values.end()};
    }
    const auto values = model.output<int8_t>();
    return {values.begin(), values.end()};
  }

  AlignedBytes int8;
  Samples samples;
  Outcome<TfliteExport> file;
};

// Convolutions of any stride and padding, with what stands behind them.
struct Convolutions {
  OnnxBuilder file{13};
  Random random;
  int count = 0;
  std::string at = "x";

  explicit Convolutions(uint32_t seed, int64_t channels, int64_t side) : random(seed) {
    file.input("x", {1, channels, side, side});
  }
  std::string name() { return "v" + std::to_string(count++); }
  void conv(int64_t oc, int64_t ic, int64_t kernel, int64_t stride, const std::vector<int64_t>& pads,
            int64_t groups = 1) {
    const std::string y = name();
    file.floats(y + "w", {oc, ic / groups, kernel, kernel},
                random.reals(static_cast<size_t>(oc * ic / groups * kernel * kernel), -0.4f, 0.4f));
    file.floats(y + "b", {oc}, random.reals(static_cast<size_t>(oc), -0.5f, 0.5f));
    auto& node = file.node("Conv", {at, y + "w", y + "b"}, y);
    set(node, "group", groups);
    set(node, "pads", pads);
    set(node, "strides", std::vector<int64_t>{stride, stride});
    at = y;
  }
  OnnxBuilder::Node& then(const std::string& op, std::vector<std::string> others = {}) {
    others.insert(others.begin(), at);
    const std::string y = name();
    at = y;
    return file.node(op, others, y);
  }
  const OnnxBuilder& end() {
    file.output(at);
    return file;
  }
};

}  // namespace

TEST_CASE("a small network of everything that is common comes back to the bit") {
  Exported net(small_network());
  CHECK(net.difference() == 0);
  CHECK(net.file->layers == 3);
  CHECK(net.file->in_float == 0);
  CHECK(net.file->notes.empty());
}

TEST_CASE("a last layer that gives FP32 has FP32 weights, and a note says so") {
  CalibratorOptions options = answers_in_codes();
  options.int8_answers = false;
  Exported net(small_network(), options);
  CHECK(net.difference() <= 1e-5);
  CHECK(net.file->in_float == 1);
  CHECK(net.file->layers == 2);
  REQUIRE(net.file->notes.size() == 1);
  CHECK(net.file->notes[0].find("1 of 3 layers have FP32 weights in the file") == 0);
}

TEST_CASE("any padding, stride and group comes back to the bit") {
  Random random(5);
  for (int round = 0; round < 24; ++round) {
    CAPTURE(round);
    Convolutions net(static_cast<uint32_t>(round), 4, random.between(5, 9));
    const int64_t kernel = random.between(1, 3), stride = random.between(1, 2);
    std::vector<int64_t> pads(4);
    for (int64_t& pad : pads) pad = random.between(0, static_cast<int32_t>(kernel) - 1);
    net.conv(4, 4, kernel, stride, pads, random.one_in(2) ? 4 : random.one_in(2) ? 2 : 1);
    if (random.one_in(2)) net.then("Relu");
    net.conv(3, 4, 1, 1, {0, 0, 0, 0});
    Exported made(net.end());
    CHECK(made.difference() == 0);
    const bool is_plain = pads == std::vector<int64_t>(4, 0);
    if (is_plain) CHECK(made.count(Builtin::PAD) == 0);
  }
}

TEST_CASE("a residual, functions, tables, pools, moves") {
  struct Case {
    std::function<void(Convolutions&)> add;
    Builtin expected;
    double most;  // codes that may differ: other roundings of the file's own operators
  };
  const Case cases[] = {
      {[](Convolutions& net) {
         const std::string before = net.at;
         net.conv(4, 4, 3, 1, {1, 1, 1, 1});
         net.then("Add", {before});
         net.then("Relu");
       },
       Builtin::ADD, 1},
      {[](Convolutions& net) { net.then("Sigmoid"); }, Builtin::LOGISTIC, 0},
      {[](Convolutions& net) { net.then("Tanh"); }, Builtin::TANH, 0},
      {[](Convolutions& net) { net.then("HardSwish"); }, Builtin::HARD_SWISH, 0},
      {[](Convolutions& net) { net.then("Elu"); }, Builtin::GATHER, 0},
      {[](Convolutions& net) {
         auto& pool = net.then("MaxPool");
         set(pool, "kernel_shape", std::vector<int64_t>{3, 3});
         set(pool, "pads", std::vector<int64_t>{2, 0, 0, 1});
       },
       Builtin::PADV2, 0},
      {[](Convolutions& net) {
         auto& pool = net.then("AveragePool");
         set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
       },
       Builtin::DEPTHWISE_CONV_2D, 1},
      {[](Convolutions& net) {
         auto& pool = net.then("AveragePool");
         set(pool, "kernel_shape", std::vector<int64_t>{3, 3});
         set(pool, "pads", std::vector<int64_t>{1, 1, 1, 1});
       },
       Builtin::AVERAGE_POOL_2D, 2},
      {[](Convolutions& net) { net.then("GlobalAveragePool"); }, Builtin::MEAN, 0},
      {[](Convolutions& net) {
         net.file.floats("scales", {4}, {1, 1, 2, 2});
         auto& resize = net.then("Resize", {"", "scales"});
         set(resize, "mode", "nearest");
       },
       Builtin::RESIZE_NEAREST_NEIGHBOR, 0},
      {[](Convolutions& net) {
         net.file.integers("starts", {1, 4});
         net.file.integers("ends", {3, -100});
         net.file.integers("axes", {1, 3});
         net.file.integers("steps", {1, -2});
         net.then("Slice", {"starts", "ends", "axes", "steps"});
       },
       Builtin::STRIDED_SLICE, 0},
  };
  uint32_t seed = 40;
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.expected));
    Convolutions net(++seed, 4, 6);
    net.conv(4, 4, 3, 1, {1, 1, 1, 1});
    c.add(net);
    Exported made(net.end());
    CHECK(made.difference() <= c.most);
    CHECK(made.count(c.expected) > 0);
  }
}

// An int8 convolution whose bounds stand within the codes of its output, with a residual or without.
AlignedBytes bounded_layer(int32_t lo, int32_t hi, bool adds) {
  ModelBuilder b;
  Random random(8);
  const int32_t x = b.tensor("x", DType::kS8, {1, 5, 5, 4}, 0.05f, 3),
                y = b.tensor("y", DType::kS8, {1, 5, 5, 4}, 0.06f, -7);
  std::vector<int32_t> inputs{
      x, b.constant("w", DType::kS8, {4, 1, 1, 4}, random.codes(16), {0.01f, 0.02f, 0.011f, 0.013f}, 0),
      b.constant("b", DType::kS32, {4}, std::vector<int32_t>{100, -50, 7, 0})};
  if (adds) inputs.push_back(x);
  GraphNode& node = b.node(Op::kConv2d, inputs, {y});
  node.options.as<Clamp>().lo = lo;
  node.options.as<Clamp>().hi = hi;
  if (adds) node.options.as<Intermediate>() = {0.04f, 5};
  b.input(x);
  b.output(y);
  return b.finish();
}

TEST_CASE("bounds within an output's codes are MAXIMUM and MINIMUM") {
  struct Case {
    int32_t lo, hi;
    size_t maxima, minima;
  };
  for (const bool adds : {false, true})
    for (const Case& c : {Case{-30, 40, 1, 1}, {-30, 127, 1, 0}, {-128, 40, 0, 1}, {-128, 127, 0, 0}}) {
      CAPTURE(adds);
      CAPTURE(c.lo);
      CAPTURE(c.hi);
      Exported made(bounded_layer(c.lo, c.hi, adds), {Random(3).reals(100, -6, 6)});
      CHECK(made.difference() <= (adds ? 1 : 0));
      CHECK(made.count(Builtin::ADD) == (adds ? 1 : 0));
      CHECK(made.count(Builtin::MAXIMUM) == c.maxima);
      CHECK(made.count(Builtin::MINIMUM) == c.minima);
    }
}

TEST_CASE("bounds of a layer in FP32 are MAXIMUM and MINIMUM") {
  Convolutions net(41, 4, 6);
  net.conv(4, 4, 3, 1, {1, 1, 1, 1});
  net.conv(4, 4, 3, 1, {1, 1, 1, 1});
  net.file.floats("low", {}, {-0.3f});
  net.file.floats("high", {}, {0.7f});
  net.then("Clip", {"low", "high"});
  CalibratorOptions options = answers_in_codes();
  const int32_t second[] = {1};
  options.float_nodes = second;
  Exported made(net.end(), options);
  CHECK(made.difference() <= 1e-5);
  CHECK(made.count(Builtin::MAXIMUM) == 1);
  CHECK(made.count(Builtin::MINIMUM) == 1);
}

TEST_CASE("a function in a scale that TFLite does not allow is a Gather") {
  CalibratorOptions options = answers_in_codes();
  options.compat = Compat::kTengine;  // whose functions have scales of another rule
  for (const char* const function : {"Sigmoid", "Tanh"}) {
    CAPTURE(function);
    Convolutions net(60, 4, 6);
    net.conv(4, 4, 3, 1, {1, 1, 1, 1});
    net.then(function);
    Exported made(net.end(), options);
    CHECK(made.difference() == 0);
    CHECK(made.count(Builtin::LOGISTIC) + made.count(Builtin::TANH) == 0);
    CHECK(made.count(Builtin::GATHER) == 1);
  }
}

TEST_CASE("a Softmax and an L2 normalization whose scale follows small values compute in FP32") {
  for (const bool follows : {true, false})
    for (const char* const function : {"Softmax", "LpNormalization"}) {
      CAPTURE(function);
      CAPTURE(follows);
      CalibratorOptions options = answers_in_codes();
      options.int8_answers = !follows;
      Convolutions net(61, 4, 6);
      net.conv(160, 4, 1, 1, {0, 0, 0, 0});
      net.file.floats("factor", {1}, {0.01f});
      net.then("Mul", {"factor"});
      set(net.then(function), "axis", int64_t{1});
      net.conv(4, 160, 3, 1, {1, 1, 1, 1});
      net.conv(4, 4, 1, 1, {0, 0, 0, 0});
      Exported made(net.end(), options);
      CHECK(made.difference() == 0);
      CHECK(made.file->functions_in_float == (follows ? 1 : 0));
      CHECK(made.file->notes.size() == (follows ? 1 : 0));
      CHECK(made.count(Builtin::DEQUANTIZE) == (follows ? 1 : 0));
      CHECK(made.count(Builtin::SOFTMAX) + made.count(Builtin::L2_NORMALIZATION) == 1);
    }
}

// One node on codes, of two operands or with two lists of eight reals.
AlignedBytes one_node(Op op, const std::vector<int32_t>& shape, bool reads_reals,
                      const std::function<void(NodeOptions&)>& set) {
  ModelBuilder b;
  Random random(9);
  const int32_t x = b.tensor("x", DType::kS8, shape, 0.05f, 3);
  std::vector<int32_t> inputs{x};
  if (reads_reals) {
    inputs.push_back(b.constant("scale", DType::kF32, {8}, random.reals(8, 0.5f, 2.0f)));
    inputs.push_back(b.constant("shift", DType::kF32, {8}, random.reals(8, -1.0f, 1.0f)));
  } else {
    inputs.push_back(b.tensor("other", DType::kS8, shape, 0.03f, -120));
  }
  std::vector<int32_t> out = shape;
  if (op == Op::kBatchMatMul) out.back() = out[out.size() - 2];
  const int32_t y = b.tensor("y", DType::kS8, out, 0.04f, -7);
  set(b.node(op, inputs, {y}).options);
  b.input(x);
  if (!reads_reals) b.input(inputs[1]);
  b.output(y);
  return b.finish();
}

Samples samples_of(size_t elements) {
  Random random(10);
  return {random.reals(elements, -6.0f, 6.0f), random.reals(elements, -1.0f, 3.0f)};
}

TEST_CASE("a normalization is its steps in FP32") {
  for (const int32_t groups : {1, 2, 8})
    for (const bool over_map : {false, true})
      for (const bool keeps_mean : {false, true}) {
        if (groups == 8 && !over_map) continue;  // of one element
        CAPTURE(groups);
        CAPTURE(over_map);
        CAPTURE(keeps_mean);
        Exported made(one_node(Op::kNormalize, {2, 3, 4, 8}, true,
                               [&](NodeOptions& options) {
                                 auto& o = options.as<NormalizeOptions>();
                                 o.epsilon = 1e-3f;
                                 o.groups = groups;
                                 o.over_map = over_map;
                                 o.keeps_mean = keeps_mean;
                               }),
                      samples_of(2 * 3 * 4 * 8));
        CHECK(made.difference() <= 1);
        CHECK(made.count(Builtin::MEAN) == (keeps_mean ? 1 : 2));
        CHECK(made.count(Builtin::QUANTIZE) == 1);
        CHECK(made.file->functions_in_float == 1);
      }
}

TEST_CASE("groups of one element have a form, too") {
  Exported made(one_node(Op::kNormalize, {2, 8}, true,
                         [](NodeOptions& options) {
                           options.as<NormalizeOptions>() = {1e-3f, 8, false, false};
                         }),
                samples_of(16));
  CHECK(made.difference() == 0);
}

TEST_CASE("a product's factor is a Mul; a quotient of codes is one of reals") {
  for (const float factor : {1.0f, 0.35f, 2.5f}) {
    CAPTURE(factor);
    const AlignedBytes model = one_node(Op::kBatchMatMul, {2, 5, 8}, false, [&](NodeOptions& options) {
      options.as<BatchMatMulOptions>() = {true, factor};
    });
    const auto file = export_tflite(*Model::open(model.view()), "net.int8.itg");
    REQUIRE_MESSAGE(file, file.message());
    CHECK(file->notes.empty());  // it ran, and gave the same
  }
  const AlignedBytes quotient = one_node(Op::kDiv, {2, 5, 8}, false, [](NodeOptions&) {});
  const auto file = export_tflite(*Model::open(quotient.view()), "net.int8.itg");
  REQUIRE_MESSAGE(file, file.message());
  CHECK(file->functions_in_float == 1);
}

TEST_CASE("a depthwise layer of codes always has a bias: LiteRT ends the program without") {
  Convolutions net(43, 4, 6);
  net.conv(4, 4, 3, 1, {1, 1, 1, 1});
  set(net.then("AveragePool"), "kernel_shape", std::vector<int64_t>{2, 2});
  Exported made(net.end());
  REQUIRE_MESSAGE(made.file, made.file.message());
  const auto* const model = tflite::GetModel(made.file->bytes.data());
  for (const auto* const node : *model->subgraphs()->Get(0)->operators())
    if (model->opcodes()->Get(node->opcode())->builtin_code() ==
        static_cast<int32_t>(Builtin::DEPTHWISE_CONV_2D))
      CHECK(node->inputs()->size() == 3);
  CHECK(made.count(Builtin::DEPTHWISE_CONV_2D) == 1);
}

TEST_CASE("tables for groups of channels are a Gather") {
  CalibratorOptions options = answers_in_codes();
  options.recover = recovery::kDepthwiseScales;
  Exported made(uneven_network(), options);
  const Result<Model> model = Model::open(made.int8.view());
  size_t grouped = 0;
  for (int32_t n = 0; n < model->node_count(); ++n) grouped += model->node(n).op == Op::kGroupedLookup;
  CHECK(grouped > 0);
  CHECK(made.difference() == 0);
  CHECK(made.count(Builtin::GATHER) >= grouped);
}

TEST_CASE("bounds of what takes no activation are operators of their own") {
  const auto mean = [](Convolutions& net) { net.then("GlobalAveragePool"); };
  const auto least = [](Convolutions& net) {
    const std::string before = net.at;
    net.conv(4, 4, 1, 1, {0, 0, 0, 0});
    net.then("Min", {before});
  };
  const auto padded = [](Convolutions& net) {
    auto& pool = net.then("AveragePool");
    set(pool, "kernel_shape", std::vector<int64_t>{3, 3});
    set(pool, "pads", std::vector<int64_t>{1, 1, 1, 1});
  };
  struct Case {
    std::function<void(Convolutions&)> add;
    double most;
  };
  uint32_t seed = 70;
  for (const Case& c : {Case{mean, 0}, Case{least, 0}, Case{padded, 2}}) {
    CAPTURE(seed);
    CalibratorOptions options = answers_in_codes();
    options.compat = Compat::kTengine;  // its zero point of 0 makes 0 a bound of codes
    Convolutions net(++seed, 4, 6);
    net.conv(4, 4, 3, 1, {1, 1, 1, 1});
    c.add(net);
    net.then("Relu");
    Exported made(net.end(), options);
    REQUIRE_MESSAGE(made.file, made.file.message());
    CHECK(made.difference() <= c.most);
    CHECK(made.count(Builtin::MAXIMUM) == 1);
  }
}

TEST_CASE("a file that does not come back is refused with its path, and with what is in the way") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(120, {x}, {y});  // RFFT2D or the like
  const std::string bytes = file.finish({x}, {y});
  exporters::Reimported back;
  const auto step = exporters::import_again({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                            "net.itg: the exported file", {}, back);
  REQUIRE(!step);
  CHECK(step.message().find("net.itg: the exported file cannot be imported: node 'y'") == 0);
}

TEST_CASE("what cannot be written is refused by name") {
  Import import(small_network().bytes());
  const AlignedBytes fp32 = import.write();
  const auto none = export_tflite(*Model::open(fp32.view()), "net.itg");
  REQUIRE(!none);
  CHECK(none.message() == "net.itg: is FP32 throughout; 'intaglio calibrate' makes an int8 model");
  Convolutions net(3, 4, 6);
  net.conv(4, 4, 1, 1, {0, 0, 0, 0});
  auto& pool = net.then("MaxPool");
  set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
  set(pool, "dilations", std::vector<int64_t>{2, 2});
  Exported made(net.end());
  REQUIRE(!made.file);
  CHECK(made.file.message() == "net.int8.itg: node 'v1_node' (MaxPool2D): TFLite's pools have no dilation");
}

TEST_CASE("states, and functions of FP32 that TFLite does not have, are refused by name") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.input("sum", {1, 2});
  file.node("Add", {"x", "sum"}, "next");
  file.node("Relu", {"next"}, "y");
  file.output("y");
  file.output("next");
  ImportOptions states;
  states.states = {"sum=next"};
  Import import(file.bytes(), states);
  const AlignedBytes with_state = import.write();
  const auto none = export_tflite(*Model::open(with_state.view()), "net.itg");
  REQUIRE(!none);
  CHECK(
      none.message() ==
      "net.itg: has states, which TFLite keeps in another way; 'intaglio import' without them gives their next "
      "values as outputs");

  Convolutions other(4, 4, 6);
  other.conv(4, 4, 1, 1, {0, 0, 0, 0});
  other.then("Elu");
  CalibratorOptions options = answers_in_codes();
  const int32_t second[] = {1};
  options.float_nodes = second;
  Exported in_float(other.end(), options);
  REQUIRE(!in_float.file);
  CHECK(in_float.file.message() ==
        "net.int8.itg: node 'v1_node' (Elu): TFLite has no such operator, or none that is written here");
}

}  // namespace intaglio::test::import_exported_tflite_test
