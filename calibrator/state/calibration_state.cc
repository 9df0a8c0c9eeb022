#include "calibrator/state/calibration_state.h"

#include <initializer_list>

#include "calibrator/observe/patch_means.h"
#include "calibrator/state/state_code.h"
#include "runtime/crc32.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// The layout, little-endian, without gaps:
//   "ITGS", u32 version, u32 samples, u32 observers, u32 means, u32 bins of a histogram, u32 inputs, u32 halves of counts and means;
//   digests: graph, samples
//   bits up to a whole byte (state_code.h): each observer, mean sums, each input, as the functions code_...() take them
//   u32 CRC-32 of all before it
// Versions 5 to 8 hold values instead, and no number of inputs:
//   "ITGS", u32 version, u32 samples, u32 observers, u32 means; in version 8 u32 bins of a histogram, before that 2048
//   digests: graph, samples. Up to version 6 u32 bytes of a sample before them, and its digest and itself behind them
//   each observer: u32 samples[2], f32 min[2], f32 max[2], for each sign i64 sum, i64 squares, u32 count of
//     its peaks, f32 probe_min, f32 probe_max, u32 counts[2][bins]; from version 6 on, with bins, i32 highest level, u32 zeros[2],
//     u32 counts[2][kPowerLevels][kBlocks]
//   i64 mean sums; each input: u32 count, u32 off_grid, f32 values[kMostInputValues]; u32 CRC-32 of all before it
constexpr char kIdentifier[4] = {'I', 'T', 'G', 'S'};
constexpr uint32_t kVersion = 9, kOfValues = 8, kWithoutBins = 7, kWithSample = 6, kWithoutLevels = 5;
constexpr size_t kHeaderBytes = 4 + 4 * 4 + 2 * sizeof(Digest);  // without what some versions have besides
constexpr size_t kPeakBytes = 2 * 8 + 4;
constexpr size_t kLevelBytes = 4 + sizeof(PowerLevels::zeros) + 2 * kPowerLevels * kBlocks * sizeof(uint32_t);
constexpr size_t kInputBytes = 2 * 4 + sizeof(InputValues::values);

bool has_levels(const StateFacts& facts) { return facts.version != kWithoutLevels && facts.bins > 0; }

// In versions of values.
uint64_t observer_bytes(const StateFacts& facts) {
  return 8 * 4 + 2 * kPeakBytes + 2 * uint64_t{facts.bins} * sizeof(uint32_t) +
         (has_levels(facts) ? kLevelBytes : 0);
}

// In bits: no list has more elements than these bytes can hold.
uint64_t least_bytes(const StateFacts& facts) {
  constexpr uint64_t kNumber = StateWriter::kLengthBits, kNumbers = 14, kOfLevels = 3, kOfInput = 2;
  const uint64_t of_counts =
      facts.bins == 0 ? 0
                      : kOfLevels * kNumber + facts.halves * (uint64_t{facts.bins} + kPowerLevels * kBlocks);
  return (facts.observers * (kNumbers * kNumber + of_counts) + facts.means +
          facts.inputs * kOfInput * kNumber) /
         8;
}

// What is in a state of bits, written by a StateWriter and read by a StateReader.

template <typename Stream>
void code_ends(Stream& stream, TensorObserver& o) {
  for (uint32_t& samples : o.samples) stream.value(samples, 0u);
  for (float* const ends : {o.min, o.max}) {
    stream.value(ends[0], 0.0f);
    stream.value(ends[1], ends[0]);
  }
  for (PeakSums& peaks : o.peaks) {
    stream.value(peaks.sum, int64_t{0});
    stream.value(peaks.squares, int64_t{0});
    stream.value(peaks.count, o.samples[0] + o.samples[1]);
  }
  stream.value(o.probe_min, 0.0f);
  stream.value(o.probe_max, 0.0f);
}

// How many values each block of bins counts.
struct BlockCounts {
  uint32_t of[2][kBlocks] = {};
};

// Mostly all samples are of the highest level. `levels_of(half)`: where its counts are.
template <typename Stream, typename LevelsOf>
void code_levels(Stream& stream, const BlockCounts& values, int32_t halves, PowerLevels& levels,
                 LevelsOf&& levels_of) {
  stream.value(levels.highest, 0);
  for (uint32_t& zeros : levels.zeros) stream.value(zeros, 0u);
  RunningCode code;
  for (int32_t half = 0; half < halves; ++half)
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint32_t rest = values.of[half][block];
      for (int32_t level = 0; level < kPowerLevels; ++level) {
        uint32_t& count = levels_of(half)[level][block];
        stream.next(code, count, rest);
        rest -= count;
      }
    }
}

// Sums of means stand in pairs, of both halves, or alone. So many places have their low bits in common that are zeros.
constexpr size_t kMeanBlock = 64;
constexpr uint32_t kShiftBits = 6;

class MeanCodes {
 public:
  template <typename Stream>
  void code(Stream& stream, size_t halves, int64_t (&sums)[2]) {
    stream.next(first_, sums[0], int64_t{0});
    if (halves == 2) stream.next(second_[sums[0] == 0 ? 1 : 0], sums[1], sums[0]);
  }

 private:
  RunningCode first_, second_[2];
};

template <typename Stream>
void code_input(Stream& stream, InputValues& input) {
  stream.value(input.count, 0u);
  stream.value(input.off_grid, 0u);
  if (input.count > kMostInputValues) return;
  RunningCode code;
  float last = 0.0f;
  for (uint32_t i = 0; i < input.count; last = input.values[i++]) stream.next(code, input.values[i], last);
}

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

bool plausible(const PowerLevels& levels) {
  return levels.highest >= kLowestLevel && levels.highest <= kHighestLevel;
}

// Counts of a histogram of as many bins as the observer's, or of more and narrower ones.
class CountsInto {
 public:
  CountsInto(TensorObserver& o, int32_t bins)
      : o_(o),
        block_bins_(bins / kBlocks),
        shift_(o.exponent - fitted_exponent(o, bins)),
        zero_(o.two_sided != 0 ? bins / 2 : 0) {}

  // False: the bin is out of reach.
  bool add(int32_t half, int32_t i, uint32_t count) {
    if (count == 0) return true;
    blocks.of[half][i / block_bins_] += count;
    if (o_.counts == nullptr) return true;
    const int32_t bin = ((i - zero_) >> shift_) + o_.zero_bin();
    if (bin < 0 || bin >= o_.bins()) return false;
    o_.counts->halves[half].counts[bin] += count;
    return true;
  }

  BlockCounts blocks;

 private:
  TensorObserver& o_;
  int32_t block_bins_, shift_, zero_;
};

// The lists of a state, in their order. Each call gives false where no samples have such values, and place() is then where these begin.
class ListReader {
 public:
  ListReader(const StateSource& source, const StateFacts& facts)
      : facts_(facts),
        is_coded_(facts.version > kOfValues),
        bins_(static_cast<int32_t>(facts.bins)),
        halves_(static_cast<int32_t>(facts.halves)),
        in_(source, facts.lists_at, source.size - sizeof(uint32_t)) {}

  size_t place() const { return place_; }

  // Bins' width follows from values that are plausible.
  bool read(TensorObserver& o) {
    place_ = in_.place();
    reset(o);
    read_ends(o);
    if (!in_.is_good() || !plausible(o, facts_.sample_count)) return false;
    fit_bins(o);
    if (bins_ == 0) return true;
    CountsInto counts(o, bins_);
    if (!read_counts(counts)) return false;
    uint32_t unused[kPowerLevels][kBlocks];
    const auto levels_of = [&](int32_t half) {
      return o.counts == nullptr ? unused : o.counts->halves[half].levels;
    };
    PowerLevels none, &levels = o.counts == nullptr ? none : o.counts->levels;
    if (is_coded_)
      code_levels(in_, counts.blocks, halves_, levels, levels_of);
    else if (has_levels(facts_))
      get_levels(levels, levels_of);
    if (!in_.is_good() || !plausible(levels)) return false;
    // Blocks of narrower bins are the same blocks, unless all bins have the least width.
    const bool same_blocks = bins_ == o.bins() || o.exponent > kMinExponent;
    if (!has_levels(facts_) || !same_blocks) set_one_level(o);
    return counts_agree(o);
  }

  // Calls add(i, sum) for each sum of means, in whatever order.
  template <typename Add>
  bool read_means(Add&& add) {
    MeanCodes codes;
    const size_t each = is_coded_ ? facts_.halves : 1, places = facts_.means / each;
    uint32_t shift = 0;
    for (size_t i = 0; i < places; ++i) {
      place_ = in_.place();
      int64_t sums[2];
      if (is_coded_) {
        if (i % kMeanBlock == 0) shift = in_.bits(kShiftBits);
        codes.code(in_, each, sums);
      } else {
        in_.get(sums, 1);
      }
      for (size_t side = 0; side < each; ++side) {
        const auto sum = static_cast<int64_t>(static_cast<uint64_t>(sums[side]) << shift);
        if (!in_.is_good() || !plausible(sum, facts_.sample_count)) return false;
        add(i + side * places, sum);
      }
    }
    return true;
  }

  bool read(InputValues& input) {
    place_ = in_.place();
    input = InputValues();
    if (is_coded_) {
      code_input(in_, input);
    } else {
      in_.get(&input.count, 1);
      in_.get(&input.off_grid, 1);
      in_.get(input.values, kMostInputValues);
    }
    return in_.is_good() && plausible(input);
  }

  // No bytes are left over.
  bool end() {
    place_ = in_.place();
    return in_.is_at_end();
  }

 private:
  void read_ends(TensorObserver& o) {
    if (is_coded_) return code_ends(in_, o);
    in_.get(o.samples, 2);
    in_.get(o.min, 2);
    in_.get(o.max, 2);
    for (PeakSums& peaks : o.peaks) {
      in_.get(&peaks.sum, 1);
      in_.get(&peaks.squares, 1);
      in_.get(&peaks.count, 1);
    }
    in_.get(&o.probe_min, 1);
    in_.get(&o.probe_max, 1);
  }
  bool read_counts(CountsInto& counts) {
    RunningCode code;
    uint32_t count = 0;
    for (int32_t i = 0; i < halves_ * bins_; ++i) {
      if (is_coded_)
        in_.next(code, count, 0u);
      else
        in_.get(&count, 1);
      if (!(is_coded_ ? counts.add(i % halves_, i / halves_, count)
                      : counts.add(i / bins_, i % bins_, count)))
        return false;
    }
    return true;
  }
  template <typename LevelsOf>
  void get_levels(PowerLevels& levels, LevelsOf&& levels_of) {
    in_.get(&levels.highest, 1);
    in_.get(levels.zeros, 2);
    for (const int32_t half : {0, 1}) in_.get(&levels_of(half)[0][0], kPowerLevels * kBlocks);
  }

  const StateFacts& facts_;
  const bool is_coded_;
  const int32_t bins_, halves_;
  StateReader in_;
  size_t place_ = 0;
};

Error damaged(size_t offset) { return {Status::kBadCalibrationState, -1, -1, static_cast<int64_t>(offset)}; }

void write(const TensorObserver& o, bool is_probed, StateWriter& out) {
  TensorObserver ends;  // without room for counts
  ends = o;
  if (!is_probed) ends.probe_min = ends.probe_max = 0.0f;
  code_ends(out, ends);
  if (o.counts == nullptr) return;
  BlockCounts blocks;
  RunningCode code;
  for (int32_t i = 0; i < o.halves() * o.bins(); ++i) {
    const int32_t half = i % o.halves(), bin = i / o.halves();
    const uint32_t count = o.counts->halves[half].counts[bin];
    out.next(code, count, 0u);
    blocks.of[half][bin / (o.bins() / kBlocks)] += count;
  }
  code_levels(out, blocks, o.halves(), o.counts->levels,
              [&o](int32_t half) { return o.counts->halves[half].levels; });
}

// The low bits that are zeros in all sums of so many places.
uint32_t common_zeros(Span<const int64_t> sums, size_t halves, size_t first, size_t count) {
  uint64_t any = 0;
  for (size_t at = first; at < sums.size; at += sums.size / halves)
    for (size_t i = 0; i < count; ++i) any |= static_cast<uint64_t>(sums[at + i]);
  uint32_t zeros = 0;
  while (any != 0 && (any >> zeros & 1) == 0) ++zeros;
  return zeros;
}

void write(Span<const int64_t> sums, size_t halves, StateWriter& out) {
  MeanCodes codes;
  const size_t places = sums.size / halves;
  uint32_t shift = 0;
  for (size_t i = 0; i < places; ++i) {
    const size_t left = places - i;
    if (i % kMeanBlock == 0) {
      shift = common_zeros(sums, halves, i, left < kMeanBlock ? left : kMeanBlock);
      out.bits(shift, kShiftBits);
    }
    int64_t at_place[2] = {sums[i] >> shift, halves == 2 ? sums[places + i] >> shift : 0};
    codes.code(out, halves, at_place);
  }
}

Span<const uint8_t>& bytes_of(void* context) { return *static_cast<Span<const uint8_t>*>(context); }

// Bytes that stand in memory.
StateSource source_of(Span<const uint8_t>& bytes) {
  return {[](void* context, size_t at, Span<uint8_t> piece) {
            memcpy(piece.data, bytes_of(context).data + at, piece.size);
            return true;
          },
          &bytes, bytes.size};
}

bool has_right_crc(const StateSource& source) {
  uint8_t piece[64];
  uint32_t crc = 0, given;
  const size_t end = source.size - sizeof given;
  for (size_t at = 0; at < end; at += sizeof piece) {
    const size_t left = end - at, size = left < sizeof piece ? left : sizeof piece;
    if (!source.read(source.context, at, {piece, size})) return false;
    crc = crc32(crc, piece, size);
  }
  if (!source.read(source.context, end, {piece, sizeof given})) return false;
  memcpy(&given, piece, sizeof given);
  return crc == given;
}

// All lists of a state with these facts, into `state` where it `adds` them. `extents`: see merge_state().
Error read_lists(CalibrationState& state, const StateSource& source, const StateFacts& facts, bool adds,
                 TensorObserver& spare, Span<float> extents) {
  ListReader lists(source, facts);
  for (size_t i = 0; i < state.observers.size; ++i) {
    if (!lists.read(spare)) return damaged(lists.place());
    if (adds) merge(state.observers[i], spare);
    if (extents.empty()) continue;
    extents[i] = 0.0f;
    for (const float end : {-spare.min[0], -spare.min[1], spare.max[0], spare.max[1]})
      extents[i] = end > extents[i] ? end : extents[i];
  }
  const bool adds_means = adds && !state.mean_sums.empty();
  const bool has_means = lists.read_means([&](size_t i, int64_t sum) {
    if (!adds_means) return;
    int64_t& into = state.mean_sums[i % state.mean_sums.size];  // both halves where one is kept
    into = order_free_sum(into, sum);
  });
  if (!has_means) return damaged(lists.place());
  for (InputValues& input : state.inputs) {
    InputValues more;
    if (!lists.read(more)) return damaged(lists.place());
    if (adds) merge(input, more);
  }
  return lists.end() ? kNoError : damaged(lists.place());
}

}  // namespace

bool write_state(const CalibrationState& state, uint32_t probed, const StateSink& sink, size_t* bytes) {
  StateWriter out(sink);
  const uint32_t header[] = {kVersion,
                             state.sample_count,
                             static_cast<uint32_t>(state.observers.size),
                             static_cast<uint32_t>(state.mean_sums.size),
                             static_cast<uint32_t>(bins_of(state.observers)),
                             static_cast<uint32_t>(state.inputs.size),
                             state.halves};
  out.bytes(kIdentifier, sizeof kIdentifier);
  out.bytes(header, sizeof header);
  out.bytes(&state.graph, sizeof state.graph);
  out.bytes(&state.samples, sizeof state.samples);
  for (const TensorObserver& o : state.observers) write(o, state.sample_count < probed, out);
  write(state.mean_sums, state.halves, out);
  for (InputValues& input : state.inputs) code_input(out, input);
  const bool is_taken = out.finish();
  *bytes = out.written();
  return is_taken;
}

size_t state_bytes(const CalibrationState& state, uint32_t probed) { return save_state(state, probed, {}); }

size_t save_state(const CalibrationState& state, uint32_t probed, Span<uint8_t> bytes) {
  const StateSink sink{[](void* context, Span<const uint8_t> piece) {
                         auto& rest = *static_cast<Span<uint8_t>*>(context);
                         const size_t size = piece.size < rest.size ? piece.size : rest.size;
                         if (size > 0) memcpy(rest.data, piece.data, size);
                         rest = {rest.data + size, rest.size - size};
                         return true;
                       },
                       &bytes};
  size_t needed = 0;
  write_state(state, probed, sink, &needed);
  return needed;
}

Result<StateFacts> facts_of_state(const StateSource& source) {
  if (source.size < kHeaderBytes + sizeof(uint32_t)) return damaged(0);
  StateReader in(source, 0, source.size);
  char identifier[4];
  in.get(identifier, sizeof identifier);
  if (!in.is_good() || memcmp(identifier, kIdentifier, sizeof kIdentifier) != 0) return damaged(0);
  if (!has_right_crc(source)) return damaged(source.size - sizeof(uint32_t));
  StateFacts facts;
  uint32_t header[4], sample_bytes = 0;
  in.get(header, 4);
  facts.version = header[0];
  facts.sample_count = header[1];
  facts.observers = header[2];
  facts.means = header[3];
  if (facts.version < kWithoutLevels || facts.version > kVersion) return damaged(sizeof kIdentifier);
  const bool is_coded = facts.version > kOfValues;
  if (facts.version <= kWithSample) in.get(&sample_bytes, 1);
  facts.bins = kFineBins;
  if (facts.version > kWithoutBins) in.get(&facts.bins, 1);
  if (facts.bins != 0 && facts.bins != kBins && facts.bins != kFineBins)
    return damaged(sizeof kIdentifier + sizeof header);
  if (is_coded) {
    in.get(&facts.inputs, 1);
    in.get(&facts.halves, 1);
    if (facts.halves != 1 && facts.halves != 2) return damaged(in.place() - sizeof facts.halves);
  }
  in.get(&facts.graph, 1);
  in.get(&facts.samples, 1);
  uint64_t lists_at = in.place();
  if (facts.version <= kWithSample) lists_at += sizeof(Digest) + uint64_t{sample_bytes};
  const uint64_t means = uint64_t{facts.means} * sizeof(int64_t);
  const uint64_t before = lists_at + sizeof(uint32_t) +
                          (is_coded ? least_bytes(facts) : facts.observers * observer_bytes(facts) + means);
  if (!in.is_good() || source.size < before) return damaged(sizeof kIdentifier);
  if (is_coded ? facts.means % facts.halves != 0 : (source.size - before) % kInputBytes != 0)
    return damaged(sizeof kIdentifier);
  if (!is_coded) facts.inputs = static_cast<uint32_t>((source.size - before) / kInputBytes);
  facts.lists_at = static_cast<size_t>(lists_at);
  return facts;
}

Result<StateFacts> facts_of_state(Span<const uint8_t> bytes) { return facts_of_state(source_of(bytes)); }

Error merge_state(CalibrationState& state, const StateSource& source, TensorObserver& spare, bool* is_spoiled,
                  Span<float> extents) {
  const Result<StateFacts> facts = facts_of_state(source);
  if (!facts) return facts.error();
  const uint32_t count = facts->sample_count;
  // Of one half.
  const size_t own_means = state.mean_sums.size / state.halves, means = facts->means / facts->halves;
  if (!(facts->graph == state.graph)) return {Status::kOtherGraph};
  if (facts->observers != state.observers.size || facts->inputs != state.inputs.size ||
      (means != own_means && means != 0 && own_means != 0))
    return damaged(sizeof kIdentifier);
  if (static_cast<int32_t>(facts->bins) < bins_of(state.observers) || means < own_means ||
      facts->halves < state.halves)
    return {Status::kStateOfLess};
  if (count > kMaxSamples - state.sample_count)
    return {Status::kTooManyItems, -1, -1, count, kMaxSamples - state.sample_count};
  ITG_TRY(read_lists(state, source, *facts, false, spare, extents));
  // Cannot be refused, where the source gives the same bytes again.
  const Error error = read_lists(state, source, *facts, true, spare, {});
  if (!error.ok()) {
    if (is_spoiled != nullptr) *is_spoiled = true;
    return error;
  }
  add_to_set(state.samples, facts->samples);
  state.sample_count += count;
  return kNoError;
}

Error merge_state(CalibrationState& state, Span<const uint8_t> bytes, TensorObserver& spare,
                  Span<float> extents) {
  return merge_state(state, source_of(bytes), spare, nullptr, extents);
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
