#include "calibrator/recover/weights/layer_matrix.h"

#include "runtime/window.h"

namespace intaglio {
namespace {

bool is_windowed(const Model& model, const NodeInfo& node) {
  return model.tensor(node.inputs[1]).shape.rank > 2;
}

// One input channel at one tap, over output positions.
struct Tap {
  const int8_t* data;  // of the channel at the first pixel
  int32_t zero_point, h, w, channels;
  int32_t ky, kx;
};

void copy_tap(const Tap& tap, const Window2d& window, const Shape& out, int64_t first, int32_t count,
              int16_t* column) {
  const int32_t oh = out[1], ow = out[2];
  for (int32_t p = 0; p < count; ++p) {
    const int64_t position = first + p, row = position / ow;
    const int32_t y = input_y(window, static_cast<int32_t>(row % oh), tap.ky);
    const int32_t x = input_x(window, static_cast<int32_t>(position % ow), tap.kx);
    const bool inside = y >= 0 && y < tap.h && x >= 0 && x < tap.w;
    const int64_t pixel = inside ? ((row / oh) * tap.h + y) * tap.w + x : 0;
    column[p] = inside ? static_cast<int16_t>(tap.data[pixel * tap.channels] - tap.zero_point) : int16_t{0};
  }
}

}  // namespace

LayerMatrix layer_matrix(const Model& model, const NodeInfo& node) {
  const Shape weights = model.tensor(node.inputs[1]).shape;
  LayerMatrix m;
  if (weights.rank == 2) {  // fully connected [outputs, k]
    m.groups = m.taps = 1;
    m.rows = weights[0];
    m.channels = weights[1];
  } else if (weights.rank == 3) {  // depthwise [kh, kw, outputs]
    m.groups = model.tensor(node.inputs[0]).shape[3];
    m.rows = weights[2] / m.groups;
    m.taps = weights[0] * weights[1];
    m.channels = 1;
    m.stride = static_cast<size_t>(weights[2]);
  } else {  // convolution [outputs, kh, kw, channels of a group]
    const int32_t groups = node.options.value<Conv2dOptions>().groups;
    m.groups = groups < 1 ? 1 : groups;
    m.rows = weights[0] / m.groups;
    m.taps = weights[1] * weights[2];
    m.channels = weights[3];
  }
  return m;
}

int64_t layer_positions(const Model& model, const NodeInfo& node) {
  if (is_windowed(model, node)) {
    const Shape out = model.tensor(node.outputs[0]).shape;
    return out.elements() / out.back(0);
  }
  return model.tensor(node.inputs[0]).shape.elements() / model.tensor(node.inputs[1]).shape[1];
}

void copy_patches(const Session& session, const NodeInfo& node, const LayerMatrix& matrix, int32_t group,
                  int64_t first, int32_t count, int16_t* columns) {
  const TensorView in = session.tensor(node.inputs[0]);
  const auto* const data = static_cast<const int8_t*>(in.data);
  const int32_t zero_point = in.info.quantization.zero_point;
  if (!is_windowed(session.model(), node)) {
    for (int32_t i = 0; i < matrix.channels; ++i)
      for (int32_t p = 0; p < count; ++p)
        columns[int64_t{i} * count + p] =
            static_cast<int16_t>(data[(first + p) * matrix.channels + i] - zero_point);
    return;
  }
  const Shape out = session.model().tensor(node.outputs[0]).shape;
  const Window2d& window = node.options.as<Window2d>();
  Tap tap{nullptr, zero_point, in.info.shape[1], in.info.shape[2], in.info.shape[3], 0, 0};
  for (int32_t t = 0; t < matrix.taps; ++t)
    for (int32_t c = 0; c < matrix.channels; ++c) {
      tap.data = data + (group * matrix.channels + c);
      tap.ky = t / window.kernel_w;
      tap.kx = t % window.kernel_w;
      copy_tap(tap, window, out, first, count, columns + (int64_t{t} * matrix.channels + c) * count);
    }
}

}  // namespace intaglio
