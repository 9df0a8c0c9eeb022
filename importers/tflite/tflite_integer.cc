// TFLite operators that give or take integers: indices, positions, one-hot rows, and casts. Integers that a run computes
// with are FP32 here, which is exact up to 2^24; indices are s32.
#include <algorithm>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// Rows of `table` by indices that a run computes.
void look_up(TfliteOp& op, int32_t table, int32_t axis, int32_t indices) {
  if (const DraftTensor& codes = op.draft().tensor(table);
      codes.dtype == DType::kS8 && codes.scales.size() != 1)
    fail("tensor ", quoted(codes.name), " is int8 and needs one scale, it has ", codes.scales.size());
  const int32_t rows = add_gather_by(op.part("/rows"), table, axis, indices);
  op.set_moved(table, rows, op.shape(rows));
}

void import_embedding_lookup(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t indices = op.index_activation(0);
  look_up(op, op.activation_or_constant(1), 0, indices);
}

// Codes of a scale, which CAST takes as the integers that they are in the file: in the scale 1.
int32_t codes_as_numbers(TfliteOp& op, int32_t x) {
  const int32_t plain = add_activation(op.draft(), op.name() + "/codes", DType::kS8, op.shape(x));
  op.draft().tensor(plain).scales = {1.0f};
  op.draft().tensor(plain).zero_point = op.is_unsigned(0) ? -128 : 0;
  add_same_codes(op.origin(), x, plain);
  return plain;
}

// x, numbers, as 8 bits hold it: of integers what is left modulo 256, of float32 the nearest end beyond them.
int32_t within_8_bits(TfliteOp& op, int32_t x, bool from_integers) {
  const float least = op.output_is_unsigned() ? 0.0f : -128.0f;
  const auto by = [&](Op kind, int32_t of, float value) {
    return add_binary(op, kind, of, add_number(op, of, value));
  };
  if (from_integers) {
    const int32_t turns = by(Op::kMul, by(Op::kSub, x, least), 0x1p-8f);
    const int32_t whole = add_unary(op, Op::kFloor, turns, "/turns");
    return add_binary(op, Op::kSub, x, by(Op::kMul, whole, 0x1p8f));
  }
  return add_bounded(op, op.as_real(op.as_index(x)), least, least + 255.0f, "/within");
}

// float32 to integers goes towards 0, as C has it.
void import_cast(TfliteOp& op) {
  op.check_inputs(1, 1);
  int32_t x = op.any_activation(0);
  const DraftTensor info = op.draft().tensor(x);
  const bool from_integers = op.holds_integers(0), to_integers = op.output_holds_integers();
  if (info.dtype == DType::kS8) {
    if (!from_integers) x = codes_as_numbers(op, x);
    const int32_t numbers = op.make(Op::kDequantize, {x}, info.shape, "/numbers");
    x = numbers;
  }
  if (op.output_holds_plain_codes())
    return op.set_number_output(within_8_bits(op, op.as_real(x), from_integers));
  if (to_integers && !from_integers) return op.set_index_output(op.as_index(x));
  const int32_t y = op.output(info.shape);
  if (op.draft().tensor(y).dtype != DType::kF32) fail("it must give float32, int32 or int64");
  op.add(Op::kReshape, {op.as_real(x)}, y);
}

void import_arg_max(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  TopKOptions options;
  options.axis = normal_axis(op.integer(1), op.shape(x).size());
  options.smallest = op.source() == "ARG_MIN";
  op.set_index_output(add_index_of_greatest(op.origin(), x, options, false));
}

void import_top_k(TfliteOp& op) {
  op.check_inputs(2, 2);
  op.allow_outputs();
  if (op.output_count() != 2) fail("it has ", op.output_count(), " outputs where 2 are expected");
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  TopKOptions options;
  options.axis = normal_axis(-1, shape.size());
  const int32_t indices = add_top_k(op.part("/indices"), x, options, op.integer(1));
  const int32_t y = op.output_same(x, op.shape(indices));
  op.add(Op::kGatherElements, {x, indices}, y).options.as<GatherOptions>().axis = options.axis;
  op.finish_same();
  op.set_index_output(indices, 1);
}

void import_one_hot(TfliteOp& op) {
  op.check_inputs(4, 4);
  const int32_t indices = op.index_activation(0), depth = op.integer(1);
  if (depth < 1) fail("its depth is ", depth, "; 1 and more are allowed");
  const DraftTensor out = tflite_tensor(op.file(), op.output_index(0));
  const auto number = [&](size_t i) {  // LiteRT copies codes, whatever scale they have
    DraftTensor value = op.constant(i);
    if (value.dtype == DType::kS8 && out.dtype == DType::kS8) {
      value.scales = out.scales;
      value.zero_point = out.zero_point;
    }
    const std::vector<float> values =
        value.dtype == DType::kS32 ? as_real(op.values(i)).reals : values_of<float>(dequantized(value));
    if (values.size() != 1) fail("its values on and off must be one number each");
    return values[0];
  };
  Shape shape = op.shape(indices);
  const auto* const options = op.options_or_null<tflite::OneHotOptions>();
  const int32_t axis = normal_axis(options == nullptr ? -1 : options->axis(), shape.size() + 1);
  shape.insert(shape.begin() + axis, depth);
  const int32_t y = op.new_tensor(shape, "/rows");
  op.add(Op::kOneHot, {indices}, y).options.as<OneHotOptions>() = {axis, number(2), number(3), false};
  finish_real(op, y);
}

void import_gather_nd(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation_or_constant(0);
  const Shape from = op.shape(x);
  const bool is_constant = op.is_constant(1);
  const IndexRows rows = index_rows(is_constant ? op.shape_in_file(1) : op.shape(op.any_activation(1)), from);
  const int32_t list = add_reshape(op.part("/rows"), x, rows.list(rows.count));
  int32_t taken = -1;
  if (is_constant) {
    taken = add_gather(op.part("/taken"), list, 0, row_numbers(rows, op.integers(1), from));
  } else {
    const int32_t indices = op.as_real(op.index_activation(1));
    const int32_t numbers = add_row_numbers(op.origin(), indices, rows, from);
    taken = add_gather_by(op.part("/taken"), list, 0, op.as_index(numbers));
  }
  op.set_moved(x, taken, rows.whole());
}

// Updates at their places among zeros, or among codes of 0 as LiteRT has it; those of one place are added.
void import_scatter_nd(TfliteOp& op) {
  op.check_inputs(3, 3);
  const int32_t updates = op.activation_or_constant(1);
  const DraftTensor info = op.draft().tensor(updates);
  Shape shape;
  for (const int64_t dim : op.integers(2)) shape.push_back(narrow(dim, "dimension"));
  check_shape(shape, info.dtype);
  const IndexRows rows = index_rows(op.shape_in_file(0), shape);
  if (info.shape != rows.whole())
    fail("its updates are ", shape_text(info.shape), " where ", shape_text(rows.whole()), " is expected");
  std::vector<int32_t> numbers = row_numbers(rows, op.integers(0), shape);
  std::vector<int32_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const bool names_twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (names_twice && info.dtype == DType::kS8)
    fail("its indices name a place twice, which codes do not allow");
  op.draft().budget->check_numbers(elements(shape));
  const int32_t zeros = add_constant_bytes(
      op.draft(), op.name() + "/zeros", info.dtype, shape,
      std::vector<uint8_t>(static_cast<size_t>(elements(shape)) * element_bytes(info.dtype), 0));
  op.draft().tensor(zeros).scales = info.scales;
  op.draft().tensor(zeros).zero_point = info.zero_point;
  const ReplacedRows r{zeros, updates, std::move(numbers), rows.count, rows.width()};
  const std::string name = op.name() + "/placed";
  const int32_t placed =
      names_twice ? add_joined_rows(op.named(name), r, Op::kAdd) : add_replaced_rows(op.named(name), r);
  op.set_moved(updates, placed, shape);
}

constexpr TfliteOperator kTfliteIntegerOperators[] = {
    {Builtin::ARG_MAX, import_arg_max, {Op::kTopK, Op::kReshape}, "The axis is a constant. Gives int32."},
    {Builtin::ARG_MIN, import_arg_max, {Op::kTopK, Op::kReshape}, "The axis is a constant. Gives int32."},
    {Builtin::CAST,
     import_cast,
     {Op::kCast, Op::kLookup, Op::kDequantize, Op::kFloor},
     "Between float32, int32, int64, bool and 8 bits; of codes that have a scale the integers that they are."},
    {Builtin::EMBEDDING_LOOKUP,
     import_embedding_lookup,
     {Op::kGather},
     "An index beyond the table is the nearest."},
    {Builtin::GATHER_ND,
     import_gather_nd,
     {Op::kReshape, Op::kGather, Op::kFullyConnected},
     "Indices that a run computes are not below 0."},
    {Builtin::ONE_HOT, import_one_hot, {Op::kOneHot}, "Depth and values are constants."},
    {Builtin::SCATTER_ND,
     import_scatter_nd,
     {Op::kConcat, Op::kGather, Op::kAdd},
     "Indices and shape are constants; of codes each place is named once."},
    {Builtin::TOPK_V2, import_top_k, {Op::kTopK, Op::kGatherElements}, "k is a constant. Indices are int32."},
};

}  // namespace

Span<const TfliteOperator> tflite_integer_operators() { return kTfliteIntegerOperators; }

}  // namespace intaglio::importers
