// FP32 model and a few samples in, int8 model out. Runs wherever the runtime runs: no heap, no file system,
// no exceptions. The bytes it writes depend on the model, the set of samples and the options alone: not on
// their order, the machine or the number of threads.
#pragma once

#include "intaglio/quant_config.h"
#include "intaglio/session.h"

namespace intaglio {

// Which slots share a scale, and how weights are rounded: as here (DESIGN section 8), or as other tools do
// it.
enum class Compat : uint8_t {
  kNone = 0,
  // Symmetric codes of -127 to 127 and weights rounded half away from zero; the input of a reshape, max pool,
  // slice or clamp has the output's scale where nothing else reads it; softmax 1/127.
  kTengine = 1,
  // Every input of a Concat has its output's scale, recursively; the inputs of an Add or Sub have one scale
  // over the union of their ranges.
  kPpq = 2,
};
inline constexpr int32_t kCompatCount = 3;

// Which slots a setting is for.
enum class SlotRole : uint8_t { kEvery, kActivations, kWeights, kInput, kOutput };

// What slots have instead of the default. Of several that apply to a slot the last one holds.
struct SlotSetting {
  int32_t node = -1;  // of the FP32 model; -1: every node, and the model's inputs
  SlotRole role = SlotRole::kEvery;
  int32_t input = -1;      // kInput: which; -1: every one that is no weight
  int32_t bits = 0;        // 2 to 32; 0: as it was
  int32_t rounding = -1;   // a Rounding; -1: as it was
  QuantPolicy policy = 0;  // one of the legal masks; 0: as it was
};

// Parameters that are known beforehand: from another tool's file, or from an earlier calibration.
struct KnownParams {
  int32_t tensor = -1;               // of the FP32 model: an activation, or the weights of layers
  float scale = 0.0f;                // of an activation, within [2^-40, 2^40]
  int32_t zero_point = 0;            // of an activation, within its codes
  Span<const float> channel_scales;  // of weights: one for all output channels, or one each
};

// Called between steps; false cancels, and the call that was going on returns kCancelled.
struct Progress {
  bool (*step)(void* context, const char* stage, int32_t done, int32_t total) = nullptr;
  void* context = nullptr;
};

// What lessens the error of quantization once scales are chosen: bits of CalibratorOptions::recover.
using RecoveryMask = uint32_t;
namespace recovery {
inline constexpr RecoveryMask kBiasCorrection = 1 << 0;    // each channel's mean error goes into its bias
inline constexpr RecoveryMask kWeightScales = 1 << 1;      // weight scales that give the least output error
inline constexpr RecoveryMask kLearnedScales = 1 << 2;     // weight scales along their gradient
inline constexpr RecoveryMask kAdaptiveRounding = 1 << 3;  // weights rounded up or down by the output error
inline constexpr RecoveryMask kEqualization = 1 << 4;      // channels share the range of their tensor better
inline constexpr RecoveryMask kRangeSearch = 1 << 5;       // ranges narrower or wider, by the model's error
inline constexpr RecoveryMask kRangeMethod = 1 << 6;     // RangeMethod::kAuto may become another, by the same
inline constexpr RecoveryMask kBiasAbsorption = 1 << 7;  // constant parts of channels go into biases
inline constexpr RecoveryMask kLayers = kWeightScales | kLearnedScales | kAdaptiveRounding;  // by the layer
inline constexpr RecoveryMask kNone = 0, kDefault = kBiasCorrection | kRangeMethod,
                              kAll = kDefault | kLayers | kRangeSearch |
                                     kBiasAbsorption;  // equalization: asked for by name
}  // namespace recovery

struct CalibratorOptions {
  RangeMethod method = RangeMethod::kAuto;
  double percentile = 0.9999;  // (0.5, 1]; of RangeMethod::kPercentile alone
  bool symmetric = false;      // activations' zero points at 0 (or -128 where no value can be negative)
  bool power_of_two = false;   // every scale
  int32_t weight_bits = 8;     // 2 to 32; 8: codes in [-127, 127], 7: in [-63, 63], ...
  // Weights of convolutions and matrix products whose neighbours' sum AVX2 can add in 16 bits, which is its
  // fastest way (DESIGN section 6). Recoveries of kLayers, which choose codes one by one, do not run.
  bool safe_pairs = false;
  Compat compat = Compat::kNone;
  // The last layer, too, rounds to codes. Else a product or mean that is an output of the model, or reaches
  // it through Reshapes and Softmaxes alone, reads int8 and writes FP32, and those behind it run in FP32: no
  // ties between classes, and up to 2 dB less error (DESIGN section 8). Set by another Compat in any case.
  bool int8_answers = false;
  Span<const SlotSetting> slots;  // what int8 cannot hold is refused by finish(), and can be simulated
  // Hold instead of what samples and weights say. Of tensors that share a range the one holds that the others
  // follow, else the first that is listed. With no sample at all finish() bakes from these, and from what
  // needs no sample (pixels, constants, outputs that an operator fixes): kQuantizationMissing where that is
  // not enough. Weight scales that the int32 accumulator or a bias does not hold with are refused
  // (kAccumulatorOverflow). Of the recoveries only those of kDefault run.
  Span<const KnownParams> known;
  // If given: what the model says of its calibration, for `known` of a model that was calibrated before.
  const CalibrationInfo* provenance = nullptr;
  RecoveryMask recover = recovery::kDefault;
  bool layer_report = true;         // finish() compares every layer
  Span<const int32_t> float_nodes;  // nodes of the FP32 model that stay in FP32
  // Memory in which finish() keeps what it would otherwise compute again: outputs of the FP32 model, and each
  // sample's activations from one layer to the next. Only time depends on it; see Calibrator::replay_bytes().
  size_t replay_bytes = 0;
  IsaMask isa = isa::kAll;
  Executor executor;
  Progress progress;
};

// Bytes of one block. Exact for create(); finish() needs no more.
struct CalibratorNeeds {
  size_t session_bytes = 0;   // the FP32 session
  size_t observer_bytes = 0;  // what has been seen of each tensor
  size_t replay_bytes = 0;    // of the options
  size_t output_bytes = 0;    // the int8 model, its session, and the lists they are made from

  size_t total() const { return session_bytes + observer_bytes + replay_bytes + output_bytes; }
};

// Takes the finished model. Returns false where it cannot be stored: finish() then gives kSinkFailed.
struct ModelSink {
  bool (*write)(void* context, Span<const uint8_t> bytes) = nullptr;
  void* context = nullptr;
};

// Samples that can be had again and again, in any order, one at a time: add_all() takes them, and finish()
// has them once more, so that errors can be corrected layer by layer.
struct SampleSource {
  // Writes sample `i` into the model's inputs. Returns false where it cannot: add_all() and finish() then
  // give kSamplesDiffer.
  bool (*load)(void* context, int32_t i, Span<const Span<uint8_t>> inputs) = nullptr;
  void* context = nullptr;
  int32_t count = 0;
  // If given: sample `i` has gone through `session`, whose outputs hold what came of it: through the FP32
  // model in add_all(), through an int8 model in finish(), there at times more than once; the last time it
  // is the model that is handed over.
  void (*ran)(void* context, int32_t i, const Session& session) = nullptr;
  // Whether load() may be called for several samples at once, on any of the executor's threads.
  bool loads_at_once = false;
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

  // The sums of the same layer over other samples.
  void add(const LayerReport& other) {
    node = other.node;
    tensor = other.tensor;
    signal += other.signal;
    noise += other.noise;
    dot += other.dot;
    norm += other.norm;
    noise_alone += other.noise_alone;
    clipped += other.clipped;
  }
};

enum class RecoveryVerdict : uint8_t {
  kKept = 0,
  kNetworkWorse = 1,   // undone: the error of the model's outputs grew
  kBlockWorse = 2,     // undone: the error of the block's own output did not fall
  kTooFewSamples = 3,  // not tried
  kNoSource = 4,       // not tried: the samples cannot be had once more
  kNothingToDo = 5,    // not tried: the model has nothing that it could change
};

// One attempt of a recovery. Errors are noise over signal of the model's outputs: over all samples; for a
// block, over those held out; for a range method, over each half of the samples with ranges of the other
// half.
struct RecoveryRecord {
  RecoveryMask recovery = recovery::kNone;
  int32_t first_node = -1, last_node = -1;  // of the int8 model; -1: all of it
  double before = 0, after = 0;
  RecoveryVerdict verdict = RecoveryVerdict::kKept;
};

struct CalibrationReport {
  Span<const LayerReport> layers;         // in the calibrator's memory
  Span<const RecoveryRecord> recoveries;  // likewise, in the order of their attempts
  int32_t samples = 0;
  RangeMethod method = RangeMethod::kAuto;  // that chose the ranges
  // On the samples that calibrated, which flatters: other samples lose more, by far with few. Of the output,
  // before a final softmax or sigmoid: sums of squares of the FP32 values and of the
  // differences. Of several outputs: their number, and the sum of each one's noise over its signal.
  double signal = 0, noise = 0;
  // Of the same as it was baked; of many samples, by the share of those that recoveries were judged by.
  double noise_without_recovery = 0;
  Span<const uint8_t> bytes;  // the int8 model, in the calibrator's memory
};

// What has been seen of an activation of the FP32 model: bin i holds values from start + i * width on. Where
// a recovery has scaled or shifted channels, of the FP32 model as that recovery left it.
struct TensorStatistics {
  float min = 0.0f, max = 0.0f;  // zero included
  double start = 0.0, width = 0.0;
  // Of samples with an even and with an odd digest, in the calibrator's memory; empty where nothing was
  // observed.
  Span<const uint32_t> counts[2];
};

class Calibrator {
 public:
  Calibrator() = default;

  static Result<CalibratorNeeds> measure(const Model& model, const CalibratorOptions& options = {});
  // Bytes for CalibratorOptions::replay_bytes with which nothing is computed twice for `samples` samples.
  static Result<size_t> replay_bytes(const Model& model, int32_t samples,
                                     const CalibratorOptions& options = {});
  // `memory` starts at a multiple of kMemoryAlignment. It, the model's bytes and what the options point to
  // outlive the calibrator.
  static Result<Calibrator> create(const Model& model, Span<uint8_t> memory,
                                   const CalibratorOptions& options = {});

  // One sample: the bytes of each model input, in the order of inputs(). The samples are a set: one that is
  // given twice counts twice. The first 16 pictures take three runs each (docs/calibration.md, probes).
  Error add(Span<const Span<const uint8_t>> inputs);
  // Every sample of a source, with as many at once as the executor has threads (8 at most). `bad` gets the
  // index of the sample that an error is about, or -1.
  Error add_all(const SampleSource& source, int32_t* bad = nullptr);
  // What the FP32 model gave for the last sample of add(), until the next call.
  TensorView output(int32_t i = 0) const;

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
  // After finish(), empty before it. Of the tensor that has its range, where it shares another's.
  TensorStatistics statistics(int32_t tensor) const;

  struct Parts;  // what it keeps: the library's own

 private:
  Parts* parts_ = nullptr;  // in the caller's memory
};

}  // namespace intaglio
