// Made by scripts/make_schema_tables from schema/model.fbs: change that file, and run the script.
// The schema as tables: of every table for the check of a file's structure, of the options' for their readers and writers.
// clang-format off
#include "runtime/option_fields.h"
#include "runtime/structure_check.h"

namespace intaglio {
namespace {

constexpr uint8_t table(int32_t t) { return static_cast<uint8_t>(kFieldTable + t); }
constexpr uint8_t tables(int32_t t) { return static_cast<uint8_t>(kFieldTables + t); }

}  // namespace

const uint8_t kFields[] = {
    // 0: Model
    kField16, kField16, kField32, tables(3), tables(8), tables(2), kFieldWords, kFieldWords, tables(9),
    tables(10), table(12), table(13), table(14), tables(15), tables(16), table(12), kFieldBytes, kField32,
    kField8,
    // 1: Quantization
    kFieldWords, kField32, kField8, kField32,
    // 2: Buffer
    kFieldBytes, kField16,
    // 3: Tensor
    kFieldString, kField8, kFieldWords, table(1), kField32, kFieldBytes, kField32,
    // 4: Window2D
    kField32, kField32, kField32, kField32, kField32, kField32, kField32, kField32, kField32, kField32,
    kField8,
    // 5: Clamp
    kField32, kField32, kField32, kField32,
    // 6: Requantization
    kFieldWords, kFieldWords, kField8,
    // 7: Intermediate
    kField32, kField32,
    // 8: Node
    kField16, kFieldString, kFieldWords, kFieldWords, kField8, kFieldUnion,
    // 9: State
    kField32, kField32, kField32,
    // 10: ImageInput
    kField32, kField8, kField8, kFieldWords, kFieldWords, kFieldBytes, kField8,
    // 11: Segment
    kField32, kField32, kFieldWords, kFieldWords, kFieldWords, kField32, kField32, kField32,
    // 12: Plan
    kField32, kFieldWords, kField32, tables(11), kField32,
    // 13: Calibration
    kFieldString, kFieldString, kFieldString, kField32, kFieldBytes, kField8,
    // 14: Golden
    kFieldWords, kField32,
    // 15: NormStatistics
    kField32, kFieldWords, kFieldWords,
    // 16: PackedWeights
    kField32, kFieldString, kField16, kFieldBytes,
    // 17: Conv2DOptions
    table(5), table(4), table(6), kField32, table(7), kField8,
    // 18: DepthwiseConv2DOptions
    table(5), table(4), table(6),
    // 19: FullyConnectedOptions
    table(5), table(6),
    // 20: Pool2DOptions
    table(5), table(4),
    // 21: AddOptions
    table(5), kField8,
    // 22: ElementwiseOptions
    table(5),
    // 23: ReduceOptions
    table(5), kFieldWords,
    // 24: TransposeOptions
    kFieldWords,
    // 25: ConcatOptions
    kField32,
    // 26: GatherOptions
    kField32,
    // 27: PadOptions
    kFieldWords, kField32,
    // 28: StridedSliceOptions
    kFieldWords, kFieldWords,
    // 29: ResizeOptions
    kField8, kField8, kField8,
    // 30: UnaryOptions
    kField32, kField32,
    // 31: L2NormalizeOptions
    kField32,
    // 32: BatchMatMulOptions
    kField8, kField32,
    // 33: TopKOptions
    kField32, kField8, kField8,
    // 34: OneHotOptions
    kField32, kField32, kField32, kField8,
    // 35: NormalizeOptions
    kField32, kField32, kField8, kField8, kField32,
};
const uint8_t kFirstField[] = {
    0, 19, 23, 25, 32, 43, 47, 50, 52, 58, 61, 68, 76, 81, 87, 89, 92, 96, 102, 105, 107, 109, 111, 112, 114,
    115, 116, 117, 119, 121, 124, 126, 127, 129, 132, 136, 141,
};
const int32_t kTableCount = 36;
const uint8_t kFirstOfUnion = 17, kUnionTypes = 19;

const OptionField kOptionFields[] = {
    // 0: Conv2DOptions
    {kOptionPart, offsetof(Conv2dOptions, clamp), 19},
    {kOptionPart, offsetof(Conv2dOptions, window), 20},
    {kOptionPart, offsetof(Conv2dOptions, requantization), 21},
    {kOption32, offsetof(Conv2dOptions, groups), 0},
    {kOptionPart, offsetof(Conv2dOptions, intermediate), 22},
    {kOption8, offsetof(Conv2dOptions, add_bits), 15},
    // 1: DepthwiseConv2DOptions
    {kOptionPart, offsetof(DepthwiseConv2dOptions, clamp), 19},
    {kOptionPart, offsetof(DepthwiseConv2dOptions, window), 20},
    {kOptionPart, offsetof(DepthwiseConv2dOptions, requantization), 21},
    // 2: FullyConnectedOptions
    {kOptionPart, offsetof(FullyConnectedOptions, clamp), 19},
    {kOptionPart, offsetof(FullyConnectedOptions, requantization), 21},
    // 3: Pool2DOptions
    {kOptionPart, offsetof(Pool2dOptions, clamp), 19},
    {kOptionPart, offsetof(Pool2dOptions, window), 20},
    // 4: AddOptions
    {kOptionPart, offsetof(AddOptions, clamp), 19},
    {kOption8, offsetof(AddOptions, add_bits), 15},
    // 5: ElementwiseOptions
    {kOptionPart, offsetof(ElementwiseOptions, clamp), 19},
    // 6: ReduceOptions
    {kOptionPart, offsetof(ReduceOptions, clamp), 19},
    {kOptionList, offsetof(ReduceOptions, axes), 0},
    // 7: TransposeOptions
    {kOptionList, offsetof(TransposeOptions, permutation), 0},
    // 8: ConcatOptions
    {kOption32, offsetof(ConcatOptions, axis), 1},
    // 9: GatherOptions
    {kOption32, offsetof(GatherOptions, axis), 1},
    // 10: PadOptions
    {kOptionList, offsetof(PadOptions, before), 0},
    {kOption32, offsetof(PadOptions, value), 1},
    // 11: StridedSliceOptions
    {kOptionList, offsetof(StridedSliceOptions, begin), 0},
    {kOptionList, offsetof(StridedSliceOptions, strides), 0},
    // 12: ResizeOptions
    {kOptionEnum, offsetof(ResizeOptions, interpolation), 1},
    {kOptionEnum, offsetof(ResizeOptions, coordinates), 2},
    {kOptionEnum, offsetof(ResizeOptions, rounding), 3},
    // 13: UnaryOptions
    {kOption32, offsetof(UnaryOptions, alpha), 1},
    {kOption32, offsetof(UnaryOptions, beta), 1},
    // 14: L2NormalizeOptions
    {kOption32, offsetof(L2NormalizeOptions, min_norm), 1},
    // 15: BatchMatMulOptions
    {kOptionBool, offsetof(BatchMatMulOptions, transpose_b), 0},
    {kOption32, offsetof(BatchMatMulOptions, scale), 2},
    // 16: TopKOptions
    {kOption32, offsetof(TopKOptions, axis), 1},
    {kOptionBool, offsetof(TopKOptions, smallest), 0},
    {kOptionBool, offsetof(TopKOptions, last_of_equal), 0},
    // 17: OneHotOptions
    {kOption32, offsetof(OneHotOptions, axis), 1},
    {kOption32, offsetof(OneHotOptions, on), 1},
    {kOption32, offsetof(OneHotOptions, off), 1},
    {kOptionBool, offsetof(OneHotOptions, from_end), 0},
    // 18: NormalizeOptions
    {kOption32, offsetof(NormalizeOptions, epsilon), 1},
    {kOption32, offsetof(NormalizeOptions, groups), 0},
    {kOptionBool, offsetof(NormalizeOptions, over_map), 0},
    {kOptionBool, offsetof(NormalizeOptions, keeps_mean), 0},
    {kOption32, offsetof(NormalizeOptions, root_epsilon), 1},
    // 19: Clamp
    {kOption32, offsetof(Clamp, min), 3},
    {kOption32, offsetof(Clamp, max), 4},
    {kOption32, offsetof(Clamp, lo), 5},
    {kOption32, offsetof(Clamp, hi), 6},
    // 20: Window2D
    {kOption32, offsetof(Window2d, kernel_h), 0},
    {kOption32, offsetof(Window2d, kernel_w), 0},
    {kOption32, offsetof(Window2d, stride_h), 0},
    {kOption32, offsetof(Window2d, stride_w), 0},
    {kOption32, offsetof(Window2d, dilation_h), 0},
    {kOption32, offsetof(Window2d, dilation_w), 0},
    {kOption32, offsetof(Window2d, pad_top), 1},
    {kOption32, offsetof(Window2d, pad_left), 1},
    {kOption32, offsetof(Window2d, pad_bottom), 1},
    {kOption32, offsetof(Window2d, pad_right), 1},
    {kOptionBool, offsetof(Window2d, count_include_pad), 0},
    // 21: Requantization
    {kOptionList, offsetof(Requantization, multiplier), 0},
    {kOptionList, offsetof(Requantization, folded_bias), 0},
    {kOptionEnum, offsetof(Requantization, rounding), 0},
    // 22: Intermediate
    {kOption32, offsetof(Intermediate, scale), 1},
    {kOption32, offsetof(Intermediate, zero_point), 1},
};
const uint8_t kFirstOptionField[] = {
    0, 6, 9, 11, 13, 15, 16, 18, 19, 20, 21, 23, 25, 28, 30, 31, 33, 36, 40, 45, 49, 60, 63, 65,
};
const uint32_t kOptionDefaults[] = {
    0x1, 0x0, 0x3f800000, 0xff800000, 0x7f800000, 0xffffff80, 0x7f,
};

}  // namespace intaglio
