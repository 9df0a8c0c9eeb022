// Second moments of a layer's real int8 inputs. The error that changed weights make in the layer's output is
// a quadratic form in them, so any number of candidates is scored without running the layer again.
#pragma once

#include "calibrator/recover/weights/layer_matrix.h"
#include "calibrator/workspace/arena.h"

namespace intaglio {

// Inputs of one group are taken in blocks of at most this many, so that memory grows with the depth alone;
// what inputs of different blocks have in common counts as none. Nearly every layer is one block.
inline constexpr int32_t kMomentBlock = 1536;

// Integers until finish_moments(), exact in double: their order does not matter.
struct LayerMoments {
  LayerMatrix matrix;
  int32_t block = 0, blocks = 0;
  double positions = 0.0;
  Span<double> sums;      // [groups, depth], of inputs less their zero point; then their means
  Span<double> products;  // [groups, blocks, block, block]; then covariances

  // Where block b of a group starts in depth, and how long it is.
  int32_t start(int32_t b) const { return b * block; }
  int32_t size(int32_t b) const {
    const int32_t left = matrix.depth() - start(b);
    return left < block ? left : block;
  }
  // Rows of `block` doubles, size(b) of them.
  const double* covariance(int32_t group, int32_t b) const { return products.data + offset(group, b); }
  double* products_of(int32_t group, int32_t b) { return products.data + offset(group, b); }

 private:
  size_t offset(int32_t group, int32_t b) const {
    const auto side = static_cast<size_t>(block);
    return (static_cast<size_t>(group) * static_cast<size_t>(blocks) + static_cast<size_t>(b)) * side * side;
  }
};

// Bytes that moments of a layer take from an arena, scratch of add_moments() included.
uint64_t moment_bytes(const LayerMatrix& matrix, int32_t width);
// Empty spans where the arena has run out.
LayerMoments make_moments(const LayerMatrix& matrix, Arena& arena);

// Adds what stands in the node's first input. `scratch` is of make_moment_scratch().
void add_moments(LayerMoments& moments, const Session& session, int32_t node, const Executor& executor,
                 Span<int16_t> scratch);
Span<int16_t> make_moment_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena);

// Sums to means, products to covariances. Each input's own variance grows by `damping` times their mean in
// its block: what few positions show of inputs that hardly vary, or of how they vary together, is not
// believed to the last digit.
void finish_moments(LayerMoments& moments, double damping);

}  // namespace intaglio
