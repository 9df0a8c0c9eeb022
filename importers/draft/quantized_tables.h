// Constant tables of operators on codes (docs/arithmetic.md), and conversions between codes.
#pragma once

#include "importers/draft/draft.h"
#include "runtime/op.h"

namespace intaglio::importers {

// The rule of the FP32 operator; one that only a draft has has none.
QuantRule quant_rule(Op op);
// The ends of an activation's codes, of 8 or 16 bits.
int32_t least_code(const DraftTensor& tensor);
int32_t greatest_code(const DraftTensor& tensor);
// A real number as a code of such a tensor, and back.
int32_t quantize(float x, const DraftTensor& tensor);
float real_of(int32_t code, const DraftTensor& tensor);
// s8[256], index code + 128: from one scale to another, clamped to codes lo to hi of the output.
std::vector<int8_t> requantize_table(const DraftTensor& input, const DraftTensor& output, int32_t lo,
                                     int32_t hi);
// The grid of int8 weights whose numbers lie on none of one scale a channel: the greatest of each has the code 127.
void take_near_grid(DraftTensor& weights, int32_t axis);
// Whole numbers next to these, whose sum is next to theirs, too: what a layer reads has a mean, and that multiplies an error of
// the sum. Those nearest to a half are rounded the other way for it, within int8.
std::vector<int32_t> near_codes(const std::vector<double>& numbers);
// Codes of weights: of int8, or where one is beyond that of int16, until the end (importers/wide_weights.h).
void set_weight_codes(DraftTensor& weights, const std::vector<int32_t>& codes);
std::vector<int32_t> weight_codes(const DraftTensor& weights);
// A unary node's table, s8[256]; a PRelu's has one for each channel. Empty where the operator has none.
std::vector<int8_t> unary_table(const Draft& draft, const DraftNode& node);
// The same of codes of 16 bits, s16[513].
std::vector<int16_t> unary_table_s16(const Draft& draft, const DraftNode& node);
// The operator that computes an FP32 node on codes of 16 bits; Op::kNone: there is none.
Op op_of_s16(const DraftNode& node);
// s32[256] for codes of 8 bits, s32[512] for 16 bits (lookup_tables.h), for sums of `count`.
std::vector<int32_t> softmax_table(float scale, int32_t count, DType codes);
// From `input` to `output`, codes of one scale each: a Lookup of 8 bits, or a Quantize where one has 16.
void add_requantize(const Origin& at, int32_t input, int32_t output);
// A Lookup that gives each code as it is: `output` has another scale, and so these codes stand for other reals.
void add_same_codes(const Origin& at, int32_t input, int32_t output);

// x, FP32, rounded to codes of 16 bits: a Quantize and a Dequantize. The latter's result, whose name is `name`.
int32_t add_rounding_s16(const Origin& at, int32_t x, float scale);
// x, FP32, as a file's codes of 16 bits hold it: rounded to them where their zero point is `middle`, the file's number for
// the code 0 here. Else x stays FP32, which ends where the codes do, with a note.
int32_t add_within_s16(const Origin& at, int32_t x, float scale, int64_t zero_point, int64_t middle);

// A constant as FP32: of codes or integers with a scale, or FP32 already. Throws for others.
DraftTensor dequantized(DraftTensor constant);
// The same, which remembers the grid of int8 codes.
DraftTensor dequantized_on_grid(DraftTensor constant);
// The constant becomes the reals that these codes stand for in its scales, one or one for each index of its axis.
template <typename Code>
void set_reals(DraftTensor& constant, const std::vector<Code>& codes) {
  const size_t behind = elements_behind(constant.shape, constant.axis);
  std::vector<float> reals;
  for (const Code code : codes) {
    const double scale = constant.scales[reals.size() / behind % constant.scales.size()];
    reals.push_back(static_cast<float>(scale * (static_cast<double>(code) - constant.zero_point)));
  }
  constant.dtype = DType::kF32;
  constant.scales.clear();
  constant.axis = -1;
  constant.zero_point = 0;
  set_values(constant, reals);
}
// Likewise, and it remembers their grid.
template <typename Code>
void set_reals_on_grid(DraftTensor& constant, const std::vector<Code>& codes) {
  const std::vector<float> scales = constant.scales;
  const int32_t axis = constant.axis;
  set_reals(constant, codes);
  constant.scales = scales;
  constant.axis = axis;
}

}  // namespace intaglio::importers
