#include "calibrator/patch_means.h"

#include "runtime/window.h"

namespace intaglio {
namespace {

template <typename T>
void add_row(const T* row, int32_t channels, int32_t zero_point, double* sums) {
  for (int32_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(row[c]) - zero_point;
}

template <typename T>
void window_sums(const TensorInfo& in, const TensorInfo& out, const Window2d& w, const T* data,
                 Span<double> sums) {
  const int32_t h = in.shape[1], width = in.shape[2], channels = in.shape[3];
  for (int32_t batch = 0; batch < in.shape[0]; ++batch)
    for (int32_t oy = 0; oy < out.shape[1]; ++oy)
      for (int32_t ky = 0; ky < w.kernel_h; ++ky) {
        const int32_t y = input_y(w, oy, ky);
        if (y < 0 || y >= h) continue;
        for (int32_t ox = 0; ox < out.shape[2]; ++ox)
          for (int32_t kx = 0; kx < w.kernel_w; ++kx) {
            const int32_t x = input_x(w, ox, kx);
            if (x < 0 || x >= width) continue;
            const int64_t pixel = (int64_t{batch} * h + y) * width + x;
            add_row(data + pixel * channels, channels, in.quantization.zero_point,
                    sums.data + (int64_t{ky} * w.kernel_w + kx) * channels);
          }
      }
}

template <typename T>
void sums_of(const TensorInfo& in, const TensorInfo& out, bool windowed, const Window2d& window,
             const void* data, Span<double> sums) {
  const auto* values = static_cast<const T*>(data);
  if (windowed) return window_sums(in, out, window, values, sums);
  const auto k = static_cast<int64_t>(sums.size), rows = in.shape.elements() / k;
  for (int64_t row = 0; row < rows; ++row)
    add_row(values + row * k, static_cast<int32_t>(k), in.quantization.zero_point, sums.data);
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
