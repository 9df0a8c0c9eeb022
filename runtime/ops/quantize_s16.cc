// Between codes of 16 bits and reals, codes of 8 bits, and codes of 16 bits with another scale.
#include "kernels/eltwise/codes_s16.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

// One of the two types is s16, the other it, too, s8 or reals.
Error check_ends(const NodeView& node) {
  const DType from = node.input(0).dtype, to = node.output().dtype;
  if (from == DType::kS8)
    ITG_TRY(check_input_s8(node, 0));
  else if (from != DType::kF32)
    ITG_TRY(check_input_s16(node, 0));
  if (to == DType::kF32) return kNoError;
  if (to == DType::kS8) {
    ITG_TRY(check_output_s8(node));
    return check_clamp_codes(node);
  }
  ITG_TRY(check_output_s16(node));
  return check_clamp_codes_s16(node);
}

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_ends(node));
  plan->kernel = static_cast<uint16_t>(codes_s16_select(context.isa));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const CodesS16Kernel& kernel = codes_s16_kernel(run.kernel);
  const TensorInfo from = node.input(0), to = node.output();
  const bool reads_reals = from.dtype == DType::kF32, gives_reals = to.dtype == DType::kF32;
  const float in = reads_reals ? 1.0f : from.quantization.scales[0],
              out = gives_reals ? 1.0f : to.quantization.scales[0];
  const auto clamp = node.info.options.value<Clamp>();
  const OutputS16 output = make_output_s16(clamp.lo, clamp.hi);
  const float multiplier = in / out;
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  const auto x_bytes = static_cast<ptrdiff_t>(element_bytes(from.dtype)),
             y_bytes = static_cast<ptrdiff_t>(element_bytes(to.dtype));
  for_pieces(*run.executor, to.shape.elements(), 1, [&](int32_t first, int32_t count) {
    const uint8_t* const x_first = x + first * x_bytes;
    uint8_t* const y_first = y + first * y_bytes;
    const auto* const wide = reinterpret_cast<const int16_t*>(x_first);
    auto* const codes = reinterpret_cast<int16_t*>(y_first);
    if (reads_reals)
      kernel.quantize(reinterpret_cast<const float*>(x_first), out, output, codes, count);
    else if (gives_reals)
      kernel.real(wide, in, reinterpret_cast<float*>(y_first), count);
    else if (from.dtype == DType::kS8)
      kernel.widen(reinterpret_cast<const int8_t*>(x_first), from.quantization.zero_point, multiplier, output,
                   codes, count);
    else if (to.dtype == DType::kS8)
      kernel.narrow(wide, multiplier, make_output_s8(to.quantization.zero_point, clamp.lo, clamp.hi),
                    reinterpret_cast<int8_t*>(y_first), count);
    else
      kernel.rescale(wide, multiplier, output, codes, count);
  });
}

const char* kernel_name(uint16_t kernel) { return codes_s16_kernel(kernel).name; }

}  // namespace

// Each variant's object and element types.
#define ITG_CONVERSION(name, op, from, to, alias) \
  extern const OpRun k##name##Run;                \
  const OpRun k##name##Run = {run};               \
  extern const OpDef k##name;                     \
  const OpDef k##name = {op, DType::to, alias, {}, plan, nullptr, &k##name##Run, kernel_name, DType::from};
ITG_CONVERSION(QuantizeS16, Op::kQuantize, kF32, kS16, -1)
ITG_CONVERSION(QuantizeS8S16, Op::kQuantize, kS8, kS16, -1)
ITG_CONVERSION(QuantizeS16S8, Op::kQuantize, kS16, kS8, -1)
ITG_CONVERSION(QuantizeS16S16, Op::kQuantize, kS16, kS16, 0)
ITG_CONVERSION(DequantizeS16, Op::kDequantize, kS16, kF32, -1)
#undef ITG_CONVERSION

}  // namespace intaglio
