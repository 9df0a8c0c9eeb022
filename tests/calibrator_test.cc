// The calibrator's promises: same bytes whatever order, threads or interruptions; memory as measured; all or
// nothing.
#include "intaglio/calibrator.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "intaglio/describe.h"
#include "tests/support/decibels.h"
#include "tests/support/float_samples.h"
#include "tests/support/open_state.h"
#include "tests/support/small_models.h"
#include "tests/support/threads.h"

namespace intaglio::test::calibrator_test {
namespace {

// A calibrator over a model, in an allocation of exactly what it measures.
class Bench {
 public:
  explicit Bench(const AlignedBytes& model_bytes, const CalibratorOptions& options = {})
      : model_(model_bytes.view()) {
    const Result<Model> model = Model::open(model_.view());
    REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
    const Result<CalibratorNeeds> needs = Calibrator::measure(*model, options);
    REQUIRE_MESSAGE(static_cast<bool>(needs), text_of(needs.error(), &*model));
    memory_ = AlignedBytes(needs->total());
    const Result<Calibrator> made = Calibrator::create(*model, memory_.span(), options);
    REQUIRE_MESSAGE(static_cast<bool>(made), text_of(made.error(), &*model));
    calibrator = *made;
  }

  void add(const std::vector<float>& sample) {
    const Span<const uint8_t> inputs[] = {bytes_of(sample)};
    const Error error = calibrator.add(inputs);
    REQUIRE_MESSAGE(error.ok(), text_of(error));
  }
  void add(const Samples& samples) {
    for (const auto& sample : samples) add(sample);
  }
  std::vector<uint8_t> save() const {
    std::vector<uint8_t> state(calibrator.state_bytes());
    REQUIRE(calibrator.save({state.data(), state.size()}).ok());
    return state;
  }
  std::vector<uint8_t> finish(const Samples* samples) {
    std::vector<uint8_t> written;
    ModelSink sink;
    sink.context = &written;
    sink.write = [](void* context, Span<const uint8_t> bytes) {
      static_cast<std::vector<uint8_t>*>(context)->assign(bytes.begin(), bytes.end());
      return true;
    };
    SampleSource source;
    if (samples != nullptr) source = source_of(*samples);
    const Error error = calibrator.finish(sink, samples == nullptr ? nullptr : &source);
    REQUIRE_MESSAGE(error.ok(), text_of(error));
    return written;
  }

  Calibrator calibrator;

 private:
  AlignedBytes model_, memory_;
};

std::vector<uint8_t> calibrate(const AlignedBytes& model, const Samples& samples,
                               const CalibratorOptions& options = {}) {
  Bench bench(model, options);
  bench.add(samples);
  return bench.finish(&samples);
}

}  // namespace

TEST_CASE("an int8 model comes out that is close to the FP32 one") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(16);
  for (const RangeMethod method :
       {RangeMethod::kAuto, RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kMse}) {
    CalibratorOptions options;
    options.method = method;
    Bench bench(model, options);
    bench.add(samples);
    const auto bytes = bench.finish(&samples);
    const CalibrationReport& report = bench.calibrator.report();
    CAPTURE(static_cast<int>(method));
    CHECK(decibels(report.signal, report.noise) > 25.0);
    CHECK(report.noise <= report.noise_without_recovery);
    CHECK(report.samples == 16);
    RunningModel int8(AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size())), int8_ops());
    REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error()));
    CHECK(int8.session().input().info.dtype == DType::kS8);
    CHECK(int8.model().calibration().samples == 16);
  }
}

TEST_CASE("the residual addition is fused into the convolution before it") {
  const auto bytes = calibrate(small_cnn(), small_cnn_samples(4));
  RunningModel int8(AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size())));
  REQUIRE(int8.error().ok());
  int32_t adds = 0, residuals = 0;
  for (int32_t n = 0; n < int8.model().node_count(); ++n) {
    const NodeInfo node = int8.model().node(n);
    adds += node.op == Op::kAdd ? 1 : 0;
    residuals += node.op == Op::kConv2d && node.inputs.size == 4 ? 1 : 0;
  }
  CHECK(adds == 0);
  CHECK(residuals == 1);
}

TEST_CASE("the same bytes for any order of the samples and any number of threads") {
  const AlignedBytes model = small_cnn();
  for (const int32_t count : {9, 40}) {  // of many half of them judge
    CAPTURE(count);
    Samples samples = small_cnn_samples(count);
    const auto expected = calibrate(model, samples);
    std::reverse(samples.begin(), samples.end());
    CHECK(calibrate(model, samples) == expected);
    std::rotate(samples.begin(), samples.begin() + 4, samples.end());
    CHECK(calibrate(model, samples) == expected);
    for (const int32_t width : {2, 3, 8}) {
      CalibratorOptions options;
      options.executor = thread_executor(width);
      CHECK(calibrate(model, samples, options) == expected);
    }
  }
}

TEST_CASE("the same bytes with any memory for what is not computed twice") {
  const AlignedBytes model = small_cnn();
  const Result<Model> opened = Model::open(model.view());
  REQUIRE(static_cast<bool>(opened));
  for (const int32_t count : {9, 40})
    for (const int32_t width : {1, 3}) {
      CAPTURE(count);
      CAPTURE(width);
      const Samples samples = small_cnn_samples(count);
      const auto expected = calibrate(model, samples);  // with none
      const Result<size_t> enough = Calibrator::replay_bytes(*opened, count);
      REQUIRE(static_cast<bool>(enough));
      for (const size_t bytes : {size_t{1}, size_t{700}, *enough / 3, *enough / 2, *enough, 4 * *enough}) {
        CalibratorOptions options;
        options.replay_bytes = bytes;
        options.executor = thread_executor(width);
        CAPTURE(bytes);
        CHECK(calibrate(model, samples, options) == expected);
      }
    }
}

TEST_CASE("recoveries are recorded, and only those asked for run") {
  const AlignedBytes model = small_cnn();
  constexpr RecoveryVerdict kKept = RecoveryVerdict::kKept, kWorse = RecoveryVerdict::kNetworkWorse;
  struct Case {
    size_t samples;
    RangeMethod method;
    std::vector<RecoveryVerdict> verdicts;
  };
  // The search, for auto alone; biases for the weights' rounding; biases by samples.
  const Case cases[] = {{10, RangeMethod::kAuto, {kWorse, kKept, kKept}},
                        {4, RangeMethod::kAuto, {kWorse, kKept, kKept}},
                        {16, RangeMethod::kKl, {kKept, kWorse}}};
  for (const Case& c : cases) {
    CAPTURE(c.samples);
    const Samples samples = small_cnn_samples(c.samples);
    CalibratorOptions options;
    options.method = c.method;
    options.recover = recovery::kRangeMethod | recovery::kBiasCorrection;
    Bench bench(model, options);
    bench.add(samples);
    bench.finish(&samples);
    const CalibrationReport& report = bench.calibrator.report();
    REQUIRE(report.recoveries.size == c.verdicts.size());
    double error = report.noise_without_recovery / report.signal;
    for (size_t i = 0; i < c.verdicts.size(); ++i) {
      CAPTURE(i);
      const RecoveryRecord& record = report.recoveries[i];
      const bool is_search = i == 0 && c.method == RangeMethod::kAuto;
      CHECK(record.recovery == (is_search ? recovery::kRangeMethod : recovery::kBiasCorrection));
      CHECK(record.verdict == c.verdicts[i]);
      if (is_search) continue;
      CHECK(record.before == error);
      CHECK((record.after <= record.before) == (record.verdict == kKept));
      if (record.verdict == kKept) error = record.after;
    }
    CHECK(report.noise / report.signal == error);
    CalibratorOptions none = options;
    none.recover = recovery::kNone;
    Bench plain(model, none);
    plain.add(samples);
    plain.finish(&samples);
    CHECK(plain.calibrator.report().recoveries.empty());
    CHECK(plain.calibrator.report().noise == report.noise_without_recovery);
  }
}

TEST_CASE("all recoveries: the same bytes for any order, threads, memory and instruction set") {
  const AlignedBytes model = small_cnn();
  Samples samples = small_cnn_samples(12);
  const Result<Model> opened = Model::open(model.view());
  REQUIRE(static_cast<bool>(opened));
  CalibratorOptions options;
  options.recover = recovery::kAll;
  options.replay_bytes = *Calibrator::replay_bytes(*opened, 12, options);
  Bench bench(model, options);
  bench.add(samples);
  const auto expected = bench.finish(&samples);
  const CalibrationReport& report = bench.calibrator.report();
  CHECK(expected != calibrate(model, samples));
  CHECK(report.noise < report.noise_without_recovery);
  size_t kept = 0, undone = 0;
  for (const RecoveryRecord& record : report.recoveries) {
    if ((record.recovery & recovery::kLayers) == 0) continue;
    CHECK((record.verdict == RecoveryVerdict::kKept) ==
          (record.after <= record.before && record.verdict != RecoveryVerdict::kBlockWorse));
    kept += record.verdict == RecoveryVerdict::kKept ? 1 : 0;
    undone += record.verdict == RecoveryVerdict::kKept ? 0 : 1;
  }
  CHECK(kept > 0);
  CHECK(undone > 0);

  std::rotate(samples.begin(), samples.begin() + 5, samples.end());
  options.executor = thread_executor(3);
  options.replay_bytes /= 3;
  CHECK(calibrate(model, samples, options) == expected);
  options.isa = isa::kScalar;
  CHECK(calibrate(model, samples, options) == expected);
  options.replay_bytes = 1;  // a few samples need none
  CHECK(calibrate(model, samples, options) == expected);
  Samples many;
  while (many.size() < 65) many.push_back(samples[many.size() % samples.size()]);
  CalibratorOptions layers = options;
  layers.recover = recovery::kWeightScales;
  Bench poor(model, layers);
  poor.add(many);
  const SampleSource source = source_of(many);
  CHECK(poor.calibrator.finish({}, &source).status == Status::kOutOfMemory);

  options.replay_bytes = *Calibrator::replay_bytes(*opened, 12, options);
  samples.resize(7);
  Bench few(model, options);
  few.add(samples);
  few.finish(&samples);
  for (const RecoveryRecord& record : few.calibrator.report().recoveries)
    CHECK((record.verdict == RecoveryVerdict::kTooFewSamples) ==
          ((record.recovery & (recovery::kDefault | recovery::kBiasAbsorption)) == 0));
}

TEST_CASE("the same bytes from every instruction set") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(5);
  CalibratorOptions scalar;
  scalar.isa = isa::kScalar;
  CHECK(calibrate(model, samples, scalar) == calibrate(model, samples));
}

TEST_CASE("a saved state goes on as if nothing had happened, and halves merge to the whole") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(10);
  const Samples first(samples.begin(), samples.begin() + 3), second(samples.begin() + 3, samples.end());
  Bench whole(model);
  whole.add(samples);
  const auto whole_state = whole.save();
  const auto expected = whole.finish(nullptr);

  Bench a(model), b(model);
  a.add(first);
  b.add(second);
  const auto a_state = a.save(), b_state = b.save();

  Bench resumed(model);
  REQUIRE(resumed.calibrator.load({a_state.data(), a_state.size()}).ok());
  resumed.add(second);
  CHECK(resumed.save() == whole_state);
  CHECK(resumed.finish(nullptr) == expected);

  Bench merged(model);
  REQUIRE(merged.calibrator.merge({b_state.data(), b_state.size()}).ok());
  REQUIRE(merged.calibrator.merge({a_state.data(), a_state.size()}).ok());
  CHECK(merged.save() == whole_state);
  CHECK(merged.finish(&samples) == whole.finish(&samples));
}

TEST_CASE("damaged and foreign states are refused and change nothing") {
  Bench bench(small_cnn(1));
  bench.add(small_cnn_samples(2));
  const auto state = bench.save();
  for (size_t size = 0; size < state.size(); size += 997)
    CHECK(bench.calibrator.merge({state.data(), size}).status == Status::kBadCalibrationState);
  for (size_t at = 0; at < state.size(); at += 1009) {
    auto broken = state;
    broken[at] ^= 0x10;
    CHECK(!bench.calibrator.merge({broken.data(), broken.size()}).ok());
  }
  // A number that is none as the least value of the first tensor, under a right checksum.
  auto endless = OpenState(state).save_as_values();
  const uint32_t nan = 0x7fc00000u;
  const size_t first_observer = 24 + 2 * 32;  // behind the header
  memcpy(endless.data() + first_observer + 8, &nan, sizeof nan);
  endless = with_right_crc(endless);
  const Error refused = bench.calibrator.merge({endless.data(), endless.size()});
  CHECK(refused.status == Status::kBadCalibrationState);
  CHECK(refused.value == static_cast<int64_t>(first_observer));
  CHECK(bench.save() == state);
  Bench other(small_cnn(2));
  CHECK(other.calibrator.merge({state.data(), state.size()}).status == Status::kOtherGraph);
}

TEST_CASE("memory is what measure() says: one byte less is refused") {
  const AlignedBytes bytes = small_cnn();
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model);
  REQUIRE(static_cast<bool>(needs));
  AlignedBytes memory(needs->total());
  CHECK(static_cast<bool>(Calibrator::create(*model, memory.span())));
  const Result<Calibrator> refused = Calibrator::create(*model, {memory.data(), memory.size() - 1});
  CHECK(refused.error().status == Status::kOutOfMemory);
  CHECK(refused.error().limit == static_cast<int64_t>(needs->total()));
}

TEST_CASE("bad samples are named") {
  Bench bench(small_cnn());
  CHECK(bench.calibrator.finish({}).status == Status::kNoSamples);
  auto sample = small_cnn_samples(1)[0];
  const Span<const uint8_t> bytes = bytes_of(sample);
  const Span<const uint8_t> short_input[] = {{bytes.data, bytes.size - 1}};
  CHECK(bench.calibrator.add(short_input).status == Status::kSampleSize);
  const Span<const uint8_t> two[] = {bytes, bytes};
  CHECK(bench.calibrator.add(two).status == Status::kSampleCount);
  sample[17] = std::nanf("");
  const Span<const uint8_t> bad[] = {bytes_of(sample)};
  const Error error = bench.calibrator.add(bad);
  CHECK(error.status == Status::kNonFiniteActivation);
  CHECK(error.limit == 17);
  CHECK(bench.calibrator.finish({}).status == Status::kNonFiniteActivation);
}

TEST_CASE("degenerate samples give a model that runs") {
  const AlignedBytes model = small_cnn();
  for (const Samples& samples :
       {Samples{std::vector<float>(360, 0.0f)}, Samples{std::vector<float>(360, 255.0f)},
        Samples(3, small_cnn_samples(1)[0])}) {
    const auto bytes = calibrate(model, samples);
    CHECK(status_of(AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()))) == Status::kOk);
  }
}

TEST_CASE("nodes kept in float have Quantize and Dequantize at their borders alone") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(6);
  const int32_t kept[] = {1, 2};
  CalibratorOptions options;
  options.float_nodes = kept;
  const auto bytes = calibrate(model, samples, options);
  RunningModel mixed(AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size())));
  REQUIRE_MESSAGE(mixed.error().ok(), text_of(mixed.error(), &mixed.model()));
  std::vector<Op> ops;
  for (int32_t n = 0; n < mixed.model().node_count(); ++n) ops.push_back(mixed.model().node(n).op);
  const std::vector<Op> expected = {Op::kConv2d,         Op::kDequantize, Op::kDepthwiseConv2d, Op::kConv2d,
                                    Op::kQuantize,       Op::kAdd,        Op::kMaxPool2d,       Op::kMean,
                                    Op::kFullyConnected, Op::kSoftmax};
  CHECK(ops == expected);
}

TEST_CASE("other samples than those added are refused, and progress can cancel") {
  const AlignedBytes model = small_cnn();
  const Samples samples = small_cnn_samples(3), others = small_cnn_samples(3, 99);
  Bench bench(model);
  bench.add(samples);
  const SampleSource source = source_of(others);
  CHECK(bench.calibrator.finish({}, &source).status == Status::kSamplesDiffer);

  CalibratorOptions options;
  options.progress.step = [](void*, const char*, int32_t, int32_t) { return false; };
  Bench cancelled(model, options);
  cancelled.add(samples);
  const SampleSource same = source_of(samples);
  CHECK(cancelled.calibrator.finish({}, &same).status == Status::kCancelled);
}

TEST_CASE("a sink that fails is reported") {
  Bench bench(small_cnn());
  bench.add(small_cnn_samples(1));
  ModelSink sink;
  sink.write = [](void*, Span<const uint8_t>) { return false; };
  CHECK(bench.calibrator.finish(sink).status == Status::kSinkFailed);
}

TEST_CASE("only FP32 models can be calibrated") {
  const auto bytes = calibrate(small_cnn(), small_cnn_samples(1));
  const AlignedBytes int8(Span<const uint8_t>(bytes.data(), bytes.size()));
  const Result<Model> model = Model::open(int8.view());
  REQUIRE(static_cast<bool>(model));
  CHECK(Calibrator::measure(*model).error().status == Status::kNotFloat);
}

}  // namespace intaglio::test::calibrator_test
