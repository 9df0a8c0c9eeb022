#include "calibrator/judge/replay.h"

#include "runtime/op.h"

namespace intaglio {

Error load_inputs(const SampleSource& source, int32_t i, const Session& session) {
  Span<uint8_t> inputs[kMaxModelInputs];
  const size_t count = session.model().inputs().size;
  for (size_t k = 0; k < count; ++k) {
    const TensorView view = session.input(static_cast<int32_t>(k));
    inputs[k] = {static_cast<uint8_t*>(view.data), view.info.bytes()};
  }
  const bool loaded = source.load(source.context, i, {inputs, count});
  return loaded ? kNoError : Error{Status::kSamplesDiffer, -1, -1, i};
}

Error Replay::load(int32_t i, int32_t lane) { return load_inputs(*source_, i, known_.fp32.on_lane(lane)); }

Error Replay::load_each(Span<const int32_t> which) {
  Error errors[kMaxLanes];
  const auto load_one = [&](int32_t lane) {
    const int32_t i = which[static_cast<size_t>(lane)];
    if (i >= 0) errors[lane] = load(i, lane);
  };
  const auto lanes = static_cast<int32_t>(which.size);
  if (source_->loads_at_once)
    parallel_for(known_.fp32.executor, lanes, [&](int32_t lane) { load_one(lane); });
  for (int32_t lane = 0; lane < lanes; ++lane) {
    if (!source_->loads_at_once) load_one(lane);
    ITG_TRY(errors[lane]);
  }
  return kNoError;
}

Error Replay::visit_batches(Part part, Error (*visit)(const void* context, Span<const int32_t> batch),
                            const void* context) {
  int32_t batch[kMaxLanes];
  size_t waiting = 0;
  for (int32_t i = 0; i < count(); ++i) {
    bool is_one = false;
    ITG_TRY(belongs(i, part, &is_one));
    if (is_one) batch[waiting++] = i;
    const bool is_full = waiting == static_cast<size_t>(known_.fp32.lane_count) || i + 1 == count();
    if (!is_full || waiting == 0) continue;
    ITG_TRY(visit(context, {batch, waiting}));
    waiting = 0;
  }
  return kNoError;
}

Digest Replay::digest_of_inputs(int32_t lane) const {
  const Session fp32 = known_.fp32.on_lane(lane);
  uint64_t print = 0;
  for (size_t k = 0; k < fp32.model().inputs().size; ++k) {
    const TensorView view = fp32.input(static_cast<int32_t>(k));
    print = fingerprint(print, view.data, view.info.bytes());
  }
  if (const Digest* const known = known_.references.find_digest(print)) return *known;
  Sha256 sha(known_.sha256);
  for (size_t k = 0; k < fp32.model().inputs().size; ++k) {
    const TensorView view = fp32.input(static_cast<int32_t>(k));
    sha.update(view.data, view.info.bytes());
  }
  return sha.finish();
}

// Whether it has room; else nothing is taken from it.
bool Replay::make_list(Arena& arena) {
  const auto samples = static_cast<size_t>(count());
  const Arena before = arena;
  digests_ = arena.make<Digest>(samples);
  references_ = arena.make<const float*>(samples);
  rank_ = arena.make<int32_t>(samples);
  if (!arena.exhausted()) return true;
  arena = before;
  digests_ = {};
  references_ = {};
  rank_ = {};
  return false;
}

Error Replay::check(Arena& arena, Arena least, bool all_judge) {
  if (!make_list(arena)) make_list(least);
  Digest set;
  int32_t halves[2] = {};
  const Error failed = for_each_batch(Part::kAll, [&](Span<const int32_t> batch) -> Error {
    ITG_TRY(load_each(batch));
    Digest found[kMaxLanes];
    parallel_for(known_.fp32.executor, static_cast<int32_t>(batch.size),
                 [&](int32_t lane) { found[lane] = digest_of_inputs(lane); });
    for (size_t lane = 0; lane < batch.size; ++lane) {
      const auto i = static_cast<size_t>(batch[lane]);
      add_to_set(set, found[lane]);
      ++halves[half_of(found[lane])];
      if (digests_.empty()) continue;
      digests_[i] = found[lane];
      references_[i] = known_.references.find(found[lane]);
    }
    return kNoError;
  });
  ITG_TRY(failed);
  if (answers_ != nullptr && !known_.seen.observers.empty())
    for (const int32_t half : {0, 1})
      halves[half] = static_cast<int32_t>(known_.seen.observers[0].samples[half]);
  const bool all = all_judge || count_of_all() <= 2 * kFewestJudges;
  const int32_t smaller = halves[1] < halves[0] ? 1 : 0;
  judging_half_ = all ? -1 : (halves[smaller] >= kFewestJudges ? smaller : 1 - smaller);
  for (size_t i = 0; i < digests_.size; ++i)
    for (size_t k = 0; k < digests_.size; ++k) {
      const bool earlier = digests_[k] < digests_[i] || (k < i && digests_[k] == digests_[i]);
      rank_[i] += earlier ? 1 : 0;
    }
  const bool same = source_ == nullptr || answers_ != nullptr || set == known_.seen.samples;
  return same ? kNoError : Error{Status::kSamplesDiffer, -1, -1, count()};
}

Error Replay::rank_among_all(Span<const uint8_t> model) {
  if (answers_ == nullptr) return kNoError;
  Digest all[kMostRanked];
  const auto walk = [&]() -> Error {
    for (size_t i = 0; i < digests_.size && i < kMostRanked; ++i) all[i] = digests_[i];
    return kNoError;
  };
  ITG_TRY(add_up({"digests", model}, sums_of(SumKind::kDigests, Span<Digest>{all, kMostRanked}), walk));
  for (size_t i = 0; i < digests_.size; ++i) {
    rank_[i] = 0;
    for (const Digest& other : all) rank_[i] += !(other == Digest()) && other < digests_[i] ? 1 : 0;
  }
  return kNoError;
}

// The words, the model and the numbers, in this order.
Digest Replay::name_of(const Asked& asked) const {
  Sha256 sha(known_.sha256);
  sha.update(asked.what, strlen(asked.what) + 1);
  sha.update(asked.model.data, asked.model.size);
  const int32_t numbers[] = {asked.part, asked.index};
  sha.update(numbers, sizeof numbers);
  return sha.finish();
}

Error Replay::belongs(int32_t i, Part part, bool* is_one) {
  *is_one = true;
  if (part == Part::kHeldOut) *is_one = held_out(i);
  const bool is_half = part == Part::kEvenHalf || part == Part::kOddHalf;
  if (!is_half && part != Part::kJudges && part != Part::kOthers) return kNoError;
  if (!is_half && all_judge()) {
    *is_one = part == Part::kJudges;
    return kNoError;
  }
  if (!knows_digests()) ITG_TRY(load(i));
  const int32_t half = half_of(digest(i));
  *is_one =
      is_half ? half == (part == Part::kOddHalf ? 1 : 0) : (half == judging_half_) == (part == Part::kJudges);
  return kNoError;
}

const float* Replay::reference(int32_t i) const {
  return references_.empty() ? nullptr : references_[static_cast<size_t>(i)];
}

}  // namespace intaglio
