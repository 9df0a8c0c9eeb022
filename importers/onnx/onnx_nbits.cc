// Products with weights of few bits in blocks, as onnxruntime's weight-only quantizer writes them. The weights become FP32
// here; a calibration gives them int8 codes.
#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_stored.h"

namespace intaglio::importers {
namespace {

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
  int32_t y = add_matrix_product(op.draft(), op.output_name(), op.source(), x, w, false);
  if (op.has_input(5)) {
    const OnnxConstant<float> bias = op.floats(5);
    check_size(op, 5, bias.values.size(), b.n);
    Shape row(op.draft().tensor(y).shape.size(), 1);
    row.back() = shape[1];
    y = add_binary(op, Op::kAdd, y,
                   add_constant(op.draft(), op.input_name(5), DType::kF32, row, bias.values));
  }
  op.set_output(y);
}

constexpr OnnxOperator kOnnxNbitsOperators[] = {
    {"MatMulNBits",
     import_mat_mul_nbits,
     {Op::kFullyConnected, Op::kAdd},
     "4 and 8 bits, without indices of groups. It is computed in FP32, or calibrated.",
     "com.microsoft"},
};

}  // namespace

Span<const OnnxOperator> onnx_nbits_operators() { return kOnnxNbitsOperators; }

}  // namespace intaglio::importers
