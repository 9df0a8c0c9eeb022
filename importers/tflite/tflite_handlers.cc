#include "importers/tflite/tflite_handlers.h"

#include <algorithm>
#include <cstddef>

namespace intaglio::importers {
namespace {

struct Entry {
  int32_t builtin_code;
  TfliteHandler handler;
};

constexpr Entry kHandlers[] = {
    {0, import_tflite_add},
    {1, import_tflite_average_pool_2d},
    {2, import_tflite_concatenation},
    {3, import_tflite_conv_2d},
    {4, import_tflite_depthwise_conv_2d},
    {5, import_tflite_depth_to_space},
    {6, import_tflite_dequantize},
    {9, import_tflite_fully_connected},
    {11, import_tflite_l2_normalization},
    {14, import_tflite_logistic},
    {17, import_tflite_max_pool_2d},
    {18, import_tflite_mul},
    {19, import_tflite_relu},
    {20, import_tflite_relu_n1_to_1},
    {21, import_tflite_relu6},
    {22, import_tflite_reshape},
    {23, import_tflite_resize_bilinear},
    {25, import_tflite_softmax},
    {26, import_tflite_space_to_depth},
    {28, import_tflite_tanh},
    {34, import_tflite_pad},
    {36, import_tflite_gather},
    {37, import_tflite_batch_to_space},
    {38, import_tflite_space_to_batch},
    {39, import_tflite_transpose},
    {40, import_tflite_mean},
    {41, import_tflite_sub},
    {42, import_tflite_div},
    {43, import_tflite_reshape},  // SQUEEZE
    {45, import_tflite_strided_slice},
    {47, import_tflite_exp},
    {49, import_tflite_split},
    {53, import_tflite_cast},
    {54, import_tflite_prelu},
    {55, import_tflite_maximum},
    {57, import_tflite_minimum},
    {59, import_tflite_neg},
    {60, import_tflite_pad},  // PADV2
    {65, import_tflite_slice},
    {69, import_tflite_tile},
    {70, import_tflite_reshape},  // EXPAND_DIMS
    {73, import_tflite_log},
    {74, import_tflite_sum},
    {75, import_tflite_sqrt},
    {76, import_tflite_rsqrt},
    {77, import_tflite_shape},
    {78, import_tflite_pow},
    {82, import_tflite_reduce_max},
    {83, import_tflite_pack},
    {88, import_tflite_unpack},
    {92, import_tflite_square},
    {97, import_tflite_resize_nearest_neighbor},
    {98, import_tflite_leaky_relu},
    {99, import_tflite_squared_difference},
    {100, import_tflite_mirror_pad},
    {101, import_tflite_abs},
    {102, import_tflite_split_v},
    {111, import_tflite_elu},
    {114, import_tflite_quantize},
    {117, import_tflite_hard_swish},
    {130, import_tflite_broadcast_to},
    {150, import_tflite_gelu},
    {152, import_tflite_relu_0_to_1},
};

// By builtin code; for messages.
constexpr const char* kNames[] = {
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "DEQUANTIZE",
    "EMBEDDING_LOOKUP",
    "FLOOR",
    "FULLY_CONNECTED",
    "HASHTABLE_LOOKUP",
    "L2_NORMALIZATION",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOGISTIC",
    "LSH_PROJECTION",
    "LSTM",
    "MAX_POOL_2D",
    "MUL",
    "RELU",
    "RELU_N1_TO_1",
    "RELU6",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RNN",
    "SOFTMAX",
    "SPACE_TO_DEPTH",
    "SVDF",
    "TANH",
    "CONCAT_EMBEDDINGS",
    "SKIP_GRAM",
    "CALL",
    "CUSTOM",
    "EMBEDDING_LOOKUP_SPARSE",
    "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "GATHER",
    "BATCH_TO_SPACE_ND",
    "SPACE_TO_BATCH_ND",
    "TRANSPOSE",
    "MEAN",
    "SUB",
    "DIV",
    "SQUEEZE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "STRIDED_SLICE",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "EXP",
    "TOPK_V2",
    "SPLIT",
    "LOG_SOFTMAX",
    "DELEGATE",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "CAST",
    "PRELU",
    "MAXIMUM",
    "ARG_MAX",
    "MINIMUM",
    "LESS",
    "NEG",
    "PADV2",
    "GREATER",
    "GREATER_EQUAL",
    "LESS_EQUAL",
    "SELECT",
    "SLICE",
    "SIN",
    "TRANSPOSE_CONV",
    "SPARSE_TO_DENSE",
    "TILE",
    "EXPAND_DIMS",
    "EQUAL",
    "NOT_EQUAL",
    "LOG",
    "SUM",
    "SQRT",
    "RSQRT",
    "SHAPE",
    "POW",
    "ARG_MIN",
    "FAKE_QUANT",
    "REDUCE_PROD",
    "REDUCE_MAX",
    "PACK",
    "LOGICAL_OR",
    "ONE_HOT",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "UNPACK",
    "REDUCE_MIN",
    "FLOOR_DIV",
    "REDUCE_ANY",
    "SQUARE",
    "ZEROS_LIKE",
    "FILL",
    "FLOOR_MOD",
    "RANGE",
    "RESIZE_NEAREST_NEIGHBOR",
    "LEAKY_RELU",
    "SQUARED_DIFFERENCE",
    "MIRROR_PAD",
    "ABS",
    "SPLIT_V",
    "UNIQUE",
    "CEIL",
    "REVERSE_V2",
    "ADD_N",
    "GATHER_ND",
    "COS",
    "WHERE",
    "RANK",
    "ELU",
    "REVERSE_SEQUENCE",
    "MATRIX_DIAG",
    "QUANTIZE",
    "MATRIX_SET_DIAG",
    "ROUND",
    "HARD_SWISH",
    "IF",
    "WHILE",
};

}  // namespace

TfliteHandler find_tflite_handler(int32_t builtin_code) {
  for (const Entry& entry : kHandlers)
    if (entry.builtin_code == builtin_code) return entry.handler;
  return nullptr;
}

std::vector<int32_t> tflite_operators() {
  std::vector<int32_t> list = folded_tflite_operators();
  for (const Entry& entry : kHandlers)
    if (std::find(list.begin(), list.end(), entry.builtin_code) == list.end())
      list.push_back(entry.builtin_code);
  return list;
}

std::string tflite_operator_name(int32_t builtin_code) {
  if (builtin_code >= 0 && static_cast<size_t>(builtin_code) < std::size(kNames)) return kNames[builtin_code];
  return text("operator ", builtin_code);
}

}  // namespace intaglio::importers
