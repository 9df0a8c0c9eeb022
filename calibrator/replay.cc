#include "calibrator/replay.h"

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

Error Replay::load(int32_t i, int32_t lane) {
  const Session into = memory_->lanes.of(memory_->session, lane);
  if (source_ != nullptr) return load_inputs(*source_, i, into);
  const uint8_t* golden = memory_->seen.golden_sample.data;
  for (size_t k = 0; k < into.model().inputs().size; ++k) {
    const TensorView view = into.input(static_cast<int32_t>(k));
    memcpy(view.data, golden, view.info.bytes());
    golden += view.info.bytes();
  }
  return kNoError;
}

Digest Replay::digest_of_inputs() const {
  const Session& fp32 = memory_->session;
  uint64_t print = 0;
  for (size_t k = 0; k < fp32.model().inputs().size; ++k) {
    const TensorView view = fp32.input(static_cast<int32_t>(k));
    print = fingerprint(print, view.data, view.info.bytes());
  }
  if (const Digest* const known = memory_->references.find_digest(print)) return *known;
  Sha256 sha(*memory_->sha256);
  for (size_t k = 0; k < fp32.model().inputs().size; ++k) {
    const TensorView view = fp32.input(static_cast<int32_t>(k));
    sha.update(view.data, view.info.bytes());
  }
  return sha.finish();
}

Error Replay::check(Arena& arena) {
  const auto samples = static_cast<size_t>(count());
  const Arena before = arena;
  digests_ = arena.make<Digest>(samples);
  references_ = arena.make<const float*>(samples);
  rank_ = arena.make<int32_t>(samples);
  if (arena.exhausted()) {
    arena = before;
    digests_ = {};
    references_ = {};
    rank_ = {};
  }
  Digest set;
  for (int32_t i = 0; i < count(); ++i) {
    ITG_TRY(load(i));
    const Digest digest = digest_of_inputs();
    add_to_set(set, digest);
    if (digests_.empty()) continue;
    digests_[static_cast<size_t>(i)] = digest;
    references_[static_cast<size_t>(i)] = memory_->references.find(digest);
  }
  for (size_t i = 0; i < digests_.size; ++i)
    for (size_t k = 0; k < digests_.size; ++k) {
      const bool earlier = digests_[k] < digests_[i] || (k < i && digests_[k] == digests_[i]);
      rank_[i] += earlier ? 1 : 0;
    }
  const bool same = source_ == nullptr || set == memory_->seen.samples;
  return same ? kNoError : Error{Status::kSamplesDiffer, -1, -1, count()};
}

Error Replay::belongs(int32_t i, Part part, bool* is_one) {
  *is_one = true;
  if (part == Part::kHeldOut || part == Part::kLearners) *is_one = held_out(i) == (part == Part::kHeldOut);
  if (part != Part::kEvenHalf && part != Part::kOddHalf) return kNoError;
  if (!knows_digests()) ITG_TRY(load(i));
  *is_one = half_of(digest(i)) == (part == Part::kOddHalf ? 1 : 0);
  return kNoError;
}

const float* Replay::reference(int32_t i) const {
  return references_.empty() ? nullptr : references_[static_cast<size_t>(i)];
}

}  // namespace intaglio
