// Quantization configs: roundings, policies and states are tables, and here is all of each.
#include "intaglio/quant_config.h"

#include <doctest/doctest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "calibrator/quantization/joint.h"
#include "calibrator/quantization/quantizer.h"
#include "intaglio/describe.h"

namespace intaglio::test::quant_config_test {
namespace {

std::string text_of(const Error& error) {
  char text[256];
  describe(error, nullptr, text, sizeof text);
  return text;
}

// The definition, from integers alone: x = halves / 2.
int64_t round_halves(Rounding rounding, int64_t halves) {
  const int64_t below = halves >= 0 ? halves / 2 : -((1 - halves) / 2);  // floor
  if (halves == 2 * below) return below;
  switch (rounding) {
    case Rounding::kHalfEven:
      return below % 2 == 0 ? below : below + 1;
    case Rounding::kHalfDown:
    case Rounding::kDown:
      return below;
    case Rounding::kHalfTowardsZero:
      return halves > 0 ? below : below + 1;
    case Rounding::kHalfFarFromZero:
    case Rounding::kToNearInt:
      return halves > 0 ? below + 1 : below;
    default:
      return below + 1;
  }
}

// Where no tie is.
double to_whole(Rounding rounding, double x) {
  if (rounding == Rounding::kUp) return std::ceil(x);
  return rounding == Rounding::kDown ? std::floor(x) : std::nearbyint(x);
}

std::vector<Rounding> all_roundings() {
  std::vector<Rounding> all;
  for (int32_t i = 0; i < kRoundingCount; ++i) all.push_back(static_cast<Rounding>(i));
  return all;
}

QuantConfig with_params() {
  QuantConfig config;
  config.scale = 0.5f;
  return config;
}

}  // namespace

TEST_CASE("where each rounding sends x.5") {
  const double ties[] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};
  const double expected[kRoundingCount][6] = {
      {-2, -2, 0, 0, 2, 2},  {-2, -1, 0, 1, 2, 3},  {-3, -2, -1, 0, 1, 2}, {-2, -1, 0, 0, 1, 2},
      {-3, -2, -1, 1, 2, 3}, {-3, -2, -1, 1, 2, 3}, {-2, -1, 0, 1, 2, 3},  {-3, -2, -1, 0, 1, 2}};
  for (const Rounding rounding : all_roundings()) {
    CAPTURE(rounding_name(static_cast<int64_t>(rounding)));
    for (size_t i = 0; i < 6; ++i)
      CHECK(round_by(rounding, ties[i]) == expected[static_cast<size_t>(rounding)][i]);
  }
}

TEST_CASE("every half-integer of 17 bits and its neighbours") {
  for (const Rounding rounding : all_roundings()) {
    CAPTURE(rounding_name(static_cast<int64_t>(rounding)));
    int64_t wrong = 0;
    for (int64_t halves = -65536; halves <= 65536; ++halves) {
      const double x = static_cast<double>(halves) / 2;
      wrong += round_by(rounding, x) != static_cast<double>(round_halves(rounding, halves));
      for (const double towards : {-1e9, 1e9}) {
        const double near = std::nextafter(x, towards);
        const double expected = to_whole(rounding, near);
        wrong += round_by(rounding, near) != expected;
      }
    }
    CHECK(wrong == 0);
  }
  for (double x = -40.0; x < 40.0; x += 0.0371) {
    CHECK(round_by(Rounding::kHalfEven, x) == std::nearbyint(x));
    CHECK(round_by(Rounding::kHalfFarFromZero, x) == std::round(x));
    CHECK(round_by(Rounding::kUp, x) == std::ceil(x));
    CHECK(round_by(Rounding::kDown, x) == std::floor(x));
  }
}

TEST_CASE("float traps: sums that round, values without a fraction, infinities, NaN") {
  const double below_half = std::nextafter(0.5, 0.0);
  for (const Rounding rounding : all_roundings()) {
    CAPTURE(rounding_name(static_cast<int64_t>(rounding)));
    for (const double x : {below_half, -below_half}) CHECK(round_by(rounding, x) == to_whole(rounding, x));
    CHECK(round_by(rounding, 0.49999997) == to_whole(rounding, 0.49999997));
    for (const double whole : {8388609.0, 4503599627370497.0, 9007199254740993.0, 1e300})
      for (const double x : {whole, -whole}) CHECK(round_by(rounding, x) == x);
    CHECK(round_by(rounding, 2251799813685248.5) ==
          static_cast<double>(round_halves(rounding, 4503599627370497)));
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(round_by(rounding, infinity) == infinity);
    CHECK(round_by(rounding, -infinity) == -infinity);
    CHECK(std::isnan(round_by(rounding, std::nan(""))));
    CHECK(round_by(rounding, 0.0) == 0.0);
    CHECK(round_by(rounding, -0.0) == 0.0);
  }
  CHECK(round_by(Rounding::kUp, 0.1) == 1.0);
  CHECK(round_by(Rounding::kUp, -0.9) == 0.0);
  CHECK(round_by(Rounding::kDown, 0.9) == 0.0);
  CHECK(round_by(Rounding::kDown, -0.1) == -1.0);
}

TEST_CASE("of 128 policy masks 12 are legal, and each other names its conflict") {
  using namespace policy;
  std::set<int> expected;
  for (const int mapping : {int{kLinear}, int{kExponential}, kLinear | kPowerOfTwo})
    for (const int granularity : {kPerTensor, kPerChannel})
      for (const int symmetry : {kSymmetric, kAsymmetric}) expected.insert(mapping | granularity | symmetry);
  REQUIRE(expected.size() == kPolicyCount);
  for (int mask = 0; mask < 256; ++mask) {
    CAPTURE(mask);
    const Error error = check_policy(static_cast<QuantPolicy>(mask));
    CHECK(error.ok() == (expected.count(mask) == 1));
    if (error.ok()) continue;
    CHECK(error.status == Status::kBadPolicy);
    CHECK(error.value == mask);
    CHECK(error.limit != 0);
  }
  CHECK(text_of(check_policy(kPerTensor | kPerChannel | kLinear | kSymmetric)) ==
        "quantization policy 23 is none of the 12 legal ones: per-tensor and per-channel cannot stand there");
  CHECK(text_of(check_policy(kPerTensor | kSymmetric)) ==
        "quantization policy 17 is none of the 12 legal ones: linear or exponential is missing");
  CHECK(
      text_of(check_policy(kPerTensor | kSymmetric | kExponential | kPowerOfTwo)) ==
      "quantization policy 89 is none of the 12 legal ones: exponential and power-of-two cannot stand there");
}

TEST_CASE("bits from 2 to 32") {
  for (int32_t bits = -1; bits < 40; ++bits) {
    QuantConfig config;
    const Error error = set_bits(config, bits);
    CHECK(error.ok() == (bits >= 2 && bits <= 32));
    if (!error.ok()) {
      CHECK(error.status == Status::kBadBits);
      CHECK(config.bits == 8);
      continue;
    }
    CHECK(int64_t{config.hi} - config.lo + 1 == int64_t{1} << bits);
    CHECK(int64_t{config.hi} + config.lo == -1);
  }
}

TEST_CASE("every ordered pair of states: 42 steps are legal, a refusal names both") {
  using S = QuantState;
  const std::vector<std::pair<S, std::vector<S>>> table = {
      {S::kInitial,
       {S::kActivated, S::kOverlapped, S::kSoi, S::kFp32, S::kPassiveInit, S::kPassive, S::kDequantized,
        S::kDeactivated}},
      {S::kPassiveInit, {S::kPassive, S::kSoi, S::kFp32, S::kDequantized, S::kDeactivated}},
      {S::kActivated,
       {S::kBaked, S::kInitial, S::kOverlapped, S::kPassive, S::kDequantized, S::kDeactivated, S::kFp32}},
      {S::kPassive, {S::kPassiveBaked, S::kPassiveInit, S::kDequantized, S::kDeactivated, S::kFp32}},
      {S::kOverlapped, {S::kInitial, S::kDequantized, S::kDeactivated, S::kFp32}},
      {S::kBaked, {S::kActivated, S::kDequantized}},
      {S::kPassiveBaked, {S::kPassive, S::kDequantized}},
      {S::kDequantized,
       {S::kInitial, S::kPassiveInit, S::kActivated, S::kPassive, S::kOverlapped, S::kBaked,
        S::kPassiveBaked}},
      {S::kDeactivated, {S::kInitial}},
      {S::kFp32, {S::kInitial}},
      {S::kSoi, {}}};
  size_t legal = 0;
  for (const auto& row : table) {
    const S from = row.first;
    const std::set<S> allowed(row.second.begin(), row.second.end());
    for (int32_t i = 0; i < kQuantStateCount; ++i) {
      const auto to = static_cast<S>(i);
      CAPTURE(quant_state_name(static_cast<int64_t>(from)));
      CAPTURE(quant_state_name(i));
      QuantConfig config = with_params();
      config.state = from;
      config.saved_state = to;
      const Error error = set_state(config, to);
      CHECK(error.ok() == (allowed.count(to) == 1));
      legal += error.ok() ? 1 : 0;
      CHECK(config.state == (error.ok() ? to : from));
      if (error.ok()) continue;
      CHECK(error.status == Status::kStateTransition);
      const std::string text = text_of(error);
      CHECK(text.find(std::string("from ") + quant_state_name(static_cast<int64_t>(from))) !=
            std::string::npos);
      CHECK(text.find(std::string("to ") + quant_state_name(i)) != std::string::npos);
    }
  }
  CHECK(legal == 42);
}

TEST_CASE("what is dequantized returns to where it was, and nowhere else") {
  for (const QuantState from : {QuantState::kInitial, QuantState::kActivated, QuantState::kBaked,
                                QuantState::kPassiveBaked, QuantState::kOverlapped}) {
    QuantConfig config = with_params();
    config.state = from;
    REQUIRE(set_state(config, QuantState::kDequantized).ok());
    for (int32_t i = 0; i < kQuantStateCount; ++i)
      if (static_cast<QuantState>(i) != from) CHECK(!set_state(config, static_cast<QuantState>(i)).ok());
    CHECK(set_state(config, from).ok());
    CHECK(config.scale == 0.5f);
  }
}

TEST_CASE("nothing quantizes without a scale above zero and an offset among its codes") {
  for (const float scale : {0.0f, -1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    QuantConfig config;
    config.scale = scale;
    CHECK(set_state(config, QuantState::kActivated).status == Status::kConfigWithoutScale);
    CHECK(config.state == QuantState::kInitial);
    const float channels[] = {0.5f, scale};
    config.scale = 1.0f;
    config.channel_scales = channels;
    CHECK(set_state(config, QuantState::kActivated).status == Status::kConfigWithoutScale);
  }
  QuantConfig config = with_params();
  config.offset = 128;
  CHECK(set_state(config, QuantState::kActivated).status == Status::kConfigWithoutScale);
  config.offset = 127;
  CHECK(set_state(config, QuantState::kActivated).ok());
}

}  // namespace intaglio::test::quant_config_test
