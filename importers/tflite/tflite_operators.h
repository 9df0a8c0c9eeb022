// The TFLite operators: one line each, beside its function.
#pragma once

#include <functional>
#include <vector>

#include "importers/draft/op_traits.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

using tflite::Builtin;

inline constexpr bool kFloatOnly = true;

struct TfliteOperator {
  Builtin builtin;
  void (*import)(TfliteOp& op);  // checks it, computes the output's shape and adds draft nodes
  Op becomes[4];                 // the operators that it is made of; kNone: no more
  const char* limits;            // what is not supported, as a sentence; "": nothing to say
  bool float_only = false;
};

const TfliteOperator* find_tflite_operator(Builtin builtin);  // nullptr: not supported
// An operator of another tool, by its name.
struct TfliteCustomOperator {
  const char* name;
  void (*import)(TfliteOp& op);
  Op becomes[4];
  const char* limits;
};
Span<const TfliteCustomOperator> tflite_custom_operators();  // by name
// MediaPipe's transposed convolution.
void import_transpose_conv_bias(TfliteOp& op);
// Old files have the code in a byte, new ones beside it in 32 bits; the larger one counts.
Builtin tflite_builtin(const tflite::Model& model, const tflite::Operator& op);
std::string tflite_operator_name(Builtin builtin);  // "CONV_2D"
std::vector<ImportedOperator> tflite_operators();   // every one that is imported, in any form, by name

// The families, a file each.
Span<const TfliteOperator> tflite_binary_operators();
Span<const TfliteOperator> tflite_control_operators();
Span<const TfliteOperator> tflite_conv_operators();
Span<const TfliteOperator> tflite_elementwise_operators();
Span<const TfliteOperator> tflite_fold_operators();
Span<const TfliteOperator> tflite_gather_operators();
Span<const TfliteOperator> tflite_integer_operators();
Span<const TfliteOperator> tflite_logic_operators();
Span<const TfliteOperator> tflite_pool_operators();
Span<const TfliteOperator> tflite_real_operators();
Span<const TfliteOperator> tflite_rnn_operators();
Span<const TfliteOperator> tflite_shape_operators();
Span<const TfliteOperator> tflite_stablehlo_operators();
Span<const TfliteOperator> tflite_variable_operators();

// A FullyConnected whose weights or bias are computed: a product of two activations.
void import_computed_layer(TfliteOp& op);

// For an operator that computes in FP32: input i, or the result of activation_or_constant() for it, with codes dequantized; the node's
// output, with codes quantized.
int32_t read_real(TfliteOp& op, size_t i);
int32_t real_of(TfliteOp& op, int32_t x);
void finish_real(TfliteOp& op, int32_t real);
// A bias, whose integers are codes.
int32_t read_real_bias(TfliteOp& op, size_t i);
// FP32, with a fused activation.
int32_t add_real_activation(TfliteOp& op, int32_t real, tflite::Activation activation);
// Fused activation: reals in FP32 nodes, codes in int8 ones.
void set_activation(DraftNode& node, tflite::Activation activation, const DraftTensor& output);

// One axis of a transposed convolution with a result of `size`: what the plain convolution of that would be padded with is
// cut off.
WindowAxis tflite_transposed_axis(tflite::Padding padding, int32_t kernel, int32_t stride, int32_t in,
                                  int64_t size);

// A constant of one number, of the element type and rank of `like`.
int32_t add_number(TfliteOp& op, int32_t like, float value);
// The operand with the scale and zero point of y, where it is int8.
int32_t with_scale_of(TfliteOp& op, int32_t input, int32_t y);

// An operator of constants alone becomes a constant; false where it is none that can be.
bool fold_tflite_constants(TfliteOp& op, Builtin builtin);
bool folds_tflite_constants(Builtin builtin);  // where all its inputs are constant
std::vector<Builtin> folded_tflite_operators();

// A slice of each axis: first index and step, and how many that gives; `squeezed` without the axes that are taken
// out.
struct TfliteSlice {
  std::vector<int32_t> begin, strides;
  Shape shape, squeezed;
};
TfliteSlice read_tflite_slice(TfliteOp& op, const Shape& from);
TfliteSlice read_tflite_strided_slice(TfliteOp& op, const Shape& from);

// Operators that call other graphs of the file: CALL, IF, WHILE and STABLEHLO_COMPOSITE. The graph's operators stand in their
// place.

// Reads the operators of the file's current graph on which these of its tensors depend.
using ReadTfliteGraph = std::function<void(const std::vector<int32_t>& outputs)>;

// A graph of the file that is not the first one and is complete; throws where it is another.
const tflite::SubGraph& tflite_graph_at(const TfliteFile& file, int32_t index);

// Reads the operator, if it is one of these, and what it calls; a WHILE as often as the file decides. False: it is another.
bool read_tflite_control(TfliteOp& op, Builtin builtin, const ReadTfliteGraph& read);

}  // namespace intaglio::importers
