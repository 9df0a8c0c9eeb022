// Networks that are hard for int8: hard-swish with squeeze-and-excitation, and heads whose outputs differ a
// thousandfold in range.
#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/judge/evaluate.h"
#include "intaglio/calibrator.h"
#include "tests/support/decibels.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::hard_networks_test {
namespace {

// FP32 layers with weights of a fixed seed, as training starts: the spread of a layer's output is its
// input's.
class Network {
 public:
  explicit Network(uint32_t seed) : random_(seed) {}

  int32_t input(const std::vector<int32_t>& dims) {
    const int32_t tensor = b.tensor("image", DType::kF32, dims);
    b.input(tensor);
    return tensor;
  }
  int32_t conv(int32_t from, int32_t channels, int32_t kernel, int32_t stride, float gain = 1.0f) {
    const std::vector<int32_t> in = dims(from);
    const int32_t to = image_like(in, stride, channels);
    window(b.node(Op::kConv2d,
                  {from, weights({channels, kernel, kernel, in[3]}, kernel * kernel * in[3], gain),
                   weights({channels}, 12, gain)},
                  {to}),
           kernel, stride);
    return to;
  }
  int32_t depthwise(int32_t from, int32_t kernel, int32_t stride) {
    const std::vector<int32_t> in = dims(from);
    const int32_t to = image_like(in, stride, in[3]);
    window(b.node(Op::kDepthwiseConv2d,
                  {from, weights({kernel, kernel, in[3]}, kernel * kernel, 1.0f), weights({in[3]}, 12, 1.0f)},
                  {to}),
           kernel, stride);
    return to;
  }
  int32_t dense(int32_t from, int32_t outputs, float low = -std::numeric_limits<float>::infinity()) {
    const std::vector<int32_t> in = dims(from);
    const int32_t to = b.tensor(name(), DType::kF32, {1, outputs});
    b.node(Op::kFullyConnected, {from, weights({outputs, in[1]}, in[1], 1.0f), weights({outputs}, 12, 1.0f)},
           {to})
        .options.as<Clamp>()
        .min = low;
    return to;
  }
  int32_t unary(Op op, int32_t from) {
    const int32_t to = b.tensor(name(), DType::kF32, dims(from));
    GraphNode& node = b.node(op, {from}, {to});
    if (op != Op::kHardSigmoid) return to;
    node.options.as<UnaryOptions>().alpha = 1.0f / 6;
    node.options.as<UnaryOptions>().beta = 0.5f;
    return to;
  }
  int32_t mean(int32_t from) {
    const int32_t to = b.tensor(name(), DType::kF32, {1, dims(from)[3]});
    b.node(Op::kMean, {from}, {to}).options.as<ReduceOptions>().axes = b.keep({1, 2});
    return to;
  }
  int32_t binary(Op op, int32_t left, int32_t right) {
    const int32_t to = b.tensor(name(), DType::kF32, dims(left));
    b.node(op, {left, right}, {to});
    return to;
  }
  // Each channel times what the whole picture says of it.
  int32_t excite(int32_t from) {
    const int32_t channels = dims(from)[3];
    const int32_t gate = unary(Op::kHardSigmoid, dense(dense(mean(from), channels / 4, 0.0f), channels));
    const int32_t shaped = b.tensor(name(), DType::kF32, {1, 1, 1, channels});
    b.node(Op::kReshape, {gate}, {shaped});
    return binary(Op::kMul, from, shaped);
  }
  // Factors of MobileNetV3.
  int32_t bottleneck(int32_t from, int32_t expanded, int32_t channels, int32_t kernel, int32_t stride) {
    const int32_t wide = unary(Op::kHardSwish, conv(from, expanded, 1, 1));
    const int32_t seen = excite(unary(Op::kHardSwish, depthwise(wide, kernel, stride)));
    const int32_t narrow = conv(seen, channels, 1, 1);
    return stride == 1 && dims(from)[3] == channels ? binary(Op::kAdd, narrow, from) : narrow;
  }

  ModelBuilder b;

 private:
  std::string name() { return "t" + std::to_string(b.graph().tensors.size()); }
  std::vector<int32_t> dims(int32_t tensor) {
    const Shape& shape = b.graph().tensors[static_cast<size_t>(tensor)].shape;
    return {shape.dims, shape.dims + shape.rank};
  }
  int32_t image_like(const std::vector<int32_t>& in, int32_t stride, int32_t channels) {
    return b.tensor(name(), DType::kF32, {1, (in[1] - 1) / stride + 1, (in[2] - 1) / stride + 1, channels});
  }
  int32_t weights(const std::vector<int32_t>& shape, int32_t fan_in, float gain) {
    size_t count = 1;
    for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
    const float most = gain * std::sqrt(6.0f / static_cast<float>(fan_in));
    return b.constant<float>(name(), DType::kF32, shape, random_.reals(count, -most, most));
  }
  static void window(GraphNode& node, int32_t kernel, int32_t stride) {
    Window2d& w = node.options.as<Window2d>();
    w.kernel_h = w.kernel_w = kernel;
    w.stride_h = w.stride_w = stride;
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = kernel / 2;
  }

  Random random_;
};

AlignedBytes mobilenet_v3_like() {
  Network net(11);
  int32_t x = net.unary(Op::kHardSwish, net.conv(net.input({1, 24, 24, 3}), 8, 3, 2));
  x = net.bottleneck(x, 24, 8, 3, 1);
  x = net.bottleneck(x, 32, 16, 5, 2);
  x = net.bottleneck(x, 48, 16, 5, 1);
  x = net.mean(net.unary(Op::kHardSwish, net.conv(x, 64, 1, 1)));
  net.b.output(net.unary(Op::kSoftmax, net.dense(x, 10)));
  return net.b.finish();
}

// Scores as probabilities, boxes in pixels, and a map of distances.
AlignedBytes detector() {
  Network net(12);
  int32_t x = net.unary(Op::kHardSwish, net.conv(net.input({1, 24, 24, 3}), 8, 3, 2));
  x = net.bottleneck(x, 24, 8, 3, 1);
  net.b.output(net.unary(Op::kSigmoid, net.conv(x, 6, 1, 1)));
  net.b.output(net.conv(x, 4, 1, 1, 400.0f));
  net.b.output(net.conv(net.bottleneck(x, 32, 16, 5, 2), 1, 1, 1, 0.01f));
  return net.b.finish();
}

// A block whose shortcut is computed when what its last convolution reads is gone.
AlignedBytes late_shortcut() {
  Network net(13);
  const int32_t x = net.conv(net.input({1, 24, 24, 3}), 8, 3, 1);
  const int32_t narrow = net.conv(net.conv(x, 8, 3, 1), 8, 3, 1);
  const int32_t sum = net.binary(Op::kAdd, narrow, net.unary(Op::kHardSwish, x));
  net.b.output(net.conv(net.binary(Op::kAdd, net.conv(sum, 8, 1, 1), x), 4, 1, 1));
  return net.b.finish();
}

Samples pictures(size_t count) {
  Random random(5);
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    const float level = random.real(-0.5f, 0.5f), spread = random.real(0.3f, 1.5f);
    std::vector<float> sample = random.reals(24 * 24 * 3, level - spread, level + spread);
    // Neighbours are alike, as in pictures.
    for (size_t k = 3; k < sample.size(); ++k) sample[k] = 0.7f * sample[k - 3] + 0.3f * sample[k];
    samples.push_back(sample);
  }
  return samples;
}

struct Calibrated {
  AlignedBytes memory;
  Calibrator calibrator;
};

Calibrated calibrate(const Model& model, const Samples& samples) {
  CalibratorOptions options;
  options.layer_report = true;
  Calibrated made{AlignedBytes(Calibrator::measure(model, options)->total()), {}};
  made.calibrator = *Calibrator::create(model, made.memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                       sample.size() * sizeof(float)};
    REQUIRE(made.calibrator.add({&input, 1}).ok());
  }
  const SampleSource source = source_of(samples);
  const Error error = made.calibrator.finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error, &model));
  return made;
}

// Noise over signal of each output of the FP32 model, over samples, by running both models here.
std::vector<double> output_errors(const AlignedBytes& fp32, Span<const uint8_t> int8,
                                  const Samples& samples) {
  RunningModel exact(AlignedBytes(fp32.view())), test{AlignedBytes(int8)};
  REQUIRE(exact.error().ok());
  REQUIRE(test.error().ok());
  const size_t outputs = exact.model().outputs().size;
  std::vector<double> signal(outputs), noise(outputs), errors;
  for (const auto& sample : samples) {
    exact.set_input(sample);
    copy_inputs(exact.session(), test.session());
    exact.session().run();
    test.session().run();
    for (size_t o = 0; o < outputs; ++o) {
      const std::vector<float> x = exact.output<float>(static_cast<int32_t>(o));
      const TensorView view = test.session().output(static_cast<int32_t>(o));
      for (size_t i = 0; i < x.size(); ++i) {
        const double y = view.info.dtype == DType::kF32
                             ? static_cast<double>(view.as<float>()[i])
                             : static_cast<double>(view.info.quantization.scales[0]) *
                                   (view.as<int8_t>()[i] - view.info.quantization.zero_point);
        signal[o] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        noise[o] += (static_cast<double>(x[i]) - y) * (static_cast<double>(x[i]) - y);
      }
    }
  }
  for (size_t o = 0; o < outputs; ++o) errors.push_back(noise[o] / signal[o]);
  return errors;
}

}  // namespace

TEST_CASE("hard-swish and squeeze-and-excitation keep their precision, also on samples not seen") {
  const AlignedBytes bytes = mobilenet_v3_like();
  const Model model = *Model::open(bytes.view());
  const Samples all = pictures(48), seen(all.begin(), all.begin() + 16), others(all.begin() + 16, all.end());
  const Calibrated made = calibrate(model, seen);
  const CalibrationReport& report = made.calibrator.report();
  // Every layer is int8 but for the answer and the softmax behind it: no border, no other operator in FP32.
  const Model int8 = *Model::open(report.bytes);
  int32_t floats = 0;
  for (int32_t n = 0; n < int8.node_count(); ++n) {
    if (int8.tensor(int8.node(n).outputs[0]).dtype != DType::kF32) continue;
    ++floats;
    CHECK(n >= int8.node_count() - 2);
  }
  CHECK(floats == 2);
  MESSAGE("logits " << decibels(report.signal, report.noise) << " dB");
  CHECK(decibels(report.signal, report.noise) > 40.0);
  const double unseen = decibels(1.0, output_errors(bytes, report.bytes, others)[0]);
  MESSAGE("probabilities of others " << unseen << " dB");
  CHECK(unseen > 36.0);
}

TEST_CASE("several outputs: none counts for more because its values are larger, and all are compared") {
  const AlignedBytes bytes = detector();
  const Model model = *Model::open(bytes.view());
  const Samples samples = pictures(16);
  const Calibrated made = calibrate(model, samples);
  const CalibrationReport& report = made.calibrator.report();
  const std::vector<double> errors = output_errors(bytes, report.bytes, samples);
  REQUIRE(errors.size() == 3);
  for (const double error : errors) {
    MESSAGE("output " << decibels(1.0, error) << " dB");
    CHECK(decibels(1.0, error) > 29.0);
  }

  const Model int8 = *Model::open(report.bytes);
  HostArena memory;
  const Span<const LayerPair> pairs = pair_layers(model, int8, memory.arena());
  const Span<const int32_t> outputs = output_layers(model, int8, pairs, memory.arena());
  REQUIRE(outputs.size == 3);
  // The report's figure is the sum of all three; that of the scores is taken before the sigmoid.
  NetworkError error;
  for (const int32_t output : outputs) {
    const LayerReport& layer = report.layers[static_cast<size_t>(output)];
    error.add({layer.signal, layer.noise}, outputs.size);
  }
  CHECK(error.signal == 3.0);
  CHECK(report.signal == 3.0);
  CHECK(error.noise == doctest::Approx(report.noise).epsilon(1e-6));
  CHECK(report.layers[static_cast<size_t>(outputs[1])].noise /
            report.layers[static_cast<size_t>(outputs[1])].signal ==
        doctest::Approx(errors[1]).epsilon(1e-5));
}

TEST_CASE("memory is what measure() says, on three networks, with every recovery") {
  constexpr size_t kGuard = 4096;
  constexpr uint8_t kPattern = 0xa5;
  struct Case {
    AlignedBytes bytes;
    Samples samples;
  };
  std::vector<Case> cases;
  cases.push_back({small_cnn(), small_cnn_samples(8)});
  cases.push_back({mobilenet_v3_like(), pictures(8)});
  cases.push_back({detector(), pictures(8)});
  for (const Case& c : cases) {
    const Model model = *Model::open(c.bytes.view());
    CalibratorOptions options;
    options.recover = recovery::kAll;
    options.replay_bytes = *Calibrator::replay_bytes(model, 8, options);
    const CalibratorNeeds needs = *Calibrator::measure(model, options);
    AlignedBytes memory(needs.total() + kGuard);
    memset(memory.data(), kPattern, memory.size());
    const Result<Calibrator> refused = Calibrator::create(model, {memory.data(), needs.total() - 1}, options);
    CHECK(refused.error().status == Status::kOutOfMemory);
    CHECK(refused.error().limit == static_cast<int64_t>(needs.total()));
    CHECK(memory.data()[0] == kPattern);
    Calibrator calibrator = *Calibrator::create(model, {memory.data(), needs.total()}, options);
    for (const auto& sample : c.samples) {
      const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                         sample.size() * sizeof(float)};
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
    const SampleSource source = source_of(c.samples);
    const Error error = calibrator.finish({}, &source);
    REQUIRE_MESSAGE(error.ok(), text_of(error, &model));
    for (size_t i = needs.total(); i < memory.size(); ++i) REQUIRE(memory.data()[i] == kPattern);
  }
}

TEST_CASE("the error of a layer alone, where what it reads is gone before it runs") {
  const AlignedBytes bytes = late_shortcut();
  const Model fp32 = *Model::open(bytes.view());
  // The memory of what the block's last convolution reads goes to the shortcut.
  REQUIRE(fp32.activation_offset(fp32.node(1).outputs[0]) == fp32.activation_offset(fp32.node(3).outputs[0]));
  const Calibrated made = calibrate(fp32, pictures(8));
  const Model int8 = *Model::open(made.calibrator.report().bytes);
  for (const LayerReport& layer : made.calibrator.report().layers) {
    const double alone = decibels(layer.signal, layer.noise_alone);
    CAPTURE(std::string(int8.tensor(layer.tensor).name));
    CHECK(alone > 35.0);
  }
}

}  // namespace intaglio::test::hard_networks_test
