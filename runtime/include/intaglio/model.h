// A model file in memory: opened once, checked whole, then read in place.
// The file's format is described in schema/README.md.
#pragma once

#include <limits>

#include "intaglio/image_input.h"
#include "intaglio/span.h"
#include "intaglio/status.h"
#include "intaglio/tensor.h"

namespace intaglio {

// Operators, as numbered in the model file.
enum class Op : uint16_t {
  kNone = 0,
  kConv2d = 1,
  kDepthwiseConv2d = 2,
  kFullyConnected = 3,
  kAdd = 4,
  kAvgPool2d = 5,
  kMaxPool2d = 6,
  kMean = 7,
  kSoftmax = 8,
  kReshape = 9,
  kTranspose = 10,
  kQuantize = 11,
  kDequantize = 12,
  kLookup = 13,
  kClamp = 14,
  kMul = 15,
  kSub = 16,
  kConcat = 17,
  kPad = 18,
  kStridedSlice = 19,
  kGather = 20,
  kResize = 21,
  kPRelu = 22,
  kLeakyRelu = 23,
  kSigmoid = 24,
  kTanh = 25,
  kHardSwish = 26,
  kHardSigmoid = 27,
  kSwish = 28,
  kGelu = 29,
  kExp = 30,
  kAbs = 31,
  kSqrt = 32,
  kRsqrt = 33,
  kReciprocal = 34,
  kLog = 35,
  kErf = 36,
  kElu = 37,
  kSoftplus = 38,
  kMish = 39,
  kGeluTanh = 40,
  kDiv = 41,
  kMaximum = 42,
  kMinimum = 43,
  kL2Normalize = 44,
};
inline constexpr int32_t kOpCount = 45;

inline constexpr uint16_t kFormatVersion = 1;   // of files that this library writes, and the newest it reads
inline constexpr uint16_t kOldestFormat = 1;    // that it reads
inline constexpr size_t kModelAlignment = 16;   // of the first byte of a model
inline constexpr size_t kMemoryAlignment = 64;  // of the memory given to a session
inline constexpr size_t kTensorAlignment = 16;  // of a tensor within the activation memory
inline constexpr size_t kMaxModelBytes = size_t{1} << 30;
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 30;
inline constexpr int32_t kMaxTensors = 16384;
inline constexpr int32_t kMaxNodes = 8192;

// A convolution's or pool's window. Output size: (in + pads - (kernel - 1) * dilation - 1) / stride + 1.
struct Window2d {
  int32_t kernel_h = 1, kernel_w = 1;
  int32_t stride_h = 1, stride_w = 1;
  int32_t dilation_h = 1, dilation_w = 1;
  int32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  bool count_include_pad = false;  // average pooling: padding counts as zeros
};

// Resize. An output's coordinate o becomes the input's, of `in` and `out` elements:
enum class Interpolation : uint8_t { kNearest = 0, kBilinear = 1 };
enum class Coordinates : uint8_t {
  kHalfPixel = 0,     // (o + 1/2) * in / out - 1/2
  kAlignCorners = 1,  // o * (in - 1) / (out - 1); 0 where out is 1
  kAsymmetric = 2,    // o * in / out
};
enum class NearestRounding : uint8_t { kFloor = 0, kCeil = 1, kHalfDown = 2, kHalfUp = 3 };

struct Resample {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestRounding rounding = NearestRounding::kFloor;  // of nearest neighbours
};

// What a node carries beside its tensors; an operator reads the members that are its own.
struct NodeOptions {
  Window2d window;
  int32_t groups = 1;
  float clamp_min = -std::numeric_limits<float>::infinity();  // FP32: fused activation
  float clamp_max = std::numeric_limits<float>::infinity();
  int32_t clamp_lo = -128;  // int8: the same in output codes
  int32_t clamp_hi = 127;
  float intermediate_scale = 0.0f;  // int8 with a residual input: quantization of the sum before it
  int32_t intermediate_zero_point = 0;
  Span<const float> multiplier;     // int8 convolutions: [oc]
  Span<const int32_t> folded_bias;  // int8 convolutions: [oc]
  Span<const int32_t> axes;         // Mean: reduced axes, ascending; Transpose: permutation
  int32_t axis = 0;                 // Concat, Gather
  Span<const int32_t> begin;        // of each axis. Pad: elements put before; StridedSlice: first index
  Span<const int32_t> strides;      // StridedSlice: step of each axis, not 0; below 0 it walks back
  Resample resample;                // Resize
  float alpha =
      0.0f;  // LeakyRelu, Elu: slope below 0; HardSigmoid: alpha * x + beta; L2Normalize: least norm
  float beta = 0.0f;
  float pad_value = 0.0f;  // Pad: the real number that it writes
  int32_t add_bits = 15;   // int8 Add, Sub: bits of the larger multiplier, 15 to 20
};

struct NodeInfo {
  const char* name = "";
  Op op = Op::kNone;
  Span<const int32_t> inputs;   // tensor indices; -1: absent
  Span<const int32_t> outputs;  // tensor indices
  NodeOptions options;
};

// A state pair of a recurrent network. Before a run the input holds what the output held after the last one.
struct StateInfo {
  int32_t input = -1;           // tensor index
  int32_t output = -1;          // tensor index; has the input's type and shape
  Span<const uint8_t> initial;  // the input's bytes before the first run; empty: zeros
};

// How a model was calibrated. Empty strings and zeros for a model that was not calibrated.
struct CalibrationInfo {
  const char* library_version = "";    // "0.1.0"
  const char* method = "";             // the range method: "auto"
  const char* options = "";            // the other options, in words
  uint32_t samples = 0;                // how many
  Span<const uint8_t> samples_digest;  // 32 bytes: the sum modulo 2^256 of each sample's SHA-256
};

// The version of the layouts in which kernels read packed weights. Raised when one of them changes.
inline constexpr uint16_t kPackLayout = 3;

// A node's weights in the layout of one kernel, as `intaglio pack` writes them. Session::create() compares them with
// the plain weights, and uses them in place if it chooses that kernel. Else it ignores them.
struct PackInfo {
  const char* kernel = "";   // as Session::kernel_name() says
  uint16_t layout = 0;       // kPackLayout of the library that wrote it
  Span<const uint8_t> data;  // the packed weights; empty: the node has none
};

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
  // Node `index`, in [0, node_count()).
  NodeInfo node(int32_t index) const;
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
  // Where an activation starts, in bytes. kNoOffset for a constant.
  uint32_t activation_offset(int32_t tensor) const;

  static constexpr uint32_t kNoOffset = 0xffffffffu;  // activation_offset() of a constant

 private:
  friend class Session;  // of a planned model
  static Model without_checks(Span<const uint8_t> bytes);

  Span<const uint8_t> bytes_;
  const void* root_ = nullptr;
};

}  // namespace intaglio
