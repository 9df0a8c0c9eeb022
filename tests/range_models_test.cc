// Ranges by KL, ACIQ and MSE: known ends, and the faults of the known recipes.
#include "calibrator/ranges/ranges.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/range_score.h"
#include "intaglio/platform.h"
#include "tests/support/own_observer.h"

namespace intaglio::test::range_models_test {
namespace {

using Values = std::vector<float>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<OwnObserver> observed(const Values& values, int32_t bins = kBins) {
  auto observer = std::make_unique<OwnObserver>(bins);
  const size_t half = values.size() / 2;
  const auto spare = std::make_unique<OwnObserver>(bins);
  const Span<const float> first = {values.data(), half},
                          second = {values.data() + half, values.size() - half};
  observe(*observer, first, 0, {observe_f32_best(cpu_isa()), *spare});
  observe(*observer, second, 1, {observe_f32_best(cpu_isa()), *spare});
  return observer;
}

// Samples of a normal distribution; the same numbers on every machine.
Values gaussian(size_t count, double deviation, bool rectified = false) {
  std::mt19937 bits(5);
  const auto uniform = [&bits] { return (static_cast<double>(bits()) + 0.5) / 4294967296.0; };
  Values values;
  while (values.size() < count) {
    const double r = std::sqrt(-2.0 * std::log(uniform())), angle = 6.283185307179586 * uniform();
    const auto x = static_cast<float>(deviation * r * std::cos(angle));
    values.push_back(rectified && x < 0.0f ? 0.0f : x);
  }
  return values;
}

QuantConfig form(int32_t bits = 8, bool symmetric = false) {
  QuantConfig config;
  REQUIRE(set_bits(config, bits).ok());
  if (symmetric) config.policy = policy::kPerTensor | policy::kLinear | policy::kSymmetric;
  return config;
}

double error_of(const TensorObserver& o, const Range& range, const QuantConfig& form) {
  QuantParams params[kTrials];
  for (QuantParams& one : params) one = params_of(range, form);
  double errors[2][kTrials];
  for (const int half : {0, 1}) quantization_errors(o, o.counts->halves[half], form, params, errors[half]);
  return errors[0][0] + errors[1][0];
}

// By its definition, one bin and one range after the other.
double plain_error(const TensorObserver& o, const Histogram& histogram, const QuantConfig& form,
                   const QuantParams& params) {
  const double step = params.scale, width = o.bin_width();
  const double lo = step * (static_cast<double>(form.lo) - params.zero_point),
               hi = step * (static_cast<double>(form.hi) - params.zero_point);
  double sum = 0.0;
  for (int bin = 0; bin < kBins; ++bin) {
    const double x = o.bin_start(bin) + width / 2, off = x - std::nearbyint(x / step) * step;
    double e = width >= step ? step * step / 12 : off * off + width * width / 12;
    if (x < lo) e = (lo - x) * (lo - x);
    if (x > hi) e = (x - hi) * (x - hi);
    sum += e * histogram.counts[bin];
  }
  return sum;
}

}  // namespace

TEST_CASE("errors of several ranges at once are each one's own, to the bit") {
  for (const bool rectified : {false, true}) {
    const auto o = observed(gaussian(50000, 1.7, rectified));
    const auto width = static_cast<float>(o->bin_width());
    // Among them steps that put bins in the middle between two codes, wider bins than steps, and clipping.
    const float scales[kTrials] = {3 * width, width / 2, 0.0123f, 5 * width};
    for (const int bits : {4, 8}) {
      QuantParams params[kTrials];
      for (int t = 0; t < kTrials; ++t) params[t] = {scales[t], t - 3};
      double errors[kTrials];
      quantization_errors(*o, o->counts->halves[1], form(bits), params, errors);
      for (int t = 0; t < kTrials; ++t)
        CHECK(errors[t] == plain_error(*o, o->counts->halves[1], form(bits), params[t]));
    }
  }
}

TEST_CASE("sums over bins: errors of ranges by their definition, near those of the codes") {
  for (const bool rectified : {false, true}) {
    const auto o = observed(gaussian(50000, 1.7, rectified));
    const Histogram& histogram = o->counts->halves[1];
    const CountSums sums(*o, histogram);
    const QuantConfig config = form();
    const double width = o->bin_width();
    // Steps of less than a bin and of many bins, no end in the middle of a bin; ends that clip on no side, on either, and on both.
    for (const double steps : {0.08, 0.3, 0.6, 1.0, 1.7, 2.0, 2.6, 4.4, 7.9, 20.0})
      for (const int32_t zero_point : {-128, -90, 0, 3, 127}) {
        const QuantParams params{static_cast<float>(steps * width), zero_point};
        const double step = static_cast<double>(params.scale), lo = step * (-128 - zero_point),
                     hi = step * (127 - zero_point);
        double expected = 0.0;
        for (int bin = 0; bin < kBins; ++bin) {
          const double x = o->bin_start(bin) + width / 2;
          double e = step * step / 12;
          if (o->bin_start(bin) == 0.0)
            e = (steps <= 1.0 ? step * step : 4 * width * width) / 12;
          else if (x < lo)
            e = (lo - x) * (lo - x);
          else if (x > hi)
            e = (x - hi) * (x - hi);
          expected += e * histogram.counts[bin];
        }
        CAPTURE(steps);
        CAPTURE(zero_point);
        CHECK(sums.error(params, config) == doctest::Approx(expected).epsilon(1e-9));
        // The others count all values of a bin between two codes as the nearer code's.
        if (steps <= 1.0)
          CHECK(sums.error(params, config) ==
                doctest::Approx(plain_error(*o, histogram, config, params)).epsilon(0.02));
      }
  }
}

TEST_CASE("sums over bins: values at an end, whose squares cancel, leave no error below 0") {
  const auto o = std::make_unique<OwnObserver>();
  o->exponent = 0;
  o->counts->halves[0].counts[228] = 50000;
  const QuantParams params{0.8960783f,
                           -128};  // 255 steps end at the middle of that bin, but for what a float leaves out
  CHECK(CountSums(*o, o->counts->halves[0]).error(params, form()) >= 0.0);
}

TEST_CASE("the best factor is that of the errors themselves") {
  for (const bool rectified : {false, true})
    for (const int bits : {4, 8})
      for (const double deviation : {0.3, 1.7}) {
        const auto o = observed(gaussian(30000, deviation, rectified));
        const QuantConfig config = form(bits);
        const Range seen = seen_range(*o);
        const auto range_of = [&seen](double f) { return scaled(seen, f); };
        RangeScore score(*o, config, rectified, nullptr);
        const double found = score.best_factor(
            4, 40, [&](const double* factors, double* errors) { score.add_both(factors, errors, range_of); });
        double best = 0.0, least = kInfinity;
        for (int i = 4; i <= 40; ++i) {
          const QuantParams params = params_of(range_of(i / 32.0), config, rectified);
          const double error = plain_error(*o, o->counts->halves[0], config, params) +
                               plain_error(*o, o->counts->halves[1], config, params);
          if (error < least) best = i / 32.0;
          least = std::min(least, error);
        }
        CHECK(found == best);
      }
}

TEST_CASE("the ends of least expected error are the published ones") {
  const double gaussian_ends[] = {1.71063519, 2.15159277, 2.55913646, 2.93620062,
                                  3.28691474, 3.6151146,  3.92403714};
  for (int bits = 2; bits <= 8; ++bits)
    CHECK(gaussian_end(std::ldexp(1.0, bits)) == doctest::Approx(gaussian_ends[bits - 2]).epsilon(1e-6));
  CHECK(laplacian_end(256) == doctest::Approx(9.89675982).epsilon(1e-7));
  CHECK(laplacian_end(16) == doctest::Approx(5.03).epsilon(2e-3));
}

TEST_CASE("ACIQ measures the spread and is never wider than the largest value") {
  const auto wide = observed(gaussian(200000, 2.0));
  const Range range = aciq_range(*wide, form(), false);
  CHECK(range.hi == doctest::Approx(2.0 * 3.92403714).epsilon(0.01));
  CHECK(range.lo == doctest::Approx(-2.0 * 3.92403714).epsilon(0.01));
  // Few values: the recipes that infer the spread from the largest one clip above it here.
  for (const size_t count : {4u, 30u, 100u}) {
    const auto few = observed(gaussian(count, 1.0));
    const Range seen = seen_range(*few), found = aciq_range(*few, form(), false);
    CHECK(found.hi <= seen.hi);
    CHECK(found.lo >= seen.lo);
  }
  // Twice as many images do not widen it.
  const auto more = observed(gaussian(400000, 2.0));
  CHECK(aciq_range(*more, form(), false).hi == doctest::Approx(range.hi).epsilon(0.01));
  // After a ReLU all codes are on one side: as 9 bits on both.
  const auto rectified = observed(gaussian(200000, 2.0, true));
  const Range one_sided = aciq_range(*rectified, form(), true);
  CHECK(one_sided.lo == 0.0);
  CHECK(one_sided.hi == doctest::Approx(2.0 * gaussian_end(512)).epsilon(0.03));
}

TEST_CASE("KL keeps what is even, and leaves out far single values only where codes gain by it") {
  Values even;
  for (int i = 0; i < 40000; ++i) even.push_back(static_cast<float>(i % 2000) / 2000.0f);
  CHECK(kl_range(*observed(even, kFineBins), form()).hi == seen_range(*observed(even)).hi);
  Values tailed = gaussian(200000, 1.0);
  tailed[100] = 60.0f;
  tailed[150000] = -75.0f;
  const Range range = kl_range(*observed(tailed, kFineBins), form());
  CHECK(range.hi < 40.0);
  CHECK(range.hi > 2.5);
  CHECK(-range.lo > 2.5);
  // The largest of equal ends: a few values that all have bins of their own.
  const Values few = {0.0f, 1.0f, 2.0f, 3.0f, 100.0f};
  CHECK(kl_range(*observed(few, kFineBins), form()).hi == 100.0);
}

TEST_CASE("KL: zeros have a code of their own and say nothing about the rest") {
  Values values = gaussian(40000, 1.0, true), zeros = values;
  zeros.insert(zeros.end(), 80000, 0.0f);
  CHECK(kl_range(*observed(values, kFineBins), form()).hi ==
        kl_range(*observed(zeros, kFineBins), form()).hi);
}

TEST_CASE("no method is wider than what was seen, nor past what is known; all hold zero") {
  const QuantConfig forms[] = {form(), form(4), form(8, true), form(6, true)};
  for (const auto& values :
       {gaussian(5000, 0.3), gaussian(5000, 70.0, true), Values{-3.0f, -2.0f}, Values{0.0f, 0.0f}})
    for (QuantConfig config : forms)
      for (const RangeMethod method :
           {RangeMethod::kPercentile, RangeMethod::kMse, RangeMethod::kKl, RangeMethod::kAciq}) {
        CAPTURE(static_cast<int>(method));
        config.observer = method;
        const auto o = observed(values);
        const Range seen = seen_range(*o), range = choose_range(*o, {-kInfinity, 50.0}, config, 0.999);
        CHECK(range.lo >= seen.lo);
        CHECK(range.hi <= std::min(seen.hi, 50.0));
        CHECK(range.lo <= 0.0);
        CHECK(range.hi >= 0.0);
      }
}

TEST_CASE("MSE is scored on the grid that will be: never worse than min-max, for any bits and policy") {
  for (const int32_t bits : {3, 4, 8})
    for (const bool symmetric : {false, true}) {
      Values values = gaussian(20000, 1.0);
      values[3] = 9.0f;
      QuantConfig config = form(bits, symmetric);
      const auto o = observed(values);
      config.observer = RangeMethod::kMse;
      const Range range = choose_range(*o, {-kInfinity, kInfinity}, config, 1.0);
      CHECK(error_of(*o, range, config) <= error_of(*o, seen_range(*o), config));
      if (bits == 4) CHECK(error_of(*o, range, config) < 0.5 * error_of(*o, seen_range(*o), config));
    }
}

TEST_CASE(
    "a head's vector: the largest that 256 samples are expected to show, the shorter end half the longer") {
  const Bounds free{-kInfinity, kInfinity};
  const auto of_peaks = [](const Values& peaks) {
    auto observer = std::make_unique<OwnObserver>();
    const auto spare = std::make_unique<OwnObserver>();
    for (const float peak : peaks) {
      const float pair[] = {-0.1f * peak, peak};
      const Span<const float> sample{pair, 2};
      observe(*observer, sample, 0, {observe_f32_best(cpu_isa()), *spare});
    }
    return observer;
  };
  // One sample: a spread of 0.6 octaves.
  Range range = vector_range(*of_peaks({8.0f}), free);
  CHECK(range.hi == doctest::Approx(8.0 * std::exp2(0.6 * 2.82683)));
  CHECK(range.lo == -0.5 * range.hi);
  // Four samples: the measured spread counts for three parts of seven.
  const double logs[] = {0.0, 1.0, 2.0, 3.0}, mean = 1.5;
  double variance = 0.0;
  for (const double log : logs) variance += (log - mean) * (log - mean) / 3.0;
  const auto four = of_peaks({1.0f, 2.0f, 4.0f, 8.0f});
  CHECK(four->peaks[1].variance() == doctest::Approx(variance));
  const double spread = std::sqrt((4.0 * 0.36 + 3.0 * variance) / 7.0);
  range = vector_range(*four, free);
  CHECK(range.hi == doctest::Approx(8.0 * std::exp2(spread * (2.82683 - 1.02938))));
  range = vector_range(*four, {-1.0, 9.0});
  CHECK(range.lo == -1.0);
  CHECK(range.hi == 9.0);
  // Many that agree: what was seen.
  range = vector_range(*of_peaks(Values(300, 8.0f)), free);
  CHECK(range.hi == 8.0);
  range = vector_range(*of_peaks({0.0f, 0.0f}), free);
  CHECK(range.hi == 0.0);
}

}  // namespace intaglio::test::range_models_test
