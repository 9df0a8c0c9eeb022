// Samples that can be had once more: the caller's, or the one that the calibrator kept.
#pragma once

#include "calibrator/digest.h"
#include "intaglio/calibrator.h"

namespace intaglio {

class Replay {
 public:
  // `golden` holds one sample, used where there is no source.
  Replay(Session& fp32, const SampleSource* source, Span<uint8_t> golden)
      : fp32_(fp32), source_(source), golden_(golden) {}

  int32_t count() const { return source_ == nullptr ? 1 : source_->count; }
  // Writes sample `i` into the FP32 session's inputs.
  Error load(int32_t i);
  // Whether the source's samples are those of the set digest `expected`.
  Error check(const Digest& expected);

 private:
  Session& fp32_;
  const SampleSource* source_;
  Span<uint8_t> golden_;
};

}  // namespace intaglio
