// Parts that all variants of pooling share: NHWC, a window over height and width.
#pragma once

#include "kernels/pool/pool.h"
#include "runtime/ops/checks.h"
#include "runtime/window.h"

namespace intaglio {

Error check_pool_geometry(const NodeView& node);

// Which taps of a window's axis lie inside the input: [first, first + count).
struct ValidTaps {
  int32_t first, count;
};

static inline ValidTaps valid_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t size) {
  if (start >= 0 && start < size && kernel <= (size - start) / 2 && dilation == 1) return {0, kernel};
  const int32_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int32_t inside = start < size ? (size - 1 - start) / dilation + 1 : 0;
  const int32_t last = inside < kernel ? inside : kernel;
  return {first, last > first ? last - first : 0};
}

// Calls pool(x, taps, y) for each output position; one task an output row.
template <typename T, typename Pool>
static void for_each_window(const NodeView& node, const NodeRun& run, Pool pool) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  const Window2d& w = node.options<Window2d>();
  const int32_t in_h = in[1], in_w = in[2], out_h = out[1], out_w = out[2], channels = in[3];
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  parallel_for(*run.executor, out[0] * out_h, [&](int32_t row) {
    const int32_t image = row / out_h, out_y = row % out_h;
    const ValidTaps rows = valid_taps(input_y(w, out_y, 0), w.kernel_h, w.dilation_h, in_h);
    T* target = y + static_cast<ptrdiff_t>(row) * out_w * channels;
    for (int32_t out_x = 0; out_x < out_w; ++out_x, target += channels) {
      const ValidTaps columns = valid_taps(input_x(w, out_x, 0), w.kernel_w, w.dilation_w, in_w);
      // A step is used, and then fits 32 bits, where there is more than one tap.
      const Taps taps = {{1, rows.count, columns.count},
                         {0, rows.count > 1 ? w.dilation_h * in_w * channels : 0,
                          columns.count > 1 ? w.dilation_w * channels : 0}};
      const T* source = x;
      if (taps_count(taps) > 0) {
        const ptrdiff_t line = static_cast<ptrdiff_t>(image) * in_h + input_y(w, out_y, rows.first);
        source += (line * in_w + input_x(w, out_x, columns.first)) * channels;
      }
      pool(source, taps, target);
    }
  });
}

inline int32_t divisor(const Window2d& w, const Taps& taps) {
  return w.count_include_pad ? w.kernel_h * w.kernel_w : taps_count(taps);
}

constexpr QuantRule max_pool_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.channels = ChannelRule::kShifts;
  return rule;
}

}  // namespace intaglio
