// A calibrator's block of memory beyond its needs: it saves runs and changes no byte.
#include <doctest/doctest.h>

#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

namespace intaglio::test::calibrator_memory_test {
namespace {

struct Calibration {
  std::vector<uint8_t> bytes;
  int32_t loads = 0;  // of samples, by finish()
};

Calibration calibrate(const Model& model, const Samples& samples, size_t spare_bytes,
                      RecoveryMask recover = recovery::kRangeMethod | recovery::kBiasCorrection) {
  CalibratorOptions options;
  options.recover = recover;
  AlignedBytes memory(Calibrator::measure(model, options)->total() + spare_bytes);
  Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
  struct Counted {
    SampleSource source;
    int32_t loads;
  } counted = {source_of(samples), 0};
  SampleSource source = counted.source;
  source.context = &counted;
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
    auto& seen = *static_cast<Counted*>(context);
    ++seen.loads;
    return seen.source.load(seen.source.context, i, inputs);
  };
  REQUIRE(calibrator.add_all(source).ok());
  counted.loads = 0;
  REQUIRE(calibrator.finish({}, &source).ok());
  CHECK(calibrator.report().layers.empty());  // only where they are asked for
  const Span<const uint8_t> bytes = calibrator.report().bytes;
  return {{bytes.begin(), bytes.end()}, counted.loads};
}

}  // namespace

TEST_CASE("memory beyond what is needed saves runs and changes no byte") {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  const Samples samples = small_cnn_samples(9);
  CalibratorOptions options;
  options.recover = recovery::kLearnedScales;  // samples stand before a layer
  const size_t useful = *Calibrator::replay_bytes(model, 9, options);
  const Calibration least = calibrate(model, samples, 0, options.recover);
  CHECK(calibrate(model, samples, 0).loads <
        40 * 9);  // a few samples' digests are known whatever memory there is: no look at a half loads one
  // Less than a step of alignment is no memory.
  CHECK(calibrate(model, samples, kMemoryAlignment - 1, options.recover).loads == least.loads);
  for (const size_t spare : {useful / 2 + 1, useful, 2 * useful}) {
    CAPTURE(spare);
    const Calibration made = calibrate(model, samples, spare, options.recover);
    CHECK(made.bytes == least.bytes);
    CHECK(made.loads <= least.loads);
    if (spare >= useful) CHECK(3 * made.loads < 2 * least.loads);
  }
}

TEST_CASE(
    "one pass: the int8 model stands where the FP32 session stood, and a later sample makes that anew") {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  const Samples samples = small_cnn_samples(6);
  const CalibratorOptions options = CalibratorOptions::device();
  const CalibratorNeeds needs = *Calibrator::measure(model, options);
  CHECK(needs.shared_bytes > 0);
  CHECK(Calibrator::measure(model)->shared_bytes == 0);
  const auto add = [&](Calibrator& calibrator, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      const Span<const uint8_t> input = bytes_of(samples[i]);
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
  };
  const auto finish = [](Calibrator& calibrator) {
    REQUIRE(calibrator.finish({}).ok());
    const Span<const uint8_t> bytes = calibrator.report().bytes;
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  };
  std::vector<std::vector<uint8_t>> made;
  for (const size_t more : {size_t{0}, needs.shared_bytes}) {
    CAPTURE(more);
    AlignedBytes memory(needs.total() + more);
    Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
    add(calibrator, 0, 4);
    const std::vector<uint8_t> of_four = finish(calibrator);
    CHECK(finish(calibrator) == of_four);
    add(calibrator, 4, 6);
    made.push_back(finish(calibrator));
    CHECK(made.back() != of_four);
    Calibrator at_once = *Calibrator::create(model, memory.span(), options);
    add(at_once, 0, 6);
    CHECK(finish(at_once) == made.back());
  }
  CHECK(made[0] == made[1]);
}

TEST_CASE(
    "a file that is written over its codes has the bytes of one that is not, fused residuals among them") {
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const AlignedBytes file = small_cnn(seed);
    const Result<Model> model = Model::open(file.view());
    REQUIRE(static_cast<bool>(model));
    const auto calibrated = [&](bool writes_once) {
      CalibratorOptions options = CalibratorOptions::device();
      options.layer_report = !writes_once;  // of no layer: no sample runs again
      AlignedBytes memory(Calibrator::measure(*model, options)->total());
      Calibrator calibrator = *Calibrator::create(*model, memory.span(), options);
      for (const auto& sample : small_cnn_samples(3)) {
        const Span<const uint8_t> input = bytes_of(sample);
        REQUIRE(calibrator.add({&input, 1}).ok());
      }
      const Error error = calibrator.finish({});
      REQUIRE_MESSAGE(error.ok(), text_of(error, &*model));
      const Span<const uint8_t> bytes = calibrator.report().bytes;
      return std::vector<uint8_t>(bytes.begin(), bytes.end());
    };
    CHECK(calibrated(true) == calibrated(false));
  }
}

}  // namespace intaglio::test::calibrator_memory_test
