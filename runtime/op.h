// The definition of an operator. One file of runtime/ops defines an operator's variants, by element type; op_list.inc
// lists them. Nothing here knows a session or the file format.
#pragma once

#include "intaglio/model.h"
#include "intaglio/ops.h"
#include "platforms/parallel.h"
#include "runtime/streaming/streaming_build.h"

namespace intaglio {

struct NodeView;
struct NodeRun;

// Whether a part of a tensor is read in a third of the time that all of it takes. A Cortex-M reads all: the functions for parts
// are 80 bytes.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr bool kReadsParts = false;
#else
inline constexpr bool kReadsParts = true;
#endif

// For what a node is run on a part of its tensors (streaming/band_view.h).
struct NodeBand {
  TensorInfo (*input)(const NodeView& node, int32_t i);
  TensorInfo (*output)(const NodeView& node);
  const void* (*address)(const NodeView& node, const NodeRun& run, int32_t input);  // -1: of the output
  int32_t output_row,
      input_row;  // where the part's first rows stand in the whole output and the whole input 0
};

// A node as its operator sees it. Decoded from the model's bytes: cheap to make, valid as long as they are.
struct NodeView {
  int32_t index = -1;
  NodeInfo info;
  const Model* model = nullptr;
  const NodeBand* band = nullptr;  // nullptr: the node's tensors are those of the model
  bool weights_checked = false;    // plan() said yes to these bytes before: constants need no second pass

  int32_t input_count() const { return static_cast<int32_t>(info.inputs.size); }
  int32_t output_count() const { return static_cast<int32_t>(info.outputs.size); }
  bool has_input(int32_t i) const { return i < input_count() && info.inputs[static_cast<size_t>(i)] >= 0; }
  int32_t input_index(int32_t i) const { return info.inputs[static_cast<size_t>(i)]; }
  int32_t output_index(int32_t i) const { return info.outputs[static_cast<size_t>(i)]; }
  TensorInfo input(int32_t i) const {
    return kStreams ? whole_or_band_input(i) : model->tensor(input_index(i));
  }
  TensorInfo output(int32_t i = 0) const {
    return kStreams ? whole_or_band_output(i) : model->tensor(output_index(i));
  }
  // The shape or the zero point alone, which each run reads. Always in line: elsewhere than in a Cortex-M's
  // build they are calls of others.
  __attribute__((always_inline)) Shape input_shape(int32_t i) const {
    return kReadsParts ? whole_or_band_input_shape(i) : input(i).shape;
  }
  __attribute__((always_inline)) Shape output_shape() const {
    return kReadsParts ? whole_or_band_output_shape() : output().shape;
  }
  __attribute__((always_inline)) int32_t input_zero_point(int32_t i) const {
    return kReadsParts ? model->tensor_zero_point(input_index(i)) : input(i).quantization.zero_point;
  }
  __attribute__((always_inline)) int32_t output_zero_point() const {
    return kReadsParts ? model->tensor_zero_point(output_index(0)) : output().quantization.zero_point;
  }
  TensorInfo whole_or_band_input(int32_t i) const;
  TensorInfo whole_or_band_output(int32_t i) const;
  Shape whole_or_band_input_shape(int32_t i) const;
  Shape whole_or_band_output_shape() const;

  // The operator's own options, or a part of them (intaglio/node_options.h). A debug build ends the program where an
  // operator asks for another one's.
  template <typename T>
  const T& options() const {
#ifdef NDEBUG
    return info.options.own<T>();
#else
    return info.options.as<T>();
#endif
  }

  // Errors that name this node, and one of its tensors.
  Error error(Status status, int64_t value = 0, int64_t limit = 0) const {
    return {status, index, -1, value, limit};
  }
  Error input_error(Status status, int32_t i, int64_t value = 0, int64_t limit = 0) const {
    return {status, index, input_index(i), value, limit};
  }
  Error output_error(Status status, int32_t i, int64_t value = 0, int64_t limit = 0) const {
    return {status, index, output_index(i), value, limit};
  }
};

struct PlanContext {
  IsaMask isa = isa::kScalar;
  int32_t width = 1;  // threads that may run this node at once
};

// An operator with several families of kernels numbers each from a multiple of this on.
inline constexpr uint16_t kFamilyNumbers = 256;

// NodePlan::kernel before plan(): the node's segment runs by rows, and a band may be lower than what some kernels compute at once.
inline constexpr uint16_t kRunsByRows = 0xffff;

// The memory that a node needs, as plan() finds it.
struct NodePlan {
  uint32_t persistent_bytes = 0;
  uint32_t scratch_bytes = 0;
  uint16_t kernel = 0;  // which of the family's, the operator's own numbering; of a band first the whole's
};

// The memory and tensors of a node while it runs.
struct NodeRun {
  const Model* model = nullptr;
  uint8_t* activations = nullptr;
  const uint8_t* persistent = nullptr;  // as prepare() left it
  uint8_t* scratch = nullptr;           // starts at a multiple of kMemoryAlignment, as persistent does
  uint16_t kernel = 0;
  const Executor* executor = nullptr;

  template <typename T>
  const T* input(const NodeView& node, int32_t i) const {
    return static_cast<const T*>(input_address(node, i));
  }
  template <typename T>
  T* output(const NodeView& node, int32_t i = 0) const {
    return static_cast<T*>(const_cast<void*>(output_address(node, i)));
  }
  const void* input_address(const NodeView& node, int32_t i) const {
    return kStreams ? whole_or_band_address(node, i) : address(node.input_index(i));
  }
  const void* output_address(const NodeView& node, int32_t i) const {
    return kStreams && node.band != nullptr ? node.band->address(node, *this, -1)
                                            : address(node.output_index(i));
  }
  const void* whole_or_band_address(const NodeView& node, int32_t input) const;
  const void* address(int32_t tensor) const {  // of a whole one
    const uint32_t offset = model->activation_offset(tensor);
    return offset == Model::kNoOffset ? static_cast<const void*>(model->tensor(tensor).constant.data)
                                      : activations + offset;
  }
};

// How an operator's output is quantized when an FP32 node becomes an int8 one. The calibrator reads this
// and names no operator.
enum class OutputRule : uint8_t {
  kObserved,     // from the values seen
  kSameAsInput,  // has the first input's scale and zero point
  kFixed,        // fixed_scale, fixed_zero_point
};

// A constant table that the int8 variant takes as its last input.
enum class TableRule : uint8_t {
  kNone,
  kUnary,            // s8[256], index code + 128, from `unary`; the int8 node is a Lookup
  kUnaryPerChannel,  // s8[C, 256] for the last axis, from `unary_per_channel`; the int8 node is a Lookup
  kSoftmax,          // s32[256], in 16 bits s32[512]: exponentials (docs/arithmetic.md)
};

// The sign of an output, as far as it is known.
enum class SignRule : uint8_t {
  kAny,
  kKeeps,        // no value is negative where no operand has one
  kNonNegative,  // never a negative value
};

// The effect of an FP32 operator on each channel alone, apart from the clamp and a pad value.
enum class ChannelRule : uint8_t {
  kMixes,   // a channel of the output may depend on other channels of the inputs
  kScales,  // it does not, and y(a x) = a y(x) for a > 0
  kShifts,  // and y(x + b) = y(x) + b, where padding counts for nothing; of several inputs the b add up
};

struct QuantRule {
  OutputRule output = OutputRule::kObserved;
  SignRule sign = SignRule::kAny;
  int8_t fixed_zero_point = 0;  // beside the others: an operator's record is flash
  float fixed_scale = 0.0f;
  int8_t weight_input = -1;       // which input holds weights; -1: none
  int8_t weight_axis = 0;         // their output channels' axis
  int8_t bias_input = -1;         // int32, scale s_in * s_w[c]
  int8_t residual_input = -1;     // a convolution's: added after the sum is quantized
  bool folds_residual = false;    // an Add: a convolution before it may take it in as its residual
  bool inputs_as_output = false;  // a Concat: every input has the output's scale and zero point
  bool sums = false;              // an Add, a Sub: some tools give its inputs one scale
  bool multiplies = false;        // a Mul
  bool clips = false;             // a Clamp: a layer before it may saturate in its stead
  bool normalizes = false;        // divides by a norm of the values beside it
  ChannelRule channels = ChannelRule::kMixes;
  int8_t index_input = -1;  // a constant of s32 in both variants, copied as it is; -1: none
  int8_t real_inputs =
      -1;  // constants of reals from here on, copied: factors and summands of the output's channels, [C]; -1: none
  int8_t parameter_input = -1;  // a constant of C reals that the table takes in; the Lookup does not read it
  TableRule table = TableRule::kNone;
  bool jumps = false;  // `unary` does, somewhere: the straight lines of a table for 16 bits would climb there
  double (*unary)(const NodeOptions& options, double x) = nullptr;
  // `parameter`: the channel's own of the parameter input.
  double (*unary_per_channel)(const NodeOptions& options, double parameter, double x) = nullptr;

  // Whether an input is an activation to be quantized: no weights, no bias of theirs, no parameter and nothing copied.
  bool is_operand(size_t input) const {
    const auto i = static_cast<int8_t>(input);
    return i != weight_input && (i != bias_input || weight_input < 0) && !copies(input) &&
           i != parameter_input;
  }
  // Whether both variants take this input as it is.
  bool copies(size_t input) const {
    const auto i = static_cast<int8_t>(input);
    return i == index_input || (real_inputs >= 0 && i >= real_inputs);
  }
};

// For an operator whose output has no negative value where its operands have none, and no other rule.
constexpr QuantRule sign_keeping_rule() {
  QuantRule rule;
  rule.sign = SignRule::kKeeps;
  return rule;
}

// For a mean over places: it also keeps channels.
constexpr QuantRule averaging_rule() {
  QuantRule rule = sign_keeping_rule();
  rule.channels = ChannelRule::kShifts;
  return rule;
}

// The half of an operator that a session needs once it is planned: k<Name>Run beside k<Name>, so that a
// program whose sessions were planned on the build machine (intaglio/planned_model.h) links no other.
struct OpRun {
  // Computes the outputs. Cannot fail, allocate or log.
  void (*run)(const NodeView& node, const NodeRun& run) = nullptr;
};

struct OpDef {
  Op op = Op::kNone;
  DType dtype = DType::kNone;  // of the first output
  int8_t alias_input = -1;     // output 0 may stand where this input stands, if it dies here
  QuantRule quant;

  // Pure. Checks types, shapes, attributes, constants, quantization; chooses a kernel and sizes it.
  Error (*plan)(const NodeView& node, const PlanContext& context, NodePlan* plan) = nullptr;
  // Fills `persistent`. Cannot fail: plan() said yes. nullptr where persistent_bytes is always 0.
  void (*prepare)(const NodeView& node, uint16_t kernel, uint8_t* persistent) = nullptr;
  const OpRun* run = nullptr;
  const char* (*kernel_name)(uint16_t kernel) = nullptr;  // nullptr: the operator has one kernel only
  DType input = DType::kNone;                             // of the first input; kNone: the output's

  // (op, input_dtype(), dtype) is unique in a list.
  DType input_dtype() const { return input == DType::kNone ? dtype : input; }
};

}  // namespace intaglio
