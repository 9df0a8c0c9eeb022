// Pictures at another size: nearest neighbours or bilinear, NHWC.
#include "kernels/resize/resize_rows.h"

#include "kernels/compiled_isa.h"
#include "kernels/copy/strided_copy.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"
#include "runtime/resize_coordinates.h"

namespace intaglio {
namespace {

// So that the quotients below stay within 64 bits, and weights' remainders times 2^12 as well.
constexpr int32_t kMaxSide = 1 << 20;

Error check_geometry(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_output_rank(node, 4));
  const Shape in = node.input_shape(0), out = node.output_shape();
  for (const int32_t axis : {0, 3})
    if (out[axis] != in[axis]) return node.output_error(Status::kShapeMismatch, 0, out[axis], in[axis]);
  for (const int32_t axis : {1, 2}) {
    if (in[axis] > kMaxSide) return node.input_error(Status::kBadPictureSize, 0, in[axis], kMaxSide);
    if (out[axis] > kMaxSide) return node.output_error(Status::kBadPictureSize, 0, out[axis], kMaxSide);
  }
  return kNoError;
}

template <typename Weight>
uint32_t tap_bytes(const NodeView& node) {
  return static_cast<uint32_t>(sizeof(ResizeTap<Weight>)) * static_cast<uint32_t>(node.output_shape()[2]);
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  ITG_TRY(check_geometry(node));
  plan->persistent_bytes = tap_bytes<int32_t>(node);
  plan->kernel = static_cast<uint16_t>(resize_rows_select(context.isa));
  return kNoError;
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan* plan) {
  ITG_TRY(check_move_s16(node));
  ITG_TRY(check_geometry(node));
  plan->persistent_bytes = tap_bytes<int32_t>(node);
  return kNoError;
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_geometry(node));
  plan->persistent_bytes = tap_bytes<float>(node);
  plan->kernel = static_cast<uint16_t>(resize_rows_select(context.isa));
  return kNoError;
}

// A coordinate in the input: numerator / divisor.
struct Coordinate {
  int64_t numerator, divisor;
};

Coordinate coordinate(Coordinates kind, int64_t o, int64_t in, int64_t out) {
  switch (kind) {
    case Coordinates::kHalfPixel:
      return {(2 * o + 1) * in - out, 2 * out};
    case Coordinates::kAlignCorners:
      return out == 1 ? Coordinate{0, 1} : Coordinate{o * (in - 1), out - 1};
    case Coordinates::kAsymmetric:
      break;
  }
  return {o * in, out};
}

void set_weight(int64_t rest, int64_t divisor, int32_t* weight) {
  *weight = static_cast<int32_t>((2 * kResizeOne * rest + divisor) / (2 * divisor));
}
void set_weight(int64_t rest, int64_t divisor, float* weight) {
  *weight = static_cast<float>(rest) / static_cast<float>(divisor);
}

template <typename Weight>
ResizeTap<Weight> make_tap(const ResizeOptions& options, int32_t o, int32_t in, int32_t out) {
  const int64_t end = in - 1;
  Coordinate x = coordinate(options.coordinates, o, in, out);
  if (options.interpolation == Interpolation::kNearest) {
    int64_t nearest = round_quotient(options.rounding, x.numerator, x.divisor);
    nearest = nearest > 0 ? nearest : 0;
    const auto only = static_cast<int32_t>(nearest < end ? nearest : end);
    return {only, only, 0};
  }
  if (x.numerator < 0) x.numerator = 0;
  if (x.numerator > end * x.divisor) x.numerator = end * x.divisor;
  const int64_t first = x.numerator / x.divisor;
  ResizeTap<Weight> tap;
  tap.first = static_cast<int32_t>(first);
  tap.second = static_cast<int32_t>(first < end ? first + 1 : end);
  set_weight(x.numerator - first * x.divisor, x.divisor, &tap.weight);
  return tap;
}

// The taps of the columns. A row's tap is made when the row is, since it depends on where a band of rows stands.
template <typename Weight>
void prepare(const NodeView& node, uint16_t, uint8_t* persistent) {
  const int32_t in = node.input_shape(0)[2], out = node.output_shape()[2];
  auto* const taps = reinterpret_cast<ResizeTap<Weight>*>(persistent);
  for (int32_t o = 0; o < out; ++o) taps[o] = make_tap<Weight>(node.options<ResizeOptions>(), o, in, out);
}

// How often each input pixel of a row stands in the output, one behind the other; 0: not all as often.
template <typename Weight>
__attribute__((noinline)) int32_t repeats(const ResizeTap<Weight>* taps, int32_t ow, int32_t w) {
  const int32_t times = ow / w;
  if (times * w != ow) return 0;
  for (int32_t i = 0; i < w; ++i)
    if (taps[i * times].first != i || taps[i * times + times - 1].first != i) return 0;
  return times;
}

// A row of pixels that are only moved.
template <typename Weight>
inline void move_row(const uint8_t* x, const ResizeTap<Weight>* taps, int32_t ow, int32_t pixel,
                     int32_t times, uint8_t* y) {
  if (!kPacksWeights || times == 0) return resize_row_nearest(x, taps, ow, pixel, y);
  for (int32_t k = 0; k < times; ++k)
    copy_rows(x, y + k * pixel, ow / times, pixel, pixel, static_cast<ptrdiff_t>(times) * pixel);
}

// A kernel that has vectors makes what rows share once for some of them.
constexpr int32_t kRowsAtOnce = kPacksWeights ? 4 : 1;

// `bilinear` computes rows where pixels are not only moved.
template <typename T, typename Weight>
void run_rows(const NodeView& node, const NodeRun& run,
              void (*bilinear)(const ResizeRow<T, Weight>* rows, int32_t count)) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  const auto* const columns = reinterpret_cast<const ResizeTap<Weight>*>(run.persistent);
  const ResizeOptions& options = node.options<ResizeOptions>();
  const bool moves = options.interpolation == Interpolation::kNearest;
  const int32_t times = kPacksWeights && moves ? repeats(columns, out[2], in[2]) : 0;
  const NodeBand* const band = node.band;
  const int32_t oh = out[1], first_out = band == nullptr ? 0 : band->output_row,
                first_in = band == nullptr ? 0 : band->input_row,
                whole_in = node.model->tensor(node.input_index(0)).shape[1],
                whole_out = node.model->tensor(node.output_index(0)).shape[1];
  const ptrdiff_t in_line = static_cast<ptrdiff_t>(in[2]) * in[3],
                  out_line = static_cast<ptrdiff_t>(out[2]) * out[3];
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  for_pieces(*run.executor, int64_t{out[0]} * oh, 4 * static_cast<int64_t>(out_line),
             [&](int32_t first, int32_t count) {
               ResizeRow<T, Weight> made[kRowsAtOnce];
               int32_t waiting = 0;
               const T* before = nullptr;
               for (int32_t i = first; i < first + count; ++i) {
                 const auto tap = make_tap<Weight>(options, first_out + i % oh, whole_in, whole_out);
                 const T* const image = x + static_cast<ptrdiff_t>(i / oh) * in[1] * in_line;
                 const T *const top = image + (tap.first - first_in) * in_line, *const bottom =
                                                                                    image +
                                                                                    (tap.second - first_in) *
                                                                                        in_line;
                 T* const to = y + i * out_line;
                 if (!moves) {
                   made[waiting++] = {top, bottom, tap.weight, columns, out[2], out[3], to};
                   if (waiting < kRowsAtOnce && i + 1 < first + count) continue;
                   bilinear(made, waiting);
                   waiting = 0;
                 } else if (kPacksWeights && top == before) {
                   memcpy(to, to - out_line, static_cast<size_t>(out_line) * sizeof(T));
                 } else {
                   before = top;
                   move_row(reinterpret_cast<const uint8_t*>(top), columns, out[2],
                            out[3] * static_cast<int32_t>(sizeof(T)), times, reinterpret_cast<uint8_t*>(to));
                 }
               }
             });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  run_rows<int8_t, int32_t>(node, run, resize_rows_kernel(run.kernel).rows_s8);
}

void run_s16(const NodeView& node, const NodeRun& run) {
  run_rows<int16_t, int32_t>(node, run, resize_rows_s16);
}

void run_f32(const NodeView& node, const NodeRun& run) {
  run_rows<float, float>(node, run, resize_rows_kernel(run.kernel).rows_f32);
}

const char* kernel_name(uint16_t kernel) { return resize_rows_kernel(kernel).name; }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.channels = ChannelRule::kShifts;
  return rule;
}

}  // namespace

extern const OpRun kResizeS8Run, kResizeS16Run, kResizeF32Run;
const OpRun kResizeS8Run = {run_s8}, kResizeS16Run = {run_s16}, kResizeF32Run = {run_f32};

extern const OpDef kResizeS8, kResizeS16, kResizeF32;
const OpDef kResizeS8 = {Op::kResize,      DType::kS8,    -1,         quant_rule(), plan_s8,
                         prepare<int32_t>, &kResizeS8Run, kernel_name};
const OpDef kResizeS16 = {Op::kResize,      DType::kS16,    -1,     quant_rule(), plan_s16,
                          prepare<int32_t>, &kResizeS16Run, nullptr};
const OpDef kResizeF32 = {Op::kResize,    DType::kF32,    -1,         quant_rule(), plan_f32,
                          prepare<float>, &kResizeF32Run, kernel_name};

}  // namespace intaglio
