// Settings that are baked and that are refused: every number of bits, policy and rounding, for activations and weights.
#include "calibrator/quantization/deploy.h"

#include <doctest/doctest.h>

#include <cstring>

#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

namespace intaglio::test::deploy_test {
namespace {

std::vector<QuantPolicy> legal_policies() {
  std::vector<QuantPolicy> legal;
  for (int mask = 0; mask < 128; ++mask)
    if (check_policy(static_cast<QuantPolicy>(mask)).ok()) legal.push_back(static_cast<QuantPolicy>(mask));
  return legal;
}

// The table itself.
Status expected(bool weights, int32_t bits, QuantPolicy policy, Rounding rounding) {
  const bool wide = !weights && (policy & policy::kAsymmetric) == 0;
  if (bits > (wide ? 16 : 8)) return Status::kBitsNotDeployable;
  if ((policy & policy::kExponential) != 0) return Status::kExponentialNotDeployable;
  if (weights) return (policy & policy::kAsymmetric) != 0 ? Status::kOffsetNotDeployable : Status::kOk;
  if ((policy & policy::kPerChannel) != 0) return Status::kChannelsNotDeployable;
  return rounding == Rounding::kHalfEven ? Status::kOk : Status::kRoundingNotDeployable;
}

// A calibration of the small network, to bytes or an error.
class Run {
 public:
  explicit Run(const CalibratorOptions& options) : model_bytes_(small_cnn()) {
    const Model model = *Model::open(model_bytes_.view());
    CalibratorOptions quick = options;
    quick.layer_report = false;
    const Result<CalibratorNeeds> needs = Calibrator::measure(model, quick);
    if (!needs) {
      error = needs.error();
      return;
    }
    AlignedBytes memory(needs->total());
    Result<Calibrator> calibrator = Calibrator::create(model, memory.span(), quick);
    if (!calibrator) {
      error = calibrator.error();
      return;
    }
    const Samples samples = small_cnn_samples(2);
    const SampleSource source = source_of(samples);
    REQUIRE(calibrator->add_all(source).ok());
    ModelSink sink;
    sink.context = this;
    sink.write = [](void* context, Span<const uint8_t> out) {
      static_cast<Run*>(context)->written.assign(out.begin(), out.end());
      return true;
    };
    error = calibrator->finish(sink, &source);
    text = text_of(error, &model);
    signal = calibrator->report().signal;
    noise = calibrator->report().noise;
  }

  Error error;
  std::string text;
  std::vector<uint8_t> written;
  double signal = 0.0, noise = 0.0;

 private:
  AlignedBytes model_bytes_;
};

CalibratorOptions with(Span<const SlotSetting> settings) {
  CalibratorOptions options;
  options.slots = settings;
  options.recover = recovery::kNone;
  return options;
}

}  // namespace

TEST_CASE("the deploy table: 31 bits x 12 policies x 8 roundings, of activations and of weights") {
  size_t deployable = 0;
  for (const bool weights : {false, true})
    for (int32_t bits = 2; bits <= 32; ++bits)
      for (const QuantPolicy policy : legal_policies())
        for (int32_t rounding = 0; rounding < kRoundingCount; ++rounding) {
          QuantConfig config;
          REQUIRE(set_bits(config, bits).ok());
          config.policy = policy;
          config.rounding = static_cast<Rounding>(rounding);
          config.parameter = weights;
          const Error error = check_deployable(config);
          const Status status = expected(weights, bits, policy, config.rounding);
          CHECK(error.status == status);
          deployable += error.ok() ? 1 : 0;
          if (!error.ok()) CHECK(text_of(error).find("simulate it") != std::string::npos);
          const bool too_many = status == Status::kBitsNotDeployable;
          if (too_many) CHECK(error.limit == (weights || (policy & policy::kAsymmetric) != 0 ? 8 : 16));
        }
  // Bits 2 to 8: per tensor linear, four policies, one rounding; per channel or tensor symmetric linear,
  // eight. Bits 9 to 16: activations per tensor, symmetric and linear, one rounding.
  CHECK(deployable == 7 * 4 + 7 * 4 * 8 + 8 * 2);
}

TEST_CASE("each kind of refusal, and each neighbour that is baked, through the whole calibration") {
  constexpr QuantPolicy kWeights = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
  constexpr QuantPolicy kActivations = policy::kPerTensor | policy::kLinear | policy::kAsymmetric;
  const QuantPolicy policies[] = {
      kWeights,
      kActivations,
      policy::kPerTensor | policy::kLinear | policy::kSymmetric,
      policy::kPerTensor | policy::kExponential | policy::kSymmetric,
      policy::kPerTensor | policy::kLinear | policy::kSymmetric | policy::kPowerOfTwo,
      policy::kPerChannel | policy::kLinear | policy::kAsymmetric};
  for (const bool weights : {false, true})
    for (const int32_t bits : {2, 4, 8, 9, 16, 17, 32})
      for (const QuantPolicy policy : policies)
        for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfFarFromZero}) {
          SlotSetting setting;
          setting.node = 2;  // the projection
          setting.role = weights ? SlotRole::kWeights : SlotRole::kOutput;
          setting.bits = bits;
          setting.policy = policy;
          setting.rounding = static_cast<int32_t>(rounding);
          CAPTURE(weights);
          CAPTURE(bits);
          CAPTURE(int{policy});
          // Its one reader as well: one with 8 bits would quantize in its stead.
          SlotSetting reader = setting;
          reader.node = weights ? 2 : 3;
          reader.role = weights ? SlotRole::kWeights : SlotRole::kInput;
          reader.input = 0;
          const SlotSetting settings[] = {setting, reader};
          const Run run(with(settings));
          const Status status = expected(weights, bits, policy, rounding);
          CHECK_MESSAGE(run.error.status == status, run.text);
          CHECK(run.written.empty() == (status != Status::kOk));
          if (status == Status::kOk) {
            CHECK(status_of(AlignedBytes(Span<const uint8_t>(run.written.data(), run.written.size()))) ==
                  Status::kOk);
            continue;
          }
          CHECK(run.error.node == 2);
          CHECK(run.text.find(weights ? "'project/w'" : "'project'") != std::string::npos);
        }
}

TEST_CASE("fewer bits: no code outside the narrowed range, in weights or in any activation") {
  for (const int32_t bits : {2, 3, 4, 6}) {
    SlotSetting setting;
    setting.bits = bits;
    CalibratorOptions options = with({&setting, 1});
    options.int8_answers = true;  // a softmax's codes, too
    const Run run(options);
    REQUIRE_MESSAGE(run.error.ok(), run.text);
    RunningModel int8(AlignedBytes(Span<const uint8_t>(run.written.data(), run.written.size())), int8_ops());
    REQUIRE(int8.error().ok());
    const int32_t hi = (1 << (bits - 1)) - 1;
    int32_t outside = 0;
    const auto look = [&](Span<const int8_t> codes, int32_t lo) {
      for (const int8_t code : codes) outside += code < lo || code > hi ? 1 : 0;
    };
    for (int32_t t = 0; t < int8.model().tensor_count(); ++t) {
      const TensorInfo info = int8.model().tensor(t);
      const bool weights = info.quantization.axis >= 0;
      if (info.dtype == DType::kS8 && weights)
        look({reinterpret_cast<const int8_t*>(info.constant.data), info.constant.size}, -hi);
    }
    Random random(4);
    for (int round = 0; round < 20; ++round) {  // codes far beyond those of the samples
      for (int8_t& code : int8.session().input().as<int8_t>())
        code = static_cast<int8_t>(random.between(-hi - 1, hi));
      for (int32_t n = 0; n < int8.model().node_count(); ++n) {
        int8.session().run_nodes(n, n + 1);
        const Span<int8_t> codes = int8.session().tensor(int8.model().node(n).outputs[0]).as<int8_t>();
        // A softmax computes 8 bits; the Lookup behind it narrows them.
        if (int8.model().node(n).op != Op::kSoftmax) look(codes, -hi - 1);
      }
    }
    CHECK(outside == 0);
  }
}

TEST_CASE("more bits give less error, and 8 by setting are the default's") {
  double last = 1e30;
  for (const int32_t bits : {2, 4, 6, 8}) {
    SlotSetting setting;
    setting.bits = bits;
    const Run run(with({&setting, 1}));
    REQUIRE(run.error.ok());
    CHECK(run.noise / run.signal < last);
    last = run.noise / run.signal;
  }
  CalibratorOptions plain;
  plain.recover = recovery::kNone;
  CHECK(Run(plain).noise / Run(plain).signal == last);
}

TEST_CASE("power-of-two scales: every scale of the file is one, and the model is near") {
  CalibratorOptions options;
  options.power_of_two = true;
  const Run run(options);
  REQUIRE_MESSAGE(run.error.ok(), run.text);
  CHECK(run.signal > 100.0 * run.noise);
  RunningModel int8(AlignedBytes(Span<const uint8_t>(run.written.data(), run.written.size())), int8_ops());
  REQUIRE(int8.error().ok());
  int32_t scales = 0, others = 0;
  for (int32_t t = 0; t < int8.model().tensor_count(); ++t)
    for (const float scale : int8.model().tensor(t).quantization.scales) {
      uint32_t bits;
      std::memcpy(&bits, &scale, sizeof bits);
      ++scales;
      others += (bits & 0x7fffff) != 0 ? 1 : 0;
    }
  CHECK(scales > 20);
  CHECK(others == 0);
}

TEST_CASE("a weight tensor with one scale for all channels") {
  SlotSetting setting;
  setting.role = SlotRole::kWeights;
  setting.policy = policy::kPerTensor | policy::kLinear | policy::kSymmetric;
  const Run run(with({&setting, 1}));
  REQUIRE_MESSAGE(run.error.ok(), run.text);
  RunningModel int8(AlignedBytes(Span<const uint8_t>(run.written.data(), run.written.size())), int8_ops());
  for (int32_t t = 0; t < int8.model().tensor_count(); ++t) {
    const Span<const float> scales = int8.model().tensor(t).quantization.scales;
    for (const float scale : scales) CHECK(scale == scales[0]);
  }
}

TEST_CASE("compat: as Tengine and PPQ share and round, without their faults") {
  CalibratorOptions options;
  options.compat = Compat::kTengine;
  const Run run(options);
  REQUIRE_MESSAGE(run.error.ok(), run.text);
  RunningModel int8(AlignedBytes(Span<const uint8_t>(run.written.data(), run.written.size())), int8_ops());
  for (int32_t t = 0; t < int8.model().tensor_count(); ++t) {
    const TensorInfo info = int8.model().tensor(t);
    if (info.dtype == DType::kS8 && info.quantization.scales.size == 1)
      CHECK(info.quantization.zero_point == 0);
  }
  const TensorInfo classes = int8.session().output().info;
  CHECK(classes.quantization.scales[0] == static_cast<float>(1.0 / 127.0));

  options.compat = Compat::kPpq;
  const Run ppq(options);
  REQUIRE_MESSAGE(ppq.error.ok(), ppq.text);
  RunningModel joined(AlignedBytes(Span<const uint8_t>(ppq.written.data(), ppq.written.size())), int8_ops());
  for (int32_t n = 0; n < joined.model().node_count(); ++n) {
    const NodeInfo node = joined.model().node(n);
    if (node.op != Op::kConv2d || node.inputs.size != 4)
      continue;  // the fused addition's operands have one scale
    const Quantization residual = joined.model().tensor(node.inputs[3]).quantization;
    CHECK(node.options.as<Intermediate>().scale == residual.scales[0]);
    CHECK(node.options.as<Intermediate>().zero_point == residual.zero_point);
  }
}

TEST_CASE("settings that make no sense are refused before anything runs") {
  const AlignedBytes bytes = small_cnn();
  const Model model = *Model::open(bytes.view());
  const auto status = [&](const SlotSetting& setting) {
    return Calibrator::measure(model, with({&setting, 1})).error().status;
  };
  SlotSetting setting;
  CHECK(status(setting) == Status::kOk);
  setting.bits = 1;
  CHECK(status(setting) == Status::kBadBits);
  setting.bits = 33;
  CHECK(status(setting) == Status::kBadBits);
  setting = {};
  setting.rounding = kRoundingCount;
  CHECK(status(setting) == Status::kBadOption);
  setting = {};
  setting.policy = 3;
  CHECK(status(setting) == Status::kBadPolicy);
  setting = {};
  setting.node = model.node_count();
  CHECK(status(setting) == Status::kBadOption);
}

}  // namespace intaglio::test::deploy_test
