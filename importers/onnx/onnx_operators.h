// The ONNX operators: one line each, beside its function.
#pragma once

#include "importers/draft/constant_values.h"
#include "importers/draft/op_traits.h"
#include "importers/draft/read_options.h"
#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

struct OnnxOperator {
  const char* op_type;
  void (*import)(OnnxOp& op);  // checks it, computes the output's shape and adds draft nodes
  Op becomes[4];               // the operators that it is made of; kNone: no more
  const char* limits;          // what is not supported, as a sentence; "": nothing to say
  const char* domain = "";     // "": ONNX's own
};

inline bool is_standard_onnx(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

const OnnxOperator* find_onnx_operator(const std::string& domain,
                                       const std::string& op_type);  // nullptr: not supported
// Every operator that is imported, in any form, by name; one of two domains stands twice.
std::vector<ImportedOperator> onnx_operators();

// The families, a file each.
Span<const OnnxOperator> onnx_attention_operators();
Span<const OnnxOperator> onnx_binary_operators();
Span<const OnnxOperator> onnx_classical_operators();
Span<const OnnxOperator> onnx_conv_operators();
Span<const OnnxOperator> onnx_elementwise_operators();
Span<const OnnxOperator> onnx_fake_quantize_operators();
Span<const OnnxOperator> onnx_integer_operators();
Span<const OnnxOperator> onnx_linear_operators();
Span<const OnnxOperator> onnx_logic_operators();
Span<const OnnxOperator> onnx_norm_operators();
Span<const OnnxOperator> onnx_pieces_operators();
Span<const OnnxOperator> onnx_pool_operators();
Span<const OnnxOperator> onnx_quantized_operators();
Span<const OnnxOperator> onnx_recurrent_operators();
Span<const OnnxOperator> onnx_reduce_operators();
Span<const OnnxOperator> onnx_repeat_operators();
Span<const OnnxOperator> onnx_resize_operators();
Span<const OnnxOperator> onnx_scatter_operators();
Span<const OnnxOperator> onnx_shape_operators();

// An operator of constants alone, as shape arithmetic has it, becomes a constant; false where it is none that
// can be.
bool fold_onnx_constants(OnnxOp& op);
std::vector<std::string> folded_onnx_operators();

// A slice of each axis: first index and step, and how many that gives (none: 0).
struct OnnxSlice {
  std::vector<int32_t> begin, strides;
  Shape shape;
};
OnnxSlice read_onnx_slice(OnnxOp& op, const Shape& from);

// Of a Transpose: the axes backwards where the file names none.
Permutation read_onnx_permutation(OnnxOp& op, size_t rank);

// The sizes of a Split's outputs along its axis; they add up.
struct OnnxParts {
  size_t axis = 0;
  std::vector<int32_t> sizes;
};
OnnxParts read_onnx_parts(OnnxOp& op, const Shape& from);

// The graph's inputs that are no constants become those of the draft.
void read_onnx_inputs(const onnx_file::GraphProto& graph, const ReadOptions& options, OnnxFile& file);

// Reads into the tensors of a model, in whatever graph or function, what they keep in other files.
void load_external_data(onnx_file::ModelProto& model, const ExternalData& place, ImportBudget& budget);

// The function of the file that the node calls; nullptr: none. Its nodes with the call's names and attributes, and with
// names of their own that begin with `prefix`.
const onnx_file::FunctionProto* find_onnx_function(const onnx_file::ModelProto& model,
                                                   const onnx_file::NodeProto& node);
std::unique_ptr<onnx_file::GraphProto> called_onnx_function(const onnx_file::FunctionProto& function,
                                                            const onnx_file::NodeProto& node,
                                                            const std::string& prefix, ImportBudget& budget);

// The nodes and outputs of a Loop's body, which read `inputs`, as many as it has. Their own names begin with `prefix`, those of
// the body's constants, which the caller reads once, with `constants`.
std::unique_ptr<onnx_file::GraphProto> onnx_loop_body(const onnx_file::GraphProto& body,
                                                      const std::vector<std::string>& inputs,
                                                      const std::string& constants, const std::string& prefix,
                                                      ImportBudget& budget);

// The nodes that an operator on codes (QLinearConv, ...) or a fused one stands for; none where it is neither.
std::vector<onnx_file::NodeProto> decomposed_onnx(OnnxFile& file, const onnx_file::NodeProto& node);
std::vector<ImportedOperator> decomposed_onnx_operators();

// The two inputs, activations or constants, with as many axes each.
struct OnnxPair {
  int32_t first, second;
};
OnnxPair read_pair(OnnxOp& op);
// The result of a Conv of one or two dimensions; `has_bias`: input 2 is its bias, where it is there.
void import_onnx_convolution(OnnxOp& op, int32_t input, OnnxConstant<float> weights, bool has_bias);
// x with so many zeros around it, along each axis.
int32_t add_zeros_around(OnnxOp& op, int32_t x, const std::vector<int32_t>& before,
                         const std::vector<int32_t>& after);
// Each channel of [n, channels, ...] by its own mean and deviation, with scales and shifts in inputs 1 and 2.
void import_channel_normalization(OnnxOp& op);
// 1 where x is not 0, else 0.
int32_t add_truth(OnnxOp& op, int32_t x);
// x times one number, plus one; x times x.
int32_t add_scaled(OnnxOp& op, int32_t x, float factor);
int32_t add_moved(OnnxOp& op, int32_t x, float summand);
int32_t add_square(OnnxOp& op, int32_t x);
int32_t add_power(OnnxOp& op, int32_t x, float exponent);
// |x|^p, and its inverse of numbers that are not below 0.
int32_t add_magnitude_power(OnnxOp& op, int32_t x, float p);
int32_t add_root(OnnxOp& op, int32_t x, float p);

// Height and width of a window from the attributes, pads from `auto_pad` and the picture's size.
struct OnnxWindow {
  WindowAxis h, w;
};
// The same of all axes that x has between batch and channels.
std::vector<WindowAxis> read_onnx_windows(OnnxOp& op, const Shape& sides, const Shape& kernel);
OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w);

// Inputs and results of operators on constants alone.

Values folded_input(OnnxOp& op, int input);
// Integers have the type that the operator gives, where it is one of codes or of bools.
void set_folded(OnnxOp& op, const Values& values, int output = 0);

// Int8 codes that ONNX files give activations: their grids, and their bounds.

// Exponents of scales. Weights of dead channels may have one far below that of any tensor.
inline constexpr int kLeastScale = -40, kLeastWeightScale = -120, kMostScale = 40;
// Throws unless it is within 2^least to 2^kMostScale.
void check_scale(float scale, int least = kLeastScale);

// An int8 tensor with these numbers.
int32_t add_codes(OnnxOp& op, const std::string& name, const Shape& shape, float scale, int64_t zero_point);

// Activations with a scale for each channel. The codes are of one tensor with one scale and zero point; the channels'
// own come before Quantize and behind Dequantize, as factors and addends:
//
//   code = round(x / s[c]) + z[c] = round((x * s / s[c] + (z[c] - z) * s) / s) + z
class ChannelGrids {
 public:
  // A scale of 0: a channel whose value is 0, whatever the code.
  ChannelGrids(std::vector<float> scales, const std::vector<int64_t>& zero_points, int32_t axis);
  float scale() const { return scale_; }
  int64_t zero_point() const { return zero_point_; }
  bool is_per_channel() const { return axis_ >= 0; }

  // The tensor that is quantized in place of x.
  int32_t to_common(OnnxOp& op, int32_t x) const;
  // The reals of y's codes, in the common scale.
  int32_t to_own(OnnxOp& op, int32_t y) const;

 private:
  bool has_moves() const;
  int32_t with_constant(OnnxOp& op, Op kind, int32_t x, const std::string& end,
                        const std::vector<float>& values) const;

  std::vector<float> scales_, moves_;
  int32_t axis_;
  float scale_;
  int64_t zero_point_;
};

// Bounds of codes between QuantizeLinear and DequantizeLinear, as a reduced range has them.

// Whether input i is an activation of codes: of int8 here, or of FP32 that stands for codes of 16 bits.
bool holds_codes(const OnnxOp& op, int i);
// The output becomes the codes of input i from `low` to `high`, both counted as the file counts; infinite: no bound.
void set_bounded_codes(OnnxOp& op, int i, double low, double high);

}  // namespace intaglio::importers
