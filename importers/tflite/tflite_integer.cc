// TFLite operators that give or take integers: indices, positions, one-hot rows, and casts. Integers that a run computes
// with are FP32 here, which is exact up to 2^24; indices are s32.
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// Rows of `table` by indices that a run computes.
void look_up(TfliteOp& op, int32_t table, int32_t axis, int32_t indices) {
  if (const DraftTensor& codes = op.draft().tensor(table);
      codes.dtype == DType::kS8 && codes.scales.size() != 1)
    fail("tensor ", quoted(codes.name), " is int8 and needs one scale, it has ", codes.scales.size());
  const int32_t rows = add_gather_by(op.draft(), op.name() + "/rows", op.source(), table, axis, indices);
  const int32_t y = op.output_same(table, op.draft().tensor(rows).shape);
  op.add(Op::kReshape, {rows}, y);
  op.finish_same();
}

void import_embedding_lookup(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t indices = op.index_activation(0);
  look_up(op, op.activation_or_constant(1), 0, indices);
}

// Codes of a scale, which CAST takes as the integers that they are in the file: in the scale 1.
int32_t codes_as_numbers(TfliteOp& op, int32_t x) {
  const int32_t plain =
      add_activation(op.draft(), op.name() + "/codes", DType::kS8, op.draft().tensor(x).shape);
  op.draft().tensor(plain).scales = {1.0f};
  op.draft().tensor(plain).zero_point = op.is_unsigned(0) ? -128 : 0;
  std::vector<int8_t> same(256);
  for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int8_t>(static_cast<int32_t>(i) - 128);
  op.add(Op::kLookup, {x, add_constant(op.draft(), op.name() + "/table", DType::kS8, {256}, same)}, plain);
  return plain;
}

// float32 to integers goes towards 0, as C has it.
void import_cast(TfliteOp& op) {
  op.check_inputs(1, 1);
  int32_t x = op.any_activation(0);
  const DraftTensor info = op.draft().tensor(x);
  const bool from_integers = op.holds_integers(0), to_integers = op.output_holds_integers();
  if (info.dtype == DType::kS8) {
    if (!from_integers) x = codes_as_numbers(op, x);
    const int32_t numbers = add_activation(op.draft(), op.name() + "/numbers", DType::kF32, info.shape);
    op.add(Op::kDequantize, {x}, numbers);
    x = numbers;
  }
  if (to_integers && !from_integers) return op.set_index_output(op.as_index(x));
  const int32_t y = op.output(info.shape);
  if (op.draft().tensor(y).dtype != DType::kF32) fail("it must give float32, int32 or int64");
  op.add(Op::kReshape, {op.as_real(x)}, y);
}

void import_arg_max(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  TopKOptions options;
  options.axis = normal_axis(op.integer(1), op.draft().tensor(x).shape.size());
  options.smallest = op.source() == "ARG_MIN";
  op.set_index_output(add_index_of_greatest(op.draft(), op.name(), op.source(), x, options, false));
}

void import_top_k(TfliteOp& op) {
  op.check_inputs(2, 2);
  op.allow_outputs();
  if (op.output_count() != 2) fail("it has ", op.output_count(), " outputs where 2 are expected");
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  TopKOptions options;
  options.axis = normal_axis(-1, shape.size());
  const int32_t indices =
      add_top_k(op.draft(), op.name() + "/indices", op.source(), x, options, op.integer(1));
  const int32_t y = op.output_same(x, op.draft().tensor(indices).shape);
  op.add(Op::kGatherElements, {x, indices}, y).options.as<GatherOptions>().axis = options.axis;
  op.finish_same();
  op.set_index_output(indices, 1);
}

void import_one_hot(TfliteOp& op) {
  op.check_inputs(4, 4);
  const int32_t indices = op.index_activation(0), depth = op.integer(1);
  if (depth < 1) fail("its depth is ", depth, "; 1 and more are allowed");
  const Values on = op.values(2), off = op.values(3);
  if (elements(on.shape) != 1 || elements(off.shape) != 1)
    fail("its values on and off must be one number each");
  Shape shape = op.draft().tensor(indices).shape;
  const auto* const options = op.options_or_null<tflite::OneHotOptions>();
  const int32_t axis = normal_axis(options == nullptr ? -1 : options->axis(), shape.size() + 1);
  shape.insert(shape.begin() + axis, depth);
  const int32_t y = op.output(shape);
  if (op.draft().tensor(y).dtype != DType::kF32) fail("it must give float32 or integers");
  op.add(Op::kOneHot, {indices}, y).options.as<OneHotOptions>() = {axis, as_real(on).reals[0],
                                                                   as_real(off).reals[0], false};
}

constexpr TfliteOperator kOperators[] = {
    {Builtin::ARG_MAX, import_arg_max, {Op::kTopK, Op::kReshape}, "The axis is a constant. Gives int32."},
    {Builtin::ARG_MIN, import_arg_max, {Op::kTopK, Op::kReshape}, "The axis is a constant. Gives int32."},
    {Builtin::CAST,
     import_cast,
     {Op::kCast, Op::kDequantize},
     "Between float32, int32, int64 and bool, and from 8 bits: the codes as integers, whatever their scale."},
    {Builtin::EMBEDDING_LOOKUP,
     import_embedding_lookup,
     {Op::kGather},
     "An index beyond the table is the nearest."},
    {Builtin::ONE_HOT, import_one_hot, {Op::kOneHot}, "Depth and values are constants.", kFloatOnly},
    {Builtin::TOPK_V2, import_top_k, {Op::kTopK, Op::kGatherElements}, "k is a constant. Indices are int32."},
};

}  // namespace

Span<const TfliteOperator> tflite_integer_operators() { return kOperators; }

}  // namespace intaglio::importers
