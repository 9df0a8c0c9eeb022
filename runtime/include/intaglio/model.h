// A model file in memory: opened once, checked whole, then read in place.
// The file's format is described in schema/README.md.
#pragma once

#include "intaglio/image_input.h"
#include "intaglio/node_options.h"
#include "intaglio/span.h"
#include "intaglio/status.h"
#include "intaglio/tensor.h"

namespace intaglio {

inline constexpr uint16_t kFormatVersion = 3;   // of files that this library writes, and the newest it reads
inline constexpr uint16_t kOldestFormat = 1;    // that it reads
inline constexpr size_t kModelAlignment = 16;   // of the first byte of a model
inline constexpr size_t kMemoryAlignment = 64;  // of the memory given to a session
inline constexpr size_t kTensorAlignment = 16;  // of a tensor within the activation memory
inline constexpr size_t kMaxModelBytes = size_t{1} << 30;
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 30;
inline constexpr int32_t kMaxTensors = 16384;
inline constexpr int32_t kMaxNodes = 8192;

// An operator with its tensors; its spans point into the model's bytes.
struct NodeInfo {
  const char* name = "";
  Op op = Op::kNone;
  Span<const int32_t> inputs;   // tensor indices; -1: absent
  Span<const int32_t> outputs;  // tensor indices
  NodeOptions options;          // the operator's own: options.as<Conv2dOptions>().groups
};

// A state pair of a recurrent network. Before a run the input holds what the output held after the last one.
struct StateInfo {
  int32_t input = -1;           // tensor index
  int32_t output = -1;          // tensor index; has the input's type and shape
  Span<const uint8_t> initial;  // the input's bytes before the first run; empty: zeros
};

// How a model was calibrated. Empty strings and zeros for a model that was not calibrated.
struct CalibrationInfo {
  const char* library_version = "";    // "1.0.0"
  const char* method = "";             // the range method: "auto"
  const char* options = "";            // the other options, in words
  uint32_t samples = 0;                // how many
  Span<const uint8_t> samples_digest;  // 32 bytes: the sum modulo 2^256 of each sample's SHA-256
};

// What the numbers of a model's output are. No result depends on it: figures and advice do (docs/calibration.md).
enum class AnswerKind : uint8_t {
  kUnknown = 0,    // import was not told
  kClasses = 1,    // a score for each class, or one score of two classes
  kValues = 2,     // numbers in a unit of their own: angles, forecasts, pictures
  kBoxes = 3,      // places of things, and what they are
  kMap = 4,        // a class, or the scores of classes, for each of many places
  kEmbedding = 5,  // directions count, and distances between them
};

// The version of the layouts in which kernels read packed weights. Raised when one of them changes.
inline constexpr uint16_t kPackLayout = 4;

// A node's weights in the layout of one kernel, as `intaglio pack` writes them. Session::create() compares them with
// the plain weights, and uses them in place if it chooses that kernel. Else it ignores them.
struct PackInfo {
  const char* kernel = "";   // as Session::kernel_name() says
  uint16_t layout = 0;       // kPackLayout of the library that wrote it
  Span<const uint8_t> data;  // the packed weights; empty: the node has none
};

// Nodes of a streamed plan that run depth first, a few rows at a time (schema/model.fbs says what the numbers are).
struct SegmentInfo {
  int32_t first = 0, count = 0;  // its nodes
  int32_t band = 1;              // how far the clock goes on at a step
  Span<const int32_t> strides;   // [count]
  Span<const int32_t> leads;     // [count]
  Span<const int32_t> rows;  // [count] of the output's line buffer; 0: all of it is kept; -1: a mean's sums
  // The same of the model's first input, where it comes by rows (Session::feed_rows); else 0.
  int32_t picture_stride = 0, picture_lead = 0, picture_rows = 0;
};

struct Streaming;  // intaglio/streaming.h

// How Model::open() checks a file.
struct OpenOptions {
  // Do not compute the CRC-32. For callers that authenticate the bytes themselves. All else is checked always.
  bool skip_checksum = false;
};

// A handle on checked bytes: small, copied freely, owns nothing. The bytes stay unchanged and at their place as
// long as a Model, Session or TensorInfo made from them is used. Names, shapes, scales and constants point into
// them. Indices are in range: this is not checked.
class Model {
 public:
  Model() = default;

  // Checks everything that needs no knowledge of an operator; Session::create() checks the rest. `bytes` start at
  // a multiple of kModelAlignment (kMisaligned) and are a whole file, at most kMaxModelBytes. An error names what
  // is wrong: the node, the tensor, the value and the limit.
  static Result<Model> open(Span<const uint8_t> bytes, const OpenOptions& options = {});

  // The file.
  Span<const uint8_t> bytes() const { return bytes_; }
  // How many tensors and nodes it has: at most kMaxTensors and kMaxNodes. Nodes stand in the order in which they run.
  int32_t tensor_count() const;
  int32_t node_count() const;
  // Tensor `index`, in [0, tensor_count()).
  TensorInfo tensor(int32_t index) const;
  // The channels of the network's tensor that are left in tensor `index`, where import has taken out some that hold one code.
  KeptChannels kept_channels(int32_t index) const;
  // Node `index`, in [0, node_count()).
  NodeInfo node(int32_t index) const;
  // The tensors of node `index` alone: its options, which take longest, are not read.
  Span<const int32_t> node_inputs(int32_t index) const;
  Span<const int32_t> node_outputs(int32_t index) const;
  // The model's inputs and outputs: tensor indices. No state input is among them.
  Span<const int32_t> inputs() const;
  Span<const int32_t> outputs() const;
  // How many state pairs it has, and the pair `index`.
  int32_t state_count() const;
  StateInfo state(int32_t index) const;
  // How many image inputs it has: inputs with a recipe for pictures.
  int32_t image_count() const;
  // The recipe of image input `index`. With an index out of range it has no channels and takes no picture.
  ImageInput image(int32_t index) const;
  // What its outputs are, as import was told: an AnswerKind each. Empty: it was not.
  Span<const uint8_t> answers() const;
  // Bytes that a session may take in all (SessionNeeds::total) on the machine that the model is for: `calibrate --ceiling`. 0: any.
  // Session::measure() refuses more.
  uint32_t memory_ceiling() const;
  // Whether its FP32 sums over many terms go by blocks (docs/arithmetic.md), as in files from format 3 on. In others they are one chain.
  bool blocked_sums() const;
  // How it was calibrated.
  CalibrationInfo calibration() const;
  // The packed weights of a node.
  PackInfo pack(int32_t node) const;
  // The version of the format that it was written in.
  uint16_t format_version() const;

  // The activation plan of the file: where each activation lies in a session's activation memory.

  // Size of the plan in bytes.
  size_t activation_bytes() const;
  // Bytes of the largest set of tensors alive at once: no plan can be smaller.
  size_t activation_lower_bound() const;
  // The first bytes of the plan that may lie in a fast memory of their own (intaglio/two_memories.h). 0: it is for one memory.
  size_t fast_bytes() const;
  // Where an activation starts, in bytes. kNoOffset for a constant.
  uint32_t activation_offset(int32_t tensor) const;
  // Whether the file also holds a streamed plan, for sessions that run rows through line buffers (intaglio/streaming.h).
  bool has_streamed_plan() const;

  static constexpr uint32_t kNoOffset = 0xffffffffu;  // activation_offset() of a constant

 private:
  friend class Session;  // of a planned model
  friend struct StreamedModel;
  friend struct TwoMemories;
  friend struct NodeView;
  static Model without_checks(Span<const uint8_t> bytes, const Streaming* streaming = nullptr);
  // A part of tensor(index), for what is read in each run. A zero point is 0 where there is none.
  Shape tensor_shape(int32_t index) const;
  int32_t tensor_zero_point(int32_t index) const;

  Span<const uint8_t> bytes_;
  const void* root_ = nullptr;
  const Streaming* streaming_ =
      nullptr;  // what runs it by its streamed plan; nullptr: it runs by the flat one
  const uint32_t* offsets_ =
      nullptr;  // of the activations: the plan's, or those of a session in two memories
};

}  // namespace intaglio
