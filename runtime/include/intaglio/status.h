// Errors as values: what went wrong, at which node and tensor, with which value, against which limit.
// describe() in intaglio/describe.h makes a sentence of an error. A program that never calls it links no text.
// The C interface takes the list of statuses from here; the rest is C++.
#pragma once

#ifdef __cplusplus
#include <cstdint>
#include <utility>
#endif

// Every status, as X(enumerator, number, text). A number never changes its meaning. In a text, {node}, {tensor},
// {value} and {limit} stand for the error's fields. {op}, {state} and others are names made from these numbers.
#define ITG_STATUS_LIST(X)                                                                                   \
  X(kOk, 0, "ok")                                                                                            \
  /* the container */                                                                                        \
  X(kFileTooSmall, 1, "{value} bytes are too few for a model file (at least {limit})")                       \
  X(kFileTooLarge, 2, "{value} bytes are too many for a model file (at most {limit})")                       \
  X(kMisaligned, 3,                                                                                          \
    "the model's bytes start {value} past a multiple of {limit}; copy them to an aligned place")             \
  X(kNotAModel, 4, "not an intaglio model: the identifier ITG1 is missing")                                  \
  X(kNewerFormat, 5,                                                                                         \
    "the model needs a reader of format {value}; this library reads up to {limit}: update the library")      \
  X(kBadStructure, 6, "the file is damaged or cut short: its tables do not hold together")                   \
  X(kBadChecksum, 7, "the file is damaged: its CRC-32 is {value}, recorded is {limit}")                      \
  X(kTooManyItems, 8, "{value} items where at most {limit} are allowed")                                     \
  X(kMissingField, 9, "a required field is missing (field {value})")                                         \
  X(kBadString, 10, "a name is missing, too long, not UTF-8 or not unique")                                  \
  X(kBadEnum, 11, "unknown enumerator {value} (at most {limit} is known)")                                   \
  X(kOlderFormat, 13, "the model is of format {value}, older than {limit}: make it again")                   \
  /* references */                                                                                           \
  X(kTensorIndex, 20, "tensor index {value} is outside the model's {limit} tensors")                         \
  X(kBufferIndex, 21, "buffer index {value} is outside the model's {limit} buffers")                         \
  X(kInputMissing, 22, "input {value} is missing")                                                           \
  X(kInputCount, 23, "{value} inputs where {limit} are expected")                                            \
  X(kOutputCount, 24, "{value} outputs where {limit} are expected")                                          \
  X(kNotProduced, 25, "{tensor} is read but nothing before node {node} writes it")                           \
  X(kProducedTwice, 26, "{tensor} is written more than once, or after nodes that write later tensors")       \
  X(kWritesConstant, 27, "{tensor} is a constant or an input and must not be written")                       \
  X(kConstantExpected, 28, "{tensor} must be a constant")                                                    \
  X(kActivationExpected, 29, "{tensor} must not be a constant")                                              \
  X(kDuplicateTensor, 30, "{tensor} is listed twice")                                                        \
  X(kBadState, 31, "state {value} does not pair an input with an output of the same type and shape")         \
  /* types and shapes */                                                                                     \
  X(kBadDType, 40, "element type {value} is not allowed here (expected {limit})")                            \
  X(kBadRank, 41, "rank {value} is not allowed here (expected {limit})")                                     \
  X(kBadDimension, 42, "dimension {value} is not allowed (1 to {limit})")                                    \
  X(kTensorTooLarge, 43, "{tensor} is larger than {limit} bytes")                                            \
  X(kConstantSize, 44, "the constant holds {value} bytes, its shape needs {limit}")                          \
  X(kShapeMismatch, 45, "a dimension is {value} where {limit} is expected")                                  \
  X(kConstantAlignment, 46, "{tensor} does not start at a multiple of {limit}")                              \
  X(kNonFinite, 47, "{tensor} holds a value that is not finite (channel {value})")                           \
  /* attributes */                                                                                           \
  X(kBadKernel, 60, "window size {value} is not allowed (1 to {limit})")                                     \
  X(kBadStride, 61, "stride {value} is not allowed (1 to {limit})")                                          \
  X(kBadDilation, 62, "dilation {value} is not allowed (1 to {limit})")                                      \
  X(kBadPadding, 63, "padding {value} is not allowed (0 to {limit}, and less than the window)")              \
  X(kBadGroups, 64, "{value} groups do not divide {limit} channels")                                         \
  X(kBadClamp, 65,                                                                                           \
    "the clamp from {value} to {limit} is upside down, outside the type, or not allowed here")               \
  X(kBadAxis, 66, "axis {value} is not allowed (below {limit}, each once)")                                  \
  X(kBadTable, 67, "entry {value} of a lookup table is outside its range (limit {limit})")                   \
  X(kBadImageInput, 68, "the image preprocessing is not usable (channel {value})")                           \
  X(kBadPictureSize, 69, "a picture side of {value} pixels is not allowed (1 to {limit})")                   \
  X(kPictureRows, 70, "row {value} was given for a picture of {limit} rows")                                 \
  X(kPictureBytes, 71, "the picture's memory has {value} bytes, {limit} are needed")                         \
  X(kRowBytes, 75, "rows {value} bytes apart overlap: a row of the picture has {limit} bytes")               \
  X(kBadSlice, 72, "a slice reads index {value} of an axis of {limit}")                                      \
  X(kBadIndex, 73, "index {value} is outside an axis of {limit}")                                            \
  X(kBadAttribute, 74,                                                                                       \
    "attribute {value} (0 alpha, epsilon or factor, 1 beta or multiplier, 2 pad value) is out of range")     \
  X(kNoImageInput, 76, "the model has no image preprocessing of that number: fill its input yourself")       \
  X(kWrongOptions, 77, "the options are of table {value}, the operator's of table {limit} (0: none)")        \
  X(kSampleBits, 78, "samples of {value} bits are not allowed in this order of pixels (8 to {limit})")       \
  /* quantization */                                                                                         \
  X(kQuantizationMissing, 80, "{tensor} needs a scale")                                                      \
  X(kBadScale, 81, "a scale is not finite or not within 2^-40 to 2^40 (channel {value})")                    \
  X(kScaleCount, 82, "{value} scales where {limit} are expected")                                            \
  X(kBadZeroPoint, 83, "zero point {value} is not allowed here (limit {limit})")                             \
  X(kBadQuantizationAxis, 84, "quantization axis {value} is not allowed here (expected {limit})")            \
  X(kQuantizationMismatch, 85, "{tensor} must have the scale and zero point of the node's input")            \
  X(kBadMultiplier, 86, "requantization multiplier of channel {value} is not the one its scales give")       \
  X(kBadFoldedBias, 87, "folded bias of channel {value} is not the one its weights give")                    \
  X(kAccumulatorOverflow, 88, "the int32 accumulator of channel {value} can overflow")                       \
  X(kScaleRatio, 89,                                                                                         \
    "the scales of two inputs and the output are too far apart for exact addition; keep the node in "        \
    "float")                                                                                                 \
  X(kSharedScales, 92,                                                                                       \
    "{tensor} shares its {value} scales with others: the file holds {limit} more at most")                   \
  X(kBadAddBits, 91, "an addition with multipliers of {value} bits is not allowed (15 to {limit})")          \
  X(kBadRounding, 90, "requantization rounding {value} is not half-even")                                    \
  /* the memory plan */                                                                                      \
  X(kPlanSize, 100, "the plan holds {value} offsets for {limit} tensors")                                    \
  X(kPlanOffset, 101, "{tensor} ends at {value}, past the {limit} activation bytes")                         \
  X(kPlanAlignment, 102, "{tensor} is placed at {value}, not at a multiple of {limit}")                      \
  X(kPlanOverlap, 103, "{tensor} is placed over tensor {value}, which is still needed")                      \
  X(kPersistentTooSmall, 104, "persistent memory has {value} bytes, {limit} are needed")                     \
  X(kActivationsTooSmall, 105, "activation memory has {value} bytes, {limit} are needed")                    \
  X(kScratchTooSmall, 106, "scratch memory has {value} bytes, {limit} are needed")                           \
  X(kMemoryMisaligned, 107, "memory starts {value} past a multiple of {limit}")                              \
  X(kBadExecutor, 108, "an executor of width {value} is not allowed (1 to {limit})")                         \
  X(kBadPack, 109,                                                                                           \
    "the packed weights are not those of the node (byte {value} differs): pack the model again")             \
  X(kPlanTooLarge, 110, "the plan takes {value} activation bytes; all tensors together have {limit}")        \
  X(kMemoryOverlap, 111, "memory of {value} bytes overlaps other memory of the session")                     \
  X(kSessionTooLarge, 112,                                                                                   \
    "{value} bytes of memory are needed, more than the {limit} that may be asked for")                       \
  X(kBadSegment, 113,                                                                                        \
    "segment {value} of the streamed plan is not behind the one before it, or its lists differ in length")   \
  X(kNotByRows, 114, "node {node} cannot run by rows: plan the memory again")                                \
  X(kBadRowStep, 115, "{tensor} advances by {value} where {limit} is expected")                              \
  X(kBadLineBuffer, 116, "the line buffer of {tensor} has {value} rows, {limit} are needed")                 \
  X(kRowsTooLate, 117, "node {node} reads rows of {tensor} that are not written yet ({value}, {limit})")     \
  X(kRowsGone, 118, "node {node} reads {tensor} as a whole, which is kept by rows only")                     \
  X(kAboveCeiling, 119, "a session takes {value} bytes of memory, and the model's ceiling is {limit}")       \
  X(kPlanCrosses, 123,                                                                                       \
    "{tensor} ends at {value}, across the end of the fast memory ({limit}): plan the memory again")          \
  X(kMemoryApart, 124, "two memories lie {value} bytes apart (at most {limit})")                             \
  /* operators */                                                                                            \
  X(kOperatorMissing, 120,                                                                                   \
    "no {op} of these types is in the list given to the session: int8_ops() is for int8 models, "            \
    "float_ops() for FP32 ones, all_ops() for every one")                                                    \
  X(kOtherKernels, 122,                                                                                      \
    "the session was planned for another machine ({target}), the library here is for {own_target}: export "  \
    "the model again with the --target of this machine")                                                     \
  /* calibration */                                                                                          \
  X(kOutOfMemory, 140, "{value} bytes of memory are not enough, {limit} are needed")                         \
  X(kNoSamples, 141, "no samples were given: calibration needs at least one")                                \
  X(kSampleCount, 142, "{value} inputs were given, the model takes {limit}")                                 \
  X(kSampleSize, 143, "an input holds {value} bytes, the model takes {limit}")                               \
  X(kNonFiniteActivation, 144, "sample {value} makes {tensor} not finite; first at element {limit}")         \
  X(kOtherGraph, 145,                                                                                        \
    "the calibration state belongs to another model, or other layers stayed in FP32 (--keep-float, "         \
    "--int8-answers)")                                                                                       \
  X(kBadCalibrationState, 146, "the calibration state is damaged (offset {value})")                          \
  X(kNotFloat, 148, "{tensor} is not FP32: only FP32 models can be calibrated")                              \
  X(kCancelled, 149, "cancelled")                                                                            \
  X(kReplayDiffers, 150, "the written model does not give the results it was checked with")                  \
  X(kSinkFailed, 151, "the finished model could not be stored")                                              \
  X(kBadOption, 152, "calibration option {value} is outside its range (limit {limit})")                      \
  X(kSamplesDiffer, 153, "the sample source gave other samples than before (sample {value})")                \
  X(kStateNotCalibrated, 154,                                                                                \
    "{tensor} is a state, which goes from run to run: make_step_model() gives the model of one step, which " \
    "is calibrated in its place")                                                                            \
  X(kNoStepModel, 155,                                                                                       \
    "the model is no step of the one whose states it is said to have ({value}, and {limit} are expected)")   \
  X(kStateOfLess, 156,                                                                                       \
    "the calibration state was made for another range method or other recoveries, which need less of it: "   \
    "calibrate with those, or make the state anew with these")                                               \
  X(kAnswersMissing, 157, "answers are missing")                                                             \
  /* the store of two slots */                                                                               \
  X(kNotVerified, 160, "the file's signature is not good: nothing of it was read")                           \
  X(kSlotTooSmall, 161, "a slot holds {limit} bytes, and the file has {value}")                              \
  X(kFlashFailed, 162, "the flash could not be written; the model in use is what it was")                    \
  X(kCeilingRaised, 163,                                                                                     \
    "the ceiling of memory of the model is {value} bytes (0: none), and that of the model in use "           \
    "{limit}: give it that one, or a lower one")                                                             \
  /* learning the last layer */                                                                              \
  X(kNoFeatures, 164, "no layer with weights at the end of the model reads one int8 vector")                 \
  X(kBadLabel, 165, "class {value} is not among the {limit} that are learnt")                                \
  X(kNoExamples, 166, "class {value} has no example")                                                        \
  X(kOtherLayer, 167, "the learnt layer is damaged, or belongs to another model")                            \
  /* quantization configs */                                                                                 \
  X(kBadPolicy, 170, "quantization policy {value} is none of the 12 legal ones: {properties}")               \
  X(kBadBits, 171, "{value} bits are not allowed (2 to {limit})")                                            \
  X(kStateTransition, 172, "a quantization config cannot go from {state} to {next_state}")                   \
  X(kConfigWithoutScale, 173,                                                                                \
    "a quantization config cannot go from {state} to {next_state} without a scale and an offset in range")   \
  X(kDominatedSlot, 174, "slot {value} follows slot {limit}: only that one's parameters can be written")     \
  X(kFixedConfig, 175, "the quantization of slot {limit} is {state} and cannot be written")                  \
  X(kNotJoinable, 176,                                                                                       \
    "slot {value} cannot share the quantization of slot {limit}: one is in float, of indices or of "         \
    "another granularity")                                                                                   \
  X(kUnfinishedConfig, 177, "the quantization of {tensor} is still {state}, so nothing is baked")            \
  X(kBitsNotDeployable, 178,                                                                                 \
    "{value} bits, signed, for {tensor}: at most {limit} can be deployed; take fewer, keep the node in "     \
    "float, or simulate it")                                                                                 \
  X(kChannelsNotDeployable, 179,                                                                             \
    "a scale a channel for {tensor}: activations have one; make it per-tensor, keep the node in float, "     \
    "or simulate it")                                                                                        \
  X(kExponentialNotDeployable, 180,                                                                          \
    "exponential codes for {tensor}: int8 kernels take linear ones; make it linear, keep the node in "       \
    "float, or simulate it")                                                                                 \
  X(kOffsetNotDeployable, 181,                                                                               \
    "asymmetric weights {tensor}: kernels take a zero point of 0; make them symmetric, keep the node in "    \
    "float, or simulate it")                                                                                 \
  X(kRoundingNotDeployable, 182,                                                                             \
    "rounding {rounding} for {tensor}: the runtime rounds half to even; take half-even, keep the node in "   \
    "float, or simulate it")                                                                                 \
  X(kAnswerSlot, 183,                                                                                        \
    "{tensor} is, or comes from, the model's answer, which leaves in FP32: it has no codes to set; ask "     \
    "for int8 answers (--int8-answers)")

#ifdef __cplusplus
namespace intaglio {

// The kind of an error: kOk, or a status of ITG_STATUS_LIST.
enum class Status : uint16_t {
#define ITG_STATUS_ENUMERATOR(name, number, text) name = (number),
  ITG_STATUS_LIST(ITG_STATUS_ENUMERATOR)
#undef ITG_STATUS_ENUMERATOR
};

// An error, or kOk. A plain value: it owns nothing and points to nothing.
struct [[nodiscard]] Error {
  Status status = Status::kOk;
  int32_t node = -1;    // index into the model's nodes, or -1
  int32_t tensor = -1;  // index into the model's tensors, or -1
  int64_t value = 0;    // what was found
  int64_t limit = 0;    // what was needed or allowed

  // Whether there is no error.
  constexpr bool ok() const { return status == Status::kOk; }
};

inline constexpr Error kNoError{};  // what functions return that have nothing to report

// A value, or the error that took its place:
//
//   const Result<Model> model = Model::open(file);
//   if (!model) return model.error();
//
// With an error the value is a default-constructed `T`.
template <typename T>
class [[nodiscard]] Result {
 public:
  // From a value, or from an error.
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(const Error& error) : error_(error) {}  // NOLINT(google-explicit-constructor)

  // Whether there is a value.
  explicit operator bool() const { return error_.ok(); }
  // The error; kNoError where there is a value.
  const Error& error() const { return error_; }
  // The value. Check first that there is no error.
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_{};
  Error error_{};
};

// Evaluates `expression`, which gives an Error. Where that is an error, the enclosing function returns it.
#define ITG_TRY(expression)                                                  \
  do {                                                                       \
    if (const ::intaglio::Error itg_error = (expression); !itg_error.ok()) { \
      return itg_error;                                                      \
    }                                                                        \
  } while (false)

}  // namespace intaglio
#endif
