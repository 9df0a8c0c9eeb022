#include "calibrator/observe/patch_means.h"

#include "calibrator/quantization/int8_nodes.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"
#include "runtime/window.h"

namespace intaglio {
namespace {

// Rows and columns of a window whose sums are taken at once.
constexpr int32_t kMostTaps = 16;

PatchColumns columns_of(const TensorInfo& in, const TensorInfo& out, const Window2d& w, int32_t kx) {
  const int32_t shift = input_x(w, 0, kx), width = in.shape[2];
  const int32_t before = shift < 0 ? (-shift + w.stride_w - 1) / w.stride_w : 0;
  if (before >= out.shape[2] || shift >= width) return {0, -1};
  const int32_t fitting = (width - 1 - shift) / w.stride_w;
  const int32_t end = fitting < out.shape[2] - 1 ? fitting : out.shape[2] - 1;
  return {shift + before * w.stride_w, shift + end * w.stride_w};
}

// Whether row `ky` of the window reads row `y` of the input for some output.
bool reads(const Window2d& w, const TensorInfo& out, int32_t y, int32_t ky) {
  const int32_t shift = y - input_y(w, 0, ky);
  return shift >= 0 && shift % w.stride_h == 0 && shift / w.stride_h < out.shape[1];
}

void sum_row(const PatchSumsKernel& kernel, const PatchRow<float>& row) { kernel.row_f32(row); }
void sum_row(const PatchSumsKernel& kernel, const PatchRow<int8_t>& row) { kernel.row_s8(row); }
// Exact, in whatever order: sums of codes are whole numbers far below 2^53.
void sum_row(const PatchSumsKernel&, const PatchRow<int16_t>& row) {
  for (int32_t kx = 0; kx < row.column_count; ++kx)
    for (int32_t x = row.columns[kx].first; x <= row.columns[kx].last; x += row.stride)
      for (int32_t t = 0; t < row.tap_count; ++t) {
        const int16_t* const codes = row.x + static_cast<ptrdiff_t>(x) * row.channels;
        double* const sums = row.sums + row.taps[t] + static_cast<ptrdiff_t>(kx) * row.channels;
        for (int32_t c = 0; c < row.channels; ++c) sums[c] += codes[c];
      }
}

// Rows of the input for columns [first_kx, first_kx + kMostTaps) of the window.
template <typename T>
class WindowSums {
 public:
  WindowSums(const TensorInfo& in, const TensorInfo& out, const Window2d& w, int32_t first_kx,
             const PatchSumsKernel& kernel, double* sums)
      : in_(in), out_(out), window_(w), kernel_(kernel) {
    row_.width = in.shape[2];
    row_.channels = in.shape[3];
    row_.stride = w.stride_w;
    row_.columns = columns_;
    row_.taps = taps_;
    row_.zero_point = in.quantization.zero_point;
    row_.sums = sums + int64_t{first_kx} * row_.channels;
    for (int32_t kx = first_kx; kx < w.kernel_w && row_.column_count < kMostTaps; ++kx)
      columns_[row_.column_count++] = columns_of(in, out, w, kx);
  }

  // Rows [first, first + count) of all pictures of a batch, one behind the other; `x`: all of them.
  void add_rows(const T* x, int32_t first, int32_t count) {
    const int64_t row_elements = int64_t{row_.width} * row_.channels;
    for (int32_t i = first; i < first + count; ++i) {
      row_.x = x + i * row_elements;
      for (int32_t ky = 0; ky < window_.kernel_h;) {
        for (row_.tap_count = 0; row_.tap_count < kMostTaps && ky < window_.kernel_h; ++ky)
          if (reads(window_, out_, i % in_.shape[1], ky))
            taps_[row_.tap_count++] = static_cast<ptrdiff_t>(ky) * window_.kernel_w * row_.channels;
        if (row_.tap_count > 0) sum_row(kernel_, row_);
      }
    }
  }

 private:
  const TensorInfo &in_, &out_;
  const Window2d& window_;
  const PatchSumsKernel& kernel_;
  PatchColumns columns_[kMostTaps];
  ptrdiff_t taps_[kMostTaps];
  PatchRow<T> row_{};
};

bool is_windowed(const Model& model, const NodeInfo& node) {
  return model.tensor(node.inputs[1]).shape.rank > 2;
}

template <typename T>
void sums_of(const TensorInfo& in, const TensorInfo& out, bool windowed, const Window2d& window,
             const void* data, const PatchSumsKernel& kernel, Span<double> sums) {
  const auto* values = static_cast<const T*>(data);
  for (int32_t kx = 0; windowed && kx < window.kernel_w; kx += kMostTaps)
    WindowSums<T>(in, out, window, kx, kernel, sums.data).add_rows(values, 0, in.shape[0] * in.shape[1]);
  if (windowed) return;
  const auto k = static_cast<int64_t>(sums.size), rows = in.shape.elements() / k;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < k; ++i)
      sums[static_cast<size_t>(i)] += static_cast<double>(values[row * k + i]) - in.quantization.zero_point;
}

double positions_of(const TensorInfo& out) {
  return static_cast<double>(out.shape.elements() / out.shape.back(0));
}

}  // namespace

size_t patch_size(const Model& model, const NodeInfo& node) {
  const Shape weights = model.tensor(node.inputs[1]).shape;
  if (!is_windowed(model, node)) return static_cast<size_t>(weights[1]);
  const auto window = node.options.value<Window2d>();
  const int64_t taps = int64_t{window.kernel_h} * window.kernel_w;
  return static_cast<size_t>(taps * model.tensor(node.inputs[0]).shape[3]);
}

void patch_means(const Session& session, int32_t node_index, const PatchSumsKernel& kernel,
                 Span<double> means) {
  const Model& model = session.model();
  const NodeInfo node = model.node(node_index);
  const TensorView in = session.tensor(node.inputs[0]);
  const TensorInfo out = model.tensor(node.outputs[0]);
  const bool windowed = is_windowed(model, node);
  const auto window = node.options.value<Window2d>();
  for (double& mean : means) mean = 0.0;
  double unit = 1.0 / positions_of(out);
  if (in.info.dtype != DType::kF32) {
    const auto sum = in.info.dtype == DType::kS16 ? sums_of<int16_t> : sums_of<int8_t>;
    sum(in.info, out, windowed, window, in.data, kernel, means);
    unit = static_cast<double>(in.info.quantization.scales[0]) / positions_of(out);
  } else {
    sums_of<float>(in.info, out, windowed, window, in.data, kernel, means);
  }
  for (double& mean : means) mean *= unit;
}

bool can_observe_by_rows(const Model& model, const NodeInfo& node) {
  return is_windowed(model, node) && node.options.value<Window2d>().kernel_w <= kMostTaps;
}

bool observe_with_means(const Session& session, int32_t node_index, const PatchSumsKernel& kernel,
                        TensorPass& pass, Span<double> means) {
  const NodeInfo node = session.model().node(node_index);
  const TensorView in = session.tensor(node.inputs[0]);
  const TensorInfo out = session.model().tensor(node.outputs[0]);
  const Span<float> values = in.as<float>();
  const auto window = node.options.value<Window2d>();
  for (double& mean : means) mean = 0.0;
  WindowSums<float> sums(in.info, out, window, 0, kernel, means.data);
  const int32_t rows = in.info.shape[0] * in.info.shape[1];
  const size_t row_elements = values.size / static_cast<size_t>(rows);
  const auto piece = static_cast<int32_t>(row_elements < kPassElements ? kPassElements / row_elements : 1);
  for (int32_t first = 0; first < rows; first += piece) {
    const int32_t count = rows - first < piece ? rows - first : piece;
    const size_t start = static_cast<size_t>(first) * row_elements;
    if (!pass.add({values.data + start, static_cast<size_t>(count) * row_elements})) return false;
    sums.add_rows(values.data, first, count);
  }
  pass.finish();
  const double unit = 1.0 / positions_of(out);
  for (double& mean : means) mean *= unit;
  return true;
}

size_t mean_count(const Model& model, int32_t node, const CalibratorOptions& options) {
  constexpr RecoveryMask kByMeans = recovery::kBiasCorrection | recovery::kDepthwiseScales;
  if ((options.recover & kByMeans) == 0 && !options.layer_report) return 0;
  const OpDef* const def = find_op(float_ops(), model, model.node(node));
  if (def == nullptr || def->quant.weight_input < 0 || !becomes_int8(model, node, options)) return 0;
  return patch_size(model, model.node(node));
}

void add_means(int64_t* sums, Span<const double> means, int32_t bits) {
  const auto bounded = [](double mean) {
    return mean > kLargestMean ? kLargestMean : (mean < -kLargestMean ? -kLargestMean : mean);
  };
  double largest = 0.0;
  for (const double mean : means) {
    const double size = bounded(mean < 0.0 ? -mean : mean);
    largest = size > largest ? size : largest;
  }
  uint32_t shift = 0;
  for (double unit = kMeanUnit; largest >= unit * static_cast<double>(int64_t{1} << bits); unit *= 2) ++shift;
  const double unit = kMeanUnit * static_cast<double>(uint64_t{1} << shift);
  for (size_t i = 0; i < means.size; ++i) {
    const auto units = static_cast<uint64_t>(static_cast<int64_t>(round_even(bounded(means[i]) / unit)));
    sums[i] = order_free_sum(sums[i], static_cast<int64_t>(units << shift));
  }
}

double mean_of(int64_t sum, uint32_t samples) { return static_cast<double>(sum) * kMeanUnit / samples; }

}  // namespace intaglio
