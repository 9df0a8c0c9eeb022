// FP32 model and a few samples in, int8 model out. Runs wherever the runtime runs: no heap, no file system,
// no exceptions. The bytes it writes depend on the model, the set of samples and the options alone: not on
// their order, the machine or the number of threads.
#pragma once

#include "intaglio/session.h"

namespace intaglio {

// How a range is chosen from the values seen.
enum class RangeMethod : uint8_t {
  kAuto = 0,  // min-max times a factor that one half of the samples scores best on the other half
  kMinMax = 1,
  kPercentile = 2,  // the range that holds `percentile` of the values
  kMse = 3,         // least mean squared error on the values seen
};
inline constexpr int32_t kRangeMethodCount = 4;

// Called between steps; false cancels, and the call that was going on returns kCancelled.
struct Progress {
  bool (*step)(void* context, const char* stage, int32_t done, int32_t total) = nullptr;
  void* context = nullptr;
};

struct CalibratorOptions {
  RangeMethod method = RangeMethod::kAuto;
  double percentile = 0.9999;  // (0.5, 1]
  bool symmetric = false;      // activations' zero points at 0 (or -128 where no value is negative)
  int32_t weight_bits = 8;     // 8, or 7: codes in [-63, 63]
  bool bias_correction = true;
  bool layer_report = true;         // finish() compares every layer, at four runs a sample
  Span<const int32_t> float_nodes;  // nodes of the FP32 model that stay in FP32
  IsaMask isa = isa::kAll;
  Executor executor;
  Progress progress;
};

// Bytes of one block. Exact for create(); finish() needs no more.
struct CalibratorNeeds {
  size_t session_bytes = 0;   // the FP32 session
  size_t observer_bytes = 0;  // what has been seen of each tensor
  size_t output_bytes = 0;    // the int8 model, its session, and the lists they are made from

  size_t total() const { return session_bytes + observer_bytes + output_bytes; }
};

// Takes the finished model. Returns false where it cannot be stored: finish() then gives kSinkFailed.
struct ModelSink {
  bool (*write)(void* context, Span<const uint8_t> bytes) = nullptr;
  void* context = nullptr;
};

// Gives the samples of add() once more, so that errors can be corrected layer by layer. Their order is free.
struct SampleSource {
  // Writes sample `i` into the model's inputs. Returns false where it cannot: finish() then gives
  // kSamplesDiffer.
  bool (*load)(void* context, int32_t i, Span<const Span<uint8_t>> inputs) = nullptr;
  void* context = nullptr;
  int32_t count = 0;
};

// One layer of the int8 model against the same layer in FP32, over all samples of the source.
struct LayerReport {
  int32_t node = -1;             // of the int8 model
  int32_t tensor = -1;           // its output, in the int8 model
  double signal = 0, noise = 0;  // sums of squares of the FP32 values and of the differences
  double dot = 0,
         norm = 0;  // sums of products, and of the int8 values' squares: cosine = dot / sqrt(signal * norm)
  double noise_alone = 0;  // the same as `noise` with exact inputs to this layer
  double clipped = 0;      // share of the values at an end of the range that the FP32 value lies beyond
};

struct CalibrationReport {
  Span<const LayerReport> layers;  // in the calibrator's memory
  int32_t samples = 0;
  bool bias_corrected = false;
  double signal = 0, noise = 0;         // of the output, before a final softmax
  double noise_without_correction = 0;  // of the same output before bias correction
  Span<const uint8_t> bytes;            // the int8 model, in the calibrator's memory
};

struct CalibratorMemory;

class Calibrator {
 public:
  Calibrator() = default;

  static Result<CalibratorNeeds> measure(const Model& model, const CalibratorOptions& options = {});
  // `memory` starts at a multiple of kMemoryAlignment. It, the model's bytes and what the options point to
  // outlive the calibrator.
  static Result<Calibrator> create(const Model& model, Span<uint8_t> memory,
                                   const CalibratorOptions& options = {});

  // One sample: the bytes of each model input, in the order of inputs(). The samples are a set: one that is
  // given twice counts twice.
  Error add(Span<const Span<const uint8_t>> inputs);

  // What has been seen so far, to be kept, loaded later, or merged on another device. States of the same
  // model and the same library give, merged in any order, the bytes of one calibration over all samples.
  size_t state_bytes() const;
  Error save(Span<uint8_t> state) const;   // exactly state_bytes()
  Error load(Span<const uint8_t> state);   // replaces what has been seen
  Error merge(Span<const uint8_t> state);  // adds to what has been seen

  // Writes the int8 model, reopens it, runs it, and hands it to `sink` when all of that went well. With a
  // source biases are corrected layer by layer and every layer is compared; without one from the means seen.
  Error finish(const ModelSink& sink, const SampleSource* source = nullptr);

  const CalibrationReport& report() const;  // after finish()

 private:
  CalibratorMemory* memory_ = nullptr;  // in the caller's memory
};

}  // namespace intaglio
