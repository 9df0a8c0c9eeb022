// Normalization of groups: int8 near the exact quotient and the same on every kernel, FP32 likewise; what is refused.
#include "kernels/normalize/normalize_groups.h"

#include <algorithm>
#include <cmath>

#include "tests/support/float_bits.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"
#include "tests/support/spec_cases.h"
#include "tests/support/wide_codes.h"

namespace intaglio::test::normalize_test {
namespace {

using test::bits_of;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::OneNode;
using test::Random;
using test::RunningModel;

struct Case {
  Dims dims;
  NormalizeOptions options;
  std::vector<float> scale, shift;
  float s_in = 0.0f, s_out = 0.0f;
  int32_t z_in = 0, z_out = 0;
};

template <typename T>
std::vector<T> run(const Case& c, const std::vector<T>& x) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : sizeof(T) == 2 ? DType::kS16 : DType::kF32;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype, c.dims, c.s_in, c.z_in),
                ty = b.tensor("y", dtype, c.dims, c.s_out, c.z_out);
  const int32_t scale = b.constant("scale", DType::kF32, {c.dims.back()}, c.scale),
                shift = b.constant("shift", DType::kF32, {c.dims.back()}, c.shift);
  b.node(Op::kNormalize, {tx, scale, shift}, {ty}).options.as<NormalizeOptions>() = c.options;
  b.input(tx);
  b.output(ty);
  const std::vector<T> first = test::run_widths<T>(b, std::vector<std::vector<T>>{x});
  const test::AlignedBytes file = b.finish();
  for (const IsaMask isa : test::runnable(normalize_count(), normalize_kernel)) {
    SessionOptions options;
    options.isa = isa;
    RunningModel model(test::AlignedBytes(file.view()), all_ops(), options);
    REQUIRE(model.error().ok());
    const std::vector<T> found = model.run<T>(x);
    REQUIRE(memcmp(found.data(), first.data(), first.size() * sizeof(T)) == 0);
  }
  return first;
}

Case draw(Random& random) {
  Case c;
  c.options.groups = random.one_in(2) ? 1 : random.between(2, 4);
  c.options.over_map = random.one_in(2);
  c.options.keeps_mean = random.one_in(3);
  c.options.epsilon = random.one_in(2) ? 1e-5f : 1e-3f;
  c.options.root_epsilon = random.one_in(3) ? random.real(1e-4f, 1.0f) : 0.0f;
  for (int32_t i = random.between(0, 3); i > 0; --i) c.dims.push_back(random.between(1, 7));
  if (c.dims.empty()) c.options.over_map = false;
  c.dims.push_back(c.options.groups * (random.one_in(3) ? random.between(60, 200) : random.between(1, 20)));
  c.scale = random.reals(static_cast<size_t>(c.dims.back()), -2.0f, 2.0f);
  c.shift = random.reals(static_cast<size_t>(c.dims.back()), -1.0f, 1.0f);
  return c;
}

// In double. `least`: the least standard deviation of a group.
std::vector<double> exact(const Case& c, const std::vector<double>& x, double* least) {
  const size_t channels = static_cast<size_t>(c.dims.back()), groups = static_cast<size_t>(c.options.groups),
               depth = channels / groups;
  const size_t batches = c.options.over_map ? static_cast<size_t>(c.dims[0]) : x.size() / channels,
               places = x.size() / channels / batches;
  std::vector<double> y(x.size());
  *least = 1e9;
  for (size_t batch = 0; batch < batches; ++batch)
    for (size_t group = 0; group < groups; ++group) {
      std::vector<size_t> members;
      for (size_t p = 0; p < places; ++p)
        for (size_t d = 0; d < depth; ++d)
          members.push_back((batch * places + p) * channels + group * depth + d);
      double mean = 0.0, variance = 0.0;
      const auto n = static_cast<double>(members.size());
      for (const size_t i : members) mean += c.options.keeps_mean ? 0.0 : x[i] / n;
      for (const size_t i : members) variance += (x[i] - mean) * (x[i] - mean) / n;
      const double deviation = std::sqrt(variance + static_cast<double>(c.options.epsilon)) +
                               static_cast<double>(c.options.root_epsilon);
      *least = std::min(*least, deviation);
      for (const size_t i : members)
        y[i] = (x[i] - mean) / deviation * static_cast<double>(c.scale[i % channels]) +
               static_cast<double>(c.shift[i % channels]);
    }
  return y;
}

TEST_CASE("int8: the exact quotient, rounded, on every kernel") {
  Random random(1);
  for (int32_t trial = 0; trial < test::shape_count(150); ++trial) {
    CAPTURE(trial);
    Case c = draw(random);
    c.s_in = random.real(0.01f, 0.1f);
    c.z_in = random.between(-128, 127);
    c.s_out = random.real(0.02f, 0.05f);
    c.z_out = random.between(-128, 127);
    const std::vector<int8_t> x = random.codes(elements(c.dims)), y = run(c, x);
    std::vector<double> reals;
    for (const int8_t code : x) reals.push_back(static_cast<double>(c.s_in) * (code - c.z_in));
    double least;
    const std::vector<double> wanted = exact(c, reals, &least);
    for (size_t i = 0; i < y.size(); ++i) {
      const double code =
          std::min(std::max(wanted[i] / static_cast<double>(c.s_out) + c.z_out, -128.0), 127.0);
      REQUIRE(std::fabs(y[i] - code) <= 0.501);
    }
  }
}

TEST_CASE("16 bits: the exact quotient, rounded, on every kernel") {
  Random random(5);
  for (int32_t trial = 0; trial < test::shape_count(150); ++trial) {
    CAPTURE(trial);
    Case c = draw(random);
    c.s_in = random.real(1e-4f, 1e-2f);
    c.s_out = random.real(1e-4f, 2e-4f);
    const std::vector<int16_t> x = test::draw_codes(random, elements(c.dims)), y = run(c, x);
    std::vector<double> reals;
    for (const int16_t code : x) reals.push_back(static_cast<double>(c.s_in) * code);
    double least;
    const std::vector<double> wanted = exact(c, reals, &least);
    for (size_t i = 0; i < y.size(); ++i) {
      const double code = std::min(std::max(wanted[i] / static_cast<double>(c.s_out), -32768.0), 32767.0);
      REQUIRE(std::fabs(y[i] - code) <= 0.51 + 4e-7 * std::fabs(code));
    }
  }
}

TEST_CASE("16 bits: equal elements give the shift, large groups do not overflow") {
  Case c;
  c.dims = {2, 3};
  c.scale = {1.0f, 2.0f, 3.0f};
  c.shift = {0.0f, 1.0f, -1.0f};
  c.s_in = 0.5f;
  c.s_out = 0.25f;
  CHECK(run(c, std::vector<int16_t>{5, 5, 5, -32768, -32768, -32768}) ==
        std::vector<int16_t>{0, 4, -4, 0, 4, -4});
  c.dims = {1, 1024, 4096, 2};  // of 2^23 elements, half at each end
  c.options.over_map = true;
  c.scale = {1.0f, 1.0f};
  c.shift = {0.0f, 0.0f};
  std::vector<int16_t> x(elements(c.dims));
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 32767 : -32768;
  for (const bool keeps_mean : {false, true}) {
    c.options.keeps_mean = keeps_mean;
    const std::vector<int16_t> y = run(c, x);
    CHECK(std::all_of(y.begin(), y.end(), [](int16_t v) { return v == 4 || v == -4; }));
  }
}

TEST_CASE("FP32: near the definition, the same on every kernel") {
  Random random(2);
  for (int32_t trial = 0; trial < test::shape_count(150); ++trial) {
    CAPTURE(trial);
    const Case c = draw(random);
    const std::vector<float> x = random.reals(elements(c.dims), -3.0f, 3.0f), y = run(c, x);
    double least;
    const std::vector<double> wanted = exact(c, std::vector<double>(x.begin(), x.end()), &least);
    for (size_t i = 0; i < y.size(); ++i)
      REQUIRE(std::fabs(static_cast<double>(y[i]) - wanted[i]) <= 1e-5 * (1.0 + 1.0 / least));
  }
}

TEST_CASE("int8: equal elements give the shift, large groups do not overflow") {
  Case c;
  c.dims = {2, 3};
  c.scale = {1.0f, 2.0f, 3.0f};
  c.shift = {0.0f, 1.0f, -1.0f};
  c.s_in = 0.5f;
  c.s_out = 0.25f;
  c.z_out = 3;
  CHECK(run(c, std::vector<int8_t>{5, 5, 5, -7, -7, -7}) == std::vector<int8_t>{3, 7, -1, 3, 7, -1});
  c.dims = {1, 1024, 4096, 2};  // of 2^23 elements, half at each end
  c.options.over_map = true;
  c.scale = {1.0f, 1.0f};
  c.shift = {0.0f, 0.0f};
  std::vector<int8_t> x(elements(c.dims));
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 127 : -128;
  const std::vector<int8_t> y = run(c, x);
  CHECK(y[0] == 7);
  CHECK(y[1] == -1);
  CHECK(std::all_of(y.begin(), y.end(), [](int8_t v) { return v == 7 || v == -1; }));
}

TEST_CASE("FP32: infinities and NaN give one NaN") {
  Case c;
  c.dims = {1, 3};
  c.scale = {1.0f, 1.0f, 1.0f};
  c.shift = {0.0f, 0.0f, 0.0f};
  for (const float bad : {__builtin_inff(), -__builtin_nanf("")})
    CHECK(bits_of(run(c, std::vector<float>{1.0f, bad, 2.0f})) == std::vector<uint32_t>(3, 0x7fc00000u));
}

TEST_CASE("what does not fit is refused") {
  const auto refused = [](const Dims& dims, const Dims& out, size_t scales, NormalizeOptions options,
                          float scale, Status status, int64_t value = 0, int64_t limit = 0) {
    for (const bool is_int8 : {true, false}) {
      OneNode net;
      const int32_t x = is_int8 ? net.s8(dims) : net.f32(dims);
      const int32_t factors =
          net.constant(DType::kF32, {static_cast<int32_t>(scales)}, std::vector<float>(scales, scale));
      const int32_t summands = net.constant(DType::kF32, {dims.back()},
                                            std::vector<float>(static_cast<size_t>(dims.back()), 0.0f));
      const int32_t y = is_int8 ? net.s8(out) : net.f32(out);
      net.node(Op::kNormalize, {x, factors, summands}, y).as<NormalizeOptions>() = options;
      net.check(status, value, limit);
    }
  };
  const float inf = __builtin_inff();
  refused({2, 6}, {2, 6}, 6, {1e-5f, 3, false, false}, 1.0f, Status::kOk);
  refused({2, 6}, {6, 2}, 6, {1e-5f, 1, false, false}, 1.0f, Status::kShapeMismatch, 6, 2);
  refused({2, 6}, {2, 6}, 5, {1e-5f, 1, false, false}, 1.0f, Status::kShapeMismatch, 5, 6);
  refused({2, 6}, {2, 6}, 6, {1e-5f, 4, false, false}, 1.0f, Status::kBadGroups, 4, 6);
  refused({2, 6}, {2, 6}, 6, {1e-5f, 0, false, false}, 1.0f, Status::kBadGroups, 0, 6);
  refused({2, 6}, {2, 6}, 6, {1e-5f, -1, false, false}, 1.0f, Status::kBadGroups, -1, 6);
  refused({2, 6}, {2, 6}, 6, {-1.0f, 1, false, false}, 1.0f, Status::kBadAttribute);
  refused({2, 6}, {2, 6}, 6, {inf, 1, false, false}, 1.0f, Status::kBadAttribute);
  refused({2, 6}, {2, 6}, 6, {1e-5f, 1, false, false}, inf, Status::kNonFinite);
  refused({6}, {6}, 6, {1e-5f, 1, true, false}, 1.0f, Status::kBadRank, 1, 2);
}

TEST_CASE("int8: a group of more than 2^23 elements is refused") {
  for (const int32_t rows : {2048, 2049}) {
    OneNode net;
    const Dims dims{1, rows, 4096, 1};
    const int32_t x = net.s8(dims), scale = net.constant(DType::kF32, {1}, std::vector<float>{1.0f}),
                  shift = net.constant(DType::kF32, {1}, std::vector<float>{0.0f}), y = net.s8(dims);
    net.node(Op::kNormalize, {x, scale, shift}, y).as<NormalizeOptions>().over_map = true;
    if (rows == 2048)
      net.check(Status::kOk);
    else
      net.check(Status::kAccumulatorOverflow, 0, 1 << 23);
  }
}

}  // namespace
}  // namespace intaglio::test::normalize_test
