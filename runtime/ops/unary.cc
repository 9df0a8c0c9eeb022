// Functions of one variable. Each is an FP32 operator of its own; in int8 all of them are Lookups, whose
// tables the calibrator bakes from the double functions here.
#include "kernels/eltwise/unary_f32.h"
#include "runtime/op.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_unary(node));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  plan->kernel = static_cast<uint16_t>(unary_f32_select(context.isa));
  return kNoError;
}

// The operators stand in the kernels' order.
UnaryF32 function_of(Op op) {
  constexpr int32_t kFirst = static_cast<int32_t>(Op::kLeakyRelu);
  static_assert(static_cast<int32_t>(Op::kAbs) - kFirst == static_cast<int32_t>(UnaryF32::kAbs) &&
                static_cast<int32_t>(Op::kGeluTanh) - kFirst == static_cast<int32_t>(UnaryF32::kGeluTanh));
  return static_cast<UnaryF32>(static_cast<int32_t>(op) - kFirst);
}

void run(const NodeView& node, const NodeRun& run) {
  const UnaryF32 function = function_of(node.info.op);
  const auto o = node.info.options.value<UnaryOptions>();  // zeros where the function has none
  const auto* const x = run.input<float>(node, 0);
  auto* const y = run.output<float>(node);
  const auto kernel = unary_f32_kernel(run.kernel).function;
  // An element costs some four times an addition.
  for_pieces(*run.executor, node.output_shape().elements(), 4, [&](int32_t first, int32_t count) {
    kernel({function, o.alpha, o.beta, x + first, y + first, count});
  });
}

const char* kernel_name(uint16_t kernel) { return unary_f32_kernel(kernel).name; }

double alpha(const NodeOptions& o) { return static_cast<double>(o.as<UnaryOptions>().alpha); }
double beta(const NodeOptions& o) { return static_cast<double>(o.as<UnaryOptions>().beta); }

double leaky_relu(const NodeOptions& o, double x) { return x > 0.0 ? x : alpha(o) * x; }
double sigmoid(const NodeOptions&, double x) { return sigmoid_real(x); }
double hyperbolic_tangent(const NodeOptions&, double x) { return tanh_real(x); }
double hard_swish(const NodeOptions&, double x) {
  const double v = x + 3.0;
  return x * (v < 0.0 ? 0.0 : (v > 6.0 ? 6.0 : v)) / 6.0;
}
double hard_sigmoid(const NodeOptions& o, double x) {
  const double v = alpha(o) * x + beta(o);
  return v < 0.0 ? 0.0 : (v > 1.0 ? 1.0 : v);
}
double swish(const NodeOptions&, double x) { return x * sigmoid_real(x); }
double gelu(const NodeOptions&, double x) { return 0.5 * x * (1.0 + erf_real(x * 0.70710678118654752)); }
double exponential(const NodeOptions&, double x) { return exp_real(x); }
double magnitude(const NodeOptions&, double x) { return x < 0.0 ? -x : x; }

double square_root(const NodeOptions&, double x) { return sqrt_real(x); }
double reciprocal_square_root(const NodeOptions&, double x) { return 1.0 / sqrt_real(x); }
double reciprocal(const NodeOptions&, double x) { return 1.0 / x; }
double logarithm(const NodeOptions&, double x) { return log_real(x); }
double error_function(const NodeOptions&, double x) { return erf_real(x); }
double elu(const NodeOptions& o, double x) { return x > 0.0 ? x : alpha(o) * (exp_real(x) - 1.0); }
double softplus(const NodeOptions&, double x) {
  return (x > 0.0 ? x : 0.0) + log_real(1.0 + exp_real(x < 0.0 ? x : -x));
}
double mish(const NodeOptions& o, double x) { return x * tanh_real(softplus(o, x)); }
double gelu_tanh(const NodeOptions&, double x) {
  return x * sigmoid_real(1.5957691216057308 * (x + 0.044715 * x * x * x));
}

using Unary = double (*)(const NodeOptions& options, double x);

constexpr float kUnitScale = 1.0f / 256.0f;
constexpr int32_t kUnitZeroPoint = -128;

constexpr QuantRule observed(Unary function, SignRule sign) {
  QuantRule rule;
  rule.sign = sign;
  rule.table = TableRule::kUnary;
  rule.unary = function;
  return rule;
}

// y(a x) = a y(x) for a > 0.
constexpr QuantRule scaling(Unary function, SignRule sign) {
  QuantRule rule = observed(function, sign);
  rule.channels = ChannelRule::kScales;
  return rule;
}

constexpr QuantRule fixed(Unary function, float scale, int8_t zero_point) {
  QuantRule rule =
      observed(function, zero_point == kUnitZeroPoint ? SignRule::kNonNegative : SignRule::kKeeps);
  rule.output = OutputRule::kFixed;
  rule.fixed_scale = scale;
  rule.fixed_zero_point = zero_point;
  return rule;
}

constexpr OpDef define(Op op, const OpRun* op_run, const QuantRule& rule) {
  return {op, DType::kF32, 0, rule, plan, nullptr, op_run, kernel_name};
}

}  // namespace

extern const OpRun kLeakyReluF32Run, kSigmoidF32Run, kTanhF32Run, kHardSwishF32Run, kHardSigmoidF32Run,
    kSwishF32Run, kGeluF32Run, kExpF32Run, kAbsF32Run, kSqrtF32Run, kRsqrtF32Run, kReciprocalF32Run,
    kLogF32Run, kErfF32Run, kEluF32Run, kSoftplusF32Run, kMishF32Run, kGeluTanhF32Run;
const OpRun kLeakyReluF32Run = {run}, kSigmoidF32Run = {run}, kTanhF32Run = {run}, kHardSwishF32Run = {run},
            kHardSigmoidF32Run = {run}, kSwishF32Run = {run}, kGeluF32Run = {run}, kExpF32Run = {run},
            kAbsF32Run = {run}, kSqrtF32Run = {run}, kRsqrtF32Run = {run}, kReciprocalF32Run = {run},
            kLogF32Run = {run}, kErfF32Run = {run}, kEluF32Run = {run}, kSoftplusF32Run = {run},
            kMishF32Run = {run}, kGeluTanhF32Run = {run};

extern const OpDef kLeakyReluF32, kSigmoidF32, kTanhF32, kHardSwishF32, kHardSigmoidF32, kSwishF32, kGeluF32,
    kExpF32, kAbsF32, kSqrtF32, kRsqrtF32, kReciprocalF32, kLogF32, kErfF32, kEluF32, kSoftplusF32, kMishF32,
    kGeluTanhF32;
const OpDef kLeakyReluF32 = define(Op::kLeakyRelu, &kLeakyReluF32Run, scaling(leaky_relu, SignRule::kKeeps));
const OpDef kSigmoidF32 = define(Op::kSigmoid, &kSigmoidF32Run, fixed(sigmoid, kUnitScale, kUnitZeroPoint));
const OpDef kTanhF32 = define(Op::kTanh, &kTanhF32Run, fixed(hyperbolic_tangent, 1.0f / 128.0f, 0));
const OpDef kHardSwishF32 = define(Op::kHardSwish, &kHardSwishF32Run, observed(hard_swish, SignRule::kKeeps));
const OpDef kHardSigmoidF32 =
    define(Op::kHardSigmoid, &kHardSigmoidF32Run, fixed(hard_sigmoid, kUnitScale, kUnitZeroPoint));
const OpDef kSwishF32 = define(Op::kSwish, &kSwishF32Run, observed(swish, SignRule::kKeeps));
const OpDef kGeluF32 = define(Op::kGelu, &kGeluF32Run, observed(gelu, SignRule::kKeeps));
const OpDef kExpF32 = define(Op::kExp, &kExpF32Run, observed(exponential, SignRule::kNonNegative));
const OpDef kAbsF32 = define(Op::kAbs, &kAbsF32Run, scaling(magnitude, SignRule::kNonNegative));
const OpDef kSqrtF32 = define(Op::kSqrt, &kSqrtF32Run, observed(square_root, SignRule::kNonNegative));
const OpDef kRsqrtF32 =
    define(Op::kRsqrt, &kRsqrtF32Run, observed(reciprocal_square_root, SignRule::kNonNegative));
const OpDef kReciprocalF32 =
    define(Op::kReciprocal, &kReciprocalF32Run, observed(reciprocal, SignRule::kKeeps));
const OpDef kLogF32 = define(Op::kLog, &kLogF32Run, observed(logarithm, SignRule::kAny));
const OpDef kErfF32 = define(Op::kErf, &kErfF32Run, fixed(error_function, 1.0f / 128.0f, 0));
const OpDef kEluF32 = define(Op::kElu, &kEluF32Run, observed(elu, SignRule::kKeeps));
const OpDef kSoftplusF32 =
    define(Op::kSoftplus, &kSoftplusF32Run, observed(softplus, SignRule::kNonNegative));
const OpDef kMishF32 = define(Op::kMish, &kMishF32Run, observed(mish, SignRule::kKeeps));
const OpDef kGeluTanhF32 = define(Op::kGeluTanh, &kGeluTanhF32Run, observed(gelu_tanh, SignRule::kKeeps));

}  // namespace intaglio
