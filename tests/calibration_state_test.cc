// Calibration states under a right checksum that no calibrator has saved: refused, at the tensor's place. States in pieces.
#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/observe/digest.h"
#include "calibrator/observe/observer.h"
#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/open_state.h"
#include "tests/support/small_models.h"

namespace intaglio::test::calibration_state_test {
namespace {

// As version 8 lays them out.
constexpr size_t kHeaderBytes = 24 + 2 * sizeof(Digest);
constexpr size_t kLevelBytes = 4 + 2 * 4 + 2 * kPowerLevels * kBlocks * 4;
constexpr size_t kObserverBytes = 72 + 2 * kBins * sizeof(uint32_t) + kLevelBytes, kMin = 8, kMax = 16,
                 kCounts = 72;

struct Calibration {
  explicit Calibration(const CalibratorOptions& with = {}) : options(with) {}

  CalibratorOptions options;
  AlignedBytes bytes = small_cnn();
  Model model = *Model::open(bytes.view());
  AlignedBytes memory{Calibrator::measure(model, options)->total()};
  Calibrator calibrator = *Calibrator::create(model, memory.span(), options);

  std::vector<uint8_t> values_of(const Samples& samples) {
    return OpenState(state_of(samples)).save_as_values();
  }

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

Error merged(const std::vector<uint8_t>& state) {
  Calibration fresh;
  return fresh.calibrator.merge({state.data(), state.size()});
}

Error merged(std::vector<uint8_t> state, size_t at, uint32_t word) {
  memcpy(state.data() + at, &word, sizeof word);
  return merged(with_right_crc(std::move(state)));
}

// The bytes of a state, as a source gives them.
struct Flash {
  std::vector<uint8_t> bytes;
  size_t reads_left = SIZE_MAX, changes_after = SIZE_MAX;
  std::vector<size_t> places;

  StateSource source() {
    return {[](void* context, size_t at, Span<uint8_t> piece) {
              auto& flash = *static_cast<Flash*>(context);
              CHECK(piece.size <= 64);
              CHECK(at + piece.size <= flash.bytes.size());
              if (flash.places.size() == flash.reads_left) return false;
              memcpy(piece.data, flash.bytes.data() + at, piece.size);
              if (flash.places.size() >= flash.changes_after)
                for (uint8_t& byte : piece) byte = 0xff;
              flash.places.push_back(at);
              return true;
            },
            this, bytes.size()};
  }
};

}  // namespace

TEST_CASE("counts past a tensor's ends are refused, the last bin with values is not") {
  const auto samples = small_cnn_samples(6);
  const std::vector<uint8_t> state = Calibration().values_of(samples);
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
  const std::vector<uint8_t> state = Calibration().values_of(samples);
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
  const std::vector<uint8_t> state = Calibration().values_of(samples);
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

TEST_CASE("a state of values and one of bits are the same state, to the bit of what is written next") {
  const std::vector<uint8_t> state = Calibration().state_of(small_cnn_samples(5));
  OpenState open(state);
  CHECK(open.save() == state);
  const std::vector<uint8_t> values = open.save_as_values();
  CHECK(3 * state.size() < values.size());
  CHECK(OpenState(values).save() == state);
  // The ends of what numbers can be.
  open.lists.mean_sums[0] = int64_t{1} << 50;
  open.lists.mean_sums[open.lists.mean_sums.size / 2] = -(int64_t{1} << 50);
  open.lists.mean_sums[open.lists.mean_sums.size - 1] = 1;
  for (TensorObserver& o : open.lists.observers) {
    o.counts->halves[0].counts[o.zero_bin()] = UINT32_MAX;
    memset(o.counts->halves[0].levels, 0, kPowerLevels * kBlocks * sizeof(uint32_t));
    o.counts->levels.zeros[0] = UINT32_MAX - 1;
    o.peaks[1].sum = -20;
  }
  CHECK(OpenState(open.save()).save_as_values() == open.save_as_values());
  CHECK(OpenState(open.save_as_values()).save() == open.save());
}

TEST_CASE("a state that ends too early or too late is refused, wherever it is cut") {
  const std::vector<uint8_t> state = Calibration().state_of(small_cnn_samples(3));
  for (size_t size = 0; size < state.size(); size += size < 200 ? 1 : 37) {
    CAPTURE(size);
    std::vector<uint8_t> cut(state.begin(), state.begin() + static_cast<ptrdiff_t>(size));
    const Error error = merged(size < 4 ? cut : with_right_crc(cut));
    CHECK(error.status == Status::kBadCalibrationState);
    CHECK(error.value < static_cast<int64_t>(state.size()));
  }
  for (const uint8_t more : {uint8_t{0}, uint8_t{1}}) {
    std::vector<uint8_t> longer = state;
    longer.insert(longer.end() - 4, more);
    const Error error = merged(with_right_crc(longer));
    CHECK(error.status == Status::kBadCalibrationState);
    CHECK(error.value == static_cast<int64_t>(state.size() - 4));
  }
}

TEST_CASE("lists that so few bytes cannot hold are refused before there is memory for them") {
  const std::vector<uint8_t> state = Calibration().state_of(small_cnn_samples(3));
  for (const size_t at : {12u, 16u, 24u})  // observers, means, inputs
    for (const uint32_t many : {0x7ffffffeu, 0x00100000u}) {
      std::vector<uint8_t> changed = state;
      memcpy(changed.data() + at, &many, sizeof many);
      changed = with_right_crc(changed);
      CHECK(facts_of_state({changed.data(), changed.size()}).error().value == 4);
    }
  CHECK(merged(state, 16, word_at(state, 16) + 1).value == 4);  // an odd number of means
}

TEST_CASE(
    "a state goes to a sink and comes from a source in pieces: the same bytes, and nothing is taken twice") {
  const auto samples = small_cnn_samples(4);
  Calibration one;
  Flash flash;
  flash.bytes = one.state_of(samples);
  std::vector<uint8_t> written;
  const StateSink sink{[](void* context, Span<const uint8_t> piece) {
                         auto& bytes = *static_cast<std::vector<uint8_t>*>(context);
                         CHECK(piece.size <= 64);
                         bytes.insert(bytes.end(), piece.begin(), piece.end());
                         return bytes.size() < 1000000;
                       },
                       &written};
  CHECK(one.calibrator.save_to(sink).ok());
  CHECK(written == flash.bytes);
  const StateSink full{[](void*, Span<const uint8_t>) { return false; }, nullptr};
  CHECK(one.calibrator.save_to(full).status == Status::kSinkFailed);

  Calibration whole, parts;
  CHECK(whole.calibrator.merge({flash.bytes.data(), flash.bytes.size()}).ok());
  CHECK(parts.calibrator.merge_from(flash.source()).ok());
  CHECK(parts.state_of({}) == whole.state_of({}));
  // Wherever a read fails before anything was added, what was there stays.
  const size_t reads = flash.places.size();
  size_t kept = 0;
  for (size_t left = 0; left < reads; left += 1 + reads / 20) {
    Flash torn;
    torn.bytes = flash.bytes;
    torn.reads_left = left;
    Calibration fresh;
    const std::vector<uint8_t> before = fresh.state_of(small_cnn_samples(1));
    CHECK(fresh.calibrator.merge_from(torn.source()).status == Status::kBadCalibrationState);
    const size_t bytes = fresh.calibrator.state_bytes();
    std::vector<uint8_t> after(bytes);
    if (!fresh.calibrator.save({after.data(), after.size()}).ok()) continue;
    CHECK(after == before);
    ++kept;
  }
  CHECK(kept > 10);
  // Other bytes the second time: refused from then on, until a state is loaded.
  Flash liar;
  liar.bytes = flash.bytes;
  liar.changes_after = reads - 3;
  Calibration fooled;
  CHECK(fooled.calibrator.merge_from(liar.source()).status == Status::kBadCalibrationState);
  CHECK(fooled.calibrator.finish({}).status == Status::kBadCalibrationState);
  CHECK(fooled.calibrator.merge({flash.bytes.data(), flash.bytes.size()}).status ==
        Status::kBadCalibrationState);
  CHECK(fooled.calibrator.load({flash.bytes.data(), flash.bytes.size()}).ok());
  CHECK(fooled.state_of({}) == whole.state_of({}));
}

TEST_CASE("without halves: half the counts and means, the same sums, and no way back") {
  const auto samples = small_cnn_samples(6);
  const std::vector<uint8_t> halves = Calibration().state_of(samples);
  const CalibratorOptions device = CalibratorOptions::device();
  Calibration board(device), host(device);
  const std::vector<uint8_t> state = board.state_of(samples);
  CHECK(facts_of_state({state.data(), state.size()})->halves == 1);
  CHECK(2 * facts_of_state({state.data(), state.size()})->means ==
        facts_of_state({halves.data(), halves.size()})->means);
  CHECK(state.size() < halves.size());
  // Both halves go into one, and the bytes are those of samples that were never told apart.
  CHECK(host.calibrator.load({halves.data(), halves.size()}).ok());
  CHECK(host.state_of({}) == state);
  CHECK(Calibration().calibrator.merge({state.data(), state.size()}).status == Status::kStateOfLess);
  // In parts, in whatever order.
  const Samples first(samples.begin(), samples.begin() + 2), rest(samples.begin() + 2, samples.end());
  Calibration sum(device);
  for (const auto& part : {Calibration(device).state_of(rest), Calibration().state_of(first)})
    CHECK(sum.calibrator.merge({part.data(), part.size()}).ok());
  CHECK(sum.state_of({}) == state);

  OpenState one(state), two(halves);
  CHECK(one.save() == state);
  for (size_t i = 0; i < one.lists.observers.size; ++i)
    for (int32_t bin = 0; bin < kBins; ++bin)
      CHECK(one.lists.observers[i].values_in(bin) == two.lists.observers[i].values_in(bin));
  CalibratorOptions judged = device;
  judged.one_pass = false;
  CHECK(Calibrator::measure(board.model, judged).error().status == Status::kBadOption);
  for (const uint32_t number : {0u, 3u}) CHECK(merged(state, 28, number).value == 28);
}

}  // namespace intaglio::test::calibration_state_test
