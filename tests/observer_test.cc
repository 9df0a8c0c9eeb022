// Observers: the state depends on the values seen, not on their order.
#include "calibrator/observe/observer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "calibrator/judge/order_free_sum.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/ranges/ranges.h"
#include "intaglio/platform.h"
#include "runtime/real_functions.h"
#include "tests/support/model_builder.h"
#include "tests/support/own_observer.h"
#include "tests/support/random.h"

namespace intaglio::test::observer_test {
namespace {

using Sample = std::vector<float>;

std::unique_ptr<OwnObserver> observed(const std::vector<Sample>& samples) {
  auto observer = std::make_unique<OwnObserver>();
  const auto spare = std::make_unique<OwnObserver>();
  for (const Sample& sample : samples) {
    const Span<const float> values = {sample.data(), sample.size()};
    observe(*observer, values, sample.size() % 2 == 0 ? 0 : 1, {observe_f32_best(cpu_isa()), *spare});
  }
  return observer;
}

QuantConfig form(RangeMethod method, bool symmetric = false) {
  QuantConfig config;
  config.observer = method;
  if (symmetric) config.policy = policy::kPerTensor | policy::kLinear | policy::kSymmetric;
  return config;
}

QuantConfig weight_form(int32_t bits = 8) {
  QuantConfig config;
  config.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
  REQUIRE(set_bits(config, bits).ok());
  return config;
}

// Samples of very different sizes and signs.
std::vector<Sample> wild_samples(Random& random) {
  std::vector<Sample> samples;
  const int32_t count = random.between(2, 6);
  for (int32_t i = 0; i < count; ++i) {
    const float scale = std::ldexp(1.0f, random.between(-30, 20));
    Sample sample =
        random.reals(static_cast<size_t>(random.between(1, 60)), random.one_in(2) ? 0.0f : -scale, scale);
    if (random.one_in(4)) sample[0] = -std::ldexp(1.0f, random.between(-140, -60));  // far below any bin
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

TEST_CASE("any order and any split of the samples give the same state") {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Sample> samples = wild_samples(random);
    const auto expected = observed(samples);
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      const size_t from = random.bits() % samples.size(), to = random.bits() % samples.size();
      std::swap(samples[from], samples[to]);
      CHECK(same(*observed(samples), *expected));
      const auto cut = static_cast<std::ptrdiff_t>(random.bits() % samples.size());
      const auto left = observed({samples.begin(), samples.begin() + cut});
      const auto right = observed({samples.begin() + cut, samples.end()});
      merge(*left, *right);
      CHECK(same(*left, *expected));
    }
  }
}

TEST_CASE("bins cover their values") {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Sample> samples = wild_samples(random);
    const auto o = observed(samples);
    uint64_t counted = 0, given = 0;
    for (const Histogram& half : o->counts->halves)
      for (int32_t bin = 0; bin < kBins; ++bin) counted += half.counts[bin];
    for (const Sample& sample : samples) given += sample.size();
    CHECK(counted == given);
    auto fitted = std::make_unique<OwnObserver>(*o);
    fit_bins(*fitted);
    CHECK(same(*fitted, *o));
  }
}

TEST_CASE("each value counts in the bin that holds it, also where scaling it leaves nothing") {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    const Sample sample = wild_samples(random)[0];
    const auto o = observed({sample});
    std::vector<uint32_t> expected(kBins);
    for (const float x : sample) {
      const long double bin =
          std::floor(static_cast<long double>(x) / static_cast<long double>(o->bin_width()));
      ++expected[static_cast<size_t>(static_cast<int32_t>(bin) + (o->two_sided != 0 ? kBins / 2 : 0))];
    }
    const Histogram& seen = o->counts->halves[sample.size() % 2];
    CHECK(std::vector<uint32_t>(seen.counts, seen.counts + kBins) == expected);
  }
}

TEST_CASE("extremes see every value and every fault") {
  Random random(7);
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (int round = 0; round < 200; ++round) {
    Sample sample = random.reals(static_cast<size_t>(random.between(1, 100)), -2.0f, 3.0f);
    const auto look = [&sample] {
      return extremes_of({sample.data(), sample.size()}, observe_f32_best(cpu_isa()));
    };
    const Extremes found = look();
    CHECK(found.finite);
    CHECK(found.min == std::min(0.0f, *std::min_element(sample.begin(), sample.end())));
    CHECK(found.max == std::max(0.0f, *std::max_element(sample.begin(), sample.end())));
    float& any = sample[random.bits() % sample.size()];
    for (const float bad : {infinity, -infinity, nan}) {
      any = bad;
      CHECK(!look().finite);
    }
  }
}

TEST_CASE("ranges hold zero and, for min-max, every value") {
  Random random(8);
  const QuantConfig options = form(RangeMethod::kMinMax);
  const double infinity = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 100; ++round) {
    const auto samples = wild_samples(random);
    const auto o = observed(samples);
    const Range range = choose_range(*o, {-infinity, infinity}, options, 0.9999);
    CHECK(range.lo <= 0.0);
    CHECK(range.hi >= 0.0);
    for (const Sample& sample : samples)
      for (const float x : sample)
        CHECK((range.lo <= static_cast<double>(x) && static_cast<double>(x) <= range.hi));
    const Range narrow = choose_range(*o, {-infinity, infinity}, form(RangeMethod::kMse), 0.9999);
    CHECK(narrow.hi <= range.hi);
    CHECK(narrow.lo >= range.lo);
  }
}

TEST_CASE("auto leaves room for what one sample cannot show, but not past a fused activation") {
  const auto o = observed({Sample{0.0f, 1.0f, 4.0f}});
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(choose_range(*o, {-infinity, infinity}, {}, 1.0).hi ==
        doctest::Approx(4.0 * std::exp2(std::sqrt(0.5))));
  CHECK(choose_range(*o, {0.0, 4.5}, {}, 1.0).hi == 4.5);
}

TEST_CASE("scales and zero points") {
  const QuantParams asymmetric = params_of({-1.0, 3.0}, {});
  CHECK(asymmetric.scale == doctest::Approx(4.0 / 255));
  CHECK(quantize_value(0.0f, asymmetric) == asymmetric.zero_point);
  CHECK(quantize_value(-1.0f, asymmetric) == -128);
  CHECK(quantize_value(3.0f, asymmetric) == 127);
  const QuantParams symmetric = params_of({-1.0, 3.0}, form(RangeMethod::kAuto, true));
  CHECK(symmetric.zero_point == 0);
  CHECK(symmetric.scale == doctest::Approx(3.0 / 127));
  CHECK(params_of({0.0, 0.0}, {}).scale == 1.0f / 255);  // of zeros alone
}

TEST_CASE("many values are quantized as each is") {
  Random random(14);
  for (int round = 0; round < 100; ++round) {
    QuantParams params{std::ldexp(random.real(0.5f, 1.0f), random.between(-38, 38)),
                       random.between(-128, 127)};
    if (random.one_in(3)) params.lo = -127;
    Sample values;
    for (int32_t i = 0; i < 600; ++i) {
      values.push_back(params.scale * static_cast<float>(random.between(-600, 600)) * 0.5f);  // and ties
      values.push_back(params.scale * random.real(-300.0f, 300.0f));
    }
    const float infinity = std::numeric_limits<float>::infinity();
    values.insert(values.end(),
                  {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), -0.0f, 1e-45f});
    std::vector<int8_t> codes(values.size());
    quantize_values({values.data(), values.size()}, params, codes.data());
    for (size_t i = 0; i < values.size(); ++i) CHECK(codes[i] == quantize_value(values[i], params));
  }
}

TEST_CASE("a channel without weights keeps its bias") {
  HostArena memory;
  const int32_t dims[] = {2, 4};
  const float weights[] = {0, 0, 0, 0, 1, -2, 3, -4}, bias[] = {5.0f, 0.25f};
  const float in_scale = 0.01f;
  const QuantizedWeights q =
      quantize_weights({weights, {dims, 2}, 0, bias, in_scale, weight_form()}, memory.arena());
  CHECK(static_cast<float>(q.bias[0]) * in_scale * q.scales[0] == doctest::Approx(5.0f).epsilon(1e-6));
  CHECK(static_cast<float>(q.bias[1]) * in_scale * q.scales[1] == doctest::Approx(0.25f).epsilon(1e-4));
  CHECK(q.codes[7] == -127);
}

TEST_CASE("seven-bit weights stay within [-63, 63]") {
  HostArena memory;
  const int32_t dims[] = {1, 3};
  const float weights[] = {-1.0f, 0.5f, 0.99f};
  const QuantizedWeights q =
      quantize_weights({weights, {dims, 2}, 0, {}, 1.0f, weight_form(7)}, memory.arena());
  for (const int8_t code : q.codes) CHECK((code >= -63 && code <= 63));
  CHECK(q.codes[0] == -63);
}

TEST_CASE("safe pairs: neighbours add up to no more than 128, channels that do already keep their scale") {
  HostArena memory;
  Random random(7);
  constexpr int32_t kChannels = 40, kDepth = 27;
  const int32_t dims[] = {kChannels, kDepth};
  std::vector<float> weights = random.reals(kChannels * kDepth, -1, 1);
  for (int32_t i = 0; i < kDepth; ++i) weights[static_cast<size_t>(i)] = i % 2 == 0 ? 1.0f : -1.0f;
  const Span<const float> reals(weights.data(), weights.size());
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kHalfFarFromZero, Rounding::kUp}) {
    QuantConfig form = weight_form();
    form.rounding = rounding;
    const QuantizedWeights free = quantize_weights({reals, {dims, 2}, 0, {}, 1.0f, form}, memory.arena());
    const QuantizedWeights safe =
        quantize_weights({reals, {dims, 2}, 0, {}, 1.0f, form, true}, memory.arena());
    CHECK(safe.scales[0] == free.scales[0]);
    int32_t wider = 0;
    for (size_t c = 0; c < kChannels; ++c) {
      wider += safe.scales[c] > free.scales[c];
      CHECK(safe.scales[c] <= free.scales[c] * 2.02f);
      for (size_t i = 1; i < kDepth; ++i) {
        const int32_t a = safe.codes[c * kDepth + i - 1], b = safe.codes[c * kDepth + i];
        CHECK(std::max(a, 0) + std::max(b, 0) <= 128);
        CHECK(std::min(a, 0) + std::min(b, 0) >= -128);
      }
    }
    CHECK(wider == kChannels - 1);
  }
}

TEST_CASE("the accumulator proof widens the scale of deep channels") {
  HostArena memory;
  const int32_t dims[] = {1, 70000};
  const std::vector<float> weights(70000, 1.0f);
  const QuantizedWeights q = quantize_weights(
      {{weights.data(), weights.size()}, {dims, 2}, 0, {}, 1.0f, weight_form()}, memory.arena());
  CHECK(bias_room({q.codes.data, q.codes.size}, {dims, 2}, 0, 0) >= 0);
  CHECK(q.codes[0] == 64);
}

// The second scale of the input leaves biases room, or makes some too large for the weights' own scales.
TEST_CASE("weights made again for another input scale are those made anew") {
  HostArena memory;
  Random random(11);
  constexpr int32_t kChannels = 24, kDepth = 9;
  const int32_t dims[] = {kChannels, kDepth};
  const std::vector<float> weights = random.reals(kChannels * kDepth, -1, 1);
  std::vector<float> bias = random.reals(kChannels, -1, 1);
  for (size_t c = 0; c < kChannels; c += 4) bias[c] = 0.0f;
  bool stayed = false, went = false;
  for (const bool per_tensor : {false, true})
    for (const float first : {1.0f, 1e-3f, 1e-8f, 3e-10f})
      for (const float second : {2.0f, 1e-4f, 1e-7f, 1e-8f, 2e-10f}) {
        QuantConfig form = weight_form();
        if (per_tensor) form.policy |= policy::kPerTensor;
        RealWeights layer{{weights.data(), weights.size()}, {dims, 2}, 0,
                          {bias.data(), bias.size()},       first,     form};
        QuantizedWeights again = quantize_weights(layer, memory.arena());
        const std::vector<int8_t> codes(again.codes.begin(), again.codes.end());
        layer.in_scale = second;
        const bool stay = quantize_weights_again(layer, again);
        (stay ? stayed : went) = true;
        if (stay) CHECK(std::equal(codes.begin(), codes.end(), again.codes.begin()));
        const QuantizedWeights anew = quantize_weights(layer, memory.arena());
        CHECK(std::equal(anew.codes.begin(), anew.codes.end(), again.codes.begin()));
        CHECK(std::equal(anew.scales.begin(), anew.scales.end(), again.scales.begin()));
        CHECK(std::equal(anew.bias.begin(), anew.bias.end(), again.bias.begin()));
      }
  CHECK(stayed);
  CHECK(went);
}

TEST_CASE("sums that no order changes") {
  Random random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> values;
    for (int i = 0; i < 40; ++i)
      values.push_back(std::ldexp(static_cast<double>(random.real(0, 1)), random.between(-60, 30)));
    const auto sum = [&values](bool forwards, int power) {
      OrderFreeSum made;
      for (size_t i = 0; i < values.size(); ++i)
        made.add(std::ldexp(values[forwards ? i : values.size() - 1 - i], power));
      return made;
    };
    CHECK(sum(true, 0).value() == sum(false, 0).value());
    CHECK(!(sum(true, 0) < sum(false, 0)));
    long double exact = 0;
    for (const double v : values) exact += static_cast<long double>(v);
    CHECK(std::fabs(static_cast<double>(sum(true, 0).value() / exact) - 1) < 1e-15);
    // Values of any size give the same digits: squares of FP32 outputs as small and as large as there are.
    for (const int power : {-170, -107, -1, 3, 64, 220}) {
      CHECK(sum(true, power).value() == std::ldexp(sum(true, 0).value(), power));
      CHECK(sum(true, power - 1) < sum(true, power));
    }
  }
}

TEST_CASE("sums carry through all their words, and take no value past their end") {
  OrderFreeSum sum;
  sum.add(0x1p192 - 0x1p139);  // 53 ones
  for (int power = 138; power >= -300; power -= 53) sum.add(std::ldexp(0x1p53 - 1, power - 52));
  const double before = sum.value();
  for (int i = 0; i < 4; ++i) sum.add(0x1p-290);
  CHECK(before <= sum.value());
  CHECK(sum.value() == 0x1p192);
  OrderFreeSum largest;
  for (int i = 0; i < 1000; ++i) largest.add(i % 2 == 0 ? INFINITY : NAN);
  CHECK(largest.value() == 1000 * 0x1p300);
  OrderFreeSum nothing;
  for (const double x : {0.0, -1.0, 0x1p-380, 0x1p-1074}) nothing.add(x);
  CHECK(nothing.value() == 0.0);
}

TEST_CASE("real functions against the machine's") {
  for (double x = -700; x < 700; x += 0.37) CHECK(std::fabs(exp_real(x) / std::exp(x) - 1) < 1e-13);
  for (double x = 1e-300; x < 1e300; x *= 1.7)
    CHECK(std::fabs(log2_real(x) - std::log2(x)) < 1e-13 * std::fmax(1, std::fabs(std::log2(x))));
  CHECK(round_even(0.5) == 0.0);
  CHECK(round_even(1.5) == 2.0);
  CHECK(round_even(-2.5) == -2.0);
}

}  // namespace intaglio::test::observer_test
