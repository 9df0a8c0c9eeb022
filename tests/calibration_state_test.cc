// Calibration states under a right checksum that no calibrator has saved: refused, at the tensor's place.
#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/observe/digest.h"
#include "calibrator/observe/observer.h"
#include "intaglio/calibrator.h"
#include "runtime/crc32.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

namespace intaglio::test::calibration_state_test {
namespace {

// As calibration_state.cc lays them out.
constexpr size_t kHeaderBytes = 24 + 2 * sizeof(Digest);
constexpr size_t kLevelBytes = 4 + sizeof(PowerLevels::zeros) + sizeof(PowerLevels::counts);
constexpr size_t kObserverBytes = 72 + 2 * kBins * sizeof(uint32_t) + kLevelBytes, kMin = 8, kMax = 16,
                 kCounts = 72;

struct Calibration {
  AlignedBytes bytes = small_cnn();
  Model model = *Model::open(bytes.view());
  AlignedBytes memory{Calibrator::measure(model, {})->total()};
  Calibrator calibrator = *Calibrator::create(model, memory.span(), {});

  std::vector<uint8_t> state_of(const Samples& samples) {
    for (const auto& sample : samples) {
      const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(sample.data()),
                                      sample.size() * sizeof(float)};
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
    std::vector<uint8_t> state(calibrator.state_bytes());
    REQUIRE(calibrator.save({state.data(), state.size()}).ok());
    return state;
  }
};

uint32_t word_at(const std::vector<uint8_t>& bytes, size_t at) {
  uint32_t word;
  memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

float float_at(const std::vector<uint8_t>& bytes, size_t at) {
  float value;
  memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Error merged(std::vector<uint8_t> state, size_t at, uint32_t word) {
  memcpy(state.data() + at, &word, sizeof word);
  const uint32_t crc = crc32(0, state.data(), state.size() - sizeof crc);
  memcpy(state.data() + state.size() - sizeof crc, &crc, sizeof crc);
  Calibration fresh;
  return fresh.calibrator.merge({state.data(), state.size()});
}

}  // namespace

TEST_CASE("counts past a tensor's ends are refused, the last bin with values is not") {
  const auto samples = small_cnn_samples(6);
  const std::vector<uint8_t> state = Calibration().state_of(samples);
  const size_t observers = word_at(state, 12), first = kHeaderBytes;
  REQUIRE(observers > 4);
  int32_t one_sided = 0;
  for (size_t i = 0; i < observers; ++i) {
    const size_t place = first + i * kObserverBytes;
    const float lo = std::fmin(float_at(state, place + kMin), float_at(state, place + kMin + 4)),
                hi = std::fmax(float_at(state, place + kMax), float_at(state, place + kMax + 4));
    const int32_t zero = lo < 0.0f ? kBins / 2 : 0;
    int32_t exponent = kMinExponent;
    while (std::ldexp(hi, -exponent) >= static_cast<float>(kBins - zero) ||
           std::ldexp(lo, -exponent) < static_cast<float>(-zero))
      ++exponent;
    one_sided += zero == 0 ? 1 : 0;
    for (const size_t half : {0u, 1u}) {
      const auto bin_of = [&](size_t end) {
        return zero + static_cast<int32_t>(
                          std::floor(std::ldexp(float_at(state, place + end + 4 * half), -exponent)));
      };
      const auto with = [&](int32_t bin) {
        return merged(state, place + kCounts + (half * kBins + static_cast<size_t>(bin)) * 4, 5000);
      };
      const int32_t least = bin_of(kMin), most = bin_of(kMax);
      CHECK(with(least).ok());
      CHECK(with(most).ok());
      for (const int32_t bin : {0, least - 1, most + 1, kBins - 1}) {
        if ((bin >= least && bin <= most) || bin < 0 || bin >= kBins) continue;
        CAPTURE(bin);
        const Error error = with(bin);
        CHECK(error.status == Status::kBadCalibrationState);
        CHECK(error.value == static_cast<int64_t>(place));
      }
    }
  }
  CHECK(one_sided > 0);
}

TEST_CASE("levels that count more values than the bins are refused, and so is a level that no values have") {
  const auto samples = small_cnn_samples(2);
  const std::vector<uint8_t> state = Calibration().state_of(samples);
  const size_t place = kHeaderBytes;
  const size_t levels = place + kObserverBytes - kLevelBytes;
  const auto is_refused = [&](size_t at, uint32_t word) {
    const Error error = merged(state, at, word);
    return error.status == Status::kBadCalibrationState && error.value == static_cast<int64_t>(place);
  };
  const auto highest = static_cast<int32_t>(word_at(state, levels));
  CHECK(merged(state, levels, static_cast<uint32_t>(highest + 1)).ok());
  for (const int32_t level : {kLowestLevel - 1, kHighestLevel + 1, INT32_MIN, INT32_MAX})
    CHECK(is_refused(levels, static_cast<uint32_t>(level)));
  CHECK(merged(state, levels, static_cast<uint32_t>(kLowestLevel)).ok());
  for (const size_t zeros : {4u, 8u}) CHECK(is_refused(levels + zeros, 0xffffffffu));
  for (size_t i = 0; i < 2 * kPowerLevels * kBlocks; i += 7)
    CHECK(is_refused(levels + 12 + 4 * i, 0xffffffffu));
}

TEST_CASE("sums of means and of peaks that so many samples cannot have are refused, and cannot overflow") {
  const auto samples = small_cnn_samples(2);
  const std::vector<uint8_t> state = Calibration().state_of(samples);
  const size_t observers = kHeaderBytes, count = word_at(state, 12), means = word_at(state, 16);
  REQUIRE(means > 0);
  const size_t sums = observers + count * kObserverBytes;
  for (const uint32_t high : {0x7fffffffu, 0x80000000u, 0x00100000u, 0xffe00000u}) {
    CAPTURE(high);
    for (const size_t i : {size_t{0}, means - 1}) {
      const Error error = merged(state, sums + 8 * i + 4, high);
      CHECK(error.status == Status::kBadCalibrationState);
      CHECK(error.value == static_cast<int64_t>(sums + 8 * i));
    }
    for (const size_t peak : {24u, 32u, 44u, 52u}) {  // sum and squares of each sign
      const Error error = merged(state, observers + peak + 4, high);
      CHECK(error.status == Status::kBadCalibrationState);
      CHECK(error.value == static_cast<int64_t>(observers));
    }
  }
  // The largest that two samples can have: 2 * 2^22 in units of 2^-28, and one more in the last word.
  CHECK(merged(state, sums + 4, 0x0007ffffu).ok());
}

}  // namespace intaglio::test::calibration_state_test
