// Held-out errors: each part is judged by the model that the others make, and the calibration itself is as without.
#include "calibrator/host/accuracy/held_out.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "calibrator/calibration.h"
#include "tests/support/calibrate.h"
#include "tests/support/random.h"

namespace intaglio::test::held_out_test {
namespace {

// Convolution + ReLU, mean, fully connected: scores in FP32.
AlignedBytes network(bool takes_pictures = false) {
  Random random(4);
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 6, 6, 3}),
                hidden = b.tensor("hidden", DType::kF32, {1, 6, 6, 8}),
                mean = b.tensor("mean", DType::kF32, {1, 8}), y = b.tensor("y", DType::kF32, {1, 4});
  b.input(x);
  b.output(y);
  GraphNode& conv =
      b.node(Op::kConv2d,
             {x, b.constant<float>("w", DType::kF32, {8, 3, 3, 3}, random.reals(8 * 27, -0.3f, 0.3f)),
              b.constant<float>("b", DType::kF32, {8}, random.reals(8, -0.3f, 0.3f))},
             {hidden});
  conv.options.as<Window2d>().kernel_h = conv.options.as<Window2d>().kernel_w = 3;
  conv.options.as<Window2d>().pad_top = conv.options.as<Window2d>().pad_left = 1;
  conv.options.as<Window2d>().pad_bottom = conv.options.as<Window2d>().pad_right = 1;
  conv.options.as<Clamp>().min = 0.0f;
  b.node(Op::kMean, {hidden}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  b.node(Op::kFullyConnected,
         {mean, b.constant<float>("w2", DType::kF32, {4, 8}, random.reals(32, -1.0f, 1.0f)),
          b.constant<float>("b2", DType::kF32, {4}, random.reals(4, -0.1f, 0.1f))},
         {y});
  ImageInput pixels;
  pixels.channels = 3;
  for (float& norm : pixels.norm) norm = 1.0f;
  if (takes_pictures) b.graph().images.push(b.arena(), pixels);
  return b.finish();
}

Samples samples_of(size_t count) {
  Random random(6);
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    const float size = random.real(0.2f, 2.0f);
    samples.push_back(random.reals(6 * 6 * 3, -size, size));
  }
  return samples;
}

Digest digest_of(const std::vector<float>& sample) {
  Sha256 sha;
  sha.update(sample.data(), sample.size() * sizeof(float));
  return sha.finish();
}

std::vector<Digest> digests_of(const Samples& samples) {
  std::vector<Digest> digests;
  digests.reserve(samples.size());
  for (const auto& sample : samples) digests.push_back(digest_of(sample));
  return digests;
}

CalibratorOptions options_of(RangeMethod method, RecoveryMask recover, size_t count, const Model& model) {
  CalibratorOptions options;
  options.method = method;
  options.recover = recover;
  options.replay_bytes = *Calibrator::replay_bytes(model, static_cast<int32_t>(count), options);
  return options;
}

struct Judged {
  std::vector<uint8_t> bytes;
  size_t judged = 0;
  NetworkError error;
  std::vector<size_t> order;  // in which samples were judged
};

// By samples that are all learned from. What is done to biases is what another calibration has kept.
std::vector<uint8_t> calibrate_as(const Model& model, const Samples& samples,
                                  const CalibratorOptions& options, const KeptBiases& biases) {
  AlignedBytes memory(Calibrator::measure(model, options)->total());
  Result<Calibrator> calibrator = Calibrator::create(model, memory.span(), options);
  REQUIRE(static_cast<bool>(calibrator));
  const SampleSource source = source_of(samples);
  REQUIRE(calibrator->add_all(source).ok());
  Calibration& calibration = Calibration::of(*calibrator);
  const Candidate earlier{options.method, biases, nullptr, {}, {}};
  const FinishJob job{calibration.options, calibration.seen, calibration.memory, &earlier};
  REQUIRE(finish_calibration(calibration, job, {}, &source, calibration.finished).ok());
  const Span<const uint8_t> bytes = calibrator->report().bytes;
  return {bytes.begin(), bytes.end()};
}

// The samples that a calibration with these has kept.
KeptBiases kept_biases(const Model& model, const Samples& samples, const CalibratorOptions& options) {
  AlignedBytes memory(Calibrator::measure(model, options)->total());
  Result<Calibrator> calibrator = Calibrator::create(model, memory.span(), options);
  REQUIRE(static_cast<bool>(calibrator));
  const SampleSource source = source_of(samples);
  REQUIRE(calibrator->add_all(source).ok());
  REQUIRE(calibrator->finish({}, &source).ok());
  KeptBiases kept;
  for (const RecoveryRecord& record : calibrator->report().recoveries)
    if (record.recovery == recovery::kBiasCorrection && record.verdict == RecoveryVerdict::kKept)
      (&record == calibrator->report().recoveries.data ? kept.alone : kept.by_samples) = true;
  return kept;
}

Judged held_out(const AlignedBytes& file, const Samples& samples, RangeMethod method, RecoveryMask recover) {
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  const CalibratorOptions options = options_of(method, recover, samples.size(), *model);
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, memory.span(), options);
  REQUIRE(static_cast<bool>(calibrator));
  const SampleSource source = source_of(samples);
  HeldOut held_out(*calibrator, *model, options, digests_of(samples));
  int32_t bad = -1;
  REQUIRE(held_out.add_all(source, &bad).ok());
  REQUIRE(calibrator->finish({}, &source).ok());
  Judged result;
  HeldOut::Ran ran;
  ran.int8 = [&](size_t i, const Session&) { result.order.push_back(i); };
  SampleErrors errors;
  const Error error = held_out.judge(source, true, ran, errors);
  REQUIRE_MESSAGE(error.ok(), text_of(error, &*model));
  const Span<const uint8_t> bytes = calibrator->report().bytes;
  result.bytes.assign(bytes.begin(), bytes.end());
  result.judged = held_out.is_possible() ? errors.samples() : 0;
  result.error = errors.expected();
  return result;
}

// Sums of squares of the FP32 outputs, and of the differences.
NetworkError error_of(const AlignedBytes& file, const std::vector<uint8_t>& int8,
                      const std::vector<float>& sample) {
  RunningModel exact{AlignedBytes(file.view())},
      test{AlignedBytes(Span<const uint8_t>(int8.data(), int8.size()))};
  REQUIRE(exact.error().ok());
  REQUIRE(test.error().ok());
  exact.set_input(sample);
  copy_inputs(exact.session(), test.session());
  exact.session().run();
  test.session().run();
  NetworkError error;
  const auto x = exact.output<float>(), y = test.output<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    error.signal += a * a;
    error.noise += (a - b) * (a - b);
  }
  return error;
}

// A pixel to the left and upwards, the last row and column as they are.
std::vector<float> shifted(const std::vector<float>& sample) {
  std::vector<float> moved;
  for (size_t y = 0; y < 6; ++y)
    for (size_t x = 0; x < 6; ++x)
      for (size_t c = 0; c < 3; ++c)
        moved.push_back(sample[(std::min<size_t>(y + 1, 5) * 6 + std::min<size_t>(x + 1, 5)) * 3 + c]);
  return moved;
}

// The errors that HeldOut should find, part by part, with all the rest through the public interface.
SampleErrors errors_by_parts(const AlignedBytes& file, const Samples& samples,
                             const CalibratorOptions& options, size_t shifted_ones) {
  const Result<Model> model = Model::open(file.view());
  const KeptBiases biases = kept_biases(*model, samples, options);
  const size_t count = samples.size(), parts = count <= 7 ? count : (count <= 24 ? 4 : 2);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return digest_of(samples[a]) < digest_of(samples[b]); });
  SampleErrors expected;
  for (size_t part = 0; part < parts; ++part) {
    Samples others;
    for (size_t rank = 0; rank < count; ++rank)
      if (rank % parts != part) others.push_back(samples[order[rank]]);
    const auto int8 = calibrate_as(*model, others, options, biases);
    for (size_t rank = part; rank < count; rank += parts) {
      const std::vector<float>& sample = samples[order[rank]];
      NetworkError error = error_of(file, int8, sample);
      if (rank < shifted_ones) {
        const NetworkError again = error_of(file, int8, shifted(sample));
        error = {(error.signal + again.signal) / 2, (error.noise + again.noise) / 2};
      }
      expected.add({error});
    }
  }
  return expected;
}

}  // namespace

TEST_CASE("what a calibration has found of biases, done without judging, gives its bytes") {
  const AlignedBytes file = network();
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  for (const size_t count : {8, 25, 60})
    for (const RecoveryMask recover :
         {recovery::kBiasCorrection, recovery::kBiasCorrection | recovery::kAdaptiveRounding}) {
      CAPTURE(count);
      CAPTURE(recover);
      const Samples samples = samples_of(count);
      const CalibratorOptions options = options_of(RangeMethod::kMinMax, recover, count, *model);
      const KeptBiases kept = kept_biases(*model, samples, options);
      CHECK(calibrate_as(*model, samples, options, kept) == calibrate(*model, samples, options));
    }
}

TEST_CASE("each part is judged by a model that never saw it; the model that is written is as without") {
  const AlignedBytes file = network();
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  for (const size_t count : {4, 7, 8, 24, 25})
    for (const RecoveryMask recover : {recovery::kNone, recovery::kBiasCorrection}) {
      CAPTURE(count);
      CAPTURE(recover);
      const Samples samples = samples_of(count);
      const CalibratorOptions options = options_of(RangeMethod::kMinMax, recover, count, *model);
      const Judged found = held_out(file, samples, options.method, options.recover);
      CHECK(found.judged == count);
      CHECK(found.bytes == calibrate(*model, samples, options));
      const NetworkError expected = errors_by_parts(file, samples, options, 0).expected();
      CHECK(found.error.signal == doctest::Approx(expected.signal).epsilon(1e-12));
      CHECK(found.error.noise == doctest::Approx(expected.noise).epsilon(1e-9));
    }
}

TEST_CASE("of few pictures each judges once more, shifted by a pixel; of more ever fewer do") {
  const AlignedBytes file = network(true);
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  for (const auto& row : std::map<size_t, size_t>{{4, 4}, {8, 8}, {11, 5}, {17, 0}}) {
    const size_t count = row.first, shifted_ones = row.second;  // no structured binding: clang captures none
    CAPTURE(count);
    const Samples samples = samples_of(count);
    const CalibratorOptions options = options_of(RangeMethod::kMinMax, recovery::kNone, count, *model);
    const Judged found = held_out(file, samples, options.method, options.recover);
    CHECK(found.judged == count);
    CHECK(found.order.size() == count);
    CHECK(found.bytes == calibrate(*model, samples, options));
    const NetworkError expected = errors_by_parts(file, samples, options, shifted_ones).expected();
    CHECK(found.error.signal == doctest::Approx(expected.signal).epsilon(1e-12));
    CHECK(found.error.noise == doctest::Approx(expected.noise).epsilon(1e-9));
  }
}

TEST_CASE("whatever the order of the samples, with every recovery") {
  const AlignedBytes file = network();
  Samples samples = samples_of(18);
  for (const RecoveryMask recover :
       {recovery::kNone, recovery::kDefault, recovery::kAll | recovery::kEqualization}) {
    CAPTURE(recover);
    const Judged found = held_out(file, samples, RangeMethod::kAuto, recover);
    // Networks that take minutes are judged one way.
    CHECK(found.judged == ((recover & recovery::kLayers) != 0 ? 9 : 18));
    std::reverse(samples.begin(), samples.end());
    const Judged again = held_out(file, samples, RangeMethod::kAuto, recover);
    CHECK(again.bytes == found.bytes);
    CHECK(again.error.signal == doctest::Approx(found.error.signal).epsilon(1e-12));
    CHECK(again.error.noise == doctest::Approx(found.error.noise).epsilon(1e-12));
  }
}

TEST_CASE("equal samples are never on both sides, and count once") {
  const AlignedBytes file = network();
  Samples samples = samples_of(3);
  for (int i = 0; i < 5; ++i) samples.push_back(samples[static_cast<size_t>(i) % 3]);
  CHECK(held_out(file, samples, RangeMethod::kAuto, recovery::kDefault).judged == 0);
  samples.push_back(samples_of(4)[3]);
  const Judged found = held_out(file, samples, RangeMethod::kAuto, recovery::kDefault);
  CHECK(found.judged == samples.size());
  CHECK(found.order.size() == samples.size());
}

}  // namespace intaglio::test::held_out_test
