// How reals become codes at one slot: a place where an operator reads or writes a tensor. Two operators may
// read one tensor with different configs, so a config belongs to the slot, not to the tensor.
#pragma once

#include "intaglio/span.h"
#include "intaglio/status.h"

namespace intaglio {

// How a real that is no integer becomes one. Nearest in all but kUp; the names say where x.5 goes.
enum class Rounding : uint8_t {
  kHalfEven = 0,
  kHalfUp = 1,    // towards +infinity
  kHalfDown = 2,  // towards -infinity
  kHalfTowardsZero = 3,
  kHalfFarFromZero = 4,  // away from zero
  kToNearInt = 5,        // an old name for kHalfFarFromZero
  kUp = 6,               // not only halves: the next integer above
};
inline constexpr int32_t kRoundingCount = 7;

// A set of properties. Legal are one of per tensor and per channel, one of symmetric and asymmetric, and one
// of linear, exponential and linear with power of two: 12 masks.
using QuantPolicy = uint8_t;
namespace policy {
inline constexpr QuantPolicy kPerTensor = 1, kPerChannel = 2, kLinear = 4, kExponential = 8, kSymmetric = 16,
                             kAsymmetric = 32, kPowerOfTwo = 64;
}
inline constexpr int32_t kPolicyCount = 12;

// kBadPolicy, with the properties that contradict each other (or of which one is missing) as `limit`.
Error check_policy(QuantPolicy policy);

// How a range is chosen from the values seen.
enum class RangeMethod : uint8_t {
  kAuto = 0,  // min-max times a factor that one half of the samples scores best on the other half
  kMinMax = 1,
  kPercentile = 2,  // the range that holds `percentile` of the values
  kMse = 3,         // least mean squared error on the values seen
  kKl = 4,          // least divergence of the quantized values' distribution from that of the values seen
  kAciq = 5,        // least expected squared error of a Gaussian or Laplacian of the measured spread
};
inline constexpr int32_t kRangeMethodCount = 6;

// Where a config stands. Only kActivated and kPassive quantize; kBaked and kPassiveBaked hold constants that
// are codes already.
enum class QuantState : uint8_t {
  kInitial = 0,      // no parameters yet
  kPassiveInit = 1,  // parameters will follow from other slots'
  kActivated = 2,
  kPassive = 3,     // a bias: scale s_in * s_w
  kOverlapped = 4,  // another slot, its dominator, quantizes in its stead
  kBaked = 5,
  kPassiveBaked = 6,
  kDequantized = 7,  // switched off for a while; returns to what it was
  kDeactivated = 8,
  kFp32 = 9,  // the operator computes in float there
  kSoi = 10,  // a shape or an index: never quantized
};
inline constexpr int32_t kQuantStateCount = 11;

inline constexpr int32_t kMinBits = 2, kMaxBits = 32;

struct QuantConfig {
  QuantPolicy policy = policy::kPerTensor | policy::kLinear | policy::kAsymmetric;
  Rounding rounding = Rounding::kHalfEven;
  RangeMethod observer = RangeMethod::kAuto;
  QuantState state = QuantState::kInitial;
  QuantState kept = QuantState::kInitial;  // while kDequantized: what it returns to
  bool parameter = false;                  // weights, a bias: quantized once, when baked
  uint8_t bits = 8;
  int32_t lo = -128, hi = 127;       // codes
  float scale = 0.0f;                // above 0 once there are parameters
  int32_t offset = 0;                // zero point, within [lo, hi]
  Span<const float> channel_scales;  // weights: one an output channel; empty: `scale` for all
  int32_t dominator = -1;            // slot whose parameters hold here; -1: its own

  bool has(QuantPolicy property) const { return (policy & property) == property; }
};

// Sets bits and the codes that go with them: [-2^(bits - 1), 2^(bits - 1) - 1]. kBadBits outside [2, 32].
Error set_bits(QuantConfig& config, int32_t bits);

}  // namespace intaglio
