// Makes an int8 model from an FP32 model and a few samples. It runs wherever the runtime runs: no heap, no file system,
// no exceptions.
//
// In this order: Calibrator::measure(), create() with a block of memory, add() for each sample, finish().
//
// The int8 model depends on three things: the FP32 model, the set of samples and the options. It does not depend on
// the order of the samples, the machine or the number of threads.
#pragma once

#include "intaglio/frame.h"
#include "intaglio/quant_config.h"
#include "intaglio/session.h"

namespace intaglio {

// Which slots share a scale, and how weights are rounded: by intaglio's own rules, or by those of another tool.
enum class Compat : uint8_t {
  kNone = 0,  // intaglio's own rules: docs/calibration_law.md
  // As Tengine: symmetric codes of -127 to 127, and weights rounded half away from zero. The input of a reshape, max
  // pool, slice or clamp has the output's scale where nothing else reads it. The scale of softmax is 1/127.
  kTengine = 1,
  // As PPQ: every input of a Concat has the output's scale, through several Concats too. The inputs of an Add or Sub
  // have one scale over the union of their ranges.
  kPpq = 2,
};
inline constexpr int32_t kCompatCount = 3;

// Which slots of a node a setting is for.
enum class SlotRole : uint8_t { kEvery, kActivations, kWeights, kInput, kOutput };

// A setting that slots have instead of the default. If several apply to a slot, the last one holds.
struct SlotSetting {
  int32_t node = -1;                 // of the FP32 model; -1: every node, and the model's inputs
  SlotRole role = SlotRole::kEvery;  // which of the node's slots
  int32_t input = -1;                // for kInput: which input of the node; -1: every one that is no weight
  int32_t bits = 0;                  // 2 to 32; 0: unchanged
  int32_t rounding = -1;             // a Rounding; -1: unchanged
  QuantPolicy policy = 0;            // one of the 12 legal masks; 0: unchanged
};

// The codes and the range method that slots have instead of the default. If several apply to a slot, the last one holds.
struct SlotRange {
  int32_t node = -1;                 // as in SlotSetting
  SlotRole role = SlotRole::kEvery;  // as in SlotSetting
  int32_t input = -1;                // as in SlotSetting
  int32_t lo = 0, hi = 0;  // least and greatest code, no more of them than its bits have; both 0: unchanged
  int32_t observer = -1;   // a RangeMethod, for what samples give a range; -1: unchanged
};

// Parameters of a tensor that are known beforehand, from another tool's file or from an earlier calibration. A tensor may
// have several: its own, and others for single nodes that read it.
struct KnownParams {
  int32_t tensor = -1;               // of the FP32 model: an activation, or the weights of layers
  float scale = 0.0f;                // of an activation, in [2^-40, 2^40]
  int32_t zero_point = 0;            // of an activation, within its codes
  Span<const float> channel_scales;  // of weights: one for all output channels, or one for each
  int32_t node = -1;                 // -1: of the tensor itself; else of this node's input alone
  int32_t input = -1;                // which input of the node, if there is one
  // Least and greatest code; both 0: those of the slot. Above 127 the slot has 16 bits: zero_point is 0, and lo is at
  // least -hi.
  int32_t lo = 0, hi = 0;
};

// Tells a program how far a call has come, and lets it cancel.
struct Progress {
  // Called between steps: `done` of `total` steps of a stage are finished. `stage` is a word to show. Return false to
  // cancel: the call then returns kCancelled.
  bool (*step)(void* context, const char* stage, int32_t done, int32_t total) = nullptr;
  void* context = nullptr;  // is given to the function
};

// A set of recoveries: steps after the scales are chosen that lessen the error of quantization. docs/calibration.md
// says what each does.
using RecoveryMask = uint32_t;
namespace recovery {
inline constexpr RecoveryMask kBiasCorrection = 1 << 0;    // each channel's mean error goes into its bias
inline constexpr RecoveryMask kWeightScales = 1 << 1;      // weight scales that give the least output error
inline constexpr RecoveryMask kLearnedScales = 1 << 2;     // weight scales along their gradient
inline constexpr RecoveryMask kAdaptiveRounding = 1 << 3;  // weights rounded up or down by the output error
inline constexpr RecoveryMask kEqualization = 1 << 4;      // channels share the range of their tensor better
inline constexpr RecoveryMask kDepthwiseScales = 1 << 5;   // inputs of depthwise layers get a scale a channel
inline constexpr RecoveryMask kRangeMethod = 1 << 6;     // RangeMethod::kAuto may become another, by the same
inline constexpr RecoveryMask kBiasAbsorption = 1 << 7;  // constant parts of channels go into biases
inline constexpr RecoveryMask kLayers = kWeightScales | kLearnedScales | kAdaptiveRounding;  // by the layer
inline constexpr RecoveryMask kNone = 0, kDefault = kBiasCorrection | kRangeMethod | kDepthwiseScales,
                              kAll = kDefault | kLayers | kBiasAbsorption;  // equalization: asked for by name
}  // namespace recovery

// How to calibrate. What these members point to outlives the calibrator.
struct CalibratorOptions {
  RangeMethod method = RangeMethod::kAuto;  // how ranges are chosen
  double percentile = 0.9999;               // in (0.5, 1]; for RangeMethod::kPercentile alone
  bool symmetric = false;     // zero points of activations are 0, or -128 where no value can be negative
  bool power_of_two = false;  // every scale is a power of two
  int32_t weight_bits = 8;    // 2 to 32; 8: codes in [-127, 127], 7: in [-63, 63], and so on
  // Make weights pair-safe: AVX2 can then add two products in 16 bits, which is its fastest way. Applies to
  // convolutions and matrix products. The recoveries of kLayers do not run, since they choose codes one by one.
  bool safe_pairs = false;
  Compat compat = Compat::kNone;  // whose rules for shared scales and rounding hold
  // Round the model's answers to codes, too. Without it the last matrix product or mean of the model reads int8 and
  // writes FP32, and the operators behind it run in FP32. That avoids ties between classes, and up to 2 dB of error.
  // Softmax, sigmoid, tanh and their like keep the scale of their bound, 1/256 or 1/128, which accelerators ask for; without it
  // the scale follows values that stay below half of the bound. What normalizes the model's inputs before the first layer with
  // weights has codes as well; without it that is FP32. A `compat` other than kNone always does all of this.
  bool int8_answers = false;
  // Settings of single slots. finish() refuses one that int8 cannot hold; `intaglio simulate` shows its effect.
  Span<const SlotSetting> slots;
  Span<const SlotRange> ranges;
  // Parameters that hold instead of what samples and weights give. If several tensors share a range, the one holds
  // that the others follow, else the first that is listed.
  //
  // Without samples finish() uses these, and what needs no sample: pixels, constants, outputs with a fixed scale.
  // If that is not enough, the error is kQuantizationMissing. Weight scales that can overflow the accumulator or a
  // bias are refused (kAccumulatorOverflow). Only the recoveries of kDefault run.
  Span<const KnownParams> known;
  // The origin that the int8 model states, for `known` of a model that was calibrated before. nullptr: this
  // calibration.
  const CalibrationInfo* provenance = nullptr;
  RecoveryMask recover = recovery::kDefault;  // the recoveries that are tried
  // No sample runs again in finish(), also where it gets their source: biases are corrected from the means seen, other recoveries do
  // not run, and nothing is measured. If no other recovery and no report is asked for, finish() makes the int8 model where the FP32
  // session has stood, in a block that has no room for both (CalibratorNeeds::shared_bytes).
  bool one_pass = false;
  // finish() compares every layer, which takes more runs of both models.
  bool layer_report = false;
  // What is seen of samples with an even and with an odd digest is added up, which takes half the memory. Nothing judges by halves then:
  // `one_pass` is set too, or it is refused (kBadOption). A state that is saved serves calibrations with this option alone
  // (kStateOfLess), and takes in those of others.
  bool without_halves = false;
  Span<const int32_t> float_nodes;  // nodes of the FP32 model that stay in FP32
  // Layers that read codes and write FP32, since nothing says the parameters of what they give. One that has no such version
  // is as others are.
  Span<const int32_t> float_results;
  // The FP32 model is the step model (intaglio/step_model.h) of this model with states. The int8 model has its states:
  // one scale for a state and its next value, and FP32 where a node of float_nodes gives the next value. nullptr: the
  // FP32 model has no states.
  const Model* states_of = nullptr;
  // Memory in which finish() stores what it would otherwise compute again. More memory saves time and changes no
  // byte: see Calibrator::replay_bytes(). measure() counts it; what create() gets beyond that is used in the same way.
  size_t replay_bytes = 0;
  // The int8 model's Model::memory_ceiling(). It is written and not compared: the machine that calibrates may be another one.
  uint32_t memory_ceiling = 0;
  IsaMask isa = isa::kAll;  // as SessionOptions::isa
  Executor executor;        // its threads; serial unless given
  Progress progress;        // nobody is told unless given

  // What is worth its time on a device: one pass, and biases corrected. `intaglio calibrate --profile device` gives the same bytes.
  // docs/calibration.md has what it costs and loses.
  static CalibratorOptions device() {
    CalibratorOptions options;
    options.recover = recovery::kBiasCorrection;
    options.one_pass = options.without_halves = true;
    return options;
  }
};

// The bytes of a calibrator's memory, which is one block: the least. Exact: Calibrator::create() refuses one byte less,
// and Calibrator::finish() needs no more. A larger block saves time, up to Calibrator::replay_bytes() more.
struct CalibratorNeeds {
  size_t session_bytes = 0;   // the FP32 session
  size_t observer_bytes = 0;  // what has been seen of each tensor
  size_t replay_bytes = 0;    // CalibratorOptions::replay_bytes
  size_t output_bytes = 0;    // the int8 model, its session, and the lists that they are made from
  // What finish() may take of the FP32 session's bytes for its own: 0 unless CalibratorOptions::one_pass says so. In a block of so many
  // bytes more than total() it leaves the session alone.
  size_t shared_bytes = 0;

  // Bytes of the block.
  size_t total() const { return session_bytes + observer_bytes + replay_bytes + output_bytes - shared_bytes; }
};

// Takes the finished model: writes a file or flash.
struct ModelSink {
  // Returns false if the bytes cannot be stored: Calibrator::finish() then returns kSinkFailed. The bytes are in the
  // calibrator's memory.
  bool (*write)(void* context, Span<const uint8_t> bytes) = nullptr;
  void* context = nullptr;  // is given to the function
};

// Takes a calibration's state in pieces of at most 64 bytes, one behind the other.
struct StateSink {
  // Returns false if the piece cannot be taken: Calibrator::save_to() then returns kSinkFailed.
  bool (*write)(void* context, Span<const uint8_t> piece) = nullptr;
  void* context = nullptr;  // is given to the function
};

// A saved state that stands somewhere else, in flash or in a file.
struct StateSource {
  // Reads the bytes from `at` on, as many as the piece has: at most 64, and none beyond `size`. Returns false if they cannot be
  // read. The same bytes are read up to three times, and must be the same each time.
  bool (*read)(void* context, size_t at, Span<uint8_t> piece) = nullptr;
  void* context = nullptr;  // is given to the function
  size_t size = 0;          // bytes
};

// Samples that can be loaded again and again, in any order. Calibrator::add_all() observes them. Calibrator::finish()
// loads them once more, to correct and judge errors.
struct SampleSource {
  // Writes sample `i`, in [0, count), into the model's inputs. Gives the same bytes each time. Returns false if it
  // cannot: the call then returns kSamplesDiffer.
  bool (*load)(void* context, int32_t i, Span<const Span<uint8_t>> inputs) = nullptr;
  void* context = nullptr;  // is given to both functions
  int32_t count = 0;        // of samples
  // Optional. Called after sample `i` has run through `session`: read the outputs there. In add_all() that session runs
  // the FP32 model. In finish() it runs an int8 model, and a sample may come several times where several models are
  // tried. The last call for a sample is with the model that is handed over.
  void (*ran)(void* context, int32_t i, const Session& session) = nullptr;
  bool loads_at_once = false;  // load() may be called on several of the executor's threads at the same time
};

// One layer of the int8 model compared with the same layer in FP32, over all samples of the source.
struct LayerReport {
  int32_t node = -1;             // of the int8 model
  int32_t tensor = -1;           // its output, in the int8 model
  double signal = 0, noise = 0;  // sums of squares of the FP32 values and of the differences
  double dot = 0,
         norm = 0;  // sums of products, and of the int8 values' squares: cosine = dot / sqrt(signal * norm)
  double noise_alone = 0;  // as `noise`, with exact inputs of this layer
  double clipped =
      0;  // share of the values at an end of the range beyond which the FP32 value lies, in [0, 1]

  // Adds the sums of the same layer over other samples.
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

// The outcome of a recovery.
enum class RecoveryVerdict : uint8_t {
  kKept = 0,
  kNetworkWorse = 1,   // undone: the error of the model's outputs grew
  kBlockWorse = 2,     // undone: the error of the block's own output did not fall
  kTooFewSamples = 3,  // not tried
  kNoSource = 4,       // not tried: finish() got no source, so the samples cannot be loaded again
  kNothingToDo = 5,    // not tried: the model has nothing that it could change
  kUnjudged = 6,       // kept, from what was observed: finish() got no source, so nothing judges it
};

// One attempt of a recovery. Its errors are noise over signal of the model's outputs. They are measured over all
// samples; for a block over the samples that are held out. For a range method they are measured over each half of
// the samples, with ranges from the other half.
struct RecoveryRecord {
  RecoveryMask recovery = recovery::kNone;  // one bit
  int32_t first_node = -1, last_node = -1;  // the block, in the int8 model; -1: all of it
  double before = 0, after = 0;             // errors
  RecoveryVerdict verdict = RecoveryVerdict::kKept;
};

// The results of Calibrator::finish(). Its lists and bytes are in the calibrator's memory.
struct CalibrationReport {
  Span<const LayerReport> layers;           // empty without CalibratorOptions::layer_report or a source
  Span<const RecoveryRecord> recoveries;    // in the order of their attempts
  int32_t samples = 0;                      // how many were observed
  RangeMethod method = RangeMethod::kAuto;  // the method that chose the ranges
  // Sums of squares of the FP32 values of the output, and of the differences, before a final softmax. For
  // several outputs: their number, and the sum of each one's noise over its signal. These samples have calibrated the
  // model: other samples lose more, and much more where there are few.
  double signal = 0, noise = 0;
  // The noise of the model without any recovery. Of many samples it is scaled up from those that judged recoveries.
  double noise_without_recovery = 0;
  Span<const uint8_t> bytes;  // the int8 model
};

// The observations of an activation of the FP32 model: its range and its histograms. Where a recovery has scaled or
// shifted channels, this is of the model that the recovery made.
struct TensorStatistics {
  float min = 0.0f, max = 0.0f;     // zero is always between them
  double start = 0.0, width = 0.0;  // bin `i` counts values in [start + i * width, start + (i + 1) * width)
  // Histograms of samples with an even and with an odd digest, or of all and none, in the calibrator's memory. Empty if nothing was observed, or if
  // ranges are chosen by minimum and maximum alone and no report of layers was asked for.
  Span<const uint32_t> counts[2];
};

// One calibration. A small handle on the memory that the caller gives; it owns nothing. The memory, the model's bytes
// and what the options point to outlive it. Call it from one thread at a time.
class Calibrator {
 public:
  Calibrator() = default;

  // The memory that create() needs with the same arguments. Errors: the model is not FP32 (kNotFloat), an option is out
  // of range (kBadOption and others), or an operator is unknown.
  static Result<CalibratorNeeds> measure(const Model& model, const CalibratorOptions& options = {});
  // The value of CalibratorOptions::replay_bytes with which nothing is computed twice, for so many samples. A block of
  // total() and so many bytes more is the largest one that is useful; less than that saves less time.
  static Result<size_t> replay_bytes(const Model& model, int32_t samples,
                                     const CalibratorOptions& options = {});
  // Starts a calibration. `memory` has the total() of measure() and starts at a multiple of kMemoryAlignment. Errors:
  // those of measure(), and memory that is too small (kOutOfMemory) or misaligned (kMemoryMisaligned).
  static Result<Calibrator> create(const Model& model, Span<uint8_t> memory,
                                   const CalibratorOptions& options = {});

  // Observes one sample: the bytes of each model input, in the order of Model::inputs(). A sample that is given
  // twice counts twice. Each of the first 64 pictures takes three runs (docs/calibration_law.md, probes).
  //
  // Errors: another number of inputs (kSampleCount), an input of another size (kSampleSize), and a sample that makes
  // an activation infinite or not a number (kNonFiniteActivation). That sample is not counted.
  Error add(Span<const Span<const uint8_t>> inputs);
  // Observes one frame of a camera, as add() would observe the input that write_frame() makes of it: it is made in the calibrator's own
  // memory. `scratch` has the bytes that FrameWriter::measure() gives for the model's one input.
  //
  // Errors: those of write_frame() and add(), and a model with several inputs (kSampleCount).
  Error add_frame(const Frame& frame, Span<uint8_t> scratch);
  // Observes every sample of a source. As many run at once as the executor has threads, 8 at most. `bad` gets the
  // index of the sample that an error is about, or -1. Errors: those of add(), kSamplesDiffer and kCancelled.
  Error add_all(const SampleSource& source, int32_t* bad = nullptr);
  // Output `i` of the FP32 model for the last sample of add(). Valid until the next call.
  TensorView output(int32_t i = 0) const;

  // Bytes of the state: what has been seen so far. It can be saved, loaded later, and merged on another device. States
  // of one model and one library version can be merged in any order. The result has the bytes of one calibration over
  // all samples. Another sample may change how many bytes it has.
  size_t state_bytes() const;
  // Writes the state: exactly state_bytes() bytes.
  Error save(Span<uint8_t> state) const;
  // Writes the same bytes in pieces: without memory for all of them.
  Error save_to(const StateSink& sink) const;
  // Replaces what has been seen by a saved state. Errors: a state of another model (kOtherGraph), one that lacks what the range
  // methods and recoveries asked for need (kStateOfLess), or a damaged one
  // (kBadCalibrationState).
  Error load(Span<const uint8_t> state);
  // Adds a saved state to what has been seen. Errors: those of load().
  Error merge(Span<const uint8_t> state);
  // The same of a state that stands somewhere else, by pieces. What cannot be read is damaged. Where the source gives other
  // bytes the second time the calibration is of no use: every call then returns that error, up to the next load().
  Error merge_from(const StateSource& source);

  // Makes the int8 model, opens it, runs it, and hands it to `sink` when all of that went well. With the source of the
  // samples it corrects biases by them and compares every layer. Without one it corrects biases from the means
  // seen, most recoveries do not run, and nothing is measured: signal and noise of the report are 0.
  //
  // Errors: no sample (kNoSamples), a layer that int8 cannot hold, other samples than before (kSamplesDiffer),
  // kSinkFailed and kCancelled. Then `sink` got no model, or refused it.
  Error finish(const ModelSink& sink, const SampleSource* source = nullptr);

  // The results of finish(); call it after that. Where finish() has taken the FP32 session's memory, they are valid until a sample is
  // added.
  const CalibrationReport& report() const;
  // The observations of a tensor of the FP32 model. Empty before finish(). If the tensor shares another's range, this
  // is of that other one.
  TensorStatistics statistics(int32_t tensor) const;

 private:
  struct Parts;
  friend struct CalibratorParts;  // the library's own
  Parts* parts_ = nullptr;        // in the caller's memory
};

}  // namespace intaglio
