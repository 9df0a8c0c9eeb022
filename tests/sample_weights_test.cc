// Samples weighed by their power: weights by the definition, and what they do to a range.
#include "calibrator/ranges/observed_range.h"

#include "calibrator/ranges/ranges.h"
#include "tests/support/observed.h"
#include "tests/support/random.h"

namespace intaglio::test::sample_weights_test {
namespace {

using Values = std::vector<float>;

// `count` values of one magnitude: all in one bin, at the root mean square of the sample.
Values constant(size_t count, float value) { return Values(count, value); }

uint32_t count_at(const TensorObserver& o, int32_t half, float value) {
  const auto bin = static_cast<int32_t>(static_cast<double>(value) / o.bin_width());
  return o.counts->halves[half].counts[bin + (o.two_sided != 0 ? kBins / 2 : 0)];
}

Range auto_range(const TensorObserver& o) {
  const Bounds free{-1e30, 1e30};
  return choose_range(o, free, QuantConfig(), 0.9999);
}

}  // namespace

TEST_CASE("an octave less of root mean square is four times the weight, 64 times at most") {
  // Halves in turn: 1.5 and 0.75 and so on in the first, 3 in the second.
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<Values> samples;
    for (const float value : {1.5f, 3.0f, 0.75f, 3.0f, 0.375f, 3.0f, 0.1875f, 3.0f, 0.046875f, 3.0f})
      samples.push_back(constant(10, sign * value));
    const auto o = observed(samples);
    weigh_samples(*o);
    CHECK(count_at(*o, 1, sign * 3.0f) == 50);
    CHECK(count_at(*o, 0, sign * 1.5f) == 40);
    CHECK(count_at(*o, 0, sign * 0.75f) == 160);
    CHECK(count_at(*o, 0, sign * 0.375f) == 640);
    // In one block, and both at the least weight but one and below.
    CHECK(count_at(*o, 0, sign * 0.1875f) == 640);
  }
}

TEST_CASE("values of a block share their mean weight; samples of zeros alone have none") {
  const std::vector<Values> samples = {constant(30, 1.0f), {}, constant(1000, 0.0f), {}, constant(10, 0.01f)};
  const auto o = observed(samples);
  CHECK(o->counts->levels.zeros[0] == 1000);
  weigh_samples(*o);
  CHECK(count_at(*o, 0, 1.0f) == 30);
  // The block at zero holds the ten values alone: each weighs 64.
  CHECK(count_at(*o, 0, 0.01f) == 640);
}

TEST_CASE("one sample's counts stay, and so do those of samples of one level") {
  Random random(3);
  const std::vector<std::vector<Values>> lists = {
      {random.reals(5000, -1.0f, 2.0f)},
      {constant(7, 0.0f)},
      {{}},
      {random.reals(50, 0.0f, 1.9f), random.reals(50, 0.0f, 1.8f)}};
  for (const auto& samples : lists) {
    const auto o = observed(samples);
    auto weighed = std::make_unique<OwnObserver>(*o);
    weigh_samples(*weighed);
    CHECK(same(*weighed->counts, *o->counts));
  }
}

TEST_CASE("a count past 32 bits is as much as fits") {
  const auto o = observed({constant(4, 8.0f), {}, constant(5, 0.5f)});
  const int32_t bin = static_cast<int32_t>(0.5 / o->bin_width());
  o->counts->halves[0].counts[bin] = 0xf0000000u;
  weigh_samples(*o);
  CHECK(o->counts->halves[0].counts[bin] == 0xffffffffu);
}

TEST_CASE("a sample that reaches far decides less of the range") {
  Random random(9);
  std::vector<Values> samples;
  for (int32_t i = 0; i < 16; ++i) samples.push_back(random.reals(4000, -1.0f, 1.0f));
  const double usual = auto_range(*observed(samples, {}, kFineBins)).hi;
  for (float& value : samples[5]) value *= 256.0f * value * value * value * value;  // a long tail
  const auto o = observed(samples, {}, kFineBins);
  const double plain = auto_range(*o).hi;
  weigh_samples(*o);
  const double weighed = auto_range(*o).hi;
  CHECK(plain > 8.0 * usual);
  CHECK(weighed < 0.85 * plain);
}

}  // namespace intaglio::test::sample_weights_test
