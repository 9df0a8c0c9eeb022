// How reals become codes at one slot. A slot is a place where an operator reads or writes a tensor. Two operators may
// read one tensor with different configs, so a config belongs to the slot and not to the tensor.
#pragma once

#include "intaglio/span.h"
#include "intaglio/status.h"

namespace intaglio {

// How a real becomes an integer. All but kUp and kDown round to the nearest one, and the name says where
// x.5 goes.
enum class Rounding : uint8_t {
  kHalfEven = 0,  // to the even one, as IEEE 754 does by default
  kHalfUp = 1,    // towards +infinity
  kHalfDown = 2,  // towards -infinity
  kHalfTowardsZero = 3,
  kHalfFarFromZero = 4,  // away from zero, as C's round() does
  kToNearInt = 5,        // an old name for kHalfFarFromZero
  kUp = 6,               // always to the next integer above, as C's ceil() does
  kDown = 7,             // always to the next integer below, as C's floor() does
};
inline constexpr int32_t kRoundingCount = 8;

// A set of properties. Legal are three choices: per tensor or per channel; symmetric or asymmetric; linear,
// exponential, or linear with power of two. That makes 12 masks.
using QuantPolicy = uint8_t;
namespace policy {
inline constexpr QuantPolicy kPerTensor = 1, kPerChannel = 2, kLinear = 4, kExponential = 8, kSymmetric = 16,
                             kAsymmetric = 32, kPowerOfTwo = 64;
}
inline constexpr int32_t kPolicyCount = 12;

// Whether a mask is legal. Else the error is kBadPolicy, and its `limit` has the properties that contradict each other
// or of which one is missing.
Error check_policy(QuantPolicy policy);

// How a range is chosen from the values seen.
enum class RangeMethod : uint8_t {
  kAuto = 0,        // as kMse, with a margin for what few samples do not show
  kMinMax = 1,      // from the least to the greatest value
  kPercentile = 2,  // the range that holds CalibratorOptions::percentile of the values
  kMse = 3,         // the least mean squared error on the values seen
  kKl = 4,          // the least KL divergence between the distributions of values and of codes
  kAciq = 5,        // the least expected squared error of a Gaussian or Laplacian of the measured spread
};
inline constexpr int32_t kRangeMethodCount = 6;

// The state of a config. Only kActivated and kPassive quantize. With kBaked and kPassiveBaked the constants are codes
// already.
enum class QuantState : uint8_t {
  kInitial = 0,      // no parameters yet
  kPassiveInit = 1,  // parameters will follow from other slots'
  kActivated = 2,
  kPassive = 3,     // the scale follows from others: a bias has s_in * s_w
  kOverlapped = 4,  // another slot, its dominator, quantizes for it
  kBaked = 5,
  kPassiveBaked = 6,
  kDequantized = 7,  // switched off for a while, and then again what it was
  kDeactivated = 8,
  kFp32 = 9,  // the operator computes in float there
  kSoi = 10,  // a shape or an index: never quantized
};
inline constexpr int32_t kQuantStateCount = 11;

inline constexpr int32_t kMinBits = 2, kMaxBits = 32;

// How one slot is quantized.
struct QuantConfig {
  QuantPolicy policy = policy::kPerTensor | policy::kLinear | policy::kAsymmetric;
  Rounding rounding = Rounding::kHalfEven;
  RangeMethod observer = RangeMethod::kAuto;
  QuantState state = QuantState::kInitial;
  QuantState saved_state = QuantState::kInitial;  // while kDequantized: the state to return to
  bool parameter = false;                         // a weight or bias: quantized once, when the model is baked
  bool own_observer = false;                      // `observer` is this slot's own, whatever the others have
  uint8_t bits = 8;                               // kMinBits to kMaxBits
  int32_t lo = -128, hi = 127;                    // the least and the greatest code
  float scale = 0.0f;                             // above 0 once there are parameters
  int32_t offset = 0;                             // zero point, in [lo, hi]
  Span<const float> channel_scales;  // of weights: one for each output channel; empty: `scale` for all
  int32_t dominator = -1;            // the slot whose parameters hold here; -1: its own

  // Whether the policy has all properties of a mask.
  bool has(QuantPolicy property) const { return (policy & property) == property; }
};

// Sets `bits` and the codes that go with them: [-2^(bits - 1), 2^(bits - 1) - 1]. Errors: bits outside [2, 32]
// (kBadBits).
Error set_bits(QuantConfig& config, int32_t bits);

}  // namespace intaglio
