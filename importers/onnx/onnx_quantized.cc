// QuantizeLinear and DequantizeLinear of ONNX. Activations become Quantize and Dequantize nodes, which a pass then
// takes into the nodes between them; constants become FP32 that remembers its grid.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {

namespace {

using Type = onnx_file::TensorProto;

// Scales and zero points of inputs 1 and 2; zero points as the file has them.
struct Parameters {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;  // as many
  Type::DataType type = Type::INT8;  // of the codes
  bool is_unsigned = false;
  bool has_16_bits = false, has_4_bits = false;
  bool is_huge = false;  // one scale beyond what a model holds, as masks of -3.4e38 get
  int32_t axis = -1;     // -1: one for all
  int64_t block = 0;     // of constants: so many indices of the axis have one scale; 0: each its own

  int64_t levels() const {
    return type == Type::INT32 ? int64_t{1} << 32 : has_16_bits ? 65536 : has_4_bits ? 16 : 256;
  }
  int64_t least() const { return is_unsigned ? 0 : -levels() / 2; }
  int64_t most() const { return least() + levels() - 1; }
  // Whether int8 holds its codes; others are FP32 here.
  bool is_wide() const { return has_16_bits || is_huge; }
};

// The element type of the codes that a QuantizeLinear gives: its zero point's, else the one that it names.
int64_t type_given(OnnxOp& op) {
  const int64_t of_zero_point = op.has_input(2) ? op.type_of_codes(2) : 0,
                named = op.integer("output_dtype", 0);
  if (named != 0 && of_zero_point != 0 && named != of_zero_point)
    fail("its output type is ", onnx_type_name(named), " and its zero point is ",
         onnx_type_name(of_zero_point));
  if (named != 0) return named;
  if (of_zero_point != 0) return of_zero_point;
  // PPQ writes int32 for more than 8 bits.
  if (op.has_input(2) && op.is_constant(2) && op.type_of_constant(2) == Type::INT32)
    return op.is_constant(0) ? Type::INT32 : Type::INT16;
  if (op.has_input(2)) {
    if (!op.is_constant(2)) fail("its zero point ", quoted(op.input_name(2)), " is computed by a run");
    fail("its zero point ", quoted(op.input_name(2)), " is ", onnx_type_name(op.type_of_constant(2)),
         " here, which says no type of codes; name one with output_dtype");
  }
  return Type::UINT8;
}

// The type of a DequantizeLinear's codes is their own. It may be unknown for constants that were computed; then it is the
// zero point's, or any: the reals are the same.
int64_t type_taken(OnnxOp& op) {
  const int64_t own = op.type_of_codes(0), of_zero_point = op.has_input(2) ? op.type_of_codes(2) : 0;
  if (own != 0 && of_zero_point != 0 && own != of_zero_point)
    fail("its codes are ", onnx_type_name(own), " and its zero point is ", onnx_type_name(of_zero_point));
  const int64_t given = op.integer("output_dtype", 0);
  if (given != 0 && !is_onnx_real(given))
    fail("its output type is ", onnx_type_name(given), "; float, float16, double and bfloat16 are supported");
  return own != 0 ? own : of_zero_point != 0 ? of_zero_point : int64_t{Type::INT8};
}

OnnxCodes codes_as_reals(const Parameters& p) { return {p.type, p.scales[0], p.zero_points[0]}; }

// Scales of blocks have the codes' shape but for the axis, where they are fewer.
void check_blocks(const Shape& scales, Shape shape, int32_t axis, int64_t block) {
  int32_t& along = shape[static_cast<size_t>(axis)];
  along = static_cast<int32_t>((along + block - 1) / block);
  if (scales != shape)
    fail("its scales have the shape ", shape_text(scales), " where blocks of ", block, " have ",
         shape_text(shape));
}

// Quantizers give an activation that was 0 in all samples a scale of nearly nothing.
void raise_to_least(OnnxOp& op, std::vector<float>& scales, float least) {
  bool is_raised = false;
  for (float& scale : scales) {
    if (!(scale > 0.0f && scale < least)) continue;
    scale = least;
    is_raised = true;
  }
  if (is_raised && op.source() == "QuantizeLinear")
    op.draft().notes.push_back(text("node ", quoted(op.name()), " (", op.source(), ") has a scale below ",
                                    least, ", the least that there is: it has this one"));
}

Parameters read_parameters(OnnxOp& op, const Shape& shape, int64_t type, int least_scale = kLeastScale) {
  op.check_inputs(2, 3);
  Parameters p;
  p.scales = op.floats(1).values;
  if (p.scales.empty()) fail("it has no scale");
  p.block = op.integer("block_size", 0);
  p.is_huge =
      p.scales.size() == 1 && std::isfinite(p.scales[0]) && p.scales[0] > std::ldexp(1.0f, kMostScale);
  if (!op.is_constant(0)) raise_to_least(op, p.scales, std::ldexp(1.0f, least_scale));
  // NNCF gives weights a scale with a sign, so that a channel's largest weight is the code -128.
  for (const float scale : p.scales)
    if (!p.is_huge) check_scale(op.is_constant(0) ? std::fabs(scale) : scale, least_scale);
  if (p.block < 0 || p.block > INT32_MAX) fail("block_size ", p.block, " is not supported");
  if (p.block != 0 && !op.is_constant(0)) fail("blocked quantization is supported of constants alone");
  const int64_t given_axis = op.integer("axis", 1);
  op.ignore("saturate");
  if (p.block != 0) {
    check_blocks(op.floats(1).shape, shape, p.axis = normal_axis(given_axis, shape.size()), p.block);
  } else if (p.scales.size() > 1) {
    p.axis = normal_axis(given_axis, shape.size());
    if (shape[static_cast<size_t>(p.axis)] != static_cast<int32_t>(p.scales.size()))
      fail(p.scales.size(), " scales do not fit axis ", p.axis, " of ", shape_text(shape));
  }
  if (!is_onnx_code(type) && !(type == Type::INT32 && op.is_constant(0)))
    fail("codes of type ", onnx_type_name(type), " are not supported; those of 4, 8 and 16 bits are");
  p.type = static_cast<Type::DataType>(type);
  p.is_unsigned = type == Type::UINT8 || type == Type::UINT16 || type == kOnnxUint4;
  p.has_4_bits = type == kOnnxUint4 || type == kOnnxInt4;
  if (p.has_4_bits && !op.is_constant(0)) fail("codes of 4 bits are supported as constants alone");
  p.has_16_bits = type == Type::UINT16 || type == Type::INT16;
  p.zero_points.assign(p.scales.size(), 0);
  if (!op.has_input(2)) return p;
  if (op.is_constant_of_reals(2)) {
    for (const float zero_point : op.floats(2).values)
      if (zero_point != 0.0f) fail("the zero point ", zero_point, " is not allowed");
    return p;
  }
  const auto zero_points = op.integers(2).values;
  if (zero_points.size() != p.scales.size())
    fail("it has ", zero_points.size(), " zero points for ", p.scales.size(), " scales");
  for (const int64_t zero_point : zero_points)
    if (zero_point < p.least() || zero_point > p.most())
      fail("the zero point ", zero_point, " is not allowed");
  p.zero_points = zero_points;
  return p;
}

// The stand-in for codes of 16 bits: x as they hold it. With a huge scale x is FP32, whose steps are the values themselves.
int32_t within_codes(OnnxOp& op, int32_t x, const Parameters& p) {
  if (p.axis >= 0) fail("a scale for each channel of codes of 16 bits is not supported");
  if (p.is_huge) {
    const int32_t steps = add_unary(op, Op::kRound, add_scaled(op, x, 1.0f / p.scales[0]));
    const float most = 0x1p127f / p.scales[0];  // beyond it a step would be infinite
    const int32_t y =
        add_bounded(op, steps, std::max(-most, static_cast<float>(p.least() - p.zero_points[0])),
                    std::min(most, static_cast<float>(p.most() - p.zero_points[0])));
    return add_scaled(op, y, p.scales[0]);
  }
  return add_within_s16(op.result(), x, p.scales[0], p.zero_points[0], p.is_unsigned ? 32768 : 0);
}

// The scale of element i of a constant, whose axis has `behind` elements an index.
size_t scale_of(size_t i, size_t behind, const Shape& shape, const Parameters& p) {
  if (p.block == 0) return i / behind % p.scales.size();
  const auto along = static_cast<size_t>(shape[static_cast<size_t>(p.axis)]),
             block = static_cast<size_t>(p.block);
  const size_t blocks = (along + block - 1) / block, row = i / behind;
  return (row / along * blocks + row % along / block) * behind + i % behind;
}

void import_quantize_linear(OnnxOp& op) {
  if (op.is_constant(0)) {
    const OnnxConstant<float> x = op.floats(0);
    const Parameters p = read_parameters(op, x.shape, type_given(op));
    const size_t behind = elements_behind(x.shape, p.axis);
    OnnxConstant<int64_t> codes{x.shape, {}};
    for (size_t i = 0; i < x.values.size(); ++i) {
      const size_t c = scale_of(i, behind, x.shape, p);
      if (!std::isfinite(x.values[i])) fail("its constant holds ", x.values[i]);
      // ONNX divides in float: a weight that is half a step from the last code is rounded there.
      const double code =
          std::nearbyint(double{x.values[i] / p.scales[c]}) + static_cast<double>(p.zero_points[c]);
      codes.values.push_back(static_cast<int64_t>(
          std::clamp(code, static_cast<double>(p.least()), static_cast<double>(p.most()))));
    }
    return op.set_codes(codes, p.type);
  }
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const Parameters p = read_parameters(op, shape, type_given(op));
  if (p.is_wide()) return op.set_codes_output(within_codes(op, x, p), codes_as_reals(p));
  const ChannelGrids grids(p.scales, p.zero_points, p.axis);
  const int32_t y =
      add_codes(op, op.output_name(), shape, grids.scale(), grids.zero_point() - (p.is_unsigned ? 128 : 0));
  op.add(Op::kQuantize, {grids.is_per_channel() ? grids.to_common(op, x) : x}, y);
  op.set_codes_output(y, {p.type, 0.0f, 0});
}

// (x - zero point) * scale of codes that are FP32 here, as Gather gives those of a constant.
int32_t real_of_numbers(OnnxOp& op, int32_t x, const Parameters& p) {
  if (p.axis >= 0) fail("a scale for each channel of codes that are looked up is not supported");
  const auto zero_point = static_cast<float>(p.zero_points[0]);
  return add_scaled(op, zero_point == 0.0f ? x : add_moved(op, x, -zero_point), p.scales[0]);
}

// The same of codes that are reals here, by the scale and zero point that they were made with.
int32_t real_of_reals(OnnxOp& op, int32_t x, const Parameters& p) {
  const OnnxCodes& made = op.codes_of(0);
  if (std::isnan(made.scale)) fail("its codes come from several scales, which is not supported of these");
  if (p.axis >= 0) fail("a scale for each channel of codes that are FP32 here is not supported");
  const float scale = p.scales[0], ratio = scale / made.scale;
  const float moved = static_cast<float>(made.zero_point - p.zero_points[0]) * scale;
  if (!(ratio >= 0x1p-120f && std::isfinite(ratio) && std::isfinite(moved)))
    fail("its scale ", scale, " does not fit codes that were made with ", made.scale);
  const int32_t y = ratio == 1.0f ? x : add_scaled(op, x, ratio);
  return moved == 0.0f ? y : add_moved(op, y, moved);
}

OnnxConstant<float> as_floats(const OnnxConstant<int64_t>& codes) {
  OnnxConstant<float> reals{codes.shape, {}};
  for (const int64_t code : codes.values) reals.values.push_back(static_cast<float>(code));
  return reals;
}

void import_dequantize_linear(OnnxOp& op) {
  if (!op.is_constant(0)) {
    const int32_t x = op.activation_or_codes(0);
    const Shape shape = op.shape(x);
    const Parameters p = read_parameters(op, shape, type_taken(op));
    const DraftTensor info = op.draft().tensor(x);
    if (info.dtype == DType::kF32 && op.is_integer(0))
      return op.set_codes_output(real_of_numbers(op, x, p), {});
    if (info.dtype == DType::kF32 && op.codes_of(0).scale != 0.0f)
      return op.set_codes_output(real_of_reals(op, x, p), {});
    if (info.dtype != DType::kS8) fail("it must take what a QuantizeLinear gives");
    if (p.is_huge)
      fail("its scale ", p.scales[0], " is above the limit of 2^", kMostScale,
           ", and its codes are int8 here");
    const ChannelGrids grids(p.scales, p.zero_points, p.axis);
    const int64_t zero_point = grids.zero_point() - (p.is_unsigned ? 128 : 0);
    int32_t codes = x;
    if (zero_point < -128 || zero_point > 127) fail("its zero point lies outside the codes");
    const bool as_written = op.take_plain_codes(0, grids.scale(), static_cast<int32_t>(zero_point)) ||
                            (info.scales[0] == grids.scale() && info.zero_point == zero_point);
    if (!as_written) {
      codes = add_codes(op, op.output_name() + "/codes", shape, grids.scale(), zero_point);
      add_same_codes(op.origin(), x, codes);
    }
    const int32_t y = op.make(Op::kDequantize, {codes}, shape);
    return op.set_codes_output(grids.is_per_channel() ? grids.to_own(op, y) : y, {});
  }
  const bool is_real = op.is_constant_of_reals(0);  // of 8 or 4 bits
  const OnnxConstant<float> x = is_real ? op.floats(0) : as_floats(op.integers(0));
  Parameters p = read_parameters(op, x.shape, type_taken(op), kLeastWeightScale);
  OnnxConstant<float> y{x.shape, {}};
  const size_t behind = elements_behind(x.shape, p.axis);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const size_t c = scale_of(i, behind, x.shape, p);
    y.values.push_back((x.values[i] - static_cast<float>(p.zero_points[c])) * p.scales[c]);
  }
  op.set_floats(y);
  if (p.is_huge || is_real || (p.block != 0 && p.has_16_bits)) return;
  if (p.block != 0) return op.set_grid({{}, -1, true});
  for (float& scale : p.scales) scale = std::fabs(scale);
  op.set_grid({p.scales, p.axis});
}

// ONNX products of integers, as quantizers write them that measure activations while the network runs. Activations stay FP32
// here: DynamicQuantizeLinear hands on its input, with the scale 1, and weights keep their codes.

void import_dynamic_quantize_linear(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (op.output_count() != 3) fail("it has ", op.output_count(), " outputs where 3 are expected");
  op.set_output(op.activation(0), 0, false);
  op.set_floats({{}, {1.0f}}, 1);
  op.set_codes({{}, {0}}, onnx_file::TensorProto::UINT8, 2);
}

// Constant codes, or zero points, of 8 bits with a sign or without.
OnnxConstant<int64_t> read_dynamic_codes(OnnxOp& op, int i) {
  const OnnxConstant<int64_t> codes = op.integers(i);
  for (const int64_t code : codes.values)
    if (code < -128 || code > 255)
      fail("input ", quoted(op.input_name(i)), " holds ", code, "; codes of 8 bits are -128 to 255");
  return codes;
}

// Codes of input i without their zero point, which input `zero_point` has: one, or one for each index of `axis`.
OnnxConstant<float> centred(OnnxOp& op, int i, int zero_point, size_t axis) {
  const OnnxConstant<int64_t> codes = read_dynamic_codes(op, i);
  if (axis >= codes.shape.size())
    fail("its weights have no axis ", axis, ": their shape is ", shape_text(codes.shape));
  OnnxConstant<float> reals{codes.shape, {}};
  std::vector<int64_t> zeros{0};
  if (op.has_input(zero_point)) zeros = read_dynamic_codes(op, zero_point).values;
  const auto of_axis = static_cast<size_t>(codes.shape[axis]);
  if (zeros.empty() || (zeros.size() != 1 && zeros.size() != of_axis))
    fail("it has ", zeros.size(), " zero points for ", of_axis, " channels");
  const size_t behind = elements_behind(codes.shape, static_cast<int32_t>(axis));
  for (size_t n = 0; n < codes.values.size(); ++n)
    reals.values.push_back(static_cast<float>(codes.values[n] - zeros[n / behind % zeros.size()]));
  return reals;
}

// The same of an activation, whose zero point is one number.
int32_t centred_activation(OnnxOp& op, int zero_point) {
  const int32_t x = op.activation(0);
  if (!op.has_input(zero_point)) return x;
  const std::vector<int64_t> zeros = read_dynamic_codes(op, zero_point).values;
  if (zeros.size() != 1) fail("its first input has ", zeros.size(), " zero points; one is supported");
  if (zeros[0] == 0) return x;
  const Shape one(op.shape(x).size(), 1);
  const int32_t constant = add_constant(op.draft(), op.name() + "/zero_point", DType::kF32, one,
                                        std::vector<float>{static_cast<float>(zeros[0])});
  return add_binary(op, Op::kSub, x, constant);
}

void import_mat_mul_integer(OnnxOp& op) {
  op.check_inputs(2, 4);
  const size_t rank = op.integers(1).shape.size();
  if (rank < 2) fail("its weights have rank ", rank, "; 2 or more is expected");
  const OnnxConstant<float> w = centred(op, 1, 3, rank - 1);
  const int32_t weights = add_constant(op.draft(), op.input_name(1), DType::kF32, w.shape, w.values);
  op.draft().tensor(weights).scales = {1.0f};
  const int32_t x = centred_activation(op, 2);
  op.set_output(add_matrix_product(op.result(), x, weights, false));
}

void import_conv_integer(OnnxOp& op) {
  op.check_inputs(2, 4);
  import_onnx_convolution(op, centred_activation(op, 2), centred(op, 1, 3, 0), false);
}

// Products with weights of few bits in blocks, as onnxruntime's weight-only quantizer writes them. The weights become FP32
// here; a calibration gives them int8 codes.

struct BitBlocks {
  int64_t k = 0, n = 0, bits = 0, size = 0, count = 0;  // of a row, `count` blocks
  int64_t bytes() const { return size * bits / 8; }     // of one block
};

BitBlocks read_bit_blocks(const OnnxOp& op) {
  BitBlocks b;
  b.k = op.integer("K", 0);
  b.n = op.integer("N", 0);
  b.bits = op.integer("bits", 4);
  b.size = op.integer("block_size", 0);
  op.ignore("accuracy_level");
  constexpr int64_t kMost = int64_t{1} << 28;
  if (b.bits != 4 && b.bits != 8) fail("its weights have ", b.bits, " bits; 4 and 8 are supported");
  if (b.size < 16 || b.size > 4096 || b.size % 16 != 0) fail("block_size ", b.size, " is not supported");
  if (b.k < 1 || b.n < 1 || b.k > kMost / b.n) fail("weights of ", b.k, " x ", b.n, " are not supported");
  b.count = (b.k + b.size - 1) / b.size;
  return b;
}

// Code i of packed codes that begin at byte `start`.
float code_at(const std::vector<int64_t>& bytes, int64_t start, int64_t i, int64_t bits) {
  if (bits == 8) return static_cast<float>(bytes[static_cast<size_t>(start + i)]);
  const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(start + i / 2)]);
  return static_cast<float>(code_of_4_bits(byte, static_cast<size_t>(i)));
}

void check_size(const OnnxOp& op, int i, size_t found, int64_t expected) {
  if (static_cast<int64_t>(found) != expected)
    fail("constant ", quoted(op.input_name(i)), " has ", found, " values where ", expected, " are expected");
}

std::vector<int64_t> read_bytes(OnnxOp& op, int i) {
  if (!op.is_constant_of(i, onnx_file::TensorProto::UINT8))
    fail("input ", quoted(op.input_name(i)), " must be a constant of uint8");
  return op.integers(i).values;
}

// A zero point for each block of each row: packed codes, or reals.
std::vector<float> read_zero_points(OnnxOp& op, const BitBlocks& b) {
  const auto all = static_cast<size_t>(b.n * b.count);
  if (!op.has_input(3)) return std::vector<float>(all, b.bits == 4 ? 8.0f : 128.0f);
  if (op.is_constant_of_reals(3)) {
    std::vector<float> reals = op.floats(3).values;
    check_size(op, 3, reals.size(), b.n * b.count);
    return reals;
  }
  const std::vector<int64_t> bytes = read_bytes(op, 3);
  const int64_t each = (b.count * b.bits + 7) / 8;
  check_size(op, 3, bytes.size(), b.n * each);
  std::vector<float> zeros;
  for (int64_t row = 0; row < b.n; ++row)
    for (int64_t block = 0; block < b.count; ++block)
      zeros.push_back(code_at(bytes, row * each, block, b.bits));
  return zeros;
}

void import_mat_mul_nbits(OnnxOp& op) {
  op.check_inputs(3, 6);
  const BitBlocks b = read_bit_blocks(op);
  if (op.has_input(4)) fail("indices of groups are not supported");
  op.draft().budget->check_numbers(b.k * b.n);
  // The sizes of what the file holds bound what is made of it.
  const std::vector<int64_t> bytes = read_bytes(op, 1);
  check_size(op, 1, bytes.size(), b.n * b.count * b.bytes());
  const std::vector<float> scales = op.floats(2).values;
  check_size(op, 2, scales.size(), b.n * b.count);
  const std::vector<float> zeros = read_zero_points(op, b);
  std::vector<float> weights(static_cast<size_t>(b.k * b.n));  // [k, n]
  for (int64_t row = 0; row < b.n; ++row)
    for (int64_t k = 0; k < b.k; ++k) {
      const int64_t block = row * b.count + k / b.size;
      weights[static_cast<size_t>(k * b.n + row)] =
          (code_at(bytes, block * b.bytes(), k % b.size, b.bits) - zeros[static_cast<size_t>(block)]) *
          scales[static_cast<size_t>(block)];
    }
  const Shape shape{static_cast<int32_t>(b.k), static_cast<int32_t>(b.n)};
  const int32_t w = add_constant(op.draft(), op.input_name(1), DType::kF32, shape, weights);
  const int32_t x = op.activation(0);
  int32_t y = add_matrix_product(op.result(), x, w, false);
  if (op.has_input(5)) {
    const OnnxConstant<float> bias = op.floats(5);
    check_size(op, 5, bias.values.size(), b.n);
    Shape row(op.shape(y).size(), 1);
    row.back() = shape[1];
    y = add_binary(op, Op::kAdd, y,
                   add_constant(op.draft(), op.input_name(5), DType::kF32, row, bias.values));
  }
  op.set_output(y);
}

constexpr OnnxOperator kOnnxQuantizedOperators[] = {
    {"ConvInteger",
     import_conv_integer,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kSub},
     "Weights are constants. It is computed in FP32, or calibrated."},
    {"DequantizeLinear",
     import_dequantize_linear,
     {Op::kDequantize, Op::kLookup, Op::kAdd, Op::kMul},
     "8 and 16 bits, one scale, or one a channel of 8. Those of 16 with a zero point off the middle are FP32."},
    {"DequantizeLinear",
     import_dequantize_linear,
     {Op::kDequantize, Op::kLookup, Op::kAdd, Op::kMul},
     "As ONNX has it.",
     "com.microsoft"},
    {"DynamicQuantizeLinear",
     import_dynamic_quantize_linear,
     {},
     "Its input goes on as it is, with the scale 1."},
    {"MatMulInteger",
     import_mat_mul_integer,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSub},
     "The second matrix is a constant. It is computed in FP32, or calibrated."},
    {"MatMulNBits",
     import_mat_mul_nbits,
     {Op::kFullyConnected, Op::kAdd},
     "4 and 8 bits, without indices of groups. It is computed in FP32, or calibrated.",
     "com.microsoft"},
    {"QuantizeLinear",
     import_quantize_linear,
     {Op::kQuantize, Op::kDequantize, Op::kMul, Op::kAdd},
     "8 and 16 bits, one scale, or one a channel of 8. Those of 16 with a zero point off the middle are FP32."},
    {"QuantizeLinear",
     import_quantize_linear,
     {Op::kQuantize, Op::kDequantize, Op::kMul, Op::kAdd},
     "As ONNX has it.",
     "com.microsoft"},
};

}  // namespace

Span<const OnnxOperator> onnx_quantized_operators() { return kOnnxQuantizedOperators; }

}  // namespace intaglio::importers
