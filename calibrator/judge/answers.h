// Sums over samples, some of which, or all, are elsewhere. A calibration asks; each place answers with the sums over its own
// samples, and answers add up in any order (host/rounds.h).
#pragma once

#include "calibrator/state/calibration_state.h"

namespace intaglio {

// How the answers of two places to one question become one.
enum class SumKind : uint8_t {
  kOrderFree,  // OrderFreeSum, as it lies in memory
  kIntegers,   // int64, which wrap around
  kPeaks,      // float: the larger one
  kDigests,    // the members of both lists; a digest of zeros is none
  kState,      // of one observer or more
};
inline constexpr int32_t kSumKinds = 5;

// What one question adds up.
struct Sums {
  SumKind kind = SumKind::kIntegers;
  Span<uint8_t> bytes;                // of all kinds but kState
  CalibrationState* state = nullptr;  // of kState; it has seen nothing
  TensorObserver* spare = nullptr;    // of kState, overwritten
  Span<const int32_t> observers;      // of kState: those that count, as Observing::observer_of
};

template <typename T>
Sums sums_of(SumKind kind, Span<T> values) {
  Sums sums;
  sums.kind = kind;
  sums.bytes = {reinterpret_cast<uint8_t*>(values.data), values.size * sizeof(T)};
  return sums;
}

// What is asked: `what`, of samples of this part, where this model runs.
struct Asked {
  const char* what = "";
  Span<const uint8_t> model;
  int32_t part = 0;
  int32_t index = -1;  // of a layer or a tensor
};

struct Answers {
  enum class Look : uint8_t {
    kKnown,     // all places have answered
    kWanted,    // the samples at hand shall answer
    kPutAside,  // it is noted, and nobody answers now
  };
  // Where the sums over all samples are known it writes them.
  Look (*look)(void* context, const Digest& question, const Sums& sums) = nullptr;
  // Takes those over the samples at hand.
  void (*keep)(void* context, const Digest& question, const Sums& sums) = nullptr;
  void* context = nullptr;
};

// Goes on behind a question that has no answer yet, to others that do not depend on it: they are asked in one round.
class Waiting {
 public:
  Error put_off(const Error& error) {
    if (error.status != Status::kAnswersMissing) return error;
    waits_ = true;
    return kNoError;
  }
  Error error() const { return waits_ ? Error{Status::kAnswersMissing} : kNoError; }

 private:
  bool waits_ = false;
};

}  // namespace intaglio
