// Layers whose constants are equal: in a calibration each keeps bytes of its own, since what is corrected in
// one of them is no part of the other. In the file that is made, what is still equal stands once.
#include <doctest/doctest.h>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"

namespace intaglio::test::equal_constants_test {
namespace {

constexpr int32_t kSide = 6, kChannels = 4;

// Two 1 x 1 convolutions with equal biases, and with equal weights where asked.
AlignedBytes network(bool equal_weights) {
  ModelBuilder b;
  Random random(3);
  const int32_t x = b.tensor("x", DType::kF32, {1, kSide, kSide, kChannels});
  const int32_t y = b.tensor("y", DType::kF32, {1, kSide, kSide, kChannels});
  const int32_t z = b.tensor("z", DType::kF32, {1, kSide, kSide, kChannels});
  b.input(x);
  b.output(z);
  const std::vector<float> first = random.reals(kChannels * kChannels, -0.5f, 0.5f),
                           second = random.reals(kChannels * kChannels, -0.5f, 0.5f);
  const std::vector<int32_t> shape = {kChannels, 1, 1, kChannels};
  const std::vector<float> zeros(kChannels, 0.0f);
  b.node(Op::kConv2d,
         {x, b.constant("w1", DType::kF32, shape, first), b.constant("b1", DType::kF32, {kChannels}, zeros)},
         {y})
      .options.as<Clamp>()
      .min = 0.0f;
  b.node(Op::kConv2d,
         {y, b.constant("w2", DType::kF32, shape, equal_weights ? first : second),
          b.constant("b2", DType::kF32, {kChannels}, zeros)},
         {z})
      .options.as<Clamp>()
      .min = 0.0f;
  return b.finish();
}

}  // namespace

TEST_CASE("equal biases and weights are corrected each by itself") {
  Random random(5);
  Samples samples(9);
  for (auto& sample : samples) sample = random.reals(kSide * kSide * kChannels, -1.0f, 2.0f);
  for (const bool equal_weights : {false, true}) {
    const AlignedBytes bytes = network(equal_weights);
    const Model fp32 = *Model::open(bytes.view());
    for (const RecoveryMask recover : {recovery::kNone, recovery::kDefault, recovery::kAll}) {
      CAPTURE(recover);
      CalibratorOptions options;
      options.int8_answers = true;
      options.recover = recover;
      const std::vector<uint8_t> written = calibrate(fp32, samples, options);
      const AlignedBytes file(Span<const uint8_t>(written.data(), written.size()));
      const Model int8 = *Model::open(file.view());
      REQUIRE(int8.node_count() == 2);
      for (const size_t slot : {1u, 2u}) {
        const TensorInfo one = int8.tensor(int8.node(0).inputs[slot]),
                         other = int8.tensor(int8.node(1).inputs[slot]);
        REQUIRE(one.constant.size == other.constant.size);
        const bool are_equal = memcmp(one.constant.data, other.constant.data, one.constant.size) == 0;
        CHECK((one.constant.data == other.constant.data) == are_equal);
        // Equal weights have equal codes, unless each layer's were rounded for its own inputs. Biases have units of their
        // own, and corrections.
        if (slot == 1 && recover != recovery::kAll) CHECK(are_equal == equal_weights);
        if (slot == 2 && recover != recovery::kNone) CHECK(!are_equal);
      }
    }
  }
}

}  // namespace intaglio::test::equal_constants_test
