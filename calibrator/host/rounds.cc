#include "calibrator/host/rounds.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "calibrator/calibration.h"
#include "calibrator/host/place_limits.h"
#include "calibrator/host/state_room.h"
#include "calibrator/ranges/auto_rules.h"
#include "runtime/crc32.h"

namespace intaglio {
namespace {

// The layout, little-endian, without gaps:
//   "ITGQ", u32 version, u32 recoveries, u32 samples, u32 bytes of the state, u32 questions
//   digests: the question that is answered (zeros in a question), the samples that answer
//   the state; each question, by ascending digests: digest, u32 kind, u32 bytes (0: asked), these; u32 CRC-32 of all before it
// Bytes of SumKind::kState: for each observer, and then for the sums of means, u32 bytes of a state, and that.
constexpr char kIdentifier[4] = {'I', 'T', 'G', 'Q'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 4 + 5 * sizeof(uint32_t) + 2 * sizeof(Digest);

Error damaged(size_t offset) { return {Status::kBadCalibrationState, -1, -1, static_cast<int64_t>(offset)}; }

template <typename T>
void put(std::vector<uint8_t>& bytes, const T* values, size_t count) {
  const auto* const first = reinterpret_cast<const uint8_t*>(values);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

// Bytes that end where they end.
class Reader {
 public:
  explicit Reader(Span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t at() const { return at_; }
  size_t left() const { return bytes_.size - at_; }
  template <typename T>
  bool get(T* value) {
    if (left() < sizeof(T)) return false;
    memcpy(value, bytes_.data + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  bool take(size_t count, Span<const uint8_t>* part) {
    if (left() < count) return false;
    *part = {bytes_.data + at_, count};
    at_ += count;
    return true;
  }
  // A state, behind its size.
  bool take_state(Span<const uint8_t>* state) {
    uint32_t size = 0;
    return get(&size) && take(size, state);
  }

 private:
  Span<const uint8_t> bytes_;
  size_t at_ = 0;
};

Span<const uint8_t> span_of(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

void put_state(std::vector<uint8_t>& bytes, const CalibrationState& state) {
  const auto size = static_cast<uint32_t>(state_bytes(state, kAutoRules.probes.samples));
  put(bytes, &size, 1);
  bytes.resize(bytes.size() + size);
  save_state(state, kAutoRules.probes.samples, {bytes.data() + bytes.size() - size, size});
}

// Calls visit(state) for each that a sum of kState has, in their order, until that is false.
template <typename Visit>
bool for_each_state(const Sums& sums, Visit&& visit) {
  CalibrationState& all = *sums.state;
  const auto samples_of = [](const TensorObserver& o) { return o.samples[0] + o.samples[1]; };
  uint32_t samples = 0;
  for (size_t o = 0; o < all.observers.size; ++o) {
    if (std::find(sums.observers.begin(), sums.observers.end(), static_cast<int32_t>(o)) ==
        sums.observers.end())
      continue;
    CalibrationState one;
    one.observers = {&all.observers[o], 1};
    one.sample_count = samples = samples_of(all.observers[o]);
    if (!visit(one)) return false;
  }
  if (all.mean_sums.empty()) return true;
  CalibrationState means;
  means.mean_sums = all.mean_sums;
  means.sample_count = samples;
  return visit(means);
}

using Bytes = std::vector<uint8_t>;

// Both lists of states, one by one.
bool add_states(Bytes& sums, const Bytes& others) {
  Reader first(span_of(sums)), second(span_of(others));
  Bytes added;
  while (first.left() > 0) {
    Span<const uint8_t> a, b;
    if (!first.take_state(&a) || !second.take_state(&b)) return false;
    const Result<StateFacts> facts = facts_of_state(a);
    if (!facts) return false;
    StateRoom room(*facts);
    if (!room.merge(a).ok() || !room.merge(b).ok()) return false;
    room.state.samples = Digest();
    put_state(added, room.state);
  }
  sums = std::move(added);
  return second.left() == 0;
}

template <typename T, typename Add>
bool add_values(Bytes& sums, const Bytes& others, Add&& add) {
  if (sums.size() != others.size()) return false;
  for (size_t at = 0; at < sums.size(); at += sizeof(T)) {
    T a, b;
    memcpy(&a, sums.data() + at, sizeof a);
    memcpy(&b, others.data() + at, sizeof b);
    add(a, b);
    memcpy(sums.data() + at, &a, sizeof a);
  }
  return true;
}

// The members of both, in their order; more than there is room for is refused.
bool add_digests(Bytes& list, const Bytes& others) {
  std::vector<Digest> members;
  for (const Bytes* const from : {&std::as_const(list), &others})
    for (size_t at = 0; at < from->size(); at += sizeof(Digest)) {
      Digest member;
      memcpy(&member, from->data() + at, sizeof member);
      if (!(member == Digest())) members.push_back(member);
    }
  std::sort(members.begin(), members.end());
  if (members.size() > kMostRanked) return false;
  members.resize(kMostRanked);
  list.clear();
  put(list, members.data(), members.size());
  return true;
}

bool add_sums(SumKind kind, Bytes& sums, const Bytes& others) {
  switch (kind) {
    case SumKind::kOrderFree:
      return add_values<OrderFreeSum>(sums, others, [](OrderFreeSum& a, const OrderFreeSum& b) { a.add(b); });
    case SumKind::kIntegers:
      return add_values<int64_t>(sums, others, [](int64_t& a, int64_t b) { a = order_free_sum(a, b); });
    case SumKind::kPeaks:
      return add_values<float>(sums, others, [](float& a, float b) { a = std::max(a, b); });
    case SumKind::kDigests:
      return add_digests(sums, others);
    case SumKind::kState:
      return add_states(sums, others);
  }
  return false;
}

// Sums over places, each of which is drawn in to the others (place_limits.h). Nothing where they do not fit each other.

std::vector<Bytes> limited_states(std::vector<Bytes> places, double share) {
  std::vector<Reader> from;
  for (const Bytes& place : places) from.emplace_back(span_of(place));
  Bytes added;
  while (from[0].left() > 0) {
    std::vector<std::unique_ptr<StateRoom>> rooms;
    StateFacts like;
    for (Reader& reader : from) {
      Span<const uint8_t> bytes;
      if (!reader.take_state(&bytes)) return {};
      const Result<StateFacts> facts = facts_of_state(bytes);
      if (!facts) return {};
      if (rooms.empty()) like = *facts;
      rooms.push_back(std::make_unique<StateRoom>(like));
      if (!rooms.back()->merge(bytes).ok()) return {};
    }
    PlaceLimits limits(share, rooms[0]->state);
    StateRoom sum(like);
    for (const auto& room : rooms) limits.see_ends(room->state);
    limits.begin(sum.state);
    for (size_t i = 0; i < rooms.size(); ++i) limits.see(i, rooms[i]->state);
    for (size_t i = 0; i < rooms.size(); ++i) {
      limits.limit(i, rooms[i]->state);
      rooms[i]->state.samples = Digest();
      add_state(sum.state, rooms[i]->state);
    }
    put_state(added, sum.state);
  }
  for (const Reader& reader : from)
    if (reader.left() > 0) return {};
  return {added};
}

// Calls limit(values of all places) for each value from the `first` on.
template <typename T, typename Limit>
bool limit_each(std::vector<Bytes>& places, size_t first, Limit&& limit) {
  for (const Bytes& place : places)
    if (place.size() != places[0].size()) return false;
  std::vector<T> values(places.size());
  for (size_t at = first * sizeof(T); at < places[0].size(); at += sizeof(T)) {
    for (size_t i = 0; i < values.size(); ++i) memcpy(&values[i], places[i].data() + at, sizeof(T));
    limit(values);
    for (size_t i = 0; i < values.size(); ++i) memcpy(places[i].data() + at, &values[i], sizeof(T));
  }
  return true;
}

// Errors are of so many samples each.
bool limit_errors(std::vector<Bytes>& places, const std::vector<uint32_t>& samples, double factor) {
  return limit_each<OrderFreeSum>(places, 0, [&](std::vector<OrderFreeSum>& sums) {
    Farthest all;
    const auto mean_of_place = [&](size_t i) { return sums[i].value() / samples[i]; };
    std::vector<double> means;
    for (size_t i = 0; i < sums.size(); ++i) all.add(means.emplace_back(mean_of_place(i)));
    for (size_t i = 0; i < sums.size(); ++i) {
      const double most = all.limited(means[i], factor);
      if (most == means[i]) continue;
      sums[i] = OrderFreeSum();
      sums[i].add(most * samples[i]);
    }
  });
}

bool limit_integers(std::vector<Bytes>& places, double share) {
  constexpr size_t kMembers = 2;  // how many samples of either half the sums are of
  std::vector<int64_t> samples;
  for (const Bytes& place : places) {
    int64_t members[kMembers];
    memcpy(members, place.data(), sizeof members);
    samples.push_back(members[0] + members[1]);
  }
  return limit_each<int64_t>(places, kMembers, [&](std::vector<int64_t>& sums) {
    Between all;
    const auto mean = [&](size_t i) {
      return static_cast<double>(sums[i]) / static_cast<double>(samples[i]);
    };
    for (size_t i = 0; i < sums.size(); ++i)
      if (samples[i] > 0) all.add(mean(i), mean(i));
    std::vector<int64_t> limited(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      limited[i] = samples[i] > 0 ? sums[i] : 0;
      if (samples[i] == 0 || !all.is_known(mean(i), mean(i))) continue;
      const double near = all.limited(mean(i), mean(i), mean(i), share);
      if (near != mean(i)) limited[i] = static_cast<int64_t>(near * static_cast<double>(samples[i]));
    }
    sums = limited;
  });
}

bool limit_peaks(std::vector<Bytes>& places, double factor) {
  return limit_each<float>(places, 0, [&](std::vector<float>& peaks) {
    Farthest all;
    for (const float peak : peaks) all.add(static_cast<double>(peak));
    std::vector<float> limited;
    for (const float peak : peaks)
      limited.push_back(static_cast<float>(all.limited(static_cast<double>(peak), factor)));
    peaks = limited;
  });
}

std::vector<Bytes> limited_sums(SumKind kind, std::vector<Bytes> places, const std::vector<uint32_t>& samples,
                                double share) {
  bool fits = true;
  switch (kind) {
    case SumKind::kOrderFree:
      fits = limit_errors(places, samples, 1.0 + share);
      break;
    case SumKind::kIntegers:
      fits = limit_integers(places, share);
      break;
    case SumKind::kPeaks:
      fits = limit_peaks(places, 1.0 + share);
      break;
    case SumKind::kDigests:
      break;
    case SumKind::kState:
      return limited_states(std::move(places), share);
  }
  return fits ? places : std::vector<Bytes>();
}

// Whether some samples can have given these sums.
bool plausible(SumKind kind, const Bytes& bytes) {
  switch (kind) {
    case SumKind::kOrderFree:
      return bytes.size() % sizeof(OrderFreeSum) == 0;
    case SumKind::kIntegers: {
      int64_t members[2];
      if (bytes.size() % sizeof(int64_t) != 0 || bytes.size() < sizeof members) return false;
      memcpy(members, bytes.data(), sizeof members);
      constexpr int64_t kMost = kMaxSamples;
      return members[0] >= 0 && members[0] <= kMost && members[1] >= 0 && members[1] <= kMost;
    }
    case SumKind::kPeaks: {
      if (bytes.size() % sizeof(float) != 0) return false;
      for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        float peak;
        memcpy(&peak, bytes.data() + at, sizeof peak);
        if (!(peak >= 0.0f && peak <= 3.4028235e38f)) return false;
      }
      return true;
    }
    case SumKind::kDigests: {
      Bytes sorted(bytes);
      return bytes.size() == kMostRanked * sizeof(Digest) && add_digests(sorted, {}) && sorted == bytes;
    }
    case SumKind::kState: {
      Reader states(span_of(bytes));
      while (states.left() > 0) {
        Span<const uint8_t> state;
        if (!states.take_state(&state)) return false;
        const Result<StateFacts> facts = facts_of_state(state);
        if (!facts || facts->observers + facts->inputs > 1 || !(facts->graph == Digest())) return false;
      }
      return true;
    }
  }
  return false;
}

// Writes a sum where the chain wants it. False: it is another one's.
bool write_sum(const Bytes& bytes, const Sums& sums) {
  if (sums.kind != SumKind::kState) {
    if (bytes.size() != sums.bytes.size) return false;
    memcpy(sums.bytes.data, bytes.data(), bytes.size());
    int64_t members[2] = {1, 0};
    if (sums.kind == SumKind::kIntegers) memcpy(members, bytes.data(), sizeof members);
    return members[0] + members[1] > 0;  // nobody asks for a mean of none
  }
  Reader states(span_of(bytes));
  const bool all = for_each_state(sums, [&](CalibrationState& state) {
    Span<const uint8_t> one;
    state.sample_count = 0;
    return states.take_state(&one) && merge_state(state, one, *sums.spare).ok();
  });
  return all && states.left() == 0;
}

Bytes read_sum(const Sums& sums) {
  Bytes bytes;
  if (sums.kind != SumKind::kState) {
    put(bytes, sums.bytes.data, sums.bytes.size);
    if (sums.kind == SumKind::kDigests) add_digests(bytes, {});
    return bytes;
  }
  for_each_state(sums, [&](const CalibrationState& state) {
    put_state(bytes, state);
    return true;
  });
  return bytes;
}

}  // namespace

// One run of the chain: of who asks (`mine`), or of a place, which answers what `given` asks.
struct Rounds::Run {
  const Rounds& given;
  std::map<Digest, Sum> made;  // asked, or answered
  bool is_place = false, fits = true, knows = false;

  static Answers::Look look(void* context, const Digest& question, const Sums& sums) {
    Run& run = *static_cast<Run*>(context);
    const auto found = run.given.sums_.find(question);
    if (found == run.given.sums_.end()) {
      run.fits = run.fits && !run.is_place;
      if (!run.is_place) run.made[question] = {sums.kind, {}};
      return Answers::Look::kPutAside;
    }
    run.fits = run.fits && found->second.kind == sums.kind;
    if (!run.fits) return Answers::Look::kPutAside;
    if (found->second.bytes.empty()) {
      const bool again = run.made.count(question) > 0;
      return run.is_place && !again ? Answers::Look::kWanted : Answers::Look::kPutAside;
    }
    run.fits = write_sum(found->second.bytes, sums);
    run.knows = true;
    return run.fits ? Answers::Look::kKnown : Answers::Look::kPutAside;
  }
  static void keep(void* context, const Digest& question, const Sums& sums) {
    static_cast<Run*>(context)->made[question] = {sums.kind, read_sum(sums)};
  }

  Error finish(Calibrator& calibrator, const ModelSink& sink, const SampleSource* source) {
    Calibration& calibration = Calibration::of(calibrator);
    const Answers answers{look, keep, this};
    FinishJob job{calibration.options, calibration.seen, calibration.memory};
    job.answers = &answers;
    return finish_calibration(calibration, job, sink, source, calibration.finished);
  }
};

bool Rounds::are(Span<const uint8_t> bytes) {
  return bytes.size >= sizeof kIdentifier && memcmp(bytes.data, kIdentifier, sizeof kIdentifier) == 0;
}

Result<Rounds> Rounds::read(Span<const uint8_t> bytes) {
  if (!are(bytes) || bytes.size < kHeaderBytes + sizeof(uint32_t)) return damaged(0);
  uint32_t crc;
  memcpy(&crc, bytes.data + bytes.size - sizeof crc, sizeof crc);
  if (crc != crc32(0, bytes.data, bytes.size - sizeof crc)) return damaged(bytes.size - sizeof crc);
  Reader in({bytes.data, bytes.size - sizeof crc});
  Rounds made;
  uint32_t identifier, version, state_bytes, count;
  in.get(&identifier);
  in.get(&version);
  if (version != kVersion) return damaged(sizeof kIdentifier);
  in.get(&made.recover_);
  in.get(&made.sample_count_);
  in.get(&state_bytes);
  in.get(&count);
  in.get(&made.question_);
  in.get(&made.sample_set_);
  Span<const uint8_t> state;
  const bool answers = state_bytes == 0;
  if ((made.recover_ & ~kAskable) != 0 || made.sample_count_ == 0 || made.sample_count_ > kMaxSamples ||
      answers == (made.question_ == Digest()) || !in.take(state_bytes, &state))
    return damaged(in.at());
  made.state_.assign(state.begin(), state.end());
  Digest before;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = in.at();
    Digest name;
    uint32_t kind, size;
    Span<const uint8_t> sum;
    if (!in.get(&name) || !in.get(&kind) || !in.get(&size) || !in.take(size, &sum)) return damaged(at);
    const Sum read{static_cast<SumKind>(kind), Bytes(sum.begin(), sum.end())};
    const bool is_sum = kind < kSumKinds && (size == 0 ? !answers : plausible(read.kind, read.bytes));
    if (!is_sum || !(before < name)) return damaged(at);
    before = name;
    made.sums_.emplace_hint(made.sums_.end(), name, read);
  }
  if (in.left() > 0) return damaged(in.at());
  return made;
}

std::vector<uint8_t> Rounds::save() const {
  Bytes bytes;
  const uint32_t header[] = {kVersion, recover_, sample_count_, static_cast<uint32_t>(state_.size()),
                             static_cast<uint32_t>(sums_.size())};
  put(bytes, kIdentifier, sizeof kIdentifier);
  put(bytes, header, sizeof header / sizeof header[0]);
  put(bytes, &question_, 1);
  put(bytes, &sample_set_, 1);
  put(bytes, state_.data(), state_.size());
  for (const auto& [name, sum] : sums_) {
    const uint32_t kind_and_size[] = {static_cast<uint32_t>(sum.kind),
                                      static_cast<uint32_t>(sum.bytes.size())};
    put(bytes, &name, 1);
    put(bytes, kind_and_size, 2);
    put(bytes, sum.bytes.data(), sum.bytes.size());
  }
  const uint32_t crc = crc32(0, bytes.data(), bytes.size());
  put(bytes, &crc, 1);
  return bytes;
}

Digest Rounds::name() const {
  const Bytes bytes = save();
  Sha256 sha;
  sha.update(bytes.data(), bytes.size());
  return sha.finish();
}

size_t Rounds::asked() const {
  return static_cast<size_t>(
      std::count_if(sums_.begin(), sums_.end(), [](const auto& sum) { return sum.second.bytes.empty(); }));
}

Error Rounds::finish(Calibrator& calibrator, const ModelSink& sink) {
  const CalibrationState& seen = Calibration::of(calibrator).seen;
  sample_count_ = seen.sample_count;
  sample_set_ = seen.samples;
  Run run{*this, {}};
  const Error error = run.finish(calibrator, sink, nullptr);
  if (!run.fits) return damaged(kHeaderBytes);
  if (sums_.size() > asked() && !run.knows) return {Status::kOtherGraph};
  sums_.merge(run.made);
  return error;
}

Result<Rounds> Rounds::answer(Calibrator& calibrator, const SampleSource& source,
                              const std::vector<Digest>& digests) const {
  Run run{*this, {}, true};
  const Error error = run.finish(calibrator, {}, &source);
  if (!error.ok() && error.status != Status::kAnswersMissing) return error;
  if (!run.fits || run.made.size() != asked()) return Error{Status::kOtherGraph};
  Rounds made;
  made.recover_ = recover_;
  made.question_ = name();
  for (const Digest& digest : digests) add_to_set(made.sample_set_, digest);
  made.sample_count_ = static_cast<uint32_t>(digests.size());
  made.sums_ = std::move(run.made);
  return made;
}

Error Rounds::add(const Rounds& others) {
  if (others.sums_.size() != sums_.size() || others.sample_count_ > kMaxSamples - sample_count_)
    return damaged(kHeaderBytes);
  Rounds sum = *this;
  auto other = others.sums_.begin();
  for (auto& [name, mine] : sum.sums_) {
    if (!(other->first == name) || other->second.kind != mine.kind ||
        !add_sums(mine.kind, mine.bytes, other->second.bytes))
      return damaged(kHeaderBytes);
    ++other;
  }
  add_to_set(sum.sample_set_, others.sample_set_);
  sum.sample_count_ += others.sample_count_;
  *this = std::move(sum);
  return kNoError;
}

Result<Rounds> Rounds::limited_sum(const std::vector<Rounds>& places, double share) {
  Rounds sum = places[0];
  std::vector<uint32_t> samples{places[0].sample_count_};
  for (size_t i = 1; i < places.size(); ++i) {
    const Rounds& place = places[i];
    if (place.sums_.size() != sum.sums_.size() || place.sample_count_ > kMaxSamples - sum.sample_count_)
      return damaged(kHeaderBytes);
    add_to_set(sum.sample_set_, place.sample_set_);
    sum.sample_count_ += place.sample_count_;
    samples.push_back(place.sample_count_);
  }
  for (auto& [name, all] : sum.sums_) {
    std::vector<Bytes> said;
    for (const Rounds& place : places) {
      const auto found = place.sums_.find(name);
      if (found == place.sums_.end() || found->second.kind != all.kind) return damaged(kHeaderBytes);
      said.push_back(found->second.bytes);
    }
    const std::vector<Bytes> limited = limited_sums(all.kind, std::move(said), samples, share);
    if (limited.empty()) return damaged(kHeaderBytes);
    all.bytes = limited[0];
    for (size_t i = 1; i < limited.size(); ++i)
      if (!add_sums(all.kind, all.bytes, limited[i])) return damaged(kHeaderBytes);
  }
  return sum;
}

Error Rounds::take(const Rounds& answers) {
  if (answers.sample_count_ != sample_count_ || !(answers.sample_set_ == sample_set_))
    return {Status::kSamplesDiffer, -1, -1, answers.sample_count_, sample_count_};
  for (auto& [name, sum] : sums_) {
    if (!sum.bytes.empty()) continue;
    const auto found = answers.sums_.find(name);
    if (found == answers.sums_.end() || found->second.kind != sum.kind) return damaged(kHeaderBytes);
    sum.bytes = found->second.bytes;
  }
  return kNoError;
}

}  // namespace intaglio
