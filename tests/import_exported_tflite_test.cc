// An int8 model as TFLite: what comes back from the file gives the same codes, or codes as near as the file's own forms of
// an operator allow.
#include <set>

#include "exporters/tflite/tflite_export.h"
#include "importers/tflite/tflite_generated.h"
#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"
#include "tests/support/small_onnx_network.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using tflite::Builtin;

// A network's int8 model from random samples, its file, and the model that comes back.
struct Exported {
  explicit Exported(const OnnxBuilder& network, CalibratorOptions options = answers_in_codes()) {
    Import import(network.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    const AlignedBytes fp32 = import.write();
    const Result<Model> model = Model::open(fp32.view());
    REQUIRE(static_cast<bool>(model));
    Random random(11);
    const auto values = static_cast<size_t>(model->tensor(model->inputs()[0]).shape.elements());
    for (int i = 0; i < 6; ++i) samples.push_back(random.reals(values, -1, 1));
    const std::vector<uint8_t> bytes = calibrate(*model, samples, options);
    int8 = AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
    file = export_tflite(*Model::open(int8.view()), "net.int8.itg");
  }
  static CalibratorOptions answers_in_codes() {
    CalibratorOptions options;
    options.int8_answers = true;
    options.recover = recovery::kNone;
    return options;
  }

  std::set<Builtin> codes() const {
    std::set<Builtin> found;
    for (const auto* const code : *tflite::GetModel(file->bytes.data())->opcodes())
      found.insert(static_cast<Builtin>(code->builtin_code()));
    return found;
  }
  // The largest difference of outputs, in steps of the first output's scale; of FP32 outputs in units.
  double difference() {
    REQUIRE_MESSAGE(file, file.message());
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
    const TensorInfo in = model.session().input().info;
    if (in.dtype == DType::kF32) {
      model.set_input(sample);
    } else {
      std::vector<int8_t> codes;
      for (const float value : sample)
        codes.push_back(static_cast<int8_t>(std::clamp(std::nearbyint(value / in.quantization.scales[0]) +
                                                           static_cast<float>(in.quantization.zero_point),
                                                       -128.0f, 127.0f)));
      model.set_input(codes);
    }
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
  Outcome<TfliteExport> file = Failure{"not made"};
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
  CalibratorOptions options = Exported::answers_in_codes();
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
    if (is_plain) CHECK(made.codes().count(Builtin::PAD) == 0);
  }
}

TEST_CASE("a residual, functions, tables, bounds, pools, moves") {
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
         net.file.floats("low", {}, {-0.3f});
         net.file.floats("high", {}, {0.7f});
         net.then("Clip", {"low", "high"});
       },
       Builtin::CONV_2D, 0},
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
    CHECK(made.codes().count(c.expected) == 1);
  }
}

TEST_CASE("what cannot be written is refused by name") {
  Import import(small_network().bytes());
  const AlignedBytes fp32 = import.write();
  const auto none = export_tflite(*Model::open(fp32.view()), "net.itg");
  REQUIRE(!none);
  CHECK(none.message() == "net.itg: holds no int8 layer; 'intaglio calibrate' makes an int8 model");
  Convolutions net(3, 4, 6);
  net.conv(4, 4, 1, 1, {0, 0, 0, 0});
  auto& pool = net.then("MaxPool");
  set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
  set(pool, "dilations", std::vector<int64_t>{2, 2});
  Exported made(net.end());
  REQUIRE(!made.file);
  CHECK(made.file.message() == "net.int8.itg: node 'v1_node' (MaxPool2D): TFLite's pools have no dilation");
}
