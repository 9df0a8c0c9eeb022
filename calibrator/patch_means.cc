#include "calibrator/patch_means.h"

#include "runtime/window.h"

namespace intaglio {
namespace {

// Channels that are summed together, and strides whose columns are summed once for all taps.
constexpr int32_t kLanes = 32, kPhases = 4;

// Exact for codes; reals in double, in an order that the geometry alone decides.
template <typename T>
struct SumOf {
  using Type = double;
};
template <>
struct SumOf<int8_t> {
  using Type = int32_t;
};
template <typename T>
using Sum = typename SumOf<T>::Type;

// Columns x = first, first + stride, ... up to `last` that a tap reads of an input row; none where last <
// first.
struct Columns {
  int32_t first, last;
};

Columns columns_of(const TensorInfo& in, const TensorInfo& out, const Window2d& w, int32_t kx) {
  const int32_t shift = input_x(w, 0, kx), width = in.shape[2];
  const int32_t before = shift < 0 ? (-shift + w.stride_w - 1) / w.stride_w : 0;
  if (before >= out.shape[2] || shift >= width) return {0, -1};
  const int32_t fitting = (width - 1 - shift) / w.stride_w;
  const int32_t end = fitting < out.shape[2] - 1 ? fitting : out.shape[2] - 1;
  return {shift + before * w.stride_w, shift + end * w.stride_w};
}

// Channels [0, lanes) of one row of an image.
template <typename T>
struct Row {
  const T* data;
  int32_t channels, width, lanes;

  // sums[c] +-= row[x][c] over x = first, first + step, ... before `end`.
  template <bool kMinus>
  void add(int32_t first, int32_t end, int32_t step, Sum<T>* sums) const {
    for (int32_t x = first; x < end; x += step) {
      const T* const at = data + int64_t{x} * channels;
      for (int32_t c = 0; c < lanes; ++c) sums[c] += kMinus ? -Sum<T>{at[c]} : Sum<T>{at[c]};
    }
  }
};

// What each tap reads of row `y`. Taps whose columns lie a stride apart read the same ones but for the
// borders: each column is added once, and borders are taken off.
template <typename T>
void add_row(const TensorInfo& in, const TensorInfo& out, const Window2d& w, const Row<T>& row, int32_t y,
             double* sums) {
  const int32_t stride = w.stride_w;
  const double zero_point = in.quantization.zero_point;
  Sum<T> phases[kPhases][kLanes] = {};
  for (int32_t r = 0; r < stride && stride <= kPhases; ++r)
    row.template add<false>(r, row.width, stride, phases[r]);
  for (int32_t kx = 0; kx < w.kernel_w; ++kx) {
    const Columns columns = columns_of(in, out, w, kx);
    if (columns.last < columns.first) continue;
    Sum<T> tap[kLanes] = {};
    if (stride <= kPhases) {
      const int32_t phase = columns.first % stride;
      memcpy(tap, phases[phase], sizeof tap);
      row.template add<true>(phase, columns.first, stride, tap);
      row.template add<true>(columns.last + stride, row.width, stride, tap);
    } else {
      row.template add<false>(columns.first, columns.last + 1, stride, tap);
    }
    const double zeros = zero_point * ((columns.last - columns.first) / stride + 1);
    for (int32_t ky = 0; ky < w.kernel_h; ++ky) {
      const int32_t shift = y - input_y(w, 0, ky);
      if (shift < 0 || shift % w.stride_h != 0 || shift / w.stride_h >= out.shape[1]) continue;
      double* const to = sums + (int64_t{ky} * w.kernel_w + kx) * row.channels;
      for (int32_t c = 0; c < row.lanes; ++c) to[c] += static_cast<double>(tap[c]) - zeros;
    }
  }
}

template <typename T>
void window_sums(const TensorInfo& in, const TensorInfo& out, const Window2d& w, const T* data,
                 Span<double> sums) {
  const int32_t channels = in.shape[3], width = in.shape[2];
  for (int32_t batch = 0; batch < in.shape[0]; ++batch)
    for (int32_t y = 0; y < in.shape[1]; ++y, data += int64_t{width} * channels)
      for (int32_t c = 0; c < channels; c += kLanes)
        add_row<T>(in, out, w, {data + c, channels, width, channels - c < kLanes ? channels - c : kLanes}, y,
                   sums.data + c);
}

template <typename T>
void sums_of(const TensorInfo& in, const TensorInfo& out, bool windowed, const Window2d& window,
             const void* data, Span<double> sums) {
  const auto* values = static_cast<const T*>(data);
  if (windowed) return window_sums(in, out, window, values, sums);
  const auto k = static_cast<int64_t>(sums.size), rows = in.shape.elements() / k;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < k; ++i)
      sums[static_cast<size_t>(i)] += static_cast<double>(values[row * k + i]) - in.quantization.zero_point;
}

bool is_windowed(const Model& model, const NodeInfo& node) {
  return model.tensor(node.inputs[1]).shape.rank > 2;
}

}  // namespace

size_t patch_size(const Model& model, const NodeInfo& node) {
  const Shape weights = model.tensor(node.inputs[1]).shape;
  if (!is_windowed(model, node)) return static_cast<size_t>(weights[1]);
  const int64_t taps = int64_t{node.options.window.kernel_h} * node.options.window.kernel_w;
  return static_cast<size_t>(taps * model.tensor(node.inputs[0]).shape[3]);
}

void patch_means(const Session& session, int32_t node_index, Span<double> means) {
  const Model& model = session.model();
  const NodeInfo node = model.node(node_index);
  const TensorView in = session.tensor(node.inputs[0]);
  const TensorInfo out = model.tensor(node.outputs[0]);
  const bool windowed = is_windowed(model, node);
  for (double& mean : means) mean = 0.0;
  const int64_t channels = out.shape.back(0);
  const double positions = static_cast<double>(out.shape.elements() / channels);
  double unit = 1.0 / positions;
  if (in.info.dtype == DType::kS8) {
    sums_of<int8_t>(in.info, out, windowed, node.options.window, in.data, means);
    unit = static_cast<double>(in.info.quantization.scales[0]) / positions;
  } else {
    sums_of<float>(in.info, out, windowed, node.options.window, in.data, means);
  }
  for (double& mean : means) mean *= unit;
}

}  // namespace intaglio
