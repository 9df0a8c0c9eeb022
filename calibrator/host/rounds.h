// A calibration whose samples are in several places: the chain of finish() runs over answers. What it asks of samples it looks up, by
// a digest of the question; where an answer is missing it goes on to what does not depend on it, and then the questions go out, all
// of them as one file. Each place runs the same chain over the same answers, and adds up what is asked over its own samples.
// Answers add up in any order, exactly, so that the model has the bytes of one calibration over all samples.
#pragma once

#include <map>
#include <vector>

#include "calibrator/judge/answers.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// The recoveries whose questions are sums. The others take samples one by one.
inline constexpr RecoveryMask kAskable = recovery::kDefault | recovery::kEqualization;

class Rounds {
 public:
  Rounds() = default;
  // The state of all samples (Calibrator::save), and no answers yet. `recover`: of the options, without those that are not kAskable.
  Rounds(Span<const uint8_t> state, RecoveryMask recover)
      : state_(state.begin(), state.end()), recover_(recover) {}

  static bool are(Span<const uint8_t> bytes);  // whether they begin as save()'s do
  // kBadCalibrationState with the offset where bytes are damaged, 4 where another version wrote them.
  static Result<Rounds> read(Span<const uint8_t> bytes);
  std::vector<uint8_t> save() const;

  bool is_question() const { return !state_.empty(); }  // else these are answers
  Span<const uint8_t> state() const { return {state_.data(), state_.size()}; }
  RecoveryMask recover() const { return recover_; }
  uint32_t samples() const { return sample_count_; }  // that have answered
  const Digest& sample_set() const { return sample_set_; }
  bool answers(const Rounds& asked) const { return question_ == asked.name(); }
  bool is_like(const Rounds& other) const { return question_ == other.question_; }
  size_t asked() const;  // questions without an answer

  // Calibrator::finish() over the answers so far, once state() was loaded. kAnswersMissing: asked() questions are to be answered, in
  // save(). kBadCalibrationState: an answer cannot be one. kOtherGraph: what was answered is not what this model and these options ask.
  Error finish(Calibrator& calibrator, const ModelSink& sink);
  // The answers of these samples, whose digests are given, once state() was loaded. kOtherGraph where the questions are not those of
  // this calibrator's model and options.
  Result<Rounds> answer(Calibrator& calibrator, const SampleSource& source,
                        const std::vector<Digest>& digests) const;
  // Adds the answers of other samples to these. kBadCalibrationState where they do not fit.
  Error add(const Rounds& others);
  // The same of three places and more, where none goes farther than the others and `share` more (place_limits.h).
  static Result<Rounds> limited_sum(const std::vector<Rounds>& places, double share);
  // A question gets its answers, of the samples of its state: kSamplesDiffer with their count where these are others.
  Error take(const Rounds& answers);

 private:
  struct Sum {
    SumKind kind;
    std::vector<uint8_t> bytes;  // empty: asked
  };
  struct Run;

  Digest name() const;

  std::vector<uint8_t> state_;
  RecoveryMask recover_ = recovery::kNone;
  uint32_t sample_count_ = 0;
  Digest question_, sample_set_;
  std::map<Digest, Sum> sums_;
};

}  // namespace intaglio
