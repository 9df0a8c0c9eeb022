// The simulator against the int8 model on real networks: no code differs where kernels run, and exact
// products differ from them by roundings alone.
#include <cstring>
#include <functional>
#include <map>

#include "calibrator/host/accuracy/simulator.h"
#include "calibrator/judge/evaluate.h"
#include "tests/support/imported.h"
#include "tests/support/small_models.h"

namespace intaglio::test::import_simulator_test {
namespace {

using Samples = std::vector<std::vector<float>>;

// A calibrator that has seen samples.
struct Bench {
  Bench(const AlignedBytes& bytes, const Samples& samples, const CalibratorOptions& options = {})
      : model(*Model::open(bytes.view())) {
    const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
    REQUIRE_MESSAGE(static_cast<bool>(needs), text_of(needs.error(), &model));
    memory = AlignedBytes(needs->total());
    const Result<Calibrator> made = Calibrator::create(model, memory.span(), options);
    REQUIRE_MESSAGE(static_cast<bool>(made), text_of(made.error(), &model));
    calibrator = *made;
    for (const auto& sample : samples) {
      const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                         sample.size() * sizeof(float)};
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
  }
  std::vector<uint8_t> finish() {
    std::vector<uint8_t> written;
    ModelSink sink;
    sink.context = &written;
    sink.write = [](void* context, Span<const uint8_t> out) {
      static_cast<std::vector<uint8_t>*>(context)->assign(out.begin(), out.end());
      return true;
    };
    const Error error = calibrator.finish(sink);
    REQUIRE_MESSAGE(error.ok(), text_of(error, &model));
    return written;
  }

  Model model;
  AlignedBytes memory;
  Calibrator calibrator;
};

CalibratorOptions unrecovered() {
  CalibratorOptions options;
  options.recover = recovery::kNone;
  options.layer_report = false;
  return options;
}

// Codes, or the bits of FP32 values.
struct Written {
  bool is_float = false;
  std::vector<int64_t> codes;
};

Written written_in(const TensorView& view) {
  if (view.info.dtype == DType::kS8) {
    const Span<int8_t> values = view.as<int8_t>();
    return {false, {values.begin(), values.end()}};
  }
  Written written{true, {}};
  for (const float value : view.as<float>()) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    written.codes.push_back(bits);
  }
  return written;
}

// Values of every tensor that the int8 model writes, by name.
std::map<std::string, Written> int8_codes(RunningModel& int8, RunningModel& fp32,
                                          const std::vector<float>& sample) {
  std::map<std::string, Written> codes;
  fp32.set_input(sample);
  copy_inputs(fp32.session(), int8.session());
  for (int32_t n = 0; n < int8.model().node_count(); ++n) {
    int8.session().run_nodes(n, n + 1);
    const TensorView output = int8.session().tensor(int8.model().node(n).outputs[0]);
    codes[output.info.name] = written_in(output);
  }
  return codes;
}

struct Compared {
  size_t tensors = 0, codes = 0, different = 0;
  int64_t largest = 0;
};

Compared compare(const AlignedBytes& bytes, const Samples& samples, bool exact) {
  Bench bench(bytes, samples, unrecovered());
  const std::vector<uint8_t> written = bench.finish();
  RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())), int8_ops());
  RunningModel fp32(AlignedBytes(bytes.view()));
  REQUIRE(int8.error().ok());
  const auto simulator = Simulator::create(bench.calibrator, exact);
  REQUIRE_MESSAGE(simulator, simulator.message());
  Simulator& s = **simulator;
  Compared total;
  for (const auto& sample : samples) {
    const auto expected = int8_codes(int8, fp32, sample);
    fp32.set_input(sample);
    size_t seen = 0;
    s.run(fp32.session(), [&](int32_t n) {
      const TensorView output = s.session().tensor(s.model().node(n).outputs[0]);
      const auto found = expected.find(output.info.name);
      if (found == expected.end()) return;  // a border, or an addition that is fused in one of the two
      ++seen;
      if (exact && found->second.is_float) return;  // an answer: no codes to count
      const std::vector<int64_t> codes =
          s.is_simulated(n) ? s.codes(bench.model.node(s.source(n)).outputs[0]) : written_in(output).codes;
      REQUIRE(codes.size() == found->second.codes.size());
      for (size_t i = 0; i < codes.size(); ++i) {
        const int64_t difference = std::abs(codes[i] - found->second.codes[i]);
        total.different += difference != 0 ? 1 : 0;
        total.largest = std::max(total.largest, difference);
      }
      total.codes += codes.size();
    });
    total.tensors += seen;
    if (!exact) CHECK(seen == expected.size());  // every tensor of the int8 model
  }
  return total;
}

AlignedBytes real_model(const std::string& folder, const std::string& name) {
  auto file = read_file(folder + "/models/" + name + ".tflite", kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), name);
  REQUIRE_MESSAGE(import.good(), import.message());
  return import.write();
}

Samples golden_samples(const std::string& folder, const std::string& name, size_t elements, size_t most) {
  const auto input = read_npy(folder + "/golden/" + name + "/input.npy");
  REQUIRE_MESSAGE(input, input.message());
  const Span<const float> values = input->as<float>();
  Samples samples;
  for (size_t s = 0; s < most && (s + 1) * elements <= values.size; ++s)
    samples.emplace_back(values.data + s * elements, values.data + (s + 1) * elements);
  return samples;
}

SlotSetting setting(SlotRole role, int32_t bits, int32_t rounding = -1, QuantPolicy policy = 0) {
  SlotSetting made;
  made.role = role;
  made.bits = bits;
  made.rounding = rounding;
  made.policy = policy;
  return made;
}

double noise_with(const std::vector<SlotSetting>& settings) {
  const AlignedBytes bytes = small_cnn();
  const Samples samples = small_cnn_samples(8);
  CalibratorOptions options = unrecovered();
  options.slots = {settings.data(), settings.size()};
  Bench bench(bytes, samples, options);
  const auto simulator = Simulator::create(bench.calibrator);
  REQUIRE_MESSAGE(simulator, simulator.message());
  Simulator& s = **simulator;
  RunningModel fp32(AlignedBytes(bytes.view()));
  double noise = 0.0;
  for (const auto& sample : samples) {
    const std::vector<float> exact = fp32.run<float>(sample);
    fp32.set_input(sample);
    s.run(fp32.session(), [](int32_t) {});
    const TensorView output = s.session().output();
    for (size_t i = 0; i < exact.size(); ++i) {
      const double found = output.info.dtype == DType::kF32
                               ? static_cast<double>(output.as<float>()[i])
                               : static_cast<double>(output.info.quantization.scales[0]) *
                                     (output.as<int8_t>()[i] - output.info.quantization.zero_point);
      noise += (static_cast<double>(exact[i]) - found) * (static_cast<double>(exact[i]) - found);
    }
  }
  return noise;
}

}  // namespace

TEST_CASE("four real networks: of all tensors not one code differs from the int8 session's") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"resnet8_fp32", "vww_96_fp32", "kws_fp32", "mobilenet_v1_0.25_224_fp32"}) {
    CAPTURE(name);
    const AlignedBytes bytes = real_model(folder, name);
    const Model model = *Model::open(bytes.view());
    const auto elements = static_cast<size_t>(model.tensor(model.inputs()[0]).shape.elements());
    const Samples samples = golden_samples(folder, name, elements, 2);
    REQUIRE(!samples.empty());
    const Compared same = compare(bytes, samples, false);
    CHECK(same.tensors > 8 * samples.size());
    CHECK(same.different == 0);
    MESSAGE(name << ": " << same.codes << " codes of " << same.tensors << " tensors");
  }
}

TEST_CASE("exact products and the kernels' float requantization differ rarely") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"resnet8_fp32", "kws_fp32"}) {
    CAPTURE(name);
    const AlignedBytes bytes = real_model(folder, name);
    const Model model = *Model::open(bytes.view());
    const auto elements = static_cast<size_t>(model.tensor(model.inputs()[0]).shape.elements());
    const Compared exact = compare(bytes, golden_samples(folder, name, elements, 1), true);
    MESSAGE(name << ": " << exact.different << " of " << exact.codes << " codes, by " << exact.largest
                 << " at most");
    CHECK(exact.codes > 10000);
    CHECK(exact.largest <= 2);  // a code that differs goes on into the layers behind
    CHECK(exact.different * 1000 < exact.codes);
  }
}

TEST_CASE("more bits than int8 holds: each step nearer to FP32, down to what floats hold") {
  const double eight = noise_with({});
  const double twelve = noise_with({setting(SlotRole::kEvery, 12)});
  const double sixteen = noise_with({setting(SlotRole::kEvery, 16)});
  CHECK(twelve < eight / 50.0);
  CHECK(sixteen < twelve / 50.0);
  CHECK(noise_with({setting(SlotRole::kEvery, 24)}) <= sixteen);
  CHECK(noise_with({setting(SlotRole::kWeights, 4)}) > eight);
  CHECK(noise_with({setting(SlotRole::kActivations, 4)}) > eight);
}

TEST_CASE("other roundings, codes and symmetries are simulated") {
  constexpr QuantPolicy kExponentialWeights = policy::kPerChannel | policy::kExponential | policy::kSymmetric;
  constexpr QuantPolicy kAsymmetricWeights = policy::kPerChannel | policy::kLinear | policy::kAsymmetric;
  const double eight = noise_with({});
  for (int32_t rounding = 1; rounding < kRoundingCount; ++rounding) {
    CAPTURE(rounding);
    const double noise = noise_with({setting(SlotRole::kActivations, 0, rounding)});
    const bool is_directed = rounding >= static_cast<int32_t>(Rounding::kUp);  // up, down
    if (is_directed) {
      CHECK(noise > 2.0 * eight);  // biased by half a code everywhere
    } else {
      CHECK(noise < 2.0 * eight);  // they differ on ties alone
    }
  }
  CHECK(noise_with({setting(SlotRole::kWeights, 8, -1, kAsymmetricWeights)}) < 4.0 * eight);
  const double exponential = noise_with({setting(SlotRole::kWeights, 8, -1, kExponentialWeights)});
  CHECK(exponential > eight);  // an octave is a coarse step
  CHECK(exponential < 1e4 * eight + 1.0);
}

TEST_CASE("activations by channel are not observed, and so not simulated") {
  const AlignedBytes bytes = small_cnn();
  const SlotSetting by_channel =
      setting(SlotRole::kActivations, 0, -1, policy::kPerChannel | policy::kLinear | policy::kSymmetric);
  CalibratorOptions options = unrecovered();
  options.slots = {&by_channel, 1};
  Bench bench(bytes, small_cnn_samples(1), options);
  const auto simulator = Simulator::create(bench.calibrator);
  CHECK(!simulator);
  CHECK(simulator.message().find("a scale a channel") != std::string::npos);
}

}  // namespace intaglio::test::import_simulator_test
