// FP32 sums over many terms: by blocks in new files, one chain in older ones, to the bit on every kernel; how far off the exact sum
// they are; and which files say so.
#include "kernels/arithmetic/blocked_sum.h"

#include <cmath>
#include <functional>

#include "kernels/arithmetic/functions_f32.h"
#include "kernels/pool/pool.h"
#include "tests/support/blocked_sums.h"
#include "tests/support/float_bits.h"
#include "tests/support/model_object.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::blocked_sums_test {
namespace {

constexpr int32_t kMaxKernel = 4096;  // of a pool
constexpr int32_t kChannels = 19;     // in vectors and behind them

std::vector<float> channel_of(const std::vector<float>& x, size_t c) {
  std::vector<float> terms;
  for (size_t i = c; i < x.size(); i += kChannels) terms.push_back(x[i]);
  return terms;
}

// A sum over 16 lanes, each in blocks.
float lanes_of(const std::vector<float>& values, int32_t block) {
  std::vector<float> lanes(16);
  for (size_t j = 0; j < 16; ++j) {
    std::vector<float> terms;
    for (size_t i = j; i < values.size(); i += 16) terms.push_back(values[i]);
    lanes[j] = sum_of(terms, block);
  }
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t j = 0; j < half; ++j) lanes[j] = lanes[j] + lanes[j + half];
  return lanes[0];
}

// Of one group: total(values) adds up in the order of its elements.
template <typename Total>
std::vector<float> normalized(const std::vector<float>& x, Total total) {
  const auto n = static_cast<float>(x.size());
  const float mean = total(x) / n;
  std::vector<float> squares, y;
  for (const float v : x) squares.push_back((v - mean) * (v - mean));
  const float inverse = 1.0f / std::sqrt(total(squares) / n + 1e-5f);
  for (const float v : x) y.push_back((v - mean) * inverse + 0.0f);
  return y;
}

struct Family {
  const char* name;
  Dims dims;    // of an input with n terms a sum
  Dims output;  // the input's where empty
  std::function<void(ModelBuilder& b, int32_t x, int32_t y)> add;
  std::function<std::vector<float>(const std::vector<float>& x, int32_t block)> expected;
};

void add_normalize(ModelBuilder& b, int32_t x, int32_t y, bool over_map) {
  const int32_t channels = b.graph().tensors[static_cast<size_t>(x)].shape.back(0);
  const std::vector<float> ones(static_cast<size_t>(channels), 1.0f), zeros(ones.size(), 0.0f);
  auto& options = b.node(Op::kNormalize,
                         {x, b.constant("scale", DType::kF32, {channels}, ones),
                          b.constant("shift", DType::kF32, {channels}, zeros)},
                         {y})
                      .options.as<NormalizeOptions>();
  options.epsilon = 1e-5f;
  options.over_map = over_map;
}

std::vector<Family> families(int32_t n) {
  const auto means = [](const std::vector<float>& x, int32_t block) {
    std::vector<float> y;
    for (size_t c = 0; c < kChannels; ++c) {
      const std::vector<float> terms = channel_of(x, c);
      y.push_back(sum_of(terms, block) / static_cast<float>(terms.size()));
    }
    return y;
  };
  std::vector<Family> all = {
      {"mean",
       {1, n, kChannels},
       {1, kChannels},
       [](ModelBuilder& b, int32_t x, int32_t y) {
         b.node(Op::kMean, {x}, {y}).options.as<ReduceOptions>().axes = b.keep({1});
       },
       means},
      {"softmax",
       {1, n},
       {},
       [](ModelBuilder& b, int32_t x, int32_t y) { b.node(Op::kSoftmax, {x}, {y}); },
       [](const std::vector<float>& x, int32_t block) {
         std::vector<float> y;
         const float largest = *std::max_element(x.begin(), x.end());
         for (const float v : x) y.push_back(exp_f32(v - largest));
         const float sum = sum_of(y, block);
         for (float& v : y) v = v / sum;
         return y;
       }},
      {"L2",
       {1, n},
       {},
       [](ModelBuilder& b, int32_t x, int32_t y) { b.node(Op::kL2Normalize, {x}, {y}); },
       [](const std::vector<float>& x, int32_t block) {
         std::vector<float> sums, y;
         for (size_t i = 0; i < x.size(); ++i) {
           if (i % static_cast<size_t>(block) == 0) sums.push_back(0.0f);
           sums.back() = std::fma(x[i], x[i], sums.back());
         }
         const float norm = std::sqrt(sum_of(sums, block));
         for (const float v : x) y.push_back(v / norm);
         return y;
       }},
      {"rows normalized",
       {1, 16 * n},
       {},
       [](ModelBuilder& b, int32_t x, int32_t y) { add_normalize(b, x, y, false); },
       [](const std::vector<float>& x, int32_t block) {
         return normalized(x, [&](const std::vector<float>& values) { return lanes_of(values, block); });
       }},
      {"maps normalized",
       {1, n, kChannels},
       {},
       [](ModelBuilder& b, int32_t x, int32_t y) { add_normalize(b, x, y, true); },
       [](const std::vector<float>& x, int32_t block) {
         return normalized(x, [&](const std::vector<float>& values) {
           std::vector<float> sums;
           for (size_t c = 0; c < kChannels; ++c) sums.push_back(sum_of(channel_of(values, c), block));
           return lanes_of(sums, block);
         });
       }},
  };
  if (n <= kMaxKernel)
    all.push_back({"average pool",
                   {1, 1, n, kChannels},
                   {1, 1, 1, kChannels},
                   [n](ModelBuilder& b, int32_t x, int32_t y) {
                     b.node(Op::kAvgPool2d, {x}, {y}).options.as<Pool2dOptions>().window.kernel_w = n;
                   },
                   means});
  return all;
}

AlignedBytes file_of(const Family& family, bool blocked) {
  ModelBuilder b;
  b.graph().blocked_sums = blocked;
  const int32_t x = b.tensor("x", DType::kF32, family.dims),
                y = b.tensor("y", DType::kF32, family.output.empty() ? family.dims : family.output);
  family.add(b, x, y);
  b.input(x);
  b.output(y);
  return b.finish();
}

std::vector<float> run(const AlignedBytes& file, const std::vector<float>& x, IsaMask isa) {
  SessionOptions options;
  options.isa = isa;
  RunningModel model(AlignedBytes(file.view()), all_ops(), options);
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  return model.run<float>(x);
}

// Values about 2.1, as in a map whose mean is far from 0.
std::vector<float> values_of(Random& random, const Family& family) {
  return random.reals(elements(family.dims), 2.05f, 2.15f);
}

}  // namespace

TEST_CASE("a new file adds up by blocks, an older one in one chain, the same on every kernel") {
  Random random(1);
  for (const int32_t n : {1, 63, 64, 65, 127, 128, 129, 1000, 4096, 4097, 4225, 9000})
    for (const Family& family : families(n)) {
      CAPTURE(n);
      CAPTURE(family.name);
      const std::vector<float> x = values_of(random, family);
      for (const bool blocked : {true, false}) {
        CAPTURE(blocked);
        const AlignedBytes file = file_of(family, blocked);
        const std::vector<float> expected = family.expected(x, blocked ? kSumBlock : kOneBlock);
        for (const IsaMask isa : runnable(pool_f32_count(), pool_f32_kernel))
          REQUIRE(bits_of(run(file, x, isa)) == bits_of(expected));
      }
    }
}

TEST_CASE("a file says how it adds up where that makes a difference, and asks for a reader that knows") {
  for (const int32_t n : {64, 65})
    for (const Family& family : families(n)) {
      CAPTURE(n);
      CAPTURE(family.name);
      for (const bool blocked : {true, false}) {
        const AlignedBytes file = file_of(family, blocked);
        CHECK(Model::open(file.view())->blocked_sums() == (blocked && n > kSumBlock));
        CHECK(unpack(file)->min_reader == (blocked && n > kSumBlock ? 3 : 1));
      }
    }
}

TEST_CASE("a million terms: near the exact sum") {
  Random random(2);
  constexpr int32_t kTerms = 1 << 20;
  const auto exact_mean = [](const std::vector<float>& x) {
    double sum = 0.0;
    for (const float v : x) sum += static_cast<double>(v);
    return sum / static_cast<double>(x.size());
  };
  {
    const Family mean = families(kTerms)[0];
    const std::vector<float> x = values_of(random, mean), y = run(file_of(mean, true), x, cpu_isa());
    for (size_t c = 0; c < y.size(); ++c)
      CHECK(std::fabs(static_cast<double>(y[c]) / exact_mean(channel_of(x, c)) - 1.0) <= 3e-7);
  }
  for (const Family& family : {families(kTerms / 16)[3], families(kTerms / 16)[4]}) {
    CAPTURE(family.name);
    const std::vector<float> x = values_of(random, family), y = run(file_of(family, true), x, cpu_isa());
    const double mean = exact_mean(x);
    double variance = 0.0, worst = 0.0;
    for (const float v : x) variance += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double deviation = std::sqrt(variance / static_cast<double>(x.size()) + 1e-5);
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst,
                       std::fabs(static_cast<double>(y[i]) - (static_cast<double>(x[i]) - mean) / deviation));
    CHECK(worst <= 2e-5);
  }
  {
    const Family softmax = families(kTerms)[1];
    const std::vector<float> x = values_of(random, softmax), y = run(file_of(softmax, true), x, cpu_isa());
    CHECK(std::fabs(exact_mean(y) * kTerms - 1.0) <= 1e-6);
  }
  {
    const Family unit = families(kTerms)[2];
    const std::vector<float> x = values_of(random, unit), y = run(file_of(unit, true), x, cpu_isa());
    double squares = 0.0;
    for (const float v : y) squares += static_cast<double>(v) * static_cast<double>(v);
    CHECK(std::fabs(squares - 1.0) <= 1e-6);
  }
}

}  // namespace intaglio::test::blocked_sums_test
