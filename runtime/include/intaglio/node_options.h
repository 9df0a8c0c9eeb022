// The options of operators. Each has options of its own, and reads no others.
// Made by scripts/make_schema_tables from schema/model.fbs: change that file, and run the script.
// clang-format off
#pragma once

#include <cstddef>
#include <limits>

#include "intaglio/op_codes.h"
#include "intaglio/span.h"

namespace intaglio {

// How a sum becomes a code.
enum class RoundingMode : uint8_t {
  kHalfEven = 0,
};

// What Resize makes of the elements around a coordinate.
enum class Interpolation : uint8_t {
  kNearest = 0,
  kBilinear = 1,
};

// An output's coordinate o becomes the input's, of `in` and `out` elements:
enum class Coordinates : uint8_t {
  kHalfPixel = 0,  // (o + 1/2) * in / out - 1/2
  kAlignCorners = 1,  // o * (in - 1) / (out - 1); 0 where out is 1
  kAsymmetric = 2,  // o * in / out
};

// Which element is the nearest one.
enum class NearestRounding : uint8_t {
  kFloor = 0,
  kCeil = 1,
  kHalfDown = 2,
  kHalfUp = 3,
};

// The table of the file that an operator's options are in, by its number there.
enum class OptionsKind : uint8_t {
  kNone = 0,
  kConv2dOptions = 1,
  kDepthwiseConv2dOptions = 2,
  kFullyConnectedOptions = 3,
  kPool2dOptions = 4,
  kAddOptions = 5,
  kElementwiseOptions = 6,
  kReduceOptions = 7,
  kTransposeOptions = 8,
  kConcatOptions = 9,
  kGatherOptions = 10,
  kPadOptions = 11,
  kStridedSliceOptions = 12,
  kResizeOptions = 13,
  kUnaryOptions = 14,
  kL2NormalizeOptions = 15,
  kBatchMatMulOptions = 16,
  kTopKOptions = 17,
  kOneHotOptions = 18,
  kNormalizeOptions = 19,
};

// ---- what several operators' options hold

// Fused activation. FP32 nodes read min and max, int8 nodes the codes lo and hi.
struct Clamp {
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  int32_t lo = -128;
  int32_t hi = 127;
};

// A convolution's or pool's window. Output size: (in + pads - (kernel - 1) * dilation - 1) / stride + 1.
struct Window2d {
  int32_t kernel_h = 1;
  int32_t kernel_w = 1;
  int32_t stride_h = 1;
  int32_t stride_w = 1;
  int32_t dilation_h = 1;
  int32_t dilation_w = 1;
  int32_t pad_top = 0;
  int32_t pad_left = 0;
  int32_t pad_bottom = 0;
  int32_t pad_right = 0;
  bool count_include_pad = false;  // average pooling: padding counts as zeros
};

// Of int8 layers with weights: what a device needs to requantize in place, computed by the writer and checked by the
// loader.
struct Requantization {
  Span<const float> multiplier;  // [oc]: f32(f32(s_in * s_w[c]) / s_out); of a sum that leaves in FP32 f32(s_in * s_w[c])
  Span<const int32_t> folded_bias;  // [oc]: bias[c] - z_in * sum of the channel's weights
  RoundingMode rounding = RoundingMode::kHalfEven;
};

// Quantization of a convolution's own result before its residual input is added.
struct Intermediate {
  float scale = 0.0f;
  int32_t zero_point = 0;
};

// ---- options, a struct for each family of operators

// Conv2D.
struct Conv2dOptions {
  Clamp clamp;
  Window2d window;
  Requantization requantization;
  int32_t groups = 1;
  Intermediate intermediate;  // int8 with a residual input
  uint8_t add_bits = 15;  // int8 with a residual input: bits of the larger multiplier, 15 to 21
};

// DepthwiseConv2D.
struct DepthwiseConv2dOptions {
  Clamp clamp;
  Window2d window;
  Requantization requantization;
};

// FullyConnected.
struct FullyConnectedOptions {
  Clamp clamp;
  Requantization requantization;
};

// AvgPool2D, MaxPool2D.
struct Pool2dOptions {
  Clamp clamp;
  Window2d window;
};

// Add, Sub.
struct AddOptions {
  Clamp clamp;
  uint8_t add_bits = 15;  // int8: bits of the larger multiplier, 15 to 21
};

// Quantize, Clamp, Mul, Div, Maximum, Minimum.
struct ElementwiseOptions {
  Clamp clamp;
};

// Mean.
struct ReduceOptions {
  Clamp clamp;
  Span<const int32_t> axes;  // that are reduced, ascending
};

// Transpose.
struct TransposeOptions {
  Span<const int32_t> permutation;  // output axis i is input axis permutation[i]
};

// Concat.
struct ConcatOptions {
  int32_t axis = 0;
};

// Gather, GatherElements.
struct GatherOptions {
  int32_t axis = 0;
};

// Pad.
struct PadOptions {
  Span<const int32_t> before;  // elements put before each axis; how many stand behind follows from the output's shape
  float value = 0.0f;  // the real number that is written there
};

// StridedSlice.
struct StridedSliceOptions {
  Span<const int32_t> begin;  // first index of each axis
  Span<const int32_t> strides;  // step of each axis, not 0; below 0 it walks back
};

// How the input at an output's coordinate is found: see kernels/resize/resize_rows.h.
// Resize.
struct ResizeOptions {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestRounding rounding = NearestRounding::kFloor;  // of nearest neighbours' coordinates
};

// LeakyRelu, HardSigmoid, Elu, Pow, Selu, Celu, ThresholdedRelu, Shrink.
struct UnaryOptions {
  float alpha = 0.0f;  // ONNX's alpha; HardSigmoid: alpha * x + beta; Pow: the exponent; Shrink: ONNX's lambd
  float beta = 0.0f;  // HardSigmoid; Selu: ONNX's gamma; Shrink: ONNX's bias
};

// L2Normalize.
struct L2NormalizeOptions {
  float min_norm = 0.0f;  // a smaller norm counts as this one
};

// y [..., m, n] = scale * a [..., m, k] times b [..., k, n]; axes before these repeat where one operand has 1.
// BatchMatMul.
struct BatchMatMulOptions {
  bool transpose_b = false;  // b is [..., n, k]
  float scale = 1.0f;  // finite, above 0
};

// Indices of the greatest elements of an axis, the greatest first; how many follows from the output's shape.
// TopK.
struct TopKOptions {
  int32_t axis = 0;
  bool smallest = false;  // the least elements, the least first
  bool last_of_equal = false;  // of equal elements the one with the greatest index comes first
};

// Each index becomes a row along `axis` of the output: `on` at the index, `off` elsewhere.
// OneHot.
struct OneHotOptions {
  int32_t axis = 0;  // of the output, where the rows lie
  float on = 0.0f;
  float off = 0.0f;
  bool from_end = false;  // indices below 0 count from the end; else they have no place
};

// y = (x - mean) / (sqrt(variance + epsilon) + root_epsilon) * scale + bias, the last two of each index of the last axis. A group that has
// one mean and one variance is a `groups`-th of the last axis, of one index of the others.
// Normalize.
struct NormalizeOptions {
  float epsilon = 0.0f;
  int32_t groups = 1;
  bool over_map = false;  // the axes between the first and the last are in the group, too
  bool keeps_mean = false;  // the mean counts as 0: root mean square
  float root_epsilon = 0.0f;
};

// By operator: numbers of OptionsKind.
inline constexpr uint8_t kOptionsKinds[kOpCount] = {
    0, 1, 2, 3, 5, 4, 4, 7, 0, 0, 8, 6, 0, 0, 6, 6, 5, 9, 11, 12, 10, 13, 0, 14, 0, 0, 0, 14, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 14, 0, 0, 0, 6, 6, 6, 15, 16, 0, 0, 0, 0, 0, 0, 14, 14, 14, 14, 14, 0, 0, 0, 0, 0, 0, 17, 10,
    18, 19, 0, 0,
};

// Whose options an operator has.
constexpr OptionsKind options_kind(Op op) {
  const auto index = static_cast<uint32_t>(op);
  return index < static_cast<uint32_t>(kOpCount) ? static_cast<OptionsKind>(kOptionsKinds[index]) : OptionsKind::kNone;
}

// One operator's options. T below is a struct of options, or one that several of them hold (Clamp, Window2d, Requantization, Intermediate).
// Copies share what lists point to.
class NodeOptions {
 public:
  NodeOptions() {}  // of an operator that has none
  explicit NodeOptions(Op op);  // all at their defaults

  // Which struct of options these are.
  OptionsKind kind() const { return kind_; }

  // nullptr: this operator has no T.
  template <typename T>
  const T* get() const {
    const int32_t at = place(static_cast<const T*>(nullptr));
    return at < 0 ? nullptr : reinterpret_cast<const T*>(bytes() + at);
  }
  template <typename T>
  T* get() {
    return const_cast<T*>(static_cast<const NodeOptions*>(this)->get<T>());
  }
  // The options T of an operator that has them: the program ends where it has none.
  template <typename T>
  const T& as() const {
    const T* const found = get<T>();
    if (found == nullptr) __builtin_trap();
    return *found;
  }
  template <typename T>
  T& as() {
    return const_cast<T&>(static_cast<const NodeOptions*>(this)->as<T>());
  }
  // A copy; the defaults where this operator has none.
  template <typename T>
  T value() const {
    const T* const found = get<T>();
    return found == nullptr ? T() : *found;
  }

 private:
  friend class Model;
  friend struct NodeView;
  friend struct OptionBytes;
  NodeOptions(Op op, const uint8_t* table);  // as the file says; nullptr: all at their defaults

  // The options T of an operator that is known to have them.
  template <typename T>
  const T& own() const {
    const int32_t at = place(static_cast<const T*>(nullptr));
    if (at < 0) __builtin_unreachable();
    return *reinterpret_cast<const T*>(bytes() + at);
  }

  bool is_one_of(uint32_t kinds) const { return (kinds >> static_cast<uint32_t>(kind_) & 1u) != 0; }
  int32_t place(const Conv2dOptions*) const { return kind_ == OptionsKind::kConv2dOptions ? 0 : -1; }
  int32_t place(const DepthwiseConv2dOptions*) const { return kind_ == OptionsKind::kDepthwiseConv2dOptions ? 0 : -1; }
  int32_t place(const FullyConnectedOptions*) const { return kind_ == OptionsKind::kFullyConnectedOptions ? 0 : -1; }
  int32_t place(const Pool2dOptions*) const { return kind_ == OptionsKind::kPool2dOptions ? 0 : -1; }
  int32_t place(const AddOptions*) const { return kind_ == OptionsKind::kAddOptions ? 0 : -1; }
  int32_t place(const ElementwiseOptions*) const { return kind_ == OptionsKind::kElementwiseOptions ? 0 : -1; }
  int32_t place(const ReduceOptions*) const { return kind_ == OptionsKind::kReduceOptions ? 0 : -1; }
  int32_t place(const TransposeOptions*) const { return kind_ == OptionsKind::kTransposeOptions ? 0 : -1; }
  int32_t place(const ConcatOptions*) const { return kind_ == OptionsKind::kConcatOptions ? 0 : -1; }
  int32_t place(const GatherOptions*) const { return kind_ == OptionsKind::kGatherOptions ? 0 : -1; }
  int32_t place(const PadOptions*) const { return kind_ == OptionsKind::kPadOptions ? 0 : -1; }
  int32_t place(const StridedSliceOptions*) const { return kind_ == OptionsKind::kStridedSliceOptions ? 0 : -1; }
  int32_t place(const ResizeOptions*) const { return kind_ == OptionsKind::kResizeOptions ? 0 : -1; }
  int32_t place(const UnaryOptions*) const { return kind_ == OptionsKind::kUnaryOptions ? 0 : -1; }
  int32_t place(const L2NormalizeOptions*) const { return kind_ == OptionsKind::kL2NormalizeOptions ? 0 : -1; }
  int32_t place(const BatchMatMulOptions*) const { return kind_ == OptionsKind::kBatchMatMulOptions ? 0 : -1; }
  int32_t place(const TopKOptions*) const { return kind_ == OptionsKind::kTopKOptions ? 0 : -1; }
  int32_t place(const OneHotOptions*) const { return kind_ == OptionsKind::kOneHotOptions ? 0 : -1; }
  int32_t place(const NormalizeOptions*) const { return kind_ == OptionsKind::kNormalizeOptions ? 0 : -1; }
  int32_t place(const Clamp*) const {
    if (is_one_of(0xfeu)) return 0;
    return -1;
  }
  int32_t place(const Window2d*) const {
    if (is_one_of(0x16u)) return static_cast<int32_t>(offsetof(Conv2dOptions, window));
    return -1;
  }
  int32_t place(const Requantization*) const {
    if (is_one_of(0x6u)) return static_cast<int32_t>(offsetof(Conv2dOptions, requantization));
    if (is_one_of(0x8u)) return static_cast<int32_t>(offsetof(FullyConnectedOptions, requantization));
    return -1;
  }
  int32_t place(const Intermediate*) const {
    if (is_one_of(0x2u)) return static_cast<int32_t>(offsetof(Conv2dOptions, intermediate));
    return -1;
  }

  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(&options_); }

  union Options {
    Options() {}
    Conv2dOptions of_conv2d;
    DepthwiseConv2dOptions of_depthwise_conv2d;
    FullyConnectedOptions of_fully_connected;
    Pool2dOptions of_pool2d;
    AddOptions of_add;
    ElementwiseOptions of_elementwise;
    ReduceOptions of_reduce;
    TransposeOptions of_transpose;
    ConcatOptions of_concat;
    GatherOptions of_gather;
    PadOptions of_pad;
    StridedSliceOptions of_strided_slice;
    ResizeOptions of_resize;
    UnaryOptions of_unary;
    L2NormalizeOptions of_l2_normalize;
    BatchMatMulOptions of_batch_mat_mul;
    TopKOptions of_top_k;
    OneHotOptions of_one_hot;
    NormalizeOptions of_normalize;
  };
  Options options_;
  OptionsKind kind_ = OptionsKind::kNone;
};

}  // namespace intaglio
