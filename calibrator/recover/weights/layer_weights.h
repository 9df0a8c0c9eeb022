// One layer's weights as numbers: its matrix, the moments of its inputs, codes and scales that change.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/session.h"
#include "runtime/op.h"
#include "runtime/window.h"

namespace intaglio {

// A layer with weights as what it is to algebra: for each group of channels a matrix product,
// outputs [rows] = weights [rows, depth] * inputs [depth], once a position of the output.
struct LayerMatrix {
  int32_t groups = 0;    // of channels that read the same inputs; a depthwise layer's input channels
  int32_t rows = 0;      // outputs of a group
  int32_t taps = 0;      // places of the window; 1 where there is none
  int32_t channels = 0;  // of the input in a group
  size_t stride = 1;     // between the weights of one output that are neighbours in depth

  int32_t depth() const { return taps * channels; }  // tap by tap, within it channel by channel
  int32_t outputs() const { return groups * rows; }
  // Index of an output's first weight in the weights' own layout.
  size_t first(int32_t output) const {
    return stride == 1 ? static_cast<size_t>(output) * static_cast<size_t>(depth())
                       : static_cast<size_t>(output);
  }
};

// The weights of a convolution, depthwise convolution or fully connected node.
LayerMatrix layer_matrix(const Model& model, const NodeInfo& node);

// Positions of the node's output over which a sample's inputs are taken.
int64_t layer_positions(const Model& model, const NodeInfo& node);

// Calls visit(k, p, element) for each depth `k` of `group` and each output position first + p, p below `count`: the element of
// the node's input that is read there; -1: padding.
template <typename Visit>
void for_each_input(const Model& model, const NodeInfo& node, const LayerMatrix& matrix, int32_t group,
                    int64_t first, int32_t count, Visit&& visit) {
  if (model.tensor(node.inputs[1]).shape.rank == 2) {
    for (int32_t c = 0; c < matrix.channels; ++c)
      for (int32_t p = 0; p < count; ++p) visit(c, p, (first + p) * matrix.channels + c);
    return;
  }
  const Window2d& window = node.options.as<Window2d>();
  const Shape in = model.tensor(node.inputs[0]).shape, out = model.tensor(node.outputs[0]).shape;
  for (int32_t k = 0; k < matrix.depth(); ++k) {
    const int32_t tap = k / matrix.channels, channel = group * matrix.channels + k % matrix.channels;
    for (int32_t p = 0; p < count; ++p) {
      const int64_t position = first + p, row = position / out[2];
      const int32_t y = input_y(window, static_cast<int32_t>(row % out[1]), tap / window.kernel_w);
      const int32_t x = input_x(window, static_cast<int32_t>(position % out[2]), tap % window.kernel_w);
      const bool inside = y >= 0 && y < in[1] && x >= 0 && x < in[2];
      visit(k, p, inside ? (((row / out[1]) * in[1] + y) * in[2] + x) * in[3] + channel : int64_t{-1});
    }
  }
}

// The int8 inputs of `group` that the output positions [first, first + count) read, less their zero point,
// padding as 0: columns [depth, count].
void copy_patches(const Session& session, const NodeInfo& node, const LayerMatrix& matrix, int32_t group,
                  int64_t first, int32_t count, int16_t* columns);

// Second moments of a layer's real int8 inputs. The error that changed weights make in the layer's output is
// a quadratic form in them, so any number of candidates is scored without running the layer again.

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

// The weights of one layer while a recovery changes them: reals, codes, scales and biases, row by row.
struct LayerWeights {
  LayerMatrix matrix;
  Span<const float> reals;  // of the FP32 layer
  Span<int8_t> codes;       // in the layout of `reals`
  Span<float> scales;       // [outputs]
  Span<int32_t> bias;       // [outputs], scale of the input times scales[c]
  int32_t largest = 127;    // codes lie within [-largest, largest]
};

// The error of the layer's output, its mean apart, summed over the outputs, before and after; in units of the
// squared input step.
struct LayerError {
  double before = 0.0, after = 0.0;
};

// The memory and inputs of a recovery of weights.
struct WeightWork {
  const LayerMoments* moments = nullptr;  // finished
  Executor executor;
  Span<double> scratch;  // of make_weight_scratch()
};
Span<double> make_weight_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena);
uint64_t weight_scratch_bytes(const LayerMatrix& matrix, int32_t width);

// Candidates that are scored at once.
inline constexpr int32_t kLanes = 8;

// One row as a worker of for_each_row() sees it.
struct WeightRow {
  int32_t output = 0, depth = 0;
  double scale = 0.0;  // present
  int32_t largest = 127;
  double* reals = nullptr;  // [depth]
  double* codes = nullptr;  // [depth], integers; what stands here at the end is written back
  double* lanes = nullptr;  // [depth, kLanes], scratch
  double* spare = nullptr;  // [depth], scratch
  const LayerMoments* moments = nullptr;

  int32_t group() const { return output / moments->matrix.rows; }
  double clamp(double code) const {
    const double most = static_cast<double>(largest);
    return code > most ? most : (code < -most ? -most : code);
  }
};

// Error of a row with the codes `codes` at the scale `scale`.
double row_error(const WeightRow& row, const double* codes, double scale);
// The same of kLanes candidates: lanes [depth, kLanes] holds what each differs by from the reals.
void lane_errors(const WeightRow& row, double errors[kLanes]);

// Nearest codes at a scale.
void nearest_codes(const WeightRow& row, double scale, double* codes);

// Calls change(row), which may put other codes and another scale into the row, for every row, and writes back
// what lowers the row's error; the row's bias then keeps the mean of its output. A row whose accumulator
// could leave int32 stays as it was.
LayerError change_rows(LayerWeights& weights, const WeightWork& work,
                       void (*change)(void* context, WeightRow& row), void* context);

template <typename Change>
LayerError change_rows(LayerWeights& weights, const WeightWork& work, Change&& change) {
  return change_rows(
      weights, work, [](void* context, WeightRow& row) { (*static_cast<Change*>(context))(row); }, &change);
}

}  // namespace intaglio
