#include "runtime/ops/batch_product.h"

#include <cfloat>

namespace intaglio {

Product product_of(const NodeView& node) {
  const Shape a = node.input_shape(0), b = node.input_shape(1), y = node.output_shape();
  Product p;
  p.transposed = node.options<BatchMatMulOptions>().transpose_b;
  p.m = y.back(1);
  p.n = y.back(0);
  p.k = a.back(0);
  p.batches = static_cast<int32_t>(y.elements(0, y.rank - 2));
  p.one_matrix = b.elements(0, b.rank - 2) == 1;
  if (p.one_matrix) {
    p.m *= p.batches;
    p.batches = 1;
  }
  return p;
}

Error check_matrices(const NodeView& node) {
  const Shape a = node.input_shape(0), b = node.input_shape(1), y = node.output_shape();
  for (const int32_t i : {0, 1})
    if (node.input_shape(i).rank < 2)
      return node.input_error(Status::kBadRank, i, node.input_shape(i).rank, 2);
  const int32_t rank = a.rank > b.rank ? a.rank : b.rank;
  ITG_TRY(check_output_rank(node, rank));
  const bool transposed = node.options<BatchMatMulOptions>().transpose_b;
  const int32_t depth = b.back(transposed ? 0 : 1), columns = b.back(transposed ? 1 : 0);
  if (depth != a.back(0)) return node.input_error(Status::kShapeMismatch, 1, depth, a.back(0));
  if (y.back(1) != a.back(1)) return node.output_error(Status::kShapeMismatch, 0, y.back(1), a.back(1));
  if (y.back(0) != columns) return node.output_error(Status::kShapeMismatch, 0, y.back(0), columns);
  for (int32_t i = 2; i < rank; ++i) {
    const int32_t p = i < a.rank ? a.back(i) : 1, q = i < b.rank ? b.back(i) : 1;
    if (p != q && p != 1 && q != 1) return node.input_error(Status::kShapeMismatch, 1, q, p);
    const int32_t expected = p == 1 ? q : p;
    if (y.back(i) != expected) return node.output_error(Status::kShapeMismatch, 0, y.back(i), expected);
  }
  const float scale = node.options<BatchMatMulOptions>().scale;
  return scale > 0.0f && scale <= FLT_MAX ? kNoError : node.error(Status::kBadAttribute, 0);
}

float product_multiplier(const NodeView& node) {
  const float product_scale = node.input(0).quantization.scales[0] * node.input(1).quantization.scales[0];
  return product_scale * node.options<BatchMatMulOptions>().scale / node.output().quantization.scales[0];
}

int32_t matrix_of(int32_t batch, const Shape& y, const Shape& operand) {
  int32_t index = 0, step = 1;
  for (int32_t i = 2; i < operand.rank; ++i) {
    const int32_t dim = operand.back(i);
    if (dim != 1) index += batch % y.back(i) * step;
    step *= dim;
    batch /= y.back(i);
  }
  return index;
}

}  // namespace intaglio
