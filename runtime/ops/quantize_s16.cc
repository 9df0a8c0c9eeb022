// Between codes of 16 bits and reals, codes of 8 bits, and codes of 16 bits with another scale.
#include "kernels/eltwise/codes_s16.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

enum class Ends { kRealsToS16, kS16ToReals, kS8ToS16, kS16ToS8, kS16ToS16 };

template <Ends kEnds>
Error check_ends(const NodeView& node) {
  switch (kEnds) {
    case Ends::kRealsToS16:
      ITG_TRY(check_input_dtype(node, 0, DType::kF32));
      return check_output_s16(node);
    case Ends::kS16ToReals:
      ITG_TRY(check_input_s16(node, 0));
      return check_output_dtype(node, DType::kF32);
    case Ends::kS8ToS16:
      ITG_TRY(check_input_s8(node, 0));
      return check_output_s16(node);
    case Ends::kS16ToS8:
      ITG_TRY(check_input_s16(node, 0));
      return check_output_s8(node);
    case Ends::kS16ToS16:
      return check_ends_s16(node);
  }
  return kNoError;
}

template <Ends kEnds>
Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_ends<kEnds>(node));
  if (kEnds == Ends::kS16ToS8)
    ITG_TRY(check_clamp_codes(node));
  else if (kEnds != Ends::kS16ToReals)
    ITG_TRY(check_clamp_codes_s16(node));
  plan->kernel = static_cast<uint16_t>(codes_s16_select(context.isa));
  return check_output_shape(node, node.input(0).shape);
}

template <typename In, typename Out, typename Convert>
void for_codes(const NodeView& node, const NodeRun& run, Convert convert) {
  const auto* const x = run.input<In>(node, 0);
  auto* const y = run.output<Out>(node);
  for_pieces(*run.executor, node.output().shape.elements(), 1,
             [&](int32_t first, int32_t count) { convert(x + first, y + first, count); });
}

template <Ends kEnds>
void run(const NodeView& node, const NodeRun& run) {
  const CodesS16Kernel& kernel = codes_s16_kernel(run.kernel);
  const Quantization in = node.input(0).quantization, out = node.output().quantization;
  if constexpr (kEnds == Ends::kS16ToReals) {
    for_codes<int16_t, float>(
        node, run, [&](const int16_t* x, float* y, int32_t n) { kernel.real(x, in.scales[0], y, n); });
  } else {
    const Clamp& clamp = node.options<Clamp>();
    const OutputS16 output = make_output_s16(clamp.lo, clamp.hi);
    if constexpr (kEnds == Ends::kRealsToS16) {
      return for_codes<float, int16_t>(node, run, [&](const float* x, int16_t* y, int32_t n) {
        kernel.quantize(x, out.scales[0], output, y, n);
      });
    } else {
      const float multiplier = in.scales[0] / out.scales[0];
      if constexpr (kEnds == Ends::kS8ToS16)
        for_codes<int8_t, int16_t>(node, run, [&](const int8_t* x, int16_t* y, int32_t n) {
          kernel.widen(x, in.zero_point, multiplier, output, y, n);
        });
      else if constexpr (kEnds == Ends::kS16ToS8)
        for_codes<int16_t, int8_t>(node, run, [&](const int16_t* x, int8_t* y, int32_t n) {
          kernel.narrow(x, multiplier, make_output_s8(out.zero_point, clamp.lo, clamp.hi), y, n);
        });
      else
        for_codes<int16_t, int16_t>(node, run, [&](const int16_t* x, int16_t* y, int32_t n) {
          kernel.rescale(x, multiplier, output, y, n);
        });
    }
  }
}

const char* kernel_name(uint16_t kernel) { return codes_s16_kernel(kernel).name; }

}  // namespace

// Each variant's object, run half and element types.
#define ITG_CONVERSION(name, ends, op, from, to, alias)                                     \
  extern const OpRun k##name##Run;                                                          \
  const OpRun k##name##Run = {run<Ends::ends>};                                             \
  extern const OpDef k##name;                                                               \
  const OpDef k##name = {op,      DType::to,     alias,       {},         plan<Ends::ends>, \
                         nullptr, &k##name##Run, kernel_name, DType::from};
ITG_CONVERSION(QuantizeS16, kRealsToS16, Op::kQuantize, kF32, kS16, -1)
ITG_CONVERSION(QuantizeS8S16, kS8ToS16, Op::kQuantize, kS8, kS16, -1)
ITG_CONVERSION(QuantizeS16S8, kS16ToS8, Op::kQuantize, kS16, kS8, -1)
ITG_CONVERSION(QuantizeS16S16, kS16ToS16, Op::kQuantize, kS16, kS16, 0)
ITG_CONVERSION(DequantizeS16, kS16ToReals, Op::kDequantize, kS16, kF32, -1)
#undef ITG_CONVERSION

}  // namespace intaglio
