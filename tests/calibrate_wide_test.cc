// Activations of 16 bits in an int8 model: which tensors have them, which nodes compute in them, and what stays in FP32.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op_search.h"
#include "tests/support/calibrate.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::calibrate_wide_test {
namespace {

const Dims kPicture = {1, 9, 8, 6};

SlotSetting wide(int32_t node, SlotRole role, int32_t bits = 16) {
  SlotSetting setting;
  setting.node = node;
  setting.role = role;
  setting.bits = bits;
  return setting;
}

// Two convolutions, `middle` between them, and a mean and a product behind them: y [1, 5].
class Network {
 public:
  explicit Network(Op middle = Op::kNone) {
    const int32_t x = b_.tensor("x", DType::kF32, kPicture);
    int32_t at = convolution("stem", x);
    const int32_t stem = at;
    if (middle != Op::kNone) {
      at = b_.tensor("middle", DType::kF32, kPicture);
      const bool two = middle == Op::kAdd || middle == Op::kMul || middle == Op::kSub || middle == Op::kDiv;
      NodeOptions& o =
          b_.node(middle, two ? std::vector<int32_t>{stem, divisor()} : std::vector<int32_t>{stem}, {at})
              .options;
      if (auto* const window = o.get<Window2d>()) window->kernel_h = window->kernel_w = 1;
      if (auto* const clamp = o.get<Clamp>(); clamp != nullptr && middle == Op::kClamp) clamp->min = 0.0f;
      if (middle == Op::kPad) o.as<PadOptions>().before = b_.keep({0, 0, 0, 0});
    }
    at = convolution("head", at);
    const int32_t mean = b_.tensor("mean", DType::kF32, {1, 6}), y = b_.tensor("y", DType::kF32, {1, 5});
    b_.node(Op::kMean, {at}, {mean}).options.as<ReduceOptions>().axes = b_.keep({1, 2});
    b_.node(Op::kFullyConnected, {mean, weights("fc/w", {5, 6})}, {y});
    b_.input(x);
    b_.output(y);
    bytes_ = b_.finish();
  }

  const Model model() const { return *Model::open(bytes_.view()); }
  static Samples samples(size_t count = 4) {
    Random random(11);
    Samples samples;
    for (size_t i = 0; i < count; ++i) samples.push_back(random.reals(elements(kPicture), -1.0f, 2.0f));
    return samples;
  }
  std::vector<uint8_t> calibrated(const std::vector<SlotSetting>& slots) const {
    CalibratorOptions options;
    options.slots = {slots.data(), slots.size()};
    return calibrate(model(), samples(), options);
  }

 private:
  int32_t weights(const std::string& name, const Dims& dims) {
    return b_.constant<float>(name, DType::kF32, dims,
                              Random(static_cast<uint32_t>(name.size())).reals(elements(dims), -0.5f, 0.5f));
  }
  int32_t divisor() {
    return b_.constant<float>("second", DType::kF32, kPicture,
                              Random(5).reals(elements(kPicture), 0.5f, 2.0f));
  }
  int32_t convolution(const std::string& name, int32_t x) {
    const int32_t y = b_.tensor(name, DType::kF32, kPicture);
    GraphNode& node = b_.node(Op::kConv2d, {x, weights(name + "/w", {6, 3, 3, 6})}, {y});
    auto& w = node.options.as<Window2d>();
    w.kernel_h = w.kernel_w = 3;
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 1;
    return y;
  }

  ModelBuilder b_;
  AlignedBytes bytes_;
};

AlignedBytes aligned(const std::vector<uint8_t>& bytes) {
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

DType type_of(const Model& model, const std::string& name) {
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (name == model.tensor(t).name) return model.tensor(t).dtype;
  return DType::kNone;
}

// The type of the first input and the output of the node that writes this tensor.
std::pair<DType, DType> ends_of(const Model& model, const std::string& name) {
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (name == model.tensor(model.node(n).outputs[0]).name)
      return {model.tensor(model.node(n).inputs[0]).dtype, model.tensor(model.node(n).outputs[0]).dtype};
  return {DType::kNone, DType::kNone};
}

double sqnr(const Network& network, const std::vector<uint8_t>& bytes) {
  RunningModel exact(AlignedBytes(network.model().bytes())), found(aligned(bytes));
  REQUIRE_MESSAGE(found.error().ok(), text_of(found.error()));
  double signal = 0.0, noise = 0.0;
  for (const std::vector<float>& sample : Network::samples()) {
    exact.set_input(sample);
    const TensorView input = found.session().input();
    if (input.info.dtype == DType::kF32) {
      found.set_input(sample);
    } else {
      for (size_t i = 0; i < sample.size(); ++i) {
        const float code = std::nearbyint(sample[i] / input.info.quantization.scales[0]) +
                           static_cast<float>(input.info.quantization.zero_point);
        static_cast<int8_t*>(input.data)[i] =
            static_cast<int8_t>(std::fmin(std::fmax(code, -128.0f), 127.0f));
      }
    }
    exact.session().run();
    found.session().run();
    const std::vector<float> a = exact.output<float>(), b = found.output<float>();
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      signal += std::pow(static_cast<double>(a[i]), 2);
      noise += std::pow(static_cast<double>(a[i] - b[i]), 2);
    }
  }
  return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("all activations of 16 bits") {
  const Network network;
  const std::vector<uint8_t> narrow = network.calibrated({}),
                             bytes = network.calibrated({wide(-1, SlotRole::kActivations)});
  const AlignedBytes file = aligned(bytes);
  const Model model = *Model::open(file.view());
  for (const char* const name : {"stem", "head", "mean"}) CHECK(type_of(model, name) == DType::kS16);
  // Who calls it hands over and gets reals, by the names of the network.
  CHECK(type_of(model, "x") == DType::kF32);
  CHECK(type_of(model, "y") == DType::kF32);
  CHECK(model.inputs()[0] == 0);
  CHECK(std::string(model.tensor(model.outputs()[0]).name) == "y");
  CHECK(sqnr(network, bytes) > sqnr(network, narrow) + 3.0);
}

TEST_CASE("one tensor of 16 bits: what writes it and what reads it compute in them, and nothing else") {
  const Network network;
  const std::vector<uint8_t> bytes = network.calibrated({wide(0, SlotRole::kOutput)});
  const AlignedBytes file = aligned(bytes);
  const Model model = *Model::open(file.view());
  CHECK(type_of(model, "x") == DType::kS8);
  CHECK(ends_of(model, "stem") == std::pair{DType::kS16, DType::kS16});
  CHECK(type_of(model, "stem") == DType::kS16);
  CHECK(ends_of(model, "head/s16") == std::pair{DType::kS16, DType::kS16});
  CHECK(ends_of(model, "head") == std::pair{DType::kS16, DType::kS8});
  CHECK(ends_of(model, "mean").first == DType::kS8);
  CHECK(sqnr(network, bytes) > 20.0);
}

TEST_CASE("a reader that asks for 8 bits gets them") {
  const Network network;
  SlotSetting reader = wide(1, SlotRole::kInput, 8);
  const std::vector<uint8_t> bytes = network.calibrated({wide(0, SlotRole::kOutput), reader});
  const AlignedBytes file = aligned(bytes);
  const Model model = *Model::open(file.view());
  // The writer has one reader: it writes what this one wants.
  CHECK(type_of(model, "stem") == DType::kS8);
  CHECK(ends_of(model, "head") == std::pair{DType::kS8, DType::kS8});
}

TEST_CASE("a layer that would give the answer gives it in 16 bits") {
  const Network network;
  const std::vector<uint8_t> bytes = network.calibrated({wide(3, SlotRole::kInput)});
  const AlignedBytes file = aligned(bytes);
  const Model model = *Model::open(file.view());
  CHECK(type_of(model, "y/s16") == DType::kS16);
  CHECK(type_of(model, "y") == DType::kF32);
  CHECK(type_of(model, "head") == DType::kS8);
}

TEST_CASE("operators that have a version of 16 bits, and those that stay in FP32") {
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kAvgPool2d, Op::kMaxPool2d, Op::kReshape, Op::kPad,
                      Op::kClamp, Op::kSigmoid, Op::kTanh, Op::kHardSwish, Op::kGelu, Op::kSoftmax, Op::kDiv,
                      Op::kFloor, Op::kCeil, Op::kRound, Op::kSign}) {
    CAPTURE(static_cast<int32_t>(op));
    const Network network(op);
    const std::vector<uint8_t> bytes = network.calibrated({wide(-1, SlotRole::kActivations)});
    const AlignedBytes file = aligned(bytes);
    const Model model = *Model::open(file.view());
    const bool jumps = op == Op::kFloor || op == Op::kCeil || op == Op::kRound || op == Op::kSign;
    const bool in_float = op == Op::kDiv || jumps;
    CHECK(type_of(model, "middle") == (in_float ? DType::kF32 : DType::kS16));
    CHECK(sqnr(network, bytes) > 28.0);
  }
}

TEST_CASE("weights of 16 bits are refused, and so is an offset of 16 bits") {
  const Network network;
  const auto refused = [&](SlotSetting setting) -> std::string {
    try {
      network.calibrated({setting});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refused(wide(0, SlotRole::kWeights)).find("at most 8") != std::string::npos);
  CHECK(refused(wide(0, SlotRole::kOutput, 17)).find("17 bits, signed, for tensor 2 'stem'") !=
        std::string::npos);
  SlotSetting offset = wide(0, SlotRole::kOutput);
  offset.policy = policy::kPerTensor | policy::kLinear | policy::kAsymmetric;
  CHECK(refused(offset).find("'stem'") != std::string::npos);
}

TEST_CASE("one wide tensor behind many residual sums is found without following every path to it") {
  // Each sum reads the two before it, so the number of paths to the last grows as Fibonacci's numbers: 1e12 here.
  constexpr int32_t kSums = 60;
  const Dims dims = {1, 4, 4, 2};
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, dims);
  const int32_t y = b.tensor("y", DType::kF32, dims);
  b.node(Op::kSigmoid, {x}, {y});
  int32_t before = x, last = y;
  for (int32_t i = 0; i < kSums; ++i) {
    const int32_t sum = b.tensor("sum" + std::to_string(i), DType::kF32, dims);
    b.node(Op::kSub, {last, before}, {sum});  // of period 6
    before = last;
    last = sum;
  }
  b.input(x);
  b.output(last);
  const AlignedBytes fp32 = b.finish();
  const SlotSetting slot = wide(kSums, SlotRole::kOutput);
  CalibratorOptions options;
  options.slots = {&slot, 1};
  options.recover = recovery::kNone;
  const AlignedBytes file =
      aligned(calibrate(*Model::open(fp32.view()), {Random(1).reals(elements(dims), -1.0f, 1.0f)}, options));
  const Model model = *Model::open(file.view());
  CHECK(type_of(model, "sum" + std::to_string(kSums - 2)) == DType::kS8);
  CHECK(ends_of(model, "sum" + std::to_string(kSums - 1) + "/s16").second == DType::kS16);
}

TEST_CASE("a function of 8 bits whose values have 16: its table has an entry for each code") {
  for (const Op op : {Op::kSigmoid, Op::kTanh, Op::kHardSwish, Op::kGelu}) {
    CAPTURE(static_cast<int32_t>(op));
    const Network network(op);
    const std::vector<uint8_t> narrow = network.calibrated({}),
                               bytes = network.calibrated({wide(1, SlotRole::kOutput)});
    CHECK(ends_of(*Model::open(aligned(bytes).view()), "middle") == std::pair{DType::kS16, DType::kS16});
    CHECK(sqnr(network, bytes) > sqnr(network, narrow) - 3.0);
  }
}

}  // namespace intaglio::test::calibrate_wide_test
