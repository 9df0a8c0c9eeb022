#include "calibrator/recover/weights/layer_moments.h"

#include "runtime/op.h"

namespace intaglio {
namespace {

// Positions that are taken together: int32 holds the sum of as many products of inputs within +-255.
constexpr int32_t kPositions = 256;
static_assert(int64_t{kPositions} * 255 * 255 <= INT32_MAX);

int32_t dot(const int16_t* a, const int16_t* b, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += int32_t{a[i]} * b[i];
  return sum;
}

size_t column_elements(const LayerMatrix& matrix) { return static_cast<size_t>(matrix.depth()) * kPositions; }

int32_t block_of(int32_t depth) {
  const int32_t blocks = (depth + kMomentBlock - 1) / kMomentBlock;
  return (depth + blocks - 1) / blocks;
}

void add_sums(LayerMoments& moments, int32_t group, const int16_t* columns, int32_t count) {
  const int32_t depth = moments.matrix.depth();
  double* const sums = moments.sums.data + int64_t{group} * depth;
  for (int32_t i = 0; i < depth; ++i) {
    int32_t sum = 0;
    for (int32_t p = 0; p < count; ++p) sum += columns[int64_t{i} * count + p];
    sums[i] += sum;
  }
}

// Row `i` of a block's upper triangle.
void add_row(LayerMoments& moments, int32_t group, int32_t b, int32_t i, const int16_t* columns,
             int32_t count) {
  const int32_t size = moments.size(b);
  const int16_t* const first = columns + int64_t{moments.start(b)} * count;
  double* const row = moments.products_of(group, b) + int64_t{i} * moments.block;
  for (int32_t j = i; j < size; ++j)
    row[j] += dot(first + int64_t{i} * count, first + int64_t{j} * count, count);
}

}  // namespace

uint64_t moment_bytes(const LayerMatrix& matrix, int32_t width) {
  const auto depth = static_cast<uint64_t>(matrix.depth()), groups = static_cast<uint64_t>(matrix.groups);
  const auto block = static_cast<uint64_t>(block_of(matrix.depth()));
  const uint64_t blocks = (depth + block - 1) / block;
  const uint64_t columns = uint64_t{column_elements(matrix)} * sizeof(int16_t) * static_cast<uint64_t>(width);
  return (depth + blocks * block * block) * groups * sizeof(double) + columns + 3 * alignof(double);
}

LayerMoments make_moments(const LayerMatrix& matrix, Arena& arena) {
  LayerMoments m;
  m.matrix = matrix;
  m.block = block_of(matrix.depth());
  m.blocks = (matrix.depth() + m.block - 1) / m.block;
  const auto groups = static_cast<size_t>(matrix.groups), block = static_cast<size_t>(m.block);
  m.sums = arena.make<double>(groups * static_cast<size_t>(matrix.depth()));
  m.products = arena.make<double>(groups * static_cast<size_t>(m.blocks) * block * block);
  return m;
}

Span<int16_t> make_moment_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena) {
  return arena.make<int16_t>(column_elements(matrix) * static_cast<size_t>(width));
}

void add_moments(LayerMoments& moments, const Session& session, int32_t node_index, const Executor& executor,
                 Span<int16_t> scratch) {
  const NodeInfo node = session.model().node(node_index);
  const LayerMatrix& matrix = moments.matrix;
  const int64_t positions = layer_positions(session.model(), node);
  moments.positions += static_cast<double>(positions);
  const auto add_group = [&](int32_t group, int16_t* columns, const Executor& within) {
    for (int64_t first = 0; first < positions; first += kPositions) {
      const auto count =
          static_cast<int32_t>(positions - first < kPositions ? positions - first : kPositions);
      copy_patches(session, node, matrix, group, first, count, columns);
      add_sums(moments, group, columns, count);
      for (int32_t b = 0; b < moments.blocks; ++b)
        parallel_for(within, moments.size(b),
                     [&](int32_t i) { add_row(moments, group, b, i, columns, count); });
    }
  };
  // One group: its rows are shared out; many: the groups are.
  if (matrix.groups == 1) return add_group(0, scratch.data, executor);
  const auto workers = static_cast<int32_t>(scratch.size / column_elements(matrix));
  parallel_for(executor, workers, [&](int32_t worker) {
    int16_t* const columns = scratch.data + static_cast<size_t>(worker) * column_elements(matrix);
    for (int32_t g = worker; g < matrix.groups; g += workers) add_group(g, columns, Executor());
  });
}

void finish_moments(LayerMoments& moments, double damping) {
  const double n = moments.positions > 0.0 ? moments.positions : 1.0;
  for (double& sum : moments.sums) sum /= n;
  for (int32_t g = 0; g < moments.matrix.groups; ++g)
    for (int32_t b = 0; b < moments.blocks; ++b) {
      const int32_t size = moments.size(b);
      const double* const means = moments.sums.data + int64_t{g} * moments.matrix.depth() + moments.start(b);
      double* const rows = moments.products_of(g, b);
      double trace = 0.0;
      for (int32_t i = 0; i < size; ++i)
        for (int32_t j = i; j < size; ++j) {
          const double raw = rows[int64_t{i} * moments.block + j] / n, product = means[i] * means[j];
          const double covariance = raw - product;
          rows[int64_t{i} * moments.block + j] = rows[int64_t{j} * moments.block + i] = covariance;
          if (i == j) trace += covariance;
        }
      const double extra = damping * trace / size;
      for (int32_t i = 0; i < size; ++i) rows[int64_t{i} * moments.block + i] += extra;
    }
}

}  // namespace intaglio
