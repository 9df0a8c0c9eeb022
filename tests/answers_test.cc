// The node that gives a model's answer reads codes and writes FP32: which nodes that is, what they compute, and that
// the calibrator's parts know of it.
#include "calibrator/quantization/int8_nodes.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/host/accuracy/simulator.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/observe/output_tensors.h"
#include "intaglio/describe.h"
#include "tests/support/calibrate.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::answers_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// FP32 networks of an input and a few layers.
class Network {
 public:
  explicit Network(const std::vector<int32_t>& dims) : last(b.tensor("input", DType::kF32, dims)) {
    b.input(last);
  }

  Network& dense(int32_t outputs, float clamp_min = -kInfinity) {
    const std::vector<int32_t> in = dims();
    add(Op::kFullyConnected, {in[0], outputs}, {weights({outputs, in.back()}), weights({outputs})})
        .options.as<Clamp>()
        .min = clamp_min;
    return *this;
  }
  Network& conv(int32_t outputs, int32_t kernel, int32_t pad) {
    const std::vector<int32_t> in = dims();
    const auto size = [&](int32_t n) { return n + 2 * pad - kernel + 1; };
    GraphNode& node = add(Op::kConv2d, {in[0], size(in[1]), size(in[2]), outputs},
                          {weights({outputs, kernel, kernel, in[3]}), weights({outputs})});
    Window2d& window = node.options.as<Window2d>();
    window.kernel_h = window.kernel_w = kernel;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = pad;
    return *this;
  }
  Network& pool(int32_t kernel) {
    const std::vector<int32_t> in = dims();
    GraphNode& node = add(Op::kAvgPool2d, {in[0], in[1] - kernel + 1, in[2] - kernel + 1, in[3]}, {});
    node.options.as<Window2d>().kernel_h = node.options.as<Window2d>().kernel_w = kernel;
    return *this;
  }
  Network& mean(const std::vector<int32_t>& axes) {
    std::vector<int32_t> out = dims();
    for (const int32_t axis : axes) out[static_cast<size_t>(axis)] = 1;
    add(Op::kMean, out, {}).options.as<ReduceOptions>().axes = b.keep(axes);
    return *this;
  }
  Network& unary(Op op) {
    add(op, dims(), {});
    return *this;
  }
  Network& reshape(const std::vector<int32_t>& to) {
    add(Op::kReshape, to, {});
    return *this;
  }
  Network& twice() {
    const int32_t from = last;
    add(Op::kAdd, dims(), {from});
    return *this;
  }
  // `name` less the last one, which is smaller.
  Network& taken_from(const std::string& name) {
    const int32_t smaller = last;
    back_to(name);
    add(Op::kSub, dims(), {smaller});
    return *this;
  }
  // Behind the last one, along the last axis.
  Network& join(const std::string& name) {
    const int32_t first = last;
    const std::vector<int32_t> own = dims();
    back_to(name);
    std::vector<int32_t> out = dims();
    const int32_t other = last;
    out.back() += own.back();
    last = first;
    add(Op::kConcat, out, {other}).options.as<ConcatOptions>().axis = static_cast<int32_t>(out.size()) - 1;
    return *this;
  }
  Network& output() {
    b.output(last);
    return *this;
  }
  Network& back_to(const std::string& name) {
    for (size_t t = 0; t < b.graph().tensors.size(); ++t)
      if (name == b.graph().tensors[t].name) last = static_cast<int32_t>(t);
    return *this;
  }
  AlignedBytes finish() { return b.finish(); }

 private:
  std::vector<int32_t> dims() {
    const Shape shape = b.graph().tensors[static_cast<size_t>(last)].shape;
    return {shape.dims, shape.dims + shape.rank};
  }
  int32_t weights(const std::vector<int32_t>& shape) {
    size_t count = 1;
    for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    for (float& v : values) v = random_.real(-0.5f, 0.5f);
    return b.constant("w" + std::to_string(b.graph().tensors.size()), DType::kF32, shape, values);
  }
  GraphNode& add(Op op, const std::vector<int32_t>& shape, const std::vector<int32_t>& more) {
    std::vector<int32_t> inputs = {last};
    inputs.insert(inputs.end(), more.begin(), more.end());
    last = b.tensor("t" + std::to_string(b.graph().nodes.size()), DType::kF32, shape);
    return b.node(op, inputs, {last});
  }

  Random random_{5};
  ModelBuilder b;

 public:
  int32_t last;
};

Samples samples_for(const Model& model, size_t count, float from = -1.0f) {
  Random random(3);
  Samples samples(count);
  for (auto& sample : samples) {
    sample.resize(static_cast<size_t>(model.tensor(model.inputs()[0]).shape.elements()));
    for (float& v : sample) v = random.real(from, 1.0f);
  }
  return samples;
}

CalibratorOptions plain() {
  CalibratorOptions options;
  options.recover = recovery::kNone;
  return options;
}

AlignedBytes calibrated(const Model& model, const CalibratorOptions& options) {
  const std::vector<uint8_t> bytes = calibrate(model, samples_for(model, 6), options);
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

// The int8 operator of each node that gives an answer, in their order.
std::vector<Op> answers_of(const AlignedBytes& bytes, const CalibratorOptions& options = {}) {
  const Result<Model> opened = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(opened), text_of(opened.error()));
  const Model model = *opened;
  std::vector<Op> found;
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (const Op op = answer_op(model, n, options); op != Op::kNone) found.push_back(op);
  return found;
}

const std::vector<Op> kNobody, kProduct = {Op::kFullyConnected}, kAverage = {Op::kMean};

}  // namespace

TEST_CASE("which nodes give the answer") {
  struct Case {
    std::string what;
    AlignedBytes bytes;
    std::vector<Op> answers;
  };
  const auto map = [](int32_t side) { return Network({1, side, side, 6}); };
  const auto vector = [] { return Network({2, 8}); };
  std::vector<Case> cases;
  cases.push_back({"a product", vector().dense(5).output().finish(), kProduct});
  cases.push_back({"before a softmax", vector().dense(5).unary(Op::kSoftmax).output().finish(), kProduct});
  cases.push_back({"reshaped on both sides of a softmax",
                   vector().dense(6).reshape({2, 2, 3}).unary(Op::kSoftmax).reshape({12}).output().finish(),
                   kProduct});
  cases.push_back({"the last of two", vector().dense(5).dense(4).output().finish(), kProduct});
  cases.push_back({"one tap on one place", map(1).conv(5, 1, 0).reshape({1, 5}).output().finish(), kProduct});
  cases.push_back({"a mean", map(4).mean({1, 2}).output().finish(), kAverage});
  cases.push_back({"a pool of all places", map(4).pool(4).reshape({1, 6}).output().finish(), kAverage});
  cases.push_back({"two outputs",
                   vector().dense(5).output().back_to("input").dense(3).output().finish(),
                   {Op::kFullyConnected, Op::kFullyConnected}});
  cases.push_back({"one tap on a map", map(4).conv(5, 1, 0).output().finish(), kNobody});
  cases.push_back({"nine taps on one place", map(1).conv(5, 3, 1).output().finish(), kNobody});
  cases.push_back({"a pool that leaves a map", map(4).pool(2).output().finish(), kNobody});
  cases.push_back({"a mean over rows", map(4).mean({1}).output().finish(), kNobody});
  cases.push_back({"a finite clamp", vector().dense(5, 0.0f).output().finish(), kNobody});
  for (const Op op : {Op::kSigmoid, Op::kTanh, Op::kHardSigmoid, Op::kL2Normalize, Op::kExp})
    cases.push_back(
        {std::string(op_name(op)) + " behind it", vector().dense(5).unary(op).output().finish(), kProduct});
  cases.push_back({"a function that int8 models have in no other form",
                   vector().dense(5).unary(Op::kHardSwish).output().finish(), kNobody});
  cases.push_back({"read twice", vector().dense(5).twice().output().finish(), kNobody});
  cases.push_back({"read by the caller and a softmax",
                   vector().dense(5).output().unary(Op::kSoftmax).output().finish(), kNobody});
  cases.push_back({"a reshape of the input", vector().reshape({16}).output().finish(), kNobody});
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(answers_of(c.bytes) == c.answers);
    CalibratorOptions other;
    other.int8_answers = true;
    CHECK(answers_of(c.bytes, other) == kNobody);
    for (const Compat compat : {Compat::kTengine, Compat::kPpq}) {
      other = {};
      other.compat = compat;
      CHECK(answers_of(c.bytes, other) == kNobody);
    }

    // Where there is one the outputs are in FP32, and nothing is dequantized on the way; else they are codes.
    const Model model = *Model::open(c.bytes.view());
    RunningModel int8(calibrated(model, plain()), int8_ops());
    REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error()));
    for (const int32_t output : int8.model().outputs())
      CHECK(int8.model().tensor(output).dtype == (c.answers.empty() ? DType::kS8 : DType::kF32));
    std::vector<Op> made;
    for (int32_t n = 0; n < int8.model().node_count(); ++n) {
      const NodeInfo node = int8.model().node(n);
      CHECK(node.op != Op::kDequantize);
      CHECK(node.op != Op::kQuantize);
      if (int8.model().tensor(node.inputs[0]).dtype == DType::kS8 &&
          int8.model().tensor(node.outputs[0]).dtype == DType::kF32)
        made.push_back(node.op);
    }
    CHECK(made == c.answers);
  }
}

TEST_CASE("what normalizes the model's inputs before a layer stays in FP32") {
  struct Case {
    std::string what;
    AlignedBytes bytes;
    std::string nodes;  // a letter each: f stays in FP32, i becomes int8
  };
  const auto map = [] { return Network({1, 4, 4, 6}); };
  std::vector<Case> cases;
  cases.push_back({"a norm", map().unary(Op::kL2Normalize).conv(5, 3, 1).output().finish(), "fi"});
  cases.push_back({"with moves and functions on both sides",
                   map()
                       .reshape({1, 16, 6})
                       .unary(Op::kL2Normalize)
                       .unary(Op::kSigmoid)
                       .reshape({1, 96})
                       .dense(3)
                       .dense(4)
                       .output()
                       .finish(),
                   "ffffii"});
  cases.push_back(
      {"less its mean", map().mean({1, 2}).taken_from("input").conv(5, 3, 1).output().finish(), "ffi"});
  cases.push_back({"whose input a layer reads, too",
                   map()
                       .unary(Op::kL2Normalize)
                       .conv(5, 3, 1)
                       .back_to("input")
                       .conv(3, 3, 1)
                       .join("t1")
                       .output()
                       .finish(),
                   "fiif"});
  cases.push_back({"a mean alone", map().mean({1, 2}).conv(5, 1, 0).output().finish(), "ii"});
  cases.push_back({"a part of another size",
                   map().conv(6, 3, 1).mean({1, 2}).taken_from("input").conv(5, 3, 1).output().finish(),
                   "iiii"});
  cases.push_back({"a layer before it",
                   map().conv(5, 3, 1).unary(Op::kL2Normalize).conv(5, 3, 1).output().finish(), "iii"});
  cases.push_back(
      {"no layer behind it", map().unary(Op::kL2Normalize).unary(Op::kHardSwish).output().finish(), "ii"});
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const Model model = *Model::open(c.bytes.view());
    const auto nodes = [&](const CalibratorOptions& options) {
      std::string letters;
      for (int32_t n = 0; n < model.node_count(); ++n) letters += becomes_int8(model, n, options) ? 'i' : 'f';
      return letters;
    };
    CHECK(nodes(plain()) == c.nodes);
    CalibratorOptions in_codes = plain();
    in_codes.int8_answers = true;
    CHECK(nodes(in_codes) == std::string(c.nodes.size(), 'i'));
    RunningModel int8(calibrated(model, plain()), all_ops());
    REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error()));
    CHECK(int8.model().tensor(int8.model().inputs()[0]).dtype ==
          (c.nodes[0] == 'f' ? DType::kF32 : DType::kS8));
  }
}

TEST_CASE("an answer is its int32 sum times the scales of what it multiplies") {
  for (const bool conv : {false, true}) {
    CAPTURE(conv);
    const AlignedBytes bytes = conv ? Network({1, 4, 4, 6}).mean({1, 2}).conv(5, 1, 0).output().finish()
                                    : Network({3, 8}).dense(5).output().finish();
    const Model fp32 = *Model::open(bytes.view());
    RunningModel int8(calibrated(fp32, plain()), int8_ops());
    REQUIRE(int8.error().ok());
    Random random(4);
    for (int8_t& code : int8.session().input().as<int8_t>())
      code = static_cast<int8_t>(random.between(-128, 127));
    const Model& model = int8.model();
    const int32_t last = model.node_count() - 1;
    int8.session().run_nodes(0, last);
    const NodeInfo node = model.node(last);
    REQUIRE(node.op == Op::kFullyConnected);
    const TensorView x = int8.session().tensor(node.inputs[0]);
    const TensorInfo w = model.tensor(node.inputs[1]), bias = model.tensor(node.inputs[2]);
    const Span<const int8_t> read = x.as<int8_t>();
    const std::vector<int8_t> codes(read.begin(), read.end());
    int8.session().run_nodes(last, last + 1);
    const std::vector<float> y = int8.output<float>();
    const auto outputs = static_cast<size_t>(w.shape[0]), depth = static_cast<size_t>(w.shape[1]);
    REQUIRE(y.size() == codes.size() / depth * outputs);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t o = i % outputs, row = i / outputs;
      int32_t code = 0;
      memcpy(&code, bias.constant.data + 4 * o, 4);
      int64_t sum = code;
      for (size_t k = 0; k < depth; ++k)
        sum += int64_t{codes[row * depth + k] - x.info.quantization.zero_point} *
               reinterpret_cast<const int8_t*>(w.constant.data)[o * depth + k];
      CHECK(y[i] == static_cast<float>(sum) * (x.info.quantization.scales[0] * w.quantization.scales[o]));
    }
  }
}

TEST_CASE("an answer's slot cannot be set, and int8 answers have it") {
  const AlignedBytes bytes = Network({1, 8}).dense(6).dense(5).unary(Op::kSoftmax).output().finish();
  const Model model = *Model::open(bytes.view());
  SlotSetting setting;
  setting.bits = 4;
  const auto status_with = [&](int32_t node, SlotRole role, bool int8_answers) {
    setting.node = node;
    setting.role = role;
    CalibratorOptions options = plain();
    options.int8_answers = int8_answers;
    options.slots = {&setting, 1};
    return Calibrator::measure(model, options).error();
  };
  for (const bool int8_answers : {false, true}) {
    const Status refused = int8_answers ? Status::kOk : Status::kAnswerSlot;
    CHECK(status_with(1, SlotRole::kOutput, int8_answers).status == refused);
    CHECK(status_with(2, SlotRole::kInput, int8_answers).status == refused);
    CHECK(status_with(2, SlotRole::kEvery, int8_answers).status == refused);
    CHECK(status_with(0, SlotRole::kOutput, int8_answers).ok());
    CHECK(status_with(1, SlotRole::kInput, int8_answers).ok());
    CHECK(status_with(1, SlotRole::kWeights, int8_answers).ok());
    CHECK(status_with(-1, SlotRole::kEvery, int8_answers).ok());
  }
  const std::string text = text_of(status_with(1, SlotRole::kOutput, false), &model);
  CHECK(text.find("t1") != std::string::npos);
  CHECK(text.find("--int8-answers") != std::string::npos);
}

TEST_CASE("parts that a Concat joins for the caller keep a scale each, and are judged each") {
  const auto map = [] { return Network({1, 4, 4, 3}); };
  struct Case {
    const char* what;
    AlignedBytes bytes;
    bool in_float;
    size_t parts;
  };
  std::vector<Case> cases;
  cases.push_back({"two layers",
                   map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").output().finish(), true, 2});
  cases.push_back(
      {"moved behind it",
       map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").reshape({1, 16, 7}).output().finish(),
       true, 2});
  cases.push_back(
      {"a softmax behind it",
       map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").unary(Op::kSoftmax).output().finish(),
       true, 2});
  cases.push_back({"a part that is joined twice",
                   map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").join("t1").output().finish(),
                   true, 3});
  cases.push_back({"joined once more, each read once",
                   map()
                       .conv(4, 1, 0)
                       .back_to("input")
                       .conv(3, 3, 1)
                       .join("t0")
                       .back_to("input")
                       .conv(2, 1, 0)
                       .join("t2")
                       .output()
                       .finish(),
                   true, 3});
  cases.push_back(
      {"the input among the parts", map().conv(4, 1, 0).join("input").output().finish(), false, 2});
  cases.push_back(
      {"a layer behind it",
       map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").conv(4, 1, 0).output().finish(), false,
       1});
  cases.push_back(
      {"a function behind it",
       map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").unary(Op::kHardSwish).output().finish(),
       false, 1});
  cases.push_back({"read twice",
                   map().conv(4, 1, 0).back_to("input").conv(3, 3, 1).join("t0").twice().output().finish(),
                   false, 1});
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const Model model = *Model::open(c.bytes.view());
    HostArena memory;
    CHECK(output_tensors(model, memory.arena()).size == c.parts);
    for (const bool int8_answers : {false, true}) {
      CAPTURE(int8_answers);
      CalibratorOptions options = plain();
      options.int8_answers = int8_answers;
      RunningModel int8(calibrated(model, options), int8_ops());
      REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error()));
      const DType dtype = c.in_float && !int8_answers ? DType::kF32 : DType::kS8;
      CHECK(int8.model().tensor(int8.model().outputs()[0]).dtype == dtype);
      for (int32_t n = 0; n < int8.model().node_count(); ++n)
        if (int8.model().node(n).op == Op::kConcat)
          CHECK(int8.model().tensor(int8.model().node(n).outputs[0]).dtype == dtype);
    }
  }
  // A setting of the node's own is followed.
  const Model model = *Model::open(cases[0].bytes.view());
  CalibratorOptions options = plain();
  const SlotSetting setting{2, SlotRole::kOutput};
  options.slots = {&setting, 1};
  RunningModel int8(calibrated(model, options), int8_ops());
  REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error()));
  CHECK(int8.model().tensor(int8.model().outputs()[0]).dtype == DType::kS8);
}

TEST_CASE("biases correct an answer's mean, from the samples and from what was seen of them") {
  const AlignedBytes bytes = Network({1, 24}).dense(16).dense(7).output().finish();
  const Model model = *Model::open(bytes.view());
  const Samples samples = samples_for(model, 12, 0.0f);  // with a mean
  // The largest error of a class's mean.
  const auto error_of_means = [&](RecoveryMask recover, bool with_source) {
    CalibratorOptions options;
    options.recover = recover;
    options.weight_bits = 4;  // coarse: there is something to correct
    AlignedBytes memory(Calibrator::measure(model, options)->total());
    Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
    for (const auto& sample : samples) {
      const Span<const uint8_t> input = bytes_of(sample);
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
    const SampleSource source = source_of(samples);
    const Error error = calibrator.finish({}, with_source ? &source : nullptr);
    REQUIRE_MESSAGE(error.ok(), text_of(error, &model));
    RunningModel exact(AlignedBytes(bytes.view())), int8{AlignedBytes(calibrator.report().bytes)};
    std::vector<double> sums(7);
    for (const auto& sample : samples) {
      exact.set_input(sample);
      copy_inputs(exact.session(), int8.session());
      exact.session().run();
      int8.session().run();
      for (size_t o = 0; o < sums.size(); ++o)
        sums[o] +=
            static_cast<double>(int8.output<float>()[o]) - static_cast<double>(exact.output<float>()[o]);
    }
    double largest = 0.0;
    for (const double sum : sums) largest = std::max(largest, std::abs(sum) / 12);
    return largest;
  };
  const double before = error_of_means(recovery::kNone, true);
  const double by_samples = error_of_means(recovery::kBiasCorrection, true);
  const double by_means = error_of_means(recovery::kBiasCorrection, false);
  MESSAGE(before << " " << by_samples << " " << by_means);
  CHECK(by_samples < 0.1 * before);
  CHECK(by_means < 0.5 * before);
}

TEST_CASE("more classes than all other values: memory is enough") {
  const AlignedBytes bytes = Network({1, 3}).dense(20000).unary(Op::kSoftmax).output().finish();
  const Model model = *Model::open(bytes.view());
  RunningModel int8(calibrated(model, {}), int8_ops());
  REQUIRE(int8.error().ok());
  CHECK(int8.session().output().info.dtype == DType::kF32);
}

TEST_CASE("what stands behind a layer that is kept in FP32 gives no codes either") {
  const AlignedBytes bytes = Network({1, 8}).dense(6).dense(5).unary(Op::kSoftmax).output().finish();
  const Model model = *Model::open(bytes.view());
  const int32_t kept = 1;
  CalibratorOptions options = plain();
  options.float_nodes = {&kept, 1};
  const AlignedBytes written = calibrated(model, options);
  const Model int8 = *Model::open(written.view());
  CHECK(int8.tensor(int8.outputs()[0]).dtype == DType::kF32);
  CHECK(int8.node(int8.node_count() - 1).op == Op::kSoftmax);
}

TEST_CASE("the simulator gives an answer's FP32 values, by the kernels to the bit") {
  const AlignedBytes bytes = Network({1, 8}).dense(6).dense(5).unary(Op::kSoftmax).output().finish();
  const Model model = *Model::open(bytes.view());
  const Samples samples = samples_for(model, 6);
  RunningModel int8(calibrated(model, plain()), int8_ops());
  RunningModel fp32(AlignedBytes(bytes.view()));
  for (const bool exact : {false, true}) {
    CAPTURE(exact);
    AlignedBytes memory(Calibrator::measure(model, plain())->total());
    Calibrator calibrator = *Calibrator::create(model, memory.span(), plain());
    for (const auto& sample : samples) {
      const Span<const uint8_t> input = bytes_of(sample);
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
    const auto simulator = Simulator::create(calibrator, exact);
    REQUIRE_MESSAGE(simulator, simulator.message());
    for (const auto& sample : samples) {
      fp32.set_input(sample);
      copy_inputs(fp32.session(), int8.session());
      int8.session().run();
      Simulator& s = **simulator;
      s.run(fp32.session(), [](int32_t) {});
      const Span<const float> found = s.session().output().as<float>();
      const std::vector<float> expected = int8.output<float>();
      REQUIRE(found.size == expected.size());
      for (size_t i = 0; i < found.size; ++i)
        CHECK(std::abs(found[i] - expected[i]) <= (exact ? 0.02f : 0.0f));
    }
  }
}

TEST_CASE("an answer's weights need not be safe in pairs") {
  const AlignedBytes bytes = Network({1, 48}).dense(32).dense(24).output().finish();
  const Model model = *Model::open(bytes.view());
  CalibratorOptions options = plain();
  const AlignedBytes as_they_are = calibrated(model, options);
  options.safe_pairs = true;
  const AlignedBytes safe = calibrated(model, options);
  const auto scales_of = [](const AlignedBytes& file, int32_t node) {
    const Model int8 = *Model::open(file.view());
    const Span<const float> scales = int8.tensor(int8.node(node).inputs[1]).quantization.scales;
    return std::vector<float>(scales.begin(), scales.end());
  };
  CHECK(scales_of(safe, 0) != scales_of(as_they_are, 0));
  CHECK(scales_of(safe, 1) == scales_of(as_they_are, 1));
}

}  // namespace intaglio::test::answers_test
