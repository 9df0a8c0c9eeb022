// LayerNormalization, GroupNormalization, InstanceNormalization and RMSNormalization: groups of elements less their mean, divided
// by their deviation, times a factor and plus a summand for each index of the last axis. A group is a `groups`-th of the last
// axis, of one index of the others; with over_map of one index of the first axis, and of all places between.
#include "kernels/arithmetic/constant_checks.h"
#include "kernels/normalize/normalize_groups.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/conv_geometry.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kScaleInput = 1, kShiftInput = 2;

struct Geometry {
  int32_t batches;
  NormalizeGroups groups;  // of one batch
};

Geometry geometry(const NodeView& node) {
  const Shape shape = node.input_shape(0);
  const NormalizeOptions& options = node.options<NormalizeOptions>();
  const int32_t before_last = shape.rank - 1;
  const int32_t first_place = options.over_map ? 1 : before_last;
  Geometry g;
  g.batches = static_cast<int32_t>(shape.elements(0, first_place));
  g.groups.places = static_cast<int32_t>(shape.elements(first_place, before_last));
  g.groups.groups = options.groups;
  g.groups.stride = shape.back(0);
  g.groups.depth = shape.back(0) / options.groups;
  g.groups.keeps_mean = options.keeps_mean;
  return g;
}

Error check_parameter(const NodeView& node, int32_t i) {
  const int32_t channels = node.input_shape(0).back(0);
  ITG_TRY(check_constant(node, i, DType::kF32, channels));
  const auto* const values = reinterpret_cast<const float*>(node.input(i).constant.data);
  return all_finite(values, channels) ? kNoError : node.input_error(Status::kNonFinite, i);
}

Error check(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  const Shape shape = node.input_shape(0);
  const NormalizeOptions& options = node.options<NormalizeOptions>();
  if (options.over_map && shape.rank < 2) return node.input_error(Status::kBadRank, 0, shape.rank, 2);
  for (const float epsilon : {options.epsilon, options.root_epsilon})
    if (!(epsilon >= 0.0f && epsilon <= 1e30f)) return node.error(Status::kBadAttribute, 0);
  if (options.groups < 1 || shape.back(0) % options.groups != 0)
    return node.error(Status::kBadGroups, options.groups, shape.back(0));
  for (const int32_t i : {kScaleInput, kShiftInput}) ITG_TRY(check_parameter(node, i));
  plan->kernel = static_cast<uint16_t>(normalize_select(context.isa));
  return kNoError;
}

Error size_scratch(const NodeView& node, int64_t channel_bytes, NodePlan* plan) {
  const bool has_places = geometry(node).groups.places != 1;
  return set_sizes(node, 0, has_places ? node.input_shape(0).back(0) * channel_bytes : 0, plan);
}

Error check_codes(const NodeView& node, const PlanContext& context, int64_t channel_bytes, NodePlan* plan) {
  ITG_TRY(check(node, context, plan));
  const NormalizeGroups g = geometry(node).groups;
  const int64_t n = int64_t{g.places} * g.depth;
  if (n > kMaxNormalized) return node.error(Status::kAccumulatorOverflow, 0, kMaxNormalized);
  return size_scratch(node, channel_bytes, plan);
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 3, 3));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  return check_codes(node, context, kNormalizeBytesS8, plan);
}

Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 3, 3));
  ITG_TRY(check_ends_s16(node));
  return check_codes(node, context, kNormalizeBytesS16, plan);
}

int32_t channel_bytes_f32(const NodeView& node) {
  return normalize_bytes_f32(geometry(node).groups.places, sum_block(node));
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 3, 3));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check(node, context, plan));
  return size_scratch(node, channel_bytes_f32(node), plan);
}

// Calls normalize(args) for parts of the work: rows, or groups of each map.
void for_parts(const NodeView& node, const NodeRun& run, const NormalizeArgs& common, int32_t element_bytes,
               int32_t channel_bytes, NormalizeFunction* normalize) {
  const Geometry geo = geometry(node);
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  const auto *const scale = run.input<float>(node, kScaleInput), *const shift =
                                                                     run.input<float>(node, kShiftInput);
  const ptrdiff_t batch_elements = geo.groups.places * geo.groups.stride;
  const bool in_rows = geo.groups.places == 1;
  const int32_t items = in_rows ? geo.batches : geo.groups.groups;
  const int64_t work = int64_t{8} * batch_elements / (in_rows ? 1 : items) * (in_rows ? 1 : geo.batches);
  for_pieces(*run.executor, items, work, [&](int32_t first, int32_t count) {
    NormalizeArgs args = common;
    args.groups = geo.groups;
    ptrdiff_t channel = 0;
    int32_t batch = first, last = first + count;
    if (!in_rows) {
      args.groups.groups = count;
      channel = static_cast<ptrdiff_t>(first) * geo.groups.depth;
      batch = 0;
      last = geo.batches;
    }
    args.scale = scale + channel;
    args.shift = shift + channel;
    args.sums = in_rows ? nullptr : run.scratch + channel * channel_bytes;
    for (; batch < last; ++batch) {
      const ptrdiff_t offset = (batch * batch_elements + channel) * element_bytes;
      args.x = x + offset;
      args.y = y + offset;
      normalize(args);
    }
  });
}

// The part that codes of 8 and of 16 bits share.
NormalizeArgs code_args(const NodeView& node) {
  const NormalizeGroups g = geometry(node).groups;
  const auto n = static_cast<float>(g.places * g.depth);
  const Quantization of_x = node.input(0).quantization;
  const float square = of_x.scales[0] * of_x.scales[0], elements = n * n;
  const NormalizeOptions& options = node.options<NormalizeOptions>();
  const float in_codes = options.epsilon / square, root_in_codes = options.root_epsilon / of_x.scales[0];
  NormalizeArgs args = {};
  args.epsilon = elements * in_codes;
  args.root_epsilon = n * root_in_codes;
  args.reciprocal_scale = 1.0f / node.output().quantization.scales[0];
  args.zero_point = of_x.zero_point;
  return args;
}

void run_s8(const NodeView& node, const NodeRun& run) {
  NormalizeArgs args = code_args(node);
  args.s8 = make_output_s8(node.output_zero_point(), -128, 127);
  for_parts(node, run, args, 1, kNormalizeBytesS8, normalize_kernel(run.kernel).s8);
}

void run_s16(const NodeView& node, const NodeRun& run) {
  NormalizeArgs args = code_args(node);
  args.s16 = make_output_s16(-32768, 32767);
  for_parts(node, run, args, 2, kNormalizeBytesS16, normalize_kernel(run.kernel).s16);
}

void run_f32(const NodeView& node, const NodeRun& run) {
  NormalizeArgs args = {};
  args.epsilon = node.options<NormalizeOptions>().epsilon;
  args.root_epsilon = node.options<NormalizeOptions>().root_epsilon;
  args.block = sum_block(node);
  for_parts(node, run, args, 4, channel_bytes_f32(node), normalize_kernel(run.kernel).f32);
}

const char* kernel_name(uint16_t kernel) { return normalize_kernel(kernel).name; }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.real_inputs = kScaleInput;
  rule.normalizes = true;
  return rule;
}

}  // namespace

extern const OpRun kNormalizeS8Run, kNormalizeS16Run, kNormalizeF32Run;
const OpRun kNormalizeS8Run = {run_s8}, kNormalizeS16Run = {run_s16}, kNormalizeF32Run = {run_f32};

extern const OpDef kNormalizeS8, kNormalizeS16, kNormalizeF32;
const OpDef kNormalizeS8 = {Op::kNormalize, DType::kS8,       0,          quant_rule(), plan_s8,
                            nullptr,        &kNormalizeS8Run, kernel_name};
const OpDef kNormalizeS16 = {Op::kNormalize, DType::kS16,       0,          {}, plan_s16,
                             nullptr,        &kNormalizeS16Run, kernel_name};
const OpDef kNormalizeF32 = {Op::kNormalize, DType::kF32,       0,          quant_rule(), plan_f32,
                             nullptr,        &kNormalizeF32Run, kernel_name};

}  // namespace intaglio
