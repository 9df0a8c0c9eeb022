// The observations of a calibration, and how they are saved between runs.
#pragma once

#include "calibrator/observe/digest.h"
#include "calibrator/observe/input_values.h"
#include "calibrator/observe/observer.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// The most samples of one calibration: bins count to 2^32.
inline constexpr uint32_t kMaxSamples = 32768;

struct CalibrationState {
  Digest graph;    // SHA-256 of the FP32 model's bytes
  Digest samples;  // set digest: see add_to_set()
  uint32_t sample_count = 0;
  uint32_t halves = 2;  // 1: counts and means are of all samples
  Span<TensorObserver> observers;
  // Patch means of every layer with weights, in units of kMeanUnit (patch_means.h): of one half of the samples, as observers
  // tell them apart, then of the other.
  Span<int64_t> mean_sums;
  Span<InputValues> inputs;  // of each of the model's inputs
};

// The header of saved bytes. Nothing is known of the model yet.
struct StateFacts {
  Digest graph, samples;  // as in CalibrationState
  uint32_t version = 0, sample_count = 0;
  uint32_t observers = 0, means = 0, inputs = 0;  // elements of these lists
  uint32_t bins = 0;                              // of a histogram; 0: there are none
  uint32_t halves = 2;
  size_t lists_at = 0;  // where the observers begin
};
// Errors: kBadCalibrationState where identifier, version, size or CRC-32 are wrong.
Result<StateFacts> facts_of_state(const StateSource& source);
Result<StateFacts> facts_of_state(Span<const uint8_t> bytes);

// Writes a state, and says how many bytes that takes. False: the sink has refused a piece.
// With `probed` samples and more it is chance which of them were probed: how far these reached is not saved.
bool write_state(const CalibrationState& state, uint32_t probed, const StateSink& sink, size_t* bytes);
size_t state_bytes(const CalibrationState& state, uint32_t probed);
// Into as many bytes as state_bytes() says. Returns how many that is; with less room `bytes` has the first of them.
size_t save_state(const CalibrationState& state, uint32_t probed, Span<uint8_t> bytes);
// Adds what the source holds to `state`, which is left as it was where that is refused, unless `is_spoiled` becomes true: the
// source did not give the same bytes twice. `spare` has room for one observer. `extents`: gets the largest magnitude that each
// observer has seen, or has no place for it.
Error merge_state(CalibrationState& state, const StateSource& source, TensorObserver& spare, bool* is_spoiled,
                  Span<float> extents);
Error merge_state(CalibrationState& state, Span<const uint8_t> bytes, TensorObserver& spare,
                  Span<float> extents = {});
void reset_state(CalibrationState& state);
// Adds what was seen of other samples, by a calibrator of the same model and options.
void add_state(CalibrationState& state, const CalibrationState& other);

}  // namespace intaglio
