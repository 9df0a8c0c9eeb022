// The state of calibrations, without a model: `observe` makes it, `merge` adds states up, `calibrate --from` goes on
// from it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/rounds.h"
#include "calibrator/host/state_room.h"
#include "calibrator/state/calibration_state.h"
#include "tools/loaded_model.h"
#include "tools/samples.h"
#include "tools/slot_choices.h"
#include "tools/work.h"

namespace intaglio::tools {

inline constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;

struct ObserveChoice {
  SampleChoice samples;
  int64_t steps = 0;  // of a model with states: how many samples are one sequence; 0: all
  SessionOptions execution;
  QuantizationChoice
      quantization;  // says which tensors are observed, as in the calibration that goes on from it
  bool int8_states = false;
  // What a calibration asks of all samples (host/rounds.h), which is then answered; no bytes: everything is observed. `asked` names it
  // in messages.
  std::string asked;
  Span<const uint8_t> question;
};

struct ObservedSamples {
  FileBytes state;  // or answers
  size_t samples = 0;
  double seconds = 0;
};

Outcome<ObservedSamples> observe(const LoadedModel& given, const ObserveChoice& choice, Work& work);

// Gives the bytes of the i-th of what was added.
using StatesAgain = std::function<Outcome<FileBytes>(size_t i)>;

// States of one model, added up in any order: the memory of one state, however many they are.
class StateSum {
 public:
  // `name`: of the state, for messages. Refused, and not added: damaged bytes, a state of another model or other options than the
  // first one's, and the same set of samples twice. The sum has as many bins as the state with the fewest.
  Outcome<Done> add(const std::string& name, Span<const uint8_t> bytes);
  Outcome<Done> add_file(const std::string& path);

  size_t states() const { return places_.size(); }
  uint32_t samples() const { return sum_ ? sum_->state.sample_count : 0; }
  FileBytes save() const;
  // The sum of the same states, given once more, where none goes farther than the others and `share` more (place_limits.h).
  Outcome<FileBytes> save_limited(const StatesAgain& again, double share);

  // How much farther a state's ranges are from the median than those of nine in ten states: in octaves, the most over tensors of
  // d - d90, with d = |log2(r / m)|, r the largest magnitude there, m the median of r over the states, and d90 the value that nine in
  // ten of the states' d do not exceed. 0 of fewer than three states.
  struct Place {
    std::string name;
    uint32_t samples = 0;
    double octaves = 0;
    double moved = 0;  // the largest share of its values of one tensor that save_limited() has drawn in
    bool is_outlier() const { return octaves > kOutlierOctaves; }
  };
  static constexpr double kOutlierOctaves = 2;
  static constexpr size_t kFewestToCompare = 3;
  std::vector<Place> places() const;  // in the order of add()

 private:
  Outcome<Done> merge(const std::string& name, Span<const uint8_t> bytes);
  void keep_latest();
  void begin(const StateFacts& facts);
  void fold_to(const StateFacts& other);

  std::optional<StateRoom> sum_;
  struct Added {
    std::string name;
    uint32_t samples;
    std::vector<float> extents;
    double moved = 0;
  };
  std::vector<Added> places_;
  std::map<Digest, size_t> place_of_;  // of each set of samples the state that held it
  Added latest_;
  Digest latest_samples_;
};

// What `observe` has made in several places: states, or answers to one question, and for a calibration that question with them.
class ObservedSum {
 public:
  // As StateSum::add(). Besides answers to another question, or a question where `merge` adds up, are refused.
  Outcome<Done> add(const std::string& name, Span<const uint8_t> bytes);
  Outcome<Done> add_file(const std::string& path);

  // Of the question, if there is one.
  const std::string& question() const { return question_name_; }
  bool are_answers() const { return answers_.has_value(); }
  size_t parts() const { return sets_.empty() ? states_.states() : sets_.size(); }
  uint32_t samples() const { return answers_ ? answers_->samples() : states_.samples(); }
  const StateSum& states() const { return states_; }
  // For `merge`: a state, or answers.
  Outcome<FileBytes> save() const;
  // The same, as StateSum::save_limited(). Refused of fewer than three.
  Outcome<FileBytes> save_limited(const StatesAgain& again, double share);
  // For a calibration: a state, or a question with its answers.
  Outcome<FileBytes> to_calibrate_from() const;

 private:
  StateSum states_;
  std::optional<Rounds> question_, answers_;
  std::string question_name_, first_name_;
  std::map<Digest, std::string> sets_;  // of samples that have answered: who
};

Failure load_failure(const std::string& name, const Error& error);
Failure asks_another(const std::string& question);
// Bytes of a question; `name` for messages.
Outcome<Rounds> read_rounds(const std::string& name, Span<const uint8_t> bytes);

// Into a calibrator that has seen nothing. `name` as above.
Outcome<Done> load_observed(const std::string& name, Span<const uint8_t> bytes, Calibrator& calibrator);

}  // namespace intaglio::tools
