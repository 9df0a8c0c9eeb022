// Samples that can be had once more: the caller's. Without a source there are none.
#pragma once

#include "calibrator/judge/answers.h"
#include "calibrator/observe/output_tensors.h"
#include "calibrator/state/calibration_state.h"
#include "calibrator/workspace/float_model.h"

namespace intaglio {

// Some of the samples. By their digests, so that it does not depend on their order.
enum class Part : uint8_t {
  kAll,
  kHeldOut,   // every fourth in the order of the digests: what judges, and is not learned from
  kJudges,    // all of few samples; of many one half, as observers tell them apart
  kOthers,    // those that do not judge
  kEvenHalf,  // as observers tell them apart
  kOddHalf,
};

// Half of many samples tell as well as all of them what a layer's bias should be, and whether a correction helps:
// the smaller one where it is large enough. Recoveries that take minutes are judged by all.
inline constexpr int32_t kFewestJudges = 12;

// So many samples elsewhere have a rank.
inline constexpr size_t kMostRanked = 16;

inline constexpr size_t kMaxModelInputs = 256;  // the loader's limit

// Writes sample `i` into the inputs of a session of the FP32 model. kSamplesDiffer where the source cannot.
Error load_inputs(const SampleSource& source, int32_t i, const Session& session);

// Everything that is known about the samples that were added.
struct SeenSamples {
  const FloatModel& fp32;
  const CalibrationState& seen;
  const ReferenceOutputs& references;
  const Sha256Kernel& sha256;
};

class Replay {
 public:
  // With `answers` the source has some of the samples, or there is none.
  Replay(const SeenSamples& known, const SampleSource* source, const Answers* answers)
      : known_(known), source_(source), answers_(answers) {}

  // Whether sums over all samples can be had.
  bool has_source() const { return source_ != nullptr || answers_ != nullptr; }
  bool are_elsewhere() const { return answers_ != nullptr; }
  bool wants_results() const { return source_ != nullptr && source_->ran != nullptr; }
  void tell(int32_t i, const Session& session) const { source_->ran(source_->context, i, session); }
  int32_t count() const { return source_ == nullptr ? 0 : source_->count; }  // at hand
  // With those elsewhere.
  int32_t count_of_all() const {
    return answers_ == nullptr ? count() : static_cast<int32_t>(known_.seen.sample_count);
  }
  // Sums over all samples: walk() adds up those at hand, from zero. kAnswersMissing where those of others are not known yet.
  template <typename Walk>
  Error add_up(const Asked& asked, const Sums& sums, const Walk& walk) {
    if (answers_ == nullptr) return walk();
    const Digest question = name_of(asked);
    const Answers::Look found = answers_->look(answers_->context, question, sums);
    if (found == Answers::Look::kKnown) return kNoError;
    if (found == Answers::Look::kWanted) {
      ITG_TRY(walk());
      answers_->keep(answers_->context, question, sums);
    }
    return {Status::kAnswersMissing};
  }
  // Writes sample `i` into the inputs of this lane of the FP32 session.
  Error load(int32_t i, int32_t lane = 0);
  // Sample which[lane] into each lane, none where that is -1; at once where the source can.
  Error load_each(Span<const int32_t> which);
  // Calls visit(batch) for the samples of `part`, in their order, as many at once as there are lanes.
  template <typename Visit>
  Error for_each_batch(Part part, const Visit& visit) {
    const auto call = [](const void* context, Span<const int32_t> batch) {
      return (*static_cast<const Visit*>(context))(batch);
    };
    return visit_batches(part, call, &visit);
  }
  // Checks that the source's samples are those that were added, and makes the list that reference() and
  // digest() read from `arena`, or from `least` where that has no room; both know nothing where neither has. With
  // `all_judge` no half of them is set apart.
  // Samples elsewhere are not checked here.
  Error check(Arena& arena, Arena least, bool all_judge);
  // Where few samples are elsewhere: rank() among all of them. `model`: of the question.
  Error rank_among_all(Span<const uint8_t> model);
  // Bytes of the list of so many samples.
  static constexpr size_t list_bytes(size_t samples) {
    return samples * (sizeof(Digest) + sizeof(const float*) + sizeof(int32_t)) + 2 * alignof(const float*);
  }
  // Values of the outputs of sample `i`; nullptr where they are not known.
  const float* reference(int32_t i) const;
  // Every fourth sample in the order of their digests: what judges, and is not learned from. None where
  // check() had no room.
  bool held_out(int32_t i) const { return !rank_.empty() && rank_[static_cast<size_t>(i)] % 4 == 3; }
  // Whether sample `i` is one of these. Halves are known without check()'s list, too; that loads the sample.
  Error belongs(int32_t i, Part part, bool* is_one);
  bool all_judge() const { return judging_half_ < 0; }
  bool knows_digests() const { return !digests_.empty(); }
  // The place of sample `i` in the order of their digests, which are known.
  int32_t rank(int32_t i) const { return rank_[static_cast<size_t>(i)]; }
  // The digest of sample `i`, which stands in the first lane's inputs.
  Digest digest(int32_t i) const {
    return knows_digests() ? digests_[static_cast<size_t>(i)] : digest_of_inputs();
  }

 private:
  Digest name_of(const Asked& asked) const;
  bool make_list(Arena& arena);
  Error visit_batches(Part part, Error (*visit)(const void* context, Span<const int32_t> batch),
                      const void* context);
  Digest digest_of_inputs(int32_t lane = 0) const;  // which stand in the FP32 session

  SeenSamples known_;
  const SampleSource* source_;
  const Answers* answers_;
  Span<Digest> digests_;  // of each sample
  Span<const float*> references_;
  Span<int32_t> rank_;         // of each sample in the order of the digests
  int32_t judging_half_ = -1;  // -1: both
};

}  // namespace intaglio
