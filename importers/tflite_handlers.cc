#include "importers/tflite_handlers.h"

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
    {6, import_tflite_dequantize},
    {9, import_tflite_fully_connected},
    {14, import_tflite_logistic},
    {17, import_tflite_max_pool_2d},
    {18, import_tflite_mul},
    {19, import_tflite_relu},
    {20, import_tflite_relu_n1_to_1},
    {21, import_tflite_relu6},
    {22, import_tflite_reshape},
    {23, import_tflite_resize_bilinear},
    {25, import_tflite_softmax},
    {28, import_tflite_tanh},
    {34, import_tflite_pad},
    {39, import_tflite_transpose},
    {40, import_tflite_mean},
    {41, import_tflite_sub},
    {43, import_tflite_reshape},  // SQUEEZE
    {45, import_tflite_strided_slice},
    {54, import_tflite_prelu},
    {60, import_tflite_pad},      // PADV2
    {70, import_tflite_reshape},  // EXPAND_DIMS
    {97, import_tflite_resize_nearest_neighbor},
    {98, import_tflite_leaky_relu},
    {114, import_tflite_quantize},
    {117, import_tflite_hard_swish},
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

std::string tflite_operator_name(int32_t builtin_code) {
  if (builtin_code >= 0 && static_cast<size_t>(builtin_code) < std::size(kNames)) return kNames[builtin_code];
  return text("operator ", builtin_code);
}

}  // namespace intaglio::importers
