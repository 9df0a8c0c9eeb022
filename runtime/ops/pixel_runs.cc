#include "runtime/ops/pixel_runs.h"

namespace intaglio {
namespace {

struct LineTaps {
  int32_t x, columns, dilation, ic;
};

// The taps of one line of a window, the first of them at `from`. By value: in registers, whatever rows point at.
inline const int8_t** fill_line_taps(const int8_t** rows, int32_t taps, LineTaps line, uintptr_t from,
                                     const int8_t* padding) {
  const auto step = static_cast<uintptr_t>(static_cast<ptrdiff_t>(line.dilation) * line.ic);
  for (; taps > 0; --taps, line.x += line.dilation, from += step)
    *rows++ = static_cast<uint32_t>(line.x) < static_cast<uint32_t>(line.columns)
                  ? reinterpret_cast<const int8_t*>(from)
                  : padding;
  return rows;
}

}  // namespace

PixelRuns::PixelRuns(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t line,
                     int32_t most, const int8_t** rows)
    : g_(g), padding_(padding), rows_(rows), turned_(g.oh > g.ow), most_(most) {
  const int32_t lines = turned_ ? g.ow : g.oh;
  image_ = line / lines;
  line_ = line % lines;
  length_ = turned_ ? g.oh : g.ow;
  input_ = x + static_cast<ptrdiff_t>(image_) * g.h * g.w * g.ic;
  const Window2d& w = g.window;
  const int32_t last_y = g.h - 1 - (w.kernel_h - 1) * w.dilation_h,  // where a window may start
      last_x = g.w - 1 - (w.kernel_w - 1) * w.dilation_w;
  const int32_t across = turned_ ? input_x(w, line_, 0) : input_y(w, line_, 0);
  if (across < 0 || across > (turned_ ? last_x : last_y)) return;
  const auto start = [&](int32_t i) { return turned_ ? input_y(w, i, 0) : input_x(w, i, 0); };
  inside_past_ = length_;
  while (inside_past_ > 0 && start(inside_past_ - 1) > (turned_ ? last_y : last_x)) --inside_past_;
  while (inside_first_ < inside_past_ && start(inside_first_) < 0) ++inside_first_;
}

bool PixelRuns::next(PixelRun* run) {
  if (along_ == length_) return false;
  const bool inside = along_ >= inside_first_ && along_ < inside_past_;
  const int32_t past = inside ? inside_past_ : along_ < inside_first_ ? inside_first_ : length_;
  int32_t count = past - along_;
  if (!inside && count > most_) count = most_;
  fill_taps(along_, inside ? 1 : count);
  // Unsigned, since of a single window it may be more than 32 bits. It is not used then.
  const uint32_t pixels = turned_ ? static_cast<uint32_t>(g_.window.stride_h) * static_cast<uint32_t>(g_.w)
                                  : static_cast<uint32_t>(g_.window.stride_w);
  const auto step = static_cast<int32_t>(pixels * static_cast<uint32_t>(g_.ic));
  const int32_t y = turned_ ? along_ : line_, x = turned_ ? line_ : along_;
  *run = {rows_, inside ? step : 0, (image_ * g_.oh + y) * g_.ow + x, turned_ ? g_.ow : 1, count};
  along_ += count;
  return true;
}

void PixelRuns::fill_taps(int32_t along, int32_t count) {
  const Window2d& window = g_.window;
  const int8_t** rows = rows_;
  for (int32_t end = along + count; along < end; ++along) {
    const int32_t x = input_x(window, turned_ ? line_ : along, 0);
    int32_t y = input_y(window, turned_ ? along : line_, 0);
    for (int32_t ky = 0; ky < window.kernel_h; ++ky, y += window.dilation_h) {
      const int32_t columns = y >= 0 && y < g_.h ? g_.w : 0;  // a line that is outside has none
      const uintptr_t line = static_cast<uintptr_t>(y) * static_cast<uintptr_t>(g_.w);  // wraps outside
      const uintptr_t from = (line + static_cast<uintptr_t>(x)) * static_cast<uintptr_t>(g_.ic);
      rows = fill_line_taps(rows, window.kernel_w, {x, columns, window.dilation_w, g_.ic},
                            reinterpret_cast<uintptr_t>(input_) + from, padding_);
    }
  }
}

}  // namespace intaglio
