// Observers beside their definition, computed anew the plain way: long tensors in pieces, ends of bins, faults.
#include <cmath>
#include <limits>

#include "tests/support/observed.h"

namespace intaglio::test::observer_definition_test {
namespace {

using Values = std::vector<float>;

// The bins of one sample, from zero, that a histogram of its own would have.
struct OwnBins {
  int32_t exponent = kMinExponent, zero = 0;
  std::vector<int32_t> bins;

  OwnBins(const Values& sample, size_t stride) {
    double low = 0.0, high = 0.0;
    for (const float x : sample) {
      low = std::min(low, static_cast<double>(x));
      high = std::max(high, static_cast<double>(x));
    }
    zero = low < 0.0 ? kBins / 2 : 0;
    while (low < -zero * std::ldexp(1.0, exponent) || high >= (kBins - zero) * std::ldexp(1.0, exponent))
      ++exponent;
    for (size_t at = 0; at < sample.size(); at += stride)
      bins.push_back(
          static_cast<int32_t>(std::floor(std::ldexp(static_cast<double>(sample[at]), -exponent))));
  }
  int32_t level() const {
    double squares = 0.0;
    for (const int32_t bin : bins) squares += (bin + 0.5) * (bin + 0.5);
    return static_cast<int32_t>(
        std::floor(std::log2(squares / static_cast<double>(bins.size())) / 2.0 + exponent));
  }
};

size_t stride_of(const Values& sample) {
  const size_t quotient = sample.size() / 65536;
  return quotient + (quotient % 2 == 0 ? 1 : 0);
}

bool is_zero(const Values& sample) {
  return std::all_of(sample.begin(), sample.end(), [](float x) { return x == 0.0f; });
}

// By the definition of a histogram: of all samples at once.
std::unique_ptr<OwnObserver> defined(const std::vector<Values>& samples) {
  auto o = std::make_unique<OwnObserver>();
  double min = 0.0, max = 0.0;
  for (size_t i = 0; i < samples.size(); ++i) {
    ++o->samples[i % 2];
    float low = 0.0f, high = 0.0f;
    for (const float x : samples[i]) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
    o->min[i % 2] = std::min(o->min[i % 2], low);
    o->max[i % 2] = std::max(o->max[i % 2], high);
    o->peaks[0].add(-low);
    o->peaks[1].add(high);
    min = std::min(min, static_cast<double>(low));
    max = std::max(max, static_cast<double>(high));
  }
  o->two_sided = min < 0.0 ? 1 : 0;
  const int32_t zero = o->two_sided != 0 ? kBins / 2 : 0;
  while (min < -zero * std::ldexp(1.0, o->exponent) || max >= (kBins - zero) * std::ldexp(1.0, o->exponent))
    ++o->exponent;
  for (const Values& sample : samples)
    if (!is_zero(sample))
      o->counts->levels.highest =
          std::max(o->counts->levels.highest, OwnBins(sample, stride_of(sample)).level());
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool zeros = is_zero(samples[i]);
    const int32_t level =
        zeros ? 0 : o->counts->levels.highest - OwnBins(samples[i], stride_of(samples[i])).level();
    for (size_t at = 0; at < samples[i].size(); at += stride_of(samples[i])) {
      const auto bin =
          static_cast<int32_t>(std::floor(std::ldexp(static_cast<double>(samples[i][at]), -o->exponent)));
      ++o->counts->halves[i % 2].counts[zero + bin];
      if (zeros)
        ++o->counts->levels.zeros[i % 2];
      else if (level < kPowerLevels)
        ++o->counts->halves[i % 2].levels[level][(zero + bin) / (kBins / kBlocks)];
    }
  }
  return o;
}

// Every stretch of the tensor has values of its own, so that a wrong place is a wrong count.
Values ramp(size_t count, float lo, float hi) {
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = lo + (hi - lo) * static_cast<float>((i * 2654435761u) % 1000003u) / 1000003.0f *
                         (0.25f + 0.75f * static_cast<float>(i) / static_cast<float>(count));
  return values;
}

}  // namespace

TEST_CASE("long tensors, whatever the pieces they come in") {
  for (const size_t count :
       {1u, 8191u, 8192u, 8193u, 65535u, 65536u, 131071u, 131072u, 200001u, 262144u, 458752u, 983041u})
    for (const float lo : {0.0f, -0.7f}) {
      CAPTURE(count);
      CAPTURE(lo);
      const std::vector<Values> samples = {ramp(count, lo, 3.1f)};
      const auto expected = defined(samples);
      CHECK(same(*observed(samples), *expected));
      CHECK(same(*observed(samples, {1000, 1, 8192, 30011, 2}), *expected));
    }
  const std::vector<Values> samples = {ramp(300000, -0.01f, 0.02f), ramp(70000, 0.0f, 100.0f),
                                       ramp(140000, -5.0f, 1.0f)};
  CHECK(same(*observed(samples, {777}), *defined(samples)));
}

TEST_CASE("ends at powers of two, where bins double and the second side is made") {
  const float tiny = std::ldexp(1.0f, -70);
  const std::vector<std::vector<Values>> lists = {
      {{1.0f, 0.5f}, {-0.001f}},
      {{1.0f}, {0.25f, -1.0f}},
      {{-1.0f}, {1.0f}},
      {{-1.0f, 0.999f}, {}},
      {{2047.0f}, {2048.0f}, {4096.0f}},
      {{1023.0f}, {-1.0f}},
      {{1024.0f, 3.0f}, {-1024.0f}, {-1025.0f}},
      {{std::nextafter(1.0f, 0.0f)}, {-0.5f}, {-2.0f}},
      {{std::nextafter(1.0f, 2.0f)}, {-0.5f}},
      {{tiny, -tiny}, {0.0f}},
      {{tiny}, {1e30f}, {-1e38f}},
      {{3.0f}, {-1e-20f}, {1e20f}},
      {{0.0f, -0.0f}, {}},
  };
  for (size_t i = 0; i < lists.size(); ++i) {
    CAPTURE(i);
    const auto o = observed(lists[i]);
    CHECK(same(*o, *defined(lists[i])));
    auto fitted = std::make_unique<OwnObserver>(*o);
    fitted->exponent = 99;
    fitted->two_sided = 7;
    fit_bins(*fitted);
    CHECK(same(*fitted, *o));
    for (size_t cut = 0; cut <= lists[i].size(); cut += 2) {  // halves go by index
      const auto from = lists[i].begin() + static_cast<std::ptrdiff_t>(cut);
      const auto left = observed({lists[i].begin(), from}), right = observed({from, lists[i].end()});
      merge(*left, *right);
      CHECK(same(*left, *o));
      const auto other = observed({lists[i].begin(), from});
      merge(*right, *other);
      CHECK(same(*right, *o));
    }
  }
}

TEST_CASE("a value that is not finite, wherever it stands") {
  const auto spare = std::make_unique<OwnObserver>();
  const ObserverTools tools{observe_f32_best(cpu_isa()), *spare};
  for (const size_t at : {0u, 8191u, 8192u, 19999u}) {
    Values values = ramp(20000, -1.0f, 1.0f);
    CHECK(first_non_finite({values.data(), values.size()}) == -1);
    values[at] = std::numeric_limits<float>::infinity();
    values.back() = std::numeric_limits<float>::quiet_NaN();
    CHECK(first_non_finite({values.data(), values.size()}) == static_cast<int64_t>(at));
    auto observer = std::make_unique<OwnObserver>();
    CHECK(!observe(*observer, {values.data(), values.size()}, 0, tools));
    TensorPass look(nullptr, values.size(), 0, tools);
    CHECK(!look.add({values.data(), values.size()}));
    look.finish();
  }
  Values good = {1.0f, -3.4e38f};
  TensorPass look(nullptr, 2, 0, tools);
  CHECK(look.add({good.data(), 2}));
  CHECK(first_non_finite({}) == -1);
}

TEST_CASE("the spread of peaks, probes and merges of both") {
  PeakSums two;
  two.add(2.0f);
  CHECK(two.variance() == 0.0);
  two.add(8.0f);
  CHECK(two.variance() == doctest::Approx(2.0));  // of 1 and 3
  two.add(0.0f);
  two.add(-1.0f);
  CHECK(two.count == 2);
  PeakSums third;
  third.add(32.0f);
  two.add(third);
  CHECK(two.count == 3);
  CHECK(two.variance() == doctest::Approx(4.0));  // of 1, 3 and 5
  auto a = observed({{1.0f}}), b = observed({{2.0f}});
  add_probe(*a, {-1.0f, 3.0f, true});
  add_probe(*a, {-0.5f, 4.0f, true});
  add_probe(*b, {-2.0f, 1.0f, true});
  CHECK(a->probe_min == -1.0f);
  CHECK(a->probe_max == 4.0f);
  merge(*b, *a);
  CHECK(b->probe_min == -2.0f);
  CHECK(b->probe_max == 4.0f);
}

}  // namespace intaglio::test::observer_definition_test
