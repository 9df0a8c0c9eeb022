// Kernels that convert products to int32 without a clamp take multipliers below 1: the sum itself, times 1, may pass 2^31
// as a float.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/one_node.h"

namespace intaglio::test::depthwise_multiplier_test {
namespace {

// A depthwise convolution 3 x 3 over 16 channels without weights: of each the bias, times `output_scale`'s inverse.
std::vector<int8_t> run(float output_scale, int32_t bias, IsaMask isa, std::string* kernel) {
  constexpr int32_t kChannels = 16;
  OneNode model;
  const int32_t x = model.s8({1, 4, 4, kChannels}, 1.0f);
  const int32_t w =
      model.b.constant<int8_t>("w", DType::kS8, {3, 3, kChannels}, std::vector<int8_t>(9 * kChannels, 0),
                               std::vector<float>(kChannels, 1.0f), 2);
  const int32_t b = model.constant<int32_t>(DType::kS32, {kChannels}, std::vector<int32_t>(kChannels, bias));
  const int32_t y = model.s8({1, 4, 4, kChannels}, output_scale);
  NodeOptions& options = model.node(Op::kDepthwiseConv2d, {x, w, b}, y);
  options.as<Window2d>().kernel_h = options.as<Window2d>().kernel_w = 3;
  options.as<Window2d>().pad_top = options.as<Window2d>().pad_left = options.as<Window2d>().pad_bottom =
      options.as<Window2d>().pad_right = 1;
  SessionOptions session;
  session.isa = isa;
  RunningModel running(model.b.finish(), all_ops(), session);
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  *kernel = running.session().kernel_name(0);
  return running.run<int8_t>(std::vector<int8_t>(4 * 4 * kChannels, 3));
}

}  // namespace

TEST_CASE("a multiplier of exactly 1, and its neighbours, at both ends of int32") {
  const float below = std::nextafter(1.0f, 0.0f), above = std::nextafter(1.0f, 2.0f);
  std::vector<IsaMask> masks = {isa::kScalar};
  for (const IsaName& isa : kIsaNames) masks.push_back(2 * isa.bit - 1);  // it, and what comes before
  for (const IsaMask mask : masks)
    for (const float output_scale : {below, 1.0f, above, 2.0f})
      for (const int32_t bias : {INT32_MAX, -INT32_MAX, 100, -100}) {
        CAPTURE(mask);
        CAPTURE(output_scale);
        CAPTURE(bias);
        std::string kernel;
        const auto outputs = run(output_scale, bias, mask, &kernel);
        CAPTURE(kernel);
        const double exact = static_cast<double>(bias) / output_scale;
        const auto expected = static_cast<int8_t>(std::clamp(std::nearbyint(exact), -128.0, 127.0));
        CHECK(outputs == std::vector<int8_t>(outputs.size(), expected));
      }
}

}  // namespace intaglio::test::depthwise_multiplier_test
