// Every kernel of normalized groups of codes beside the scalar one, tolerance 0: random shapes at guard pages, ends of the codes,
// and numbers that vectors take otherwise (subnormal, infinite, NaN).
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/normalize/normalize_groups.h"
#include "tests/support/random.h"

namespace intaglio::test::normalize_kernels_test {
namespace {

using test::Exact;
using test::Random;

struct Case {
  NormalizeGroups groups;
  float epsilon, root_epsilon, reciprocal_scale, most_factor, factor_size, summand_size;
  int32_t zero_point, z_out, lo, hi;
};

template <typename T>
struct Codes;
template <>
struct Codes<int8_t> {
  static constexpr int32_t kLeast = -128, kMost = 127, kScratch = kNormalizeBytesS8;
  static NormalizeFunction* function(const NormalizeKernel& kernel) { return kernel.s8; }
};
template <>
struct Codes<int16_t> {
  static constexpr int32_t kLeast = -32768, kMost = 32767, kScratch = kNormalizeBytesS16;
  static NormalizeFunction* function(const NormalizeKernel& kernel) { return kernel.s16; }
};

template <typename T>
void compare(Random& random, const Case& c) {
  const NormalizeGroups g = c.groups;
  const int32_t channels = g.groups * g.depth;
  const size_t count =
      static_cast<size_t>(g.places - 1) * static_cast<size_t>(g.stride) + static_cast<size_t>(channels);
  Exact<T> x(count), y(count), expected(count);
  Exact<float> scale(random.reals(static_cast<size_t>(channels), -c.most_factor, c.most_factor)),
      shift(random.reals(static_cast<size_t>(channels), -1.0f, 1.0f));
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] *= c.factor_size;
    shift[i] *= c.summand_size;
  }
  // Ends of the codes alone, all codes alike, or any.
  const int32_t kind = random.between(0, 4), one = random.between(Codes<T>::kLeast, Codes<T>::kMost);
  for (size_t i = 0; i < count; ++i) {
    const int32_t any = random.between(Codes<T>::kLeast, Codes<T>::kMost);
    const int32_t end = any < 0 ? Codes<T>::kLeast : Codes<T>::kMost;
    x[i] = static_cast<T>(kind == 0 ? end : kind == 1 ? one : any);
  }
  std::vector<int64_t> scratch(static_cast<size_t>(channels * Codes<T>::kScratch) / sizeof(int64_t) + 1);
  NormalizeArgs args = {};
  args.groups = g;
  args.x = x.data();
  args.scale = scale.data();
  args.shift = shift.data();
  args.sums = g.places == 1 ? nullptr : scratch.data();
  args.epsilon = c.epsilon;
  args.root_epsilon = c.root_epsilon;
  args.reciprocal_scale = c.reciprocal_scale;
  args.zero_point = sizeof(T) == 1 ? c.zero_point : 0;
  args.s8 = make_output_s8(c.z_out, c.lo, c.hi);
  args.s16 = make_output_s16(c.lo * 256, c.hi * 256 + 255);
  memset(expected.data(), 0x5a, count * sizeof(T));  // what lies between groups stays
  args.y = expected.data();
  Codes<T>::function(normalize_kernel(normalize_select(isa::kScalar)))(args);
  for (int32_t i = 0; i < normalize_count(); ++i) {
    const NormalizeKernel& kernel = normalize_kernel(i);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
    CAPTURE(kernel.name);
    memset(y.data(), 0x5a, count * sizeof(T));
    args.x = x.data();
    args.y = y.data();
    Codes<T>::function(kernel)(args);
    REQUIRE(memcmp(y.data(), expected.data(), count * sizeof(T)) == 0);
    memcpy(y.data(), x.data(), count * sizeof(T));  // y may be x
    args.x = y.data();
    Codes<T>::function(kernel)(args);
    for (int32_t p = 0; p < g.places; ++p)
      REQUIRE(memcmp(y.data() + p * g.stride, expected.data() + p * g.stride,
                     static_cast<size_t>(channels) * sizeof(T)) == 0);
  }
}

Case draw(Random& random) {
  Case c = {};
  c.groups.groups = random.one_in(2) ? 1 : random.between(2, 4);
  c.groups.depth = random.one_in(3) ? random.between(60, 300) : random.between(1, 40);
  c.groups.places = random.one_in(2) ? 1 : random.between(2, random.one_in(8) ? 600 : 9);
  c.groups.stride = c.groups.groups * c.groups.depth + (random.one_in(2) ? 0 : random.between(1, 20));
  c.groups.keeps_mean = random.one_in(3);
  const auto n = static_cast<float>(c.groups.places * c.groups.depth);
  c.epsilon = random.one_in(4) ? 0.0f : n * n * random.real(1e-6f, 10.0f);
  c.root_epsilon = random.one_in(2) ? 0.0f : n * random.real(1e-4f, 10.0f);
  c.reciprocal_scale = random.real(5.0f, 100.0f);
  c.most_factor = random.one_in(4) ? 300.0f : 2.0f;
  c.factor_size = c.summand_size = 1.0f;
  c.zero_point = random.between(-128, 127);
  c.z_out = random.between(-128, 127);
  c.lo = random.one_in(2) ? -128 : random.between(-128, 0);
  c.hi = random.one_in(2) ? 127 : random.between(0, 127);
  return c;
}

TEST_CASE("every kernel equals the scalar one, random shapes") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(300); ++trial) {
    CAPTURE(trial);
    const Case c = draw(random);
    compare<int8_t>(random, c);
    compare<int16_t>(random, c);
  }
}

TEST_CASE("numbers of no network: subnormal, infinite and NaN") {
  Random random(2);
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  for (int32_t trial = 0; trial < test::shape_count(200); ++trial) {
    CAPTURE(trial);
    Case c = draw(random);
    constexpr float kEpsilons[] = {0.0f, 1e-40f, 1e25f, 1e38f, kInf, kNan};
    constexpr float kSizes[] = {1e-44f, 1e-39f, 1e-30f, 1.0f, 1e30f, 3e38f};
    constexpr float kReciprocals[] = {1e-42f, 1e-20f, 1.0f, 1e20f, 1e38f, kInf};
    c.epsilon = kEpsilons[random.between(0, 5)];
    c.root_epsilon = random.one_in(2) ? 0.0f : kEpsilons[random.between(0, 5)];
    c.most_factor = 1.0f;  // factors and summands are finite: a model with others is refused
    c.factor_size = kSizes[random.between(0, 5)];
    c.summand_size = random.one_in(2) ? 0.0f : kSizes[random.between(0, 5)];
    c.reciprocal_scale = kReciprocals[random.between(0, 5)];
    compare<int8_t>(random, c);
    compare<int16_t>(random, c);
  }
}

TEST_CASE("long rows and many places, both ends of the codes") {
  Random random(3);
  for (const int32_t depth : {(1 << 15) - 1, 1 << 15, (1 << 15) + 1, (1 << 16) + 17}) {
    Case c = draw(random);
    c.groups = {1, 1, depth, depth, false};
    compare<int8_t>(random, c);
    compare<int16_t>(random, c);
    c.groups = {depth, 1, 18, 18, false};
    compare<int8_t>(random, c);
  }
}

}  // namespace
}  // namespace intaglio::test::normalize_kernels_test
