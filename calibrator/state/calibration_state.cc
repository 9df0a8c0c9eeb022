#include "calibrator/state/calibration_state.h"

#include "calibrator/observe/patch_means.h"
#include "runtime/crc32.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// The layout, little-endian, without gaps:
//   "ITGS", u32 version, u32 samples, u32 observers, u32 means; from version 8 on u32 bins of a histogram, before that 2048
//   digests: graph, samples. Up to version 6 u32 bytes of a sample before them, and its digest and itself behind them
//   each observer: u32 samples[2], f32 min[2], f32 max[2], for each sign i64 sum, i64 squares, u32 count of
//     its peaks, f32 probe_min, f32 probe_max, u32 counts[2][bins]; from version 6 on, with bins, i32 highest level, u32 zeros[2],
//     u32 counts[2][kPowerLevels][kBlocks]
//   i64 mean sums; each input: u32 count, u32 off_grid, f32 values[kMostInputValues]; u32 CRC-32 of all before it
constexpr char kIdentifier[4] = {'I', 'T', 'G', 'S'};
constexpr uint32_t kVersion = 8, kWithoutBins = 7, kWithSample = 6, kWithoutLevels = 5;
constexpr size_t kHeaderBytes = 4 + 4 * 4 + 2 * sizeof(Digest);
constexpr size_t kPeakBytes = 2 * 8 + 4;
constexpr size_t kLevelBytes = 4 + sizeof(PowerLevels::zeros) + sizeof(PowerLevels::counts);
constexpr size_t kInputBytes = 2 * 4 + sizeof(InputValues::values);

bool has_levels(uint32_t version, uint32_t bins) { return version != kWithoutLevels && bins > 0; }

size_t observer_bytes(uint32_t version, uint32_t bins) {
  return 8 * 4 + 2 * kPeakBytes + 2 * size_t{bins} * sizeof(uint32_t) +
         (has_levels(version, bins) ? kLevelBytes : 0);
}

class Bytes {
 public:
  explicit Bytes(uint8_t* at) : at_(at) {}
  template <typename T>
  void put(const T* values, size_t count) {
    if (count != 0) memcpy(at_, values, count * sizeof(T));  // a state without means has no values
    at_ += count * sizeof(T);
  }

 private:
  uint8_t* at_;
};

class Reader {
 public:
  explicit Reader(const uint8_t* at) : at_(at) {}
  template <typename T>
  void get(T* values, size_t count) {
    if (count != 0) memcpy(values, at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }

 private:
  const uint8_t* at_;
};

// The log2 of a float, in the units of PeakSums.
constexpr double kLargestLog = 150.0;

bool within(int64_t sum, double octaves) {
  return static_cast<double>(sum) <= octaves * PeakSums::kPerOctave &&
         static_cast<double>(sum) >= -octaves * PeakSums::kPerOctave;
}

// Whether so many samples can have these sums of means.
bool plausible(int64_t sum, uint32_t samples) {
  const double largest = samples * (kLargestMean / kMeanUnit);
  return static_cast<double>(sum) <= largest && static_cast<double>(sum) >= -largest;
}

bool plausible(const TensorObserver& o, uint32_t samples) {
  for (const int half : {0, 1})
    if (!(o.min[half] <= 0.0f && o.min[half] >= -3.4028235e38f && o.max[half] >= 0.0f &&
          o.max[half] <= 3.4028235e38f))
      return false;
  if (!(o.probe_min <= 0.0f && o.probe_min >= -3.4028235e38f && o.probe_max >= 0.0f &&
        o.probe_max <= 3.4028235e38f))
    return false;
  for (const PeakSums& peaks : o.peaks)
    if (peaks.count > samples || !within(peaks.sum, peaks.count * kLargestLog) || peaks.squares < 0 ||
        !within(peaks.squares, peaks.count * kLargestLog * kLargestLog))
      return false;
  if (o.counts != nullptr &&
      (o.counts->levels.highest < kLowestLevel || o.counts->levels.highest > kHighestLevel))
    return false;
  return uint64_t{o.samples[0]} + o.samples[1] == samples;
}

bool plausible(const InputValues& input) {
  if (input.off_grid > 1) return false;
  if (input.count > kMostInputValues) return input.count == kMostInputValues + 1;
  for (uint32_t i = 0; i < input.count; ++i) {
    if (!(input.values[i] >= -3.4028235e38f && input.values[i] <= 3.4028235e38f)) return false;
    if (i > 0 && !(input.values[i - 1] < input.values[i])) return false;
  }
  return true;
}

InputValues read_input(Reader& reader) {
  InputValues input;
  reader.get(&input.count, 1);
  reader.get(&input.off_grid, 1);
  reader.get(input.values, kMostInputValues);
  return input;
}

// Counts of a histogram of as many bins as the observer's, or of more and narrower ones. False: one is out of reach.
bool read_counts(Reader& reader, int32_t bins, int32_t half, TensorObserver& o) {
  const int32_t shift = o.exponent - fitted_exponent(o, bins), zero = o.two_sided != 0 ? bins / 2 : 0;
  for (int32_t i = 0; i < bins; ++i) {
    uint32_t count;
    reader.get(&count, 1);
    if (count == 0) continue;
    const int32_t bin = ((i - zero) >> shift) + o.zero_bin();
    if (bin < 0 || bin >= o.bins()) return false;
    o.counts->halves[half].counts[bin] += count;
  }
  return true;
}

// Bins' width follows from values that are plausible. False: they are not.
bool read_observer(const uint8_t* bytes, const StateFacts& facts, TensorObserver& o) {
  Reader reader(bytes);
  reset(o);
  reader.get(o.samples, 2);
  reader.get(o.min, 2);
  reader.get(o.max, 2);
  for (PeakSums& peaks : o.peaks) {
    reader.get(&peaks.sum, 1);
    reader.get(&peaks.squares, 1);
    reader.get(&peaks.count, 1);
  }
  reader.get(&o.probe_min, 1);
  reader.get(&o.probe_max, 1);
  if (!plausible(o, facts.sample_count)) return false;
  fit_bins(o);
  if (o.counts == nullptr) return true;
  const auto bins = static_cast<int32_t>(facts.bins);
  for (const int32_t half : {0, 1})
    if (!read_counts(reader, bins, half, o)) return false;
  PowerLevels& levels = o.counts->levels;
  if (has_levels(facts.version, facts.bins)) {
    reader.get(&levels.highest, 1);
    reader.get(levels.zeros, 2);
    reader.get(&levels.counts[0], 2);
    if (!plausible(o, facts.sample_count)) return false;
  }
  // Blocks of narrower bins are the same blocks, unless all bins have the least width.
  const bool same_blocks = bins == o.bins() || o.exponent > kMinExponent;
  if (facts.version == kWithoutLevels || !same_blocks) set_one_level(o);
  return counts_agree(o);
}

Error damaged(size_t offset) { return {Status::kBadCalibrationState, -1, -1, static_cast<int64_t>(offset)}; }

}  // namespace

size_t state_bytes(const CalibrationState& state) {
  const auto bins = static_cast<uint32_t>(bins_of(state.observers));
  return kHeaderBytes + sizeof bins + state.observers.size * observer_bytes(kVersion, bins) +
         state.mean_sums.size * sizeof(int64_t) + state.inputs.size * kInputBytes + sizeof(uint32_t);
}

void save_state(const CalibrationState& state, uint32_t probed, Span<uint8_t> bytes) {
  Bytes out(bytes.data);
  const uint32_t header[5] = {kVersion, state.sample_count, static_cast<uint32_t>(state.observers.size),
                              static_cast<uint32_t>(state.mean_sums.size),
                              static_cast<uint32_t>(bins_of(state.observers))};
  out.put(kIdentifier, sizeof kIdentifier);
  out.put(header, 5);
  out.put(&state.graph, 1);
  out.put(&state.samples, 1);
  for (const TensorObserver& o : state.observers) {
    out.put(o.samples, 2);
    out.put(o.min, 2);
    out.put(o.max, 2);
    for (const PeakSums& peaks : o.peaks) {
      out.put(&peaks.sum, 1);
      out.put(&peaks.squares, 1);
      out.put(&peaks.count, 1);
    }
    const bool is_probed = state.sample_count < probed;
    const float probes[2] = {is_probed ? o.probe_min : 0.0f, is_probed ? o.probe_max : 0.0f};
    out.put(probes, 2);
    if (o.counts == nullptr) continue;
    for (const Histogram& half : o.counts->halves) out.put(half.counts, static_cast<size_t>(o.bins()));
    out.put(&o.counts->levels.highest, 1);
    out.put(o.counts->levels.zeros, 2);
    out.put(&o.counts->levels.counts[0], 2);
  }
  out.put(state.mean_sums.data, state.mean_sums.size);
  for (const InputValues& input : state.inputs) {
    out.put(&input.count, 1);
    out.put(&input.off_grid, 1);
    out.put(input.values, kMostInputValues);
  }
  const uint32_t crc = crc32(0, bytes.data, bytes.size - sizeof(uint32_t));
  out.put(&crc, 1);
}

Result<StateFacts> facts_of_state(Span<const uint8_t> bytes) {
  if (bytes.size < kHeaderBytes + sizeof(uint32_t) ||
      memcmp(bytes.data, kIdentifier, sizeof kIdentifier) != 0)
    return damaged(0);
  uint32_t crc;
  memcpy(&crc, bytes.data + bytes.size - sizeof crc, sizeof crc);
  if (crc != crc32(0, bytes.data, bytes.size - sizeof crc)) return damaged(bytes.size - sizeof crc);
  Reader in(bytes.data + sizeof kIdentifier);
  StateFacts facts;
  uint32_t header[4], sample_bytes = 0;
  in.get(header, 4);
  facts.version = header[0];
  facts.sample_count = header[1];
  facts.observers = header[2];
  facts.means = header[3];
  if (facts.version < kWithoutLevels || facts.version > kVersion) return damaged(sizeof kIdentifier);
  const bool has_sample = facts.version <= kWithSample;
  if (has_sample) in.get(&sample_bytes, 1);
  facts.bins = kFineBins;
  const bool has_bins = facts.version > kWithoutBins;
  if (has_bins) in.get(&facts.bins, 1);
  if (facts.bins != 0 && facts.bins != kBins && facts.bins != kFineBins)
    return damaged(sizeof kIdentifier + sizeof header);
  in.get(&facts.graph, 1);
  in.get(&facts.samples, 1);
  const uint64_t lists_at = kHeaderBytes +
                            (has_sample ? sizeof sample_bytes + sizeof(Digest) + uint64_t{sample_bytes} : 0) +
                            (has_bins ? sizeof facts.bins : 0);
  const uint64_t before = lists_at + uint64_t{facts.observers} * observer_bytes(facts.version, facts.bins) +
                          uint64_t{facts.means} * sizeof(int64_t) + sizeof crc;
  if (bytes.size < before || (bytes.size - before) % kInputBytes != 0) return damaged(sizeof kIdentifier);
  facts.inputs = static_cast<uint32_t>((bytes.size - before) / kInputBytes);
  facts.lists_at = static_cast<size_t>(lists_at);
  return facts;
}

void extents_of_state(Span<const uint8_t> bytes, const StateFacts& facts, Span<float> extents) {
  for (size_t i = 0; i < extents.size; ++i) {
    float ends[4];  // min[2], max[2], behind samples[2]
    memcpy(ends,
           bytes.data + facts.lists_at + i * observer_bytes(facts.version, facts.bins) + 2 * sizeof(uint32_t),
           sizeof ends);
    extents[i] = 0.0f;
    for (const float end : ends) {
      const float reach = end < 0.0f ? -end : end;
      extents[i] = reach > extents[i] ? reach : extents[i];
    }
  }
}

Error merge_state(CalibrationState& state, Span<const uint8_t> bytes, TensorObserver& spare) {
  const Result<StateFacts> facts = facts_of_state(bytes);
  if (!facts) return facts.error();
  const uint32_t count = facts->sample_count;
  const size_t own_means = state.mean_sums.size;
  if (!(facts->graph == state.graph)) return {Status::kOtherGraph};
  if (facts->observers != state.observers.size || facts->inputs != state.inputs.size ||
      (facts->means != own_means && facts->means != 0 && own_means != 0))
    return damaged(sizeof kIdentifier);
  if (static_cast<int32_t>(facts->bins) < bins_of(state.observers) || facts->means < own_means)
    return {Status::kStateOfLess};
  if (count > kMaxSamples - state.sample_count)
    return {Status::kTooManyItems, -1, -1, count, kMaxSamples - state.sample_count};
  const uint8_t* const observers = bytes.data + facts->lists_at;
  const size_t each = observer_bytes(facts->version, facts->bins);
  for (size_t i = 0; i < state.observers.size; ++i)
    if (!read_observer(observers + i * each, *facts, spare))
      return damaged(static_cast<size_t>(observers - bytes.data) + i * each);
  const uint8_t* const sums = observers + state.observers.size * each;
  const uint8_t* const inputs = sums + facts->means * sizeof(int64_t);
  Reader sum_reader(sums);
  for (size_t i = 0; i < facts->means; ++i) {
    int64_t sum;
    sum_reader.get(&sum, 1);
    if (!plausible(sum, count)) return damaged(static_cast<size_t>(sums - bytes.data) + i * sizeof sum);
  }
  Reader input_reader(inputs);
  for (size_t i = 0; i < state.inputs.size; ++i)
    if (!plausible(read_input(input_reader)))
      return damaged(static_cast<size_t>(inputs - bytes.data) + i * kInputBytes);

  // Nothing below can be refused.
  for (size_t i = 0; i < state.observers.size; ++i) {
    read_observer(observers + i * each, *facts, spare);
    merge(state.observers[i], spare);
  }
  Reader rest(sums);
  for (int64_t& sum : state.mean_sums) {
    int64_t other;
    rest.get(&other, 1);
    sum = order_free_sum(sum, other);
  }
  rest = Reader(inputs);
  for (InputValues& input : state.inputs) merge(input, read_input(rest));
  add_to_set(state.samples, facts->samples);
  state.sample_count += count;
  return kNoError;
}

void reset_state(CalibrationState& state) {
  state.samples = Digest();
  state.sample_count = 0;
  for (TensorObserver& observer : state.observers) reset(observer);
  for (int64_t& sum : state.mean_sums) sum = 0;
  for (InputValues& input : state.inputs) input = InputValues();
}

void add_state(CalibrationState& state, const CalibrationState& other) {
  for (size_t i = 0; i < state.observers.size; ++i) {
    const TensorObserver& observer = other.observers[i];
    if (observer.samples[0] + observer.samples[1] > 0) merge(state.observers[i], observer);
  }
  for (size_t i = 0; i < state.mean_sums.size; ++i)
    state.mean_sums[i] = order_free_sum(state.mean_sums[i], other.mean_sums[i]);
  for (size_t i = 0; i < state.inputs.size; ++i) merge(state.inputs[i], other.inputs[i]);
  add_to_set(state.samples, other.samples);
  state.sample_count += other.sample_count;
}

}  // namespace intaglio
