// Range methods beside their definitions, computed anew the plain way: KL, ACIQ, percentile, MSE, the room that
// auto leaves, probes and the vectors of a head.
#include <cmath>
#include <functional>
#include <limits>

#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/range_score.h"
#include "calibrator/ranges/ranges.h"
#include "tests/support/observed.h"
#include "tests/support/random.h"

namespace intaglio::test::range_definition_test {
namespace {

using Values = std::vector<float>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bounds kFree{-kInfinity, kInfinity};

Values skewed(Random& random, size_t count, float below, float above) {
  Values values;
  for (size_t i = 0; i < count; ++i) {
    const float normal = random.real(-1, 1) + random.real(-1, 1) + random.real(-1, 1);
    values.push_back(normal < 0.0f ? below * normal : above * normal * normal);
  }
  return values;
}

QuantConfig form(int32_t bits, RangeMethod method = RangeMethod::kMinMax, bool symmetric = false) {
  QuantConfig config;
  config.observer = method;
  if (symmetric) config.policy = policy::kPerTensor | policy::kLinear | policy::kSymmetric;
  REQUIRE(set_bits(config, bits).ok());
  return config;
}

double in_bin(const TensorObserver& o, int32_t bin) {
  return static_cast<double>(o.counts->halves[0].counts[bin]) + o.counts->halves[1].counts[bin];
}

}  // namespace

TEST_CASE("KL: the least divergence by its definition") {
  Random random(4);
  int32_t clipped = 0;
  for (int32_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    Values values =
        skewed(random, 6000, i % 3 == 2 ? 0.0f : random.real(0.2f, 3.0f), random.real(0.2f, 1.0f));
    for (float& x : values) x = i % 3 == 2 ? std::fabs(x) : x;
    for (int32_t far = random.between(0, 4); far > 0; --far) {
      const float end = random.real(5.0f, 60.0f);
      values.push_back(i % 3 == 1 ? -end : end);
    }
    const auto o = observed({values, {0.5f}}, {}, kFineBins);
    const QuantConfig config = form(i % 2 == 0 ? 8 : 4);
    const int32_t zero = o->two_sided != 0 ? kFineBins / 2 : 0;
    std::vector<double> p;
    p.reserve(kFineBins);  // of |x|, without the bins at zero, which come first
    for (int32_t bin = 0; bin < kFineBins - zero; ++bin)
      p.push_back(bin == 0 ? 0.0 : in_bin(*o, zero + bin) + (zero > 0 ? in_bin(*o, zero - 1 - bin) : 0.0));
    while (p.back() == 0.0) p.pop_back();
    const auto end = static_cast<int32_t>(p.size());
    const double all_codes = static_cast<double>(config.hi) - config.lo;
    const auto codes = static_cast<int32_t>(std::lround(zero > 0 ? all_codes / 2 : all_codes));
    double least_possible = 0.0;  // each bin told apart
    for (const double n : p) least_possible -= n > 0.0 ? n * std::log2(n) : 0.0;
    const auto divergence = [&](int32_t kept) {
      double tail = 0.0, sum = 0.0;
      for (int32_t bin = kept; bin < end; ++bin) tail += p[static_cast<size_t>(bin)];
      for (int32_t code = 0; code < codes; ++code) {
        const int32_t first = code * kept / codes, last = (code + 1) * kept / codes;
        double mass = 0.0, filled = 0.0;
        for (int32_t bin = first; bin < last; ++bin) {
          mass += p[static_cast<size_t>(bin)];
          filled += p[static_cast<size_t>(bin)] > 0.0 ? 1.0 : 0.0;
        }
        const double lands = mass + (code == codes - 1 ? tail : 0.0);
        if (mass > 0.0) sum -= mass * std::log2(lands / filled);
      }
      return sum + 40.0 * tail;
    };
    const auto best_of = [&](int32_t from, int32_t to, int32_t stride) {  // the widest of the best
      int32_t best = from;
      for (int32_t kept = from - stride; kept >= to; kept -= stride)
        if (divergence(kept) < divergence(best) - 1e-7) best = kept;
      return best;
    };
    const int32_t coarse = best_of(end, codes, 16);
    const int32_t best = best_of(std::min(end, coarse + 15), std::max(codes, coarse - 15), 1);
    // Little is lost by the ends that are not tried.
    const int32_t best_of_all = best_of(end, codes, 1);
    const auto above_finest = [&](int32_t kept) { return divergence(kept) - least_possible; };
    CHECK(above_finest(best) <= 1.1 * above_finest(best_of_all));
    const Range seen = seen_range(*o), found = kl_range(*o, config);
    const double limit = best == end ? kInfinity : best * o->bin_width();
    clipped += best < end ? 1 : 0;
    CHECK(found.hi == std::min(seen.hi, limit));
    CHECK(found.lo == std::max(seen.lo, -limit));
  }
  CHECK(clipped >= 6);
}

TEST_CASE("ACIQ: the measured spread, by its definition") {
  Random random(9);
  int32_t of_laplace = 0;
  for (int32_t i = 0; i < 40; ++i) {
    CAPTURE(i);
    const bool laplace = i % 2 == 0, one_sided = i % 3 == 0, symmetric = i % 5 == 0;
    const float scale = std::ldexp(1.0f, random.between(-9, 9));
    const float shift = i % 4 == 1 ? scale : 0.0f;
    Values values;
    for (int32_t k = 0; k < 3000; ++k) {
      float x = random.real(-1, 1) + random.real(-1, 1) + random.real(-1, 1);
      if (laplace) x = std::log(random.real(1e-6f, 1.0f)) * (random.one_in(2) ? 1.0f : -1.0f);
      values.push_back(one_sided ? std::fabs(x * scale) : x * scale + shift);
    }
    if (!one_sided) values.push_back(-16.0f * scale);  // starts the first bin
    const auto o = observed({values});
    const QuantConfig config = form(8, RangeMethod::kAciq, symmetric);
    double count = 0.0, sum = 0.0;
    const auto each = [&](const std::function<void(double, double)>& visit) {
      for (int32_t bin = o->two_sided != 0 ? 0 : 1; bin < kBins; ++bin)
        visit(in_bin(*o, bin), o->bin_start(bin) + o->bin_width() / 2);
    };
    each([&](double n, double x) {
      count += n;
      sum += n * x;
    });
    const double center = one_sided || symmetric ? 0.0 : sum / count;
    double mean = 0.0, square = 0.0;
    each([&](double n, double x) {
      mean += n * std::fabs(x - center) / count;
      square += n * (x - center) * (x - center) / count;
    });
    const double deviation = std::sqrt(square), gauss = std::sqrt(2 / 3.14159265358979),
                 laplacian = std::sqrt(0.5);
    const bool is_laplacian = mean / deviation < (gauss + laplacian) / 2;
    of_laplace += is_laplacian ? 1 : 0;
    for (const bool non_negative : {false, true}) {
      const double codes = static_cast<double>(config.hi) - config.lo + 1;
      const double steps = one_sided && (non_negative || !symmetric) ? 2 * codes : codes;
      const double end = is_laplacian ? mean * laplacian_end(steps) : deviation * gaussian_end(steps);
      const Range seen = seen_range(*o), found = aciq_range(*o, config, non_negative);
      CHECK(found.hi == doctest::Approx(std::min(seen.hi, center + end)).epsilon(1e-9));
      CHECK(found.lo ==
            doctest::Approx(std::max(seen.lo, std::min(0.0, one_sided ? 0.0 : center - end))).epsilon(1e-9));
    }
  }
  CHECK(of_laplace > 10);
  CHECK(of_laplace < 30);
  const Range flat = aciq_range(*observed({Values(50, -3.0f)}), form(8), false);
  CHECK(flat.lo == -3.0);
  CHECK(flat.hi == 0.0);
}

TEST_CASE("percentile: whole bins, by its definition") {
  Random random(12);
  for (int32_t i = 0; i < 30; ++i) {
    CAPTURE(i);
    std::vector<Values> samples = {skewed(random, 1500, i % 2 == 0 ? 1.0f : 0.0f, 2.0f),
                                   skewed(random, 500, 0.0f, 1.0f)};
    for (Values& sample : samples)
      for (float& x : sample) x = i % 2 == 0 ? x : std::fabs(x);
    const auto o = observed(samples);
    for (const double share : {0.6, 0.9, 0.99, 0.999, 1.0}) {
      std::vector<int32_t> bins;  // of each value, sorted
      for (int32_t bin = 0; bin < kBins; ++bin)
        bins.insert(bins.end(), static_cast<size_t>(in_bin(*o, bin)), bin);
      REQUIRE(bins.size() == 2000);
      // As many as may go on each side; the bin of the first that stays.
      const auto spare = static_cast<size_t>(std::floor(2000.0 * (1.0 - share) / 2.0));
      const double lo = share == 1.0 && o->two_sided == 0 ? 0.0 : o->bin_start(bins[spare]);
      const double hi = o->bin_start(bins[bins.size() - 1 - spare]) + o->bin_width();
      const Range seen = seen_range(*o);
      const Range found = choose_range(*o, kFree, form(8, RangeMethod::kPercentile), share);
      CHECK(found.lo == std::min(0.0, std::max(seen.lo, lo)));
      CHECK(found.hi == std::max(0.0, std::min(seen.hi, hi)));
    }
  }
}

TEST_CASE("MSE: the least error of the factors that it tries; auto: the same with room") {
  Random random(15);
  const auto error = [](const TensorObserver& o, const QuantConfig& config, const Range& range, int32_t half,
                        bool non_negative) {
    QuantParams params[kTrials];
    for (QuantParams& one : params) one = params_of(range, config, non_negative);
    double errors[kTrials];
    quantization_errors(o, o.counts->halves[half], config, params, errors);
    return errors[0];
  };
  const auto best = [](int32_t first, int32_t last, const std::function<double(double)>& score) {
    double factor = 1.0, least = kInfinity;
    for (int32_t i = first; i <= last; ++i)
      if (score(i / 32.0) < least) {
        least = score(i / 32.0);
        factor = i / 32.0;
      }
    return factor;
  };
  for (int32_t i = 0; i < 40; ++i) {
    CAPTURE(i);
    const bool one_sided = i % 3 == 0;
    std::vector<Values> samples = {skewed(random, 400, one_sided ? 0.0f : 1.0f, 0.5f),
                                   skewed(random, 300, one_sided ? 0.0f : 0.4f, random.real(0.2f, 1.5f))};
    for (Values& sample : samples)
      for (float& x : sample) x = one_sided ? std::fabs(x) : x;
    const auto o = observed(samples);
    const QuantConfig config = form(i % 2 == 0 ? 4 : 3, RangeMethod::kMse, i % 5 == 0);
    const Range seen = seen_range(*o);
    const Bounds bounds{one_sided ? 0.0 : -kInfinity, kInfinity};
    const auto both = [&](const Range& range) {
      return error(*o, config, range, 0, one_sided) + error(*o, config, range, 1, one_sided);
    };
    const double whole = best(6, 32, [&](double f) { return both({seen.lo * f, seen.hi * f}); });
    Range expected{seen.lo * whole, seen.hi * whole};
    if (!one_sided) {
      expected.lo = seen.lo * best(1, 32, [&](double f) { return both({seen.lo * f, expected.hi}); });
      expected.hi = seen.hi * best(1, 32, [&](double f) { return both({expected.lo, seen.hi * f}); });
    }
    const Range found = choose_range(*o, bounds, config, 1.0);
    CHECK(found.lo == expected.lo);
    CHECK(found.hi == expected.hi);

    // Auto: the same, with the room of two samples.
    QuantConfig roomy = config;
    roomy.observer = RangeMethod::kAuto;
    const Range wide = choose_range(*o, bounds, roomy, 1.0);
    CHECK(wide.lo == doctest::Approx(found.lo * std::exp2(1.0 / std::sqrt(3.0))));
    CHECK(wide.hi == doctest::Approx(found.hi * std::exp2(1.0 / std::sqrt(3.0))));
    CHECK(choose_range(*o, {0.0, found.hi * 1.1}, roomy, 1.0).hi == found.hi * 1.1);
  }
}

TEST_CASE(
    "a function behind a tensor: errors are those of its value, and what it does not tell apart needs no codes") {
  FunctionBehind behind;
  std::vector<float> value(kBins), weight(kBins);
  behind.value = {value.data(), value.size()};
  behind.weight = {weight.data(), weight.size()};
  const auto put = [&behind](double (*function)(const NodeOptions&, double), const TensorObserver& o) {
    behind.function = function;
    look_behind(o, behind);
  };
  const auto hard_swish = [](const NodeOptions&, double x) {
    return x * std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0;
  };
  const auto hard_sigmoid = [](const NodeOptions&, double x) {
    return std::min(std::max(x / 6.0 + 0.5, 0.0), 1.0);
  };
  const auto magnitude = [](const NodeOptions&, double x) { return std::fabs(x); };
  Random random(21);
  Values values;
  for (int32_t i = 0; i < 4000; ++i) values.push_back(random.real(-100.0f, 12.0f));
  const auto o = observed({values, values});
  const double width = o->bin_width();

  put(hard_swish, *o);
  CHECK(told_apart(*o, behind).lo == doctest::Approx(-3.0).epsilon(0.02));
  CHECK(told_apart(*o, behind).hi == doctest::Approx(12.0).epsilon(0.02));
  put(hard_sigmoid, *o);
  CHECK(told_apart(*o, behind).lo == doctest::Approx(-3.0).epsilon(0.02));
  CHECK(told_apart(*o, behind).hi == doctest::Approx(3.0).epsilon(0.02));
  put(magnitude, *o);
  CHECK(told_apart(*o, behind).lo < -99.0);
  CHECK(told_apart(*o, behind).hi > 11.0);

  // By its definition: each value through its code, and then through the function.
  put(hard_swish, *o);
  const QuantConfig config = form(8);
  for (const Range& range : {Range{-3.0, 12.0}, Range{-100.0, 12.0}, Range{-3.0, 6.0}}) {
    QuantParams params[kTrials];
    for (QuantParams& one : params) one = params_of(range, config, false);
    double errors[kTrials], plain[kTrials], expected = 0.0;
    quantization_errors(*o, o->counts->halves[0], config, params, errors, &behind);
    quantization_errors(*o, o->counts->halves[0], config, params, plain);
    for (int32_t bin = 0; bin < kBins; ++bin)
      for (int32_t part = 0; part < 16; ++part) {
        const double x = o->bin_start(bin) + width * (part + 0.5) / 16;
        const double step = static_cast<double>(params[0].scale);
        const double held = (quantize_value(static_cast<float>(x), params[0]) - params[0].zero_point) * step;
        const double difference = hard_swish({}, x) - hard_swish({}, held);
        expected += o->counts->halves[0].counts[bin] * difference * difference / 16;
      }
    CAPTURE(range.lo);
    CAPTURE(range.hi);
    CHECK(errors[0] == doctest::Approx(expected).epsilon(0.15));
    if (range.lo == -3.0) CHECK(plain[0] > 100.0 * errors[0]);
  }
}

TEST_CASE("auto: the room that n samples leave to others, whichever half they belong to") {
  auto o = observed({{2.0f}, {2.0f}});
  for (const auto& [first, second] :
       {std::pair{1u, 0u}, {0u, 1u}, {1u, 1u}, {4u, 0u}, {3u, 13u}, {32u, 32u}}) {
    o->samples[0] = first;
    o->samples[1] = second;
    CHECK(room_of(*o) == doctest::Approx(std::exp2(1.0 / std::sqrt(first + second + 1.0))));
  }
}

TEST_CASE("what probes reach counts for 8 of n samples, on a scale of logarithms") {
  const auto range = [](float seen, float reached, uint32_t samples, const Bounds& bounds = kFree) {
    auto o = observed({{seen}});
    o->samples[0] = samples - samples / 3;
    o->samples[1] = samples / 3;
    add_probe(*o, {std::min(reached, 0.0f), std::max(reached, 0.0f), true});
    const Range own = seen < 0.0f ? Range{seen, 0.0} : Range{0.0, seen};
    const Range found = with_probes(own, *o, bounds);
    return seen < 0.0f || reached < 0.0f ? -found.lo : found.hi;
  };
  const double reach = 1.3 * static_cast<double>(8.0f);
  for (const float sign : {1.0f, -1.0f}) {
    CHECK(range(sign * 2.0f, sign * 8.0f, 1) == doctest::Approx(reach));
    CHECK(range(sign * 2.0f, sign * 8.0f, 8) == doctest::Approx(reach));
    CHECK(range(sign * 2.0f, sign * 8.0f, 9) == doctest::Approx(2.0 * std::pow(reach / 2.0, 8.0 / 9)));
    CHECK(range(sign * 2.0f, sign * 8.0f, 16) == doctest::Approx(2.0 * std::sqrt(reach / 2.0)));
    CHECK(range(sign * 2.0f, sign * 1.0f, 1) == 2.0);
    CHECK(range(sign * 2.0f, sign * 1.0f, 16) == 2.0);
    CHECK(range(0.0f, sign * 8.0f, 16) == doctest::Approx(reach / 2));
  }
  const auto of_head = [](uint32_t samples) {
    auto o = observed({{2.0f}});
    o->samples[0] = samples;
    add_probe(*o, {0.0f, 8.0f, true});
    return with_probes({0.0, 2.0}, *o, kFree, true).hi;
  };
  for (const uint32_t n : {1u, 4u}) CHECK(of_head(n) == doctest::Approx(reach));
  CHECK(of_head(5) == doctest::Approx(2.0 * std::pow(reach / 2.0, 0.75)));
  CHECK(of_head(7) == doctest::Approx(2.0 * std::pow(reach / 2.0, 0.25)));
  for (const uint32_t n : {8u, 16u}) CHECK(of_head(n) == 2.0);
  CHECK(range(2.0f, 8.0f, 4, {0.0, 6.0}) == 6.0);
  CHECK(range(2.0f, 8.0f, 16, {0.0, 6.0}) == doctest::Approx(2.0 * std::sqrt(3.0)));
}

TEST_CASE("a head's vector: any number of samples, both ends") {
  // Expected largest of normal deviates, by powers of two.
  const double largest[] = {0.0, 0.56419, 1.02938, 1.42360, 1.76599, 2.06967, 2.34373, 2.59460, 2.82683};
  for (const uint32_t n : {1u, 2u, 3u, 5u, 7u, 12u, 100u, 255u, 256u, 400u}) {
    CAPTURE(n);
    const auto o = observed({{4.0f, -16.0f}});
    for (PeakSums& peaks : o->peaks) {  // that do not differ
      const PeakSums one = peaks;
      for (uint32_t i = 1; i < n; ++i) peaks.add(one);
    }
    uint32_t octave = 0;
    while (octave < 8 && (2u << octave) <= n) ++octave;
    const double z = octave == 8 ? largest[8]
                                 : largest[octave] + (static_cast<double>(n) / (1u << octave) - 1.0) *
                                                         (largest[octave + 1] - largest[octave]);
    const double room = std::exp2(std::sqrt(4.0 * 0.36 / (4.0 + n - 1.0)) * (largest[8] - z));
    Range range = vector_range(*o, kFree);
    CHECK(range.lo == doctest::Approx(-16.0 * room));
    CHECK(range.hi == doctest::Approx(8.0 * room));  // half the other
    range = vector_range(*o, {-20.0, 1.0});
    CHECK(range.lo == doctest::Approx(std::max(-20.0, -16.0 * room)));
    CHECK(range.hi == 1.0);
  }
}

TEST_CASE("errors of many steps are those of the plain quotient, to the bit") {
  Random random(3);
  const auto o = observed({skewed(random, 20000, 1.0f, 1.0f)});
  const double width = o->bin_width();
  const QuantConfig config = form(8);
  for (int32_t i = 1; i < 400; ++i) {
    QuantParams params[kTrials];
    for (int32_t t = 0; t < kTrials; ++t)
      params[t] = {static_cast<float>(width * (0.25 + i * (t == 0 ? 1.0 : 0.37 * t))), i % 7 - 3};
    double errors[kTrials];
    quantization_errors(*o, o->counts->halves[0], config, params, errors);
    for (int32_t t = 0; t < kTrials; ++t) {
      const double step = static_cast<double>(params[t].scale);
      const double lo = step * (static_cast<double>(config.lo) - params[t].zero_point),
                   hi = step * (static_cast<double>(config.hi) - params[t].zero_point);
      double sum = 0.0;
      for (int32_t bin = 0; bin < kBins; ++bin) {
        const double x = o->bin_start(bin) + width / 2, off = x - std::nearbyint(x / step) * step;
        double e = width >= step ? step * step / 12 : off * off + width * width / 12;
        if (x < lo) e = (x - lo) * (x - lo);
        if (x > hi) e = (x - hi) * (x - hi);
        sum += e * o->counts->halves[0].counts[bin];
      }
      CHECK(errors[t] == sum);
    }
  }
}

}  // namespace intaglio::test::range_definition_test
