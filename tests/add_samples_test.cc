// Calibrator::add_all: many samples at once, to the same bytes as one after the other; and what a source is
// told.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"
#include "tests/support/threads.h"

namespace intaglio::test::add_samples_test {
namespace {

// A calibrator in an allocation of exactly what it measures, and the file that it writes.
class Bench {
 public:
  explicit Bench(const AlignedBytes& file, const CalibratorOptions& options) : file_(file.view()) {
    const Model model = *Model::open(file_.view());
    memory_ = AlignedBytes(Calibrator::measure(model, options)->total());
    calibrator = *Calibrator::create(model, memory_.span(), options);
  }
  std::vector<uint8_t> finish(const SampleSource& source) {
    std::vector<uint8_t> written;
    const ModelSink sink{[](void* context, Span<const uint8_t> bytes) {
                           static_cast<std::vector<uint8_t>*>(context)->assign(bytes.begin(), bytes.end());
                           return true;
                         },
                         &written};
    const Error error = calibrator.finish(sink, &source);
    REQUIRE_MESSAGE(error.ok(), text_of(error));
    return written;
  }
  std::vector<uint8_t> state() const {
    std::vector<uint8_t> bytes(calibrator.state_bytes());
    REQUIRE(calibrator.save({bytes.data(), bytes.size()}).ok());
    return bytes;
  }

  Calibrator calibrator;

 private:
  AlignedBytes file_, memory_;
};

CalibratorOptions with_threads(int32_t width, size_t replay_bytes = 0) {
  CalibratorOptions options;
  if (width > 1) options.executor = thread_executor(width);
  options.replay_bytes = replay_bytes;
  return options;
}

// A source that notes what it is told.
struct Told {
  const Samples& samples;
  std::vector<int32_t> order;
  std::vector<std::vector<uint8_t>> outputs;
};

SampleSource source_of(Told& told) {
  told.outputs.resize(told.samples.size());
  SampleSource source;
  source.context = &told;
  source.count = static_cast<int32_t>(told.samples.size());
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
    const auto& sample = static_cast<Told*>(context)->samples[static_cast<size_t>(i)];
    memcpy(inputs[0].data, sample.data(), inputs[0].size);
    return true;
  };
  source.ran = [](void* context, int32_t i, const Session& session) {
    auto& to = *static_cast<Told*>(context);
    const TensorView view = session.output();
    const auto* const bytes = static_cast<const uint8_t*>(view.data);
    to.order.push_back(i);
    to.outputs[static_cast<size_t>(i)].assign(bytes, bytes + view.info.bytes());
  };
  return source;
}

std::vector<uint8_t> output_bytes(Session& session) {
  const TensorView view = session.output();
  const auto* const bytes = static_cast<const uint8_t*>(view.data);
  return {bytes, bytes + view.info.bytes()};
}

}  // namespace

TEST_CASE("all samples at once: the state and the model of one after the other") {
  const AlignedBytes file = small_cnn();
  Samples samples = small_cnn_samples(11);
  samples.push_back(samples[3]);  // one twice
  const size_t replay = *Calibrator::replay_bytes(*Model::open(file.view()), 12);
  Bench one(file, with_threads(1));
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = bytes_of(sample);
    REQUIRE(one.calibrator.add({&input, 1}).ok());
  }
  const std::vector<uint8_t> state = one.state(), model = one.finish(test::source_of(samples));
  for (const int32_t width : {1, 2, 3, 8, 20})
    for (const size_t replay_bytes : {size_t{0}, replay / 3, replay}) {
      CAPTURE(width);
      CAPTURE(replay_bytes);
      Bench all(file, with_threads(width, replay_bytes));
      int32_t bad = 7;
      REQUIRE(all.calibrator.add_all(test::source_of(samples), &bad).ok());
      CHECK(bad == -1);
      CHECK(all.state() == state);
      CHECK(all.finish(test::source_of(samples)) == model);
    }
}

TEST_CASE("all samples at once, and more behind them") {
  const AlignedBytes file = small_cnn();
  const Samples samples = small_cnn_samples(9), first(samples.begin(), samples.begin() + 5),
                rest(samples.begin() + 5, samples.end());
  Bench whole(file, with_threads(2)), parts(file, with_threads(2));
  REQUIRE(whole.calibrator.add_all(test::source_of(samples)).ok());
  REQUIRE(parts.calibrator.add_all(test::source_of(rest)).ok());
  for (const auto& sample : first) {
    const Span<const uint8_t> input = bytes_of(sample);
    REQUIRE(parts.calibrator.add({&input, 1}).ok());
  }
  CHECK(parts.state() == whole.state());
}

TEST_CASE("a source is told what each model gives for its samples") {
  const AlignedBytes file = small_cnn();
  for (const int32_t width : {1, 2, 8})
    for (const RecoveryMask recover : {recovery::kNone, recovery::kDefault, recovery::kAll}) {
      const Samples samples = small_cnn_samples(recover == recovery::kAll ? 9 : 40);
      CAPTURE(width);
      CAPTURE(recover);
      CalibratorOptions options = with_threads(width, size_t{1} << 22);
      options.recover = recover;
      Bench bench(file, options);
      Told fp32{samples, {}, {}}, int8{samples, {}, {}};
      REQUIRE(bench.calibrator.add_all(source_of(fp32)).ok());
      const std::vector<uint8_t> written = bench.finish(source_of(int8));
      RunningModel exact(small_cnn()),
          made(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
      REQUIRE(exact.error().ok());
      REQUIRE(made.error().ok());
      const TensorInfo input = made.session().input().info;
      for (size_t i = 0; i < samples.size(); ++i) {
        CHECK(fp32.order[i] == static_cast<int32_t>(i));
        exact.set_input(samples[i]);
        exact.session().run();
        CHECK(fp32.outputs[i] == output_bytes(exact.session()));
        std::vector<int8_t> codes(samples[i].size());
        for (size_t k = 0; k < codes.size(); ++k) {
          const float v = samples[i][k] / input.quantization.scales[0];
          const float lo = static_cast<float>(-128 - input.quantization.zero_point),
                      hi = static_cast<float>(127 - input.quantization.zero_point);
          codes[k] =
              static_cast<int8_t>(static_cast<int32_t>(std::nearbyint(v < lo ? lo : (v > hi ? hi : v))) +
                                  input.quantization.zero_point);
        }
        made.set_input(codes);
        made.session().run();
        CHECK(int8.outputs[i] == output_bytes(made.session()));
      }
      CHECK(fp32.order.size() == samples.size());
    }
}

TEST_CASE("the sample at fault is named, whichever lane it was on") {
  const AlignedBytes file = small_cnn();
  Samples samples = small_cnn_samples(7);
  samples[4][10] = std::numeric_limits<float>::quiet_NaN();
  samples[6][0] = std::numeric_limits<float>::infinity();
  for (const int32_t width : {1, 2, 3, 8}) {
    CAPTURE(width);
    Bench bench(file, with_threads(width));
    int32_t bad = -1;
    const Error error = bench.calibrator.add_all(test::source_of(samples), &bad);
    CHECK(error.status == Status::kNonFiniteActivation);
    CHECK(error.value == 4);
    CHECK(bad == 4);
    CHECK(bench.calibrator.add_all(test::source_of(samples)).status == Status::kNonFiniteActivation);
  }
  const Samples good = small_cnn_samples(7);
  SampleSource failing = test::source_of(good);
  failing.load = [](void*, int32_t i, Span<const Span<uint8_t>> inputs) {
    memset(inputs[0].data, 0, inputs[0].size);
    return i != 3;
  };
  Bench bench(file, with_threads(2));
  int32_t bad = -1;
  CHECK(bench.calibrator.add_all(failing, &bad).status == Status::kSamplesDiffer);
  CHECK(bad == 3);
}

TEST_CASE("progress can cancel between samples, and nothing is left half done") {
  const AlignedBytes file = small_cnn();
  const Samples samples = small_cnn_samples(8);
  CalibratorOptions options = with_threads(2);
  int32_t steps = 2;
  options.progress = {
      [](void* context, const char*, int32_t, int32_t) { return --*static_cast<int32_t*>(context) > 0; },
      &steps};
  Bench bench(file, options);
  CHECK(bench.calibrator.add_all(test::source_of(samples)).status == Status::kCancelled);
  const Samples first(samples.begin(), samples.begin() + 2);
  Bench two(file, with_threads(1));
  REQUIRE(two.calibrator.add_all(test::source_of(first)).ok());
  CHECK(bench.state() == two.state());
}

}  // namespace intaglio::test::add_samples_test
