// Mean over any axes. The output may keep the reduced axes as ones or drop them. Codes to codes, reals to
// reals, or codes to reals.
#include "kernels/pool/pool.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

// Neighbouring axes that are all reduced, or all kept, act as one: at most three runs of each kind. The
// innermost run, where it is kept, is the kernels' run of channels.
struct Reduction {
  Taps taps = {{1, 1, 1}, {0, 0, 0}};
  int32_t kept_count[3] = {1, 1, 1};  // outermost first; `channels` apart
  int32_t kept_step[3] = {0, 0, 0};
  int32_t channels = 1;

  int64_t outputs() const { return int64_t{1} * kept_count[0] * kept_count[1] * kept_count[2]; }
};

bool holds(Span<const int32_t> axes, int32_t axis) {
  for (const int32_t a : axes)
    if (a == axis) return true;
  return false;
}

// Sizes are at most kMaxTensorBytes: 32 bits hold every step.
Reduction make_reduction(const Shape& shape, Span<const int32_t> axes) {
  Reduction r;
  int32_t reduced = 3, kept = 3;  // runs are filled in from the innermost
  int32_t step = 1;
  bool last_reduced = false, any = false;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    const int32_t dim = shape[axis];
    if (dim == 1) continue;
    const bool is_reduced = holds(axes, axis);
    const bool merge = any && is_reduced == last_reduced;
    if (is_reduced) {
      if (!merge) r.taps.step[--reduced] = step;
      r.taps.count[reduced] *= dim;
    } else if (kept == 3 && reduced == 3) {
      r.channels *= dim;
    } else {
      if (!merge) r.kept_step[--kept] = step;
      r.kept_count[kept] *= dim;
    }
    last_reduced = is_reduced;
    any = true;
    step *= dim;
  }
  return r;
}

Error check_geometry(const NodeView& node) {
  const Shape in = node.input_shape(0);
  const Span<const int32_t> axes = node.options<ReduceOptions>().axes;
  if (axes.empty()) return node.error(Status::kBadAxis, -1, in.rank);
  int32_t last = -1;
  for (const int32_t axis : axes) {
    if (axis <= last || axis >= in.rank) return node.error(Status::kBadAxis, axis, in.rank);
    last = axis;
  }
  int64_t kept = 1;
  for (int32_t axis = 0; axis < in.rank; ++axis)
    if (!holds(axes, axis)) kept *= in[axis];
  const int64_t found = node.output_shape().elements();
  return found == kept ? kNoError : node.output_error(Status::kShapeMismatch, 0, found, kept);
}

template <Error (*check_sum)(const NodeView& node, int64_t terms)>
Error check_sums(const NodeView& node) {
  ITG_TRY(check_geometry(node));
  const auto in = static_cast<int32_t>(node.input_shape(0).elements());  // of a tensor: below 2^31
  return check_sum(node, in / static_cast<int32_t>(node.output_shape().elements()));
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(pool_s8_select(context.isa));
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  return check_sums<check_sum_s8>(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_clamp_codes_s16(node));
  return check_sums<check_sum_s16>(node);
}

Error plan_s8_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(mean_s8_f32_select(context.isa));
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_no_clamp(node));
  return check_sums<check_sum_s8>(node);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  plan->kernel = static_cast<uint16_t>(pool_f32_select(context.isa));
  return check_geometry(node);
}

// Calls mean(x, taps, y, channels) until every output is covered; blocks of channels are tasks too, since a
// global mean has one position only.
template <typename In, typename Out, typename MeanKernel>
void for_each_output(const NodeView& node, const NodeRun& run, MeanKernel mean) {
  constexpr int32_t kChannels = 128;
  const Reduction r = make_reduction(node.input_shape(0), node.options<ReduceOptions>().axes);
  const auto* const x = run.input<In>(node, 0);
  auto* const y = run.output<Out>(node);
  const int32_t blocks = (r.channels + kChannels - 1) / kChannels;
  const int32_t block_work = taps_count(r.taps) * (r.channels < kChannels ? r.channels : kChannels);
  for_pieces(*run.executor, r.outputs() * blocks, block_work, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) {
      const int32_t output = i / blocks, channel = i % blocks * kChannels;
      ptrdiff_t offset = channel;
      int32_t rest = output;
      for (int32_t k = 2; k >= 0; --k) {
        offset += static_cast<ptrdiff_t>(rest % r.kept_count[k]) * r.kept_step[k];
        rest /= r.kept_count[k];
      }
      const int32_t channels = r.channels - channel < kChannels ? r.channels - channel : kChannels;
      mean(x + offset, r.taps, y + static_cast<ptrdiff_t>(output) * r.channels + channel, channels);
    }
  });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization, out = node.output().quantization;
  const Clamp& clamp = node.options<Clamp>();
  const OutputS8 output = make_output_s8(out.zero_point, clamp.lo, clamp.hi);
  for_each_output<int8_t, int8_t>(
      node, run, [&](const int8_t* x, const Taps& taps, int8_t* y, int32_t channels) {
        const float multiplier = mean_multiplier(in.scales[0], out.scales[0], taps_count(taps));
        pool_s8_kernel(run.kernel).average(x, taps, in.zero_point, multiplier, output, y, channels);
      });
}

void run_s16(const NodeView& node, const NodeRun& run) {
  const float in = node.input(0).quantization.scales[0], out = node.output().quantization.scales[0];
  const Clamp& clamp = node.options<Clamp>();
  const OutputS16 output = make_output_s16(clamp.lo, clamp.hi);
  for_each_output<int16_t, int16_t>(
      node, run, [&](const int16_t* x, const Taps& taps, int16_t* y, int32_t channels) {
        average_s16(x, taps, mean_multiplier(in, out, taps_count(taps)), output, y, channels);
      });
}

void run_s8_f32(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization;
  MeanS8F32* const mean = mean_s8_f32_kernel(run.kernel).function;
  for_each_output<int8_t, float>(
      node, run, [&](const int8_t* x, const Taps& taps, float* y, int32_t channels) {
        const float multiplier = in.scales[0] / static_cast<float>(taps_count(taps));
        mean(x, taps, in.zero_point, multiplier, y, channels);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  AverageF32* const average = pool_f32_kernel(run.kernel).average;
  const int32_t block = sum_block(node);
  for_each_output<float, float>(node, run, [&](const float* x, const Taps& taps, float* y, int32_t channels) {
    average(x, taps, block, taps_count(taps), clamp, y, channels);
  });
}

const char* name_s8(uint16_t kernel) { return pool_s8_kernel(kernel).name; }
const char* name_s8_f32(uint16_t kernel) { return mean_s8_f32_kernel(kernel).name; }
const char* name_f32(uint16_t kernel) { return pool_f32_kernel(kernel).name; }

}  // namespace

extern const OpRun kMeanS8Run, kMeanS16Run, kMeanF32Run, kMeanS8F32Run;
const OpRun kMeanS8Run = {run_s8}, kMeanS16Run = {run_s16}, kMeanF32Run = {run_f32},
            kMeanS8F32Run = {run_s8_f32};

extern const OpDef kMeanS8, kMeanS16, kMeanF32, kMeanS8F32;
const OpDef kMeanS8 = {Op::kMean, DType::kS8, -1, {}, plan_s8, nullptr, &kMeanS8Run, name_s8};
const OpDef kMeanS16 = {Op::kMean, DType::kS16, -1, {}, plan_s16, nullptr, &kMeanS16Run, nullptr};
const OpDef kMeanF32 = {Op::kMean, DType::kF32, -1,           averaging_rule(),
                        plan_f32,  nullptr,     &kMeanF32Run, name_f32};
const OpDef kMeanS8F32 = {Op::kMean, DType::kF32,    -1,          {},        plan_s8_f32,
                          nullptr,   &kMeanS8F32Run, name_s8_f32, DType::kS8};

}  // namespace intaglio
