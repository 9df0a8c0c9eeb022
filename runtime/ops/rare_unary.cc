// Functions of one variable that few networks have, as those of unary.cc: FP32 operators, and Lookups in int8.
#include "kernels/eltwise/rare_f32.h"
#include "runtime/op.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_unary(node));
  if (node.info.op == Op::kCelu && node.options<UnaryOptions>().alpha == 0.0f)
    return node.error(Status::kBadAttribute, 0);
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  plan->kernel = static_cast<uint16_t>(rare_f32_select(context.isa));
  return kNoError;
}

// The operators stand in the kernels' order.
RareF32 function_of(Op op) {
  constexpr int32_t kFirst = static_cast<int32_t>(Op::kFloor);
  static_assert(static_cast<int32_t>(Op::kPow) - kFirst == static_cast<int32_t>(RareF32::kPow) &&
                static_cast<int32_t>(Op::kSoftsign) - kFirst == static_cast<int32_t>(RareF32::kSoftsign));
  return static_cast<RareF32>(static_cast<int32_t>(op) - kFirst);
}

void run(const NodeView& node, const NodeRun& run) {
  const RareF32 function = function_of(node.info.op);
  const auto o = node.info.options.value<UnaryOptions>();  // zeros where the function has none
  const auto* const x = run.input<float>(node, 0);
  auto* const y = run.output<float>(node);
  const auto kernel = rare_f32_kernel(run.kernel).function;
  for_pieces(*run.executor, node.output_shape().elements(), 4, [&](int32_t first, int32_t count) {
    kernel({function, o.alpha, o.beta, x + first, y + first, count});
  });
}

const char* kernel_name(uint16_t kernel) { return rare_f32_kernel(kernel).name; }

double alpha(const NodeOptions& o) { return static_cast<double>(o.as<UnaryOptions>().alpha); }
double beta(const NodeOptions& o) { return static_cast<double>(o.as<UnaryOptions>().beta); }

// Beyond 2^51 every double is an integer.
double nearest(double x) { return x < 0x1p51 && x > -0x1p51 ? round_even(x) : x; }
double floored(const NodeOptions&, double x) {
  const double near = nearest(x);
  return near > x ? near - 1.0 : near;
}
double ceiled(const NodeOptions&, double x) {
  const double near = nearest(x);
  return near < x ? near + 1.0 : near;
}
double rounded(const NodeOptions&, double x) { return nearest(x); }
double sign_of(const NodeOptions&, double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x); }
double sine(const NodeOptions&, double x) { return sin_real(x); }
double cosine(const NodeOptions&, double x) { return cos_real(x); }
double power(const NodeOptions& o, double x) { return pow_real(x, alpha(o)); }
double selu(const NodeOptions& o, double x) {
  return beta(o) * (x > 0.0 ? x : alpha(o) * (exp_real(x) - 1.0));
}
double celu(const NodeOptions& o, double x) {
  return x > 0.0 ? x : alpha(o) * (exp_real(x / alpha(o)) - 1.0);
}
double thresholded_relu(const NodeOptions& o, double x) { return x > alpha(o) ? x : 0.0; }
double shrink(const NodeOptions& o, double x) {
  return x < -alpha(o) ? x + beta(o) : (x > alpha(o) ? x - beta(o) : 0.0);
}
double softsign(const NodeOptions&, double x) { return x / (1.0 + (x < 0.0 ? -x : x)); }

constexpr OpDef define(Op op, const OpRun* op_run, double (*function)(const NodeOptions&, double),
                       SignRule sign_rule, bool jumps = false) {
  QuantRule rule;
  rule.sign = sign_rule;
  rule.table = TableRule::kUnary;
  rule.unary = function;
  rule.jumps = jumps;
  return {op, DType::kF32, 0, rule, plan, nullptr, op_run, kernel_name};
}

}  // namespace

extern const OpRun kFloorF32Run, kCeilF32Run, kRoundF32Run, kSignF32Run, kSinF32Run, kCosF32Run, kPowF32Run,
    kSeluF32Run, kCeluF32Run, kThresholdedReluF32Run, kShrinkF32Run, kSoftsignF32Run;
const OpRun kFloorF32Run = {run}, kCeilF32Run = {run}, kRoundF32Run = {run}, kSignF32Run = {run},
            kSinF32Run = {run}, kCosF32Run = {run}, kPowF32Run = {run}, kSeluF32Run = {run},
            kCeluF32Run = {run}, kThresholdedReluF32Run = {run}, kShrinkF32Run = {run},
            kSoftsignF32Run = {run};

extern const OpDef kFloorF32, kCeilF32, kRoundF32, kSignF32, kSinF32, kCosF32, kPowF32, kSeluF32, kCeluF32,
    kThresholdedReluF32, kShrinkF32, kSoftsignF32;
const OpDef kFloorF32 = define(Op::kFloor, &kFloorF32Run, floored, SignRule::kKeeps, true);
const OpDef kCeilF32 = define(Op::kCeil, &kCeilF32Run, ceiled, SignRule::kKeeps, true);
const OpDef kRoundF32 = define(Op::kRound, &kRoundF32Run, rounded, SignRule::kKeeps, true);
const OpDef kSignF32 = define(Op::kSign, &kSignF32Run, sign_of, SignRule::kKeeps, true);
const OpDef kSinF32 = define(Op::kSin, &kSinF32Run, sine, SignRule::kAny);
const OpDef kCosF32 = define(Op::kCos, &kCosF32Run, cosine, SignRule::kAny);
const OpDef kPowF32 = define(Op::kPow, &kPowF32Run, power, SignRule::kKeeps);
const OpDef kSeluF32 = define(Op::kSelu, &kSeluF32Run, selu, SignRule::kAny);
const OpDef kCeluF32 = define(Op::kCelu, &kCeluF32Run, celu, SignRule::kKeeps);
const OpDef kThresholdedReluF32 =
    define(Op::kThresholdedRelu, &kThresholdedReluF32Run, thresholded_relu, SignRule::kKeeps, true);
const OpDef kShrinkF32 = define(Op::kShrink, &kShrinkF32Run, shrink, SignRule::kAny, true);
const OpDef kSoftsignF32 = define(Op::kSoftsign, &kSoftsignF32Run, softsign, SignRule::kKeeps);

}  // namespace intaglio
