// The usual inputs of nodes of a generated ONNX network.
#pragma once

#include <string>

namespace intaglio::test {

// The usual inputs of an operator, a letter each:
//   a an activation; A one of the shape of the first      f constant reals that fit it by broadcasting
//   w convolution weights for it   m a matrix behind it    v one real a channel    1 one real
//   i integers: axes, pads, sizes  S a shape of as many elements    n one integer
//   2, 3, 4 an activation of such a rank   T weights of a transposed convolution   o, O offsets and a mask of a deformed one
//   b, h a bias and a state of a recurrent layer   c a condition   p pads   r one or two an axis   <, > ends of a slice
//   I, F places along the last axis, and what is put there   8, 0 a number of bits, and zero
//   s a scale   z a zero point     W, M, B codes in place of w, m, v     R, H weights of a recurrent layer
// and, which none asks for: x an activation of any other rank, q one of codes, e and E empty constants of reals and
// of integers, t a constant of strings, u a name that nothing has, and a space for none.
// Besides, the names of its attributes.
struct OnnxPattern {
  const char* operators;
  const char* inputs;
  const char* attributes;
};

inline const OnnxPattern kOnnxPatterns[] = {
    {"ArgMax ArgMin", "a", "axis keepdims select_last_index"},
    {"AveragePool MaxPool LpPool", "a",
     "kernel_shape strides pads dilations auto_pad ceil_mode count_include_pad storage_order p"},
    {"BatchNormalization", "avvvv", "epsilon momentum training_mode spatial"},
    {"Cast", "a", "to saturate"},
    {"Clip", "a11", "min max"},
    {"Concat", "aA", "axis"},
    {"Constant", "", "value_float value_floats value_int value_ints"},
    {"ConstantOfShape", "i", ""},
    {"Conv", "awv", "kernel_shape strides pads dilations group auto_pad"},
    {"DepthToSpace SpaceToDepth", "a", "blocksize mode"},
    {"DequantizeLinear QuantizeLinear", "asz", "axis block_size output_dtype saturate"},
    {"Dropout Identity", "a", "ratio seed is_test"},
    {"Elu LeakyRelu HardSigmoid", "a", "alpha beta"},
    {"Expand Reshape", "aS", "allowzero"},
    {"FakeQuantize", "a1111", "levels auto_broadcast"},
    {"Flatten Softmax LpNormalization", "a", "axis p"},
    {"Gather", "ai", "axis"},
    {"GatherElements", "aI", "axis"},
    {"GatherND", "ai", "batch_dims"},
    {"Gelu", "a", "approximate"},
    {"Gemm", "amv", "alpha beta transA transB"},
    {"MatMul", "am", ""},
    {"Add Sub Mul Div Sum Max Min", "af", ""},
    {"OneHot", "anf", "axis"},
    {"PRelu", "av", ""},
    {"Pad", "ap1", "mode pads value"},
    {"Pow", "a1", ""},
    {"QGemm", "qszMszBsz", "alpha transA transB"},
    {"QLinearAdd QLinearMul", "qszqszsz", ""},
    {"QLinearAveragePool", "qszsz", "kernel_shape strides pads auto_pad ceil_mode channels_last"},
    {"QLinearConcat", "szqszqsz", "axis"},
    {"QLinearConv", "qszWszszB", "kernel_shape strides pads dilations group auto_pad"},
    {"QLinearGlobalAveragePool QLinearLeakyRelu QLinearSigmoid QLinearSoftmax", "qszsz",
     "alpha axis channels_last opset"},
    {"QLinearMatMul", "qszMszsz", ""},
    {"Range", "nnn", ""},
    {"Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Mod", "af", "fmod"},
    {"CumSum Trilu", "an", "exclusive reverse upper"},
    {"Einsum", "aA", "equation"},
    {"Selu Celu ThresholdedRelu Shrink LRN GlobalLpPool", "a", "alpha gamma lambd bias beta size p"},
    {"IsInf", "a", "detect_positive detect_negative"},
    {"ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare", "a",
     "axes keepdims noop_with_empty_axes"},
    {"Resize Upsample", "a fi",
     "mode coordinate_transformation_mode nearest_mode axes antialias keep_aspect_ratio_policy scales"},
    {"ScatterND", "aif", "reduction"},
    {"Shape Size", "a", "start end"},
    {"Slice", "a<>", "starts ends axes"},
    {"Split", "a", "axis split num_outputs"},
    {"Squeeze Unsqueeze", "ai", "axes"},
    {"Tile", "ar", ""},
    {"TopK", "an", "axis k largest sorted"},
    {"Transpose", "a", "perm"},
    {"Where", "aAf", ""},
    {"BitShift", "an", "direction"},
    {"BitwiseAnd BitwiseOr BitwiseXor", "an", ""},
    {"BitwiseNot Hardmax EyeLike", "a", "axis k"},
    {"CastLike", "aA", ""},
    {"Col2Im", "aii", "strides pads dilations"},
    {"ConvTranspose", "aTv",
     "kernel_shape strides pads dilations group auto_pad output_padding output_shape"},
    {"DFT", "ann", "axis inverse onesided"},
    {"GRU LSTM RNN", "3RHb h", "hidden_size direction linear_before_reset input_forget layout clip"},
    {"GridSample", "aA", "mode padding_mode align_corners"},
    {"GroupQueryAttention", "3AA  nn", "num_heads kv_num_heads scale do_rotary local_window_size softcap"},
    {"MultiHeadAttention", "3AA", "num_heads scale unidirectional"},
    {"Attention", "3AA", "q_num_heads kv_num_heads scale is_causal softcap"},
    {"MaxUnpool", "aii", "kernel_shape strides pads"},
    {"ReduceLogSum ReduceLogSumExp", "a", "axes keepdims noop_with_empty_axes"},
    {"ReverseSequence", "ai", "batch_axis time_axis"},
    {"RotaryEmbedding", "aimm", "interleaved num_heads rotary_embedding_dim is_packed_batching"},
    {"STFT", "anvn", "onesided"},
    {"Scatter ScatterElements", "aIF", "axis reduction"},
    {"InstanceNormalization GroupNormalization", "avv", "epsilon num_groups"},
    {"SimplifiedLayerNormalization RMSNormalization", "af", "axis epsilon"},
    {"LayerNormalization", "aff", "axis epsilon"},
    {"SkipLayerNormalization", "aAfff", "epsilon"},
    {"SkipSimplifiedLayerNormalization", "aAff", "epsilon"},
    {"BiasGelu FastGelu", "af", ""},
    {"FusedMatMul TransposeMatMul", "am", "alpha transA transB"},
    {"MatMulNBits", "aWs", "K N bits block_size"},
    {"GlobalAveragePool GlobalMaxPool", "a", ""},
    {"LogSoftmax MeanVarianceNormalization", "a", "axis axes"},
    {"FusedConv", "awv", "kernel_shape strides pads dilations group auto_pad activation activation_params"},
    {"FusedGemm", "amv", "alpha beta transA transB activation activation_alpha"},
    {"ConvInteger", "aWzz", "kernel_shape strides pads dilations group auto_pad"},
    {"MatMulInteger", "aMzz", ""},
    {"DynamicQuantizeMatMul", "aMszv", ""},
    {"MatMulIntegerToFloat", "qMsszzv", ""},
    {"DynamicQuantizeLSTM", "3RHb h  szsz", "hidden_size direction input_forget clip"},
    {"EmbedLayerNormalization", "xxmmmvv", "epsilon mask_index_type"},
    {"QAttention", "qMvssxzz", "num_heads unidirectional scale mask_filter_value"},
    {"QLinearReduceMean", "qszsz", "axes keepdims"},
    {"QLinearWhere", "aqszqszsz", ""},
    {"NhwcMaxPool", "q", "kernel_shape strides pads dilations auto_pad ceil_mode"},
    {"Quant", "as08", "signed narrow rounding_mode"},
    {"BipolarQuant", "as", ""},
    {"DeformConv", "4wovO", "kernel_shape strides pads dilations group offset_group"},
    {"RoiAlign", "4fi",
     "mode output_height output_width sampling_ratio spatial_scale coordinate_transformation_mode"},
    {"LinearRegressor LinearClassifier", "2", "*linear"},
    {"SVMRegressor SVMClassifier", "2", "*machine"},
    {"TreeEnsembleRegressor", "2", "*trees_target"},
    {"TreeEnsembleClassifier", "2", "*trees_class"},
    {"Scaler", "2", "offset scale"},
    {"Normalizer", "2", "norm"},
    {"OneHotEncoder", "2", "cats_int64s zeros"},
    {"ArrayFeatureExtractor", "ai", ""},
    {"If", "ca", "*branches"},
    {"Loop", "n aa", "*loop"},
    {"Scan", "aa", "*scan"},
};

// The pattern of an operator; one that stands nowhere has two operands.
inline OnnxPattern onnx_pattern(const std::string& op_type) {
  for (const OnnxPattern& pattern : kOnnxPatterns) {
    const std::string list = std::string(" ") + pattern.operators + " ";
    if (list.find(" " + op_type + " ") != std::string::npos) return pattern;
  }
  return {"", "a", ""};
}

}  // namespace intaglio::test
