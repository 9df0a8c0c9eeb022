// Refusals of the operators' plans: each fault has its own status, with the value found and the limit.
#include <doctest/doctest.h>

#include <limits>

#include "tests/support/one_node.h"

namespace intaglio::test::ops_refusal_test {
namespace {

using test::Dims;
using test::kF32Value;
using test::kS32Value;
using test::kS8Value;
using test::kScale;
using test::ModelBuilder;
using test::OneNode;
using test::RunningModel;

TEST_CASE("add") {
  SUBCASE("accepted") {
    OneNode m;
    const int32_t a = m.s8({2, 3}), b = m.s8({3}), y = m.s8({2, 3});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kOk);
  }
  SUBCASE("one input") {
    OneNode m;
    const int32_t a = m.s8({2, 3}), y = m.s8({2, 3});
    m.node(Op::kAdd, {a}, y);
    m.check(Status::kInputCount, 1, 2);
  }
  SUBCASE("three inputs") {
    OneNode m;
    const int32_t a = m.s8({3}), b = m.s8({3}), c = m.s8({3}), y = m.s8({3});
    m.node(Op::kAdd, {a, b, c}, y);
    m.check(Status::kInputCount, 3, 2);
  }
  SUBCASE("a missing input") {
    OneNode m;
    const int32_t a = m.s8({3}), y = m.s8({3});
    m.node(Op::kAdd, {a, -1}, y);
    m.check(Status::kInputMissing, 1);
  }
  SUBCASE("not a suffix") {
    OneNode m;
    const int32_t a = m.s8({2, 3}), b = m.s8({2}), y = m.s8({2, 3});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kShapeMismatch, 2, 3);
  }
  SUBCASE("b of a higher rank") {
    OneNode m;
    const int32_t a = m.f32({3}), b = m.f32({2, 3}), y = m.f32({3});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kBadRank, 1, 2);
  }
  SUBCASE("output of another shape") {
    OneNode m;
    const int32_t a = m.f32({2, 3}), b = m.f32({3}), y = m.f32({2, 4});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kShapeMismatch, 4, 3);
  }
  SUBCASE("mixed types") {
    OneNode m;
    const int32_t a = m.s8({3}), b = m.f32({3}), y = m.s8({3});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kBadDType, kF32Value, kS8Value);
  }
  SUBCASE("no scale") {
    OneNode m;
    const int32_t a = m.s8({3}), b = m.s8({3}, 0.0f), y = m.s8({3});
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kQuantizationMissing);
  }
  SUBCASE("scales by channel") {
    OneNode m;
    const int32_t a = m.s8({3}), y = m.s8({3});
    const int32_t b = m.b.constant<int8_t>("b", DType::kS8, {3}, {1, 2, 3}, {0.1f, 0.2f, 0.3f}, 0);
    m.node(Op::kAdd, {a, b}, y);
    const Error error = RunningModel(m.b.finish()).error();
    CHECK(error.status == Status::kBadQuantizationAxis);
  }
  SUBCASE("scales too far apart") {
    OneNode m;
    const int32_t a = m.s8({3}, 0x1p20f), b = m.s8({3}), y = m.s8({3}, 1.0f);
    m.node(Op::kAdd, {a, b}, y);
    m.check(Status::kScaleRatio);
  }
  SUBCASE("clamp codes") {
    OneNode m;
    const int32_t a = m.s8({3}), b = m.s8({3}), y = m.s8({3});
    NodeOptions& options = m.node(Op::kAdd, {a, b}, y);
    options.as<Clamp>().lo = 5;
    options.as<Clamp>().hi = 4;
    m.check(Status::kBadClamp, 5, 4);
  }
  SUBCASE("clamp codes outside int8") {
    OneNode m;
    const int32_t a = m.s8({3}), b = m.s8({3}), y = m.s8({3});
    m.node(Op::kAdd, {a, b}, y).as<Clamp>().hi = 128;
    m.check(Status::kBadClamp, -128, 128);
  }
  SUBCASE("clamp of reals") {
    OneNode m;
    const int32_t a = m.f32({3}), b = m.f32({3}), y = m.f32({3});
    NodeOptions& options = m.node(Op::kAdd, {a, b}, y);
    options.as<Clamp>().min = 6.0f;
    options.as<Clamp>().max = 0.0f;
    m.check(Status::kBadClamp, 6, 0);
  }
  SUBCASE("clamp at NaN") {
    OneNode m;
    const int32_t a = m.f32({3}), b = m.f32({3}), y = m.f32({3});
    m.node(Op::kAdd, {a, b}, y).as<Clamp>().max = std::numeric_limits<float>::quiet_NaN();
    m.check(Status::kBadClamp, std::numeric_limits<int32_t>::min(), 0);
  }
}

TEST_CASE("pools") {
  SUBCASE("rank") {
    OneNode m;
    const int32_t x = m.f32({4, 4, 3}), y = m.f32({4, 4, 3});
    m.node(Op::kMaxPool2d, {x}, y);
    m.check(Status::kBadRank, 3, 4);
  }
  SUBCASE("channels") {
    OneNode m;
    const int32_t x = m.f32({1, 4, 4, 3}), y = m.f32({1, 4, 4, 2});
    m.node(Op::kAvgPool2d, {x}, y);
    m.check(Status::kShapeMismatch, 2, 3);
  }
  SUBCASE("height") {
    OneNode m;
    const int32_t x = m.s8({1, 4, 4, 3}), y = m.s8({1, 2, 4, 3});
    m.node(Op::kAvgPool2d, {x}, y);
    m.check(Status::kShapeMismatch, 2, 4);
  }
  SUBCASE("stride") {
    OneNode m;
    const int32_t x = m.s8({1, 4, 4, 3}), y = m.s8({1, 4, 4, 3});
    m.node(Op::kAvgPool2d, {x}, y).as<Window2d>().stride_w = 0;
    m.check(Status::kBadStride, 0, 4096);
  }
  SUBCASE("a maximum keeps its input's scale") {
    OneNode m;
    const int32_t x = m.s8({1, 4, 4, 3}), y = m.s8({1, 4, 4, 3}, 0.25f);
    m.node(Op::kMaxPool2d, {x}, y);
    m.check(Status::kQuantizationMismatch);
  }
  SUBCASE("a maximum keeps its input's zero point") {
    OneNode m;
    const int32_t x = m.s8({1, 4, 4, 3}, kScale, 3), y = m.s8({1, 4, 4, 3}, kScale, 4);
    m.node(Op::kMaxPool2d, {x}, y);
    m.check(Status::kQuantizationMismatch, 4, 3);
  }
  SUBCASE("a sum that could overflow") {
    OneNode m;
    const int32_t x = m.s8({1, 4096, 2100, 1}), y = m.s8({1, 1, 1, 1});
    Window2d& window = m.node(Op::kAvgPool2d, {x}, y).as<Window2d>();
    window.kernel_h = 4096;
    window.kernel_w = 2100;
    m.check(Status::kAccumulatorOverflow, 0, 8421504);
  }
  SUBCASE("clamps") {
    OneNode m;
    const int32_t x = m.s8({1, 4, 4, 3}), y = m.s8({1, 4, 4, 3});
    m.node(Op::kMaxPool2d, {x}, y).as<Clamp>().lo = -129;
    m.check(Status::kBadClamp, -129, 127);
  }
}

TEST_CASE("mean") {
  const auto refused = [](const Dims& axes, const Dims& out, Status status, int64_t value, int64_t limit) {
    OneNode m;
    const int32_t x = m.s8({2, 3, 4}), y = m.s8(out);
    m.node(Op::kMean, {x}, y).as<ReduceOptions>().axes = m.b.keep(axes);
    m.check(status, value, limit);
  };
  refused({0, 2}, {3}, Status::kOk, 0, 0);
  refused({0, 2}, {1, 3, 1}, Status::kOk, 0, 0);
  refused({}, {2, 3, 4}, Status::kBadAxis, -1, 3);
  refused({3}, {2, 3}, Status::kBadAxis, 3, 3);
  refused({-1}, {2, 3}, Status::kBadAxis, -1, 3);
  refused({1, 1}, {2, 4}, Status::kBadAxis, 1, 3);
  refused({1, 0}, {4}, Status::kBadAxis, 0, 3);
  refused({0}, {3, 5}, Status::kShapeMismatch, 15, 12);
  OneNode m;
  const int32_t x = m.s8({8421505, 2}), y = m.s8({2});
  m.node(Op::kMean, {x}, y).as<ReduceOptions>().axes = m.b.keep({0});
  m.check(Status::kAccumulatorOverflow, 0, 8421504);
}

TEST_CASE("mean from int8 to FP32") {
  const auto refused = [](const Dims& in, const Dims& axes, const Dims& out, float clamp_max, Status status,
                          int64_t value, int64_t limit) {
    OneNode m;
    const int32_t x = m.s8(in), y = m.f32(out);
    NodeOptions& options = m.node(Op::kMean, {x}, y);
    options.as<ReduceOptions>().axes = m.b.keep(axes);
    options.as<Clamp>().max = clamp_max;
    m.check(status, value, limit);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  refused({2, 3, 4}, {0, 2}, {3}, kInfinity, Status::kOk, 0, 0);
  refused({2, 3, 4}, {0, 2}, {3}, 6.0f, Status::kBadClamp, INT32_MIN, 6);
  refused({2, 3, 4}, {}, {2, 3, 4}, kInfinity, Status::kBadAxis, -1, 3);
  refused({2, 3, 4}, {0}, {3, 5}, kInfinity, Status::kShapeMismatch, 15, 12);
  refused({8421505, 2}, {0}, {2}, kInfinity, Status::kAccumulatorOverflow, 0, 8421504);
  OneNode m;
  const int32_t x = m.s8({2, 3}, 0.0f), y = m.f32({3});
  m.node(Op::kMean, {x}, y).as<ReduceOptions>().axes = m.b.keep({0});
  m.check(Status::kQuantizationMissing);
}

TEST_CASE("softmax") {
  const auto refused = [](const std::vector<int32_t>& table, int32_t n, Status status, int64_t value,
                          int64_t limit) {
    OneNode m;
    const int32_t x = m.s8({2, n}), y = m.s8({2, n}, 1.0f / 256.0f, -128);
    const int32_t t = m.constant(DType::kS32, {static_cast<int32_t>(table.size())}, table);
    m.node(Op::kSoftmax, {x, t}, y);
    m.check(status, value, limit);
  };
  std::vector<int32_t> table(256, 0);
  table[0] = 1 << 20;
  refused(table, 1024, Status::kOk, 0, 0);
  refused(table, 1025, Status::kBadTable, 0, (1 << 30) / 1025);
  table[255] = -1;
  refused(table, 4, Status::kBadTable, 255, 1 << 28);
  refused(std::vector<int32_t>(256, 0), 4, Status::kBadTable, 0, 1 << 28);
  refused(std::vector<int32_t>(255, 1), 4, Status::kShapeMismatch, 255, 256);
  SUBCASE("the table is an activation") {
    OneNode m;
    const int32_t x = m.s8({4}), t = m.b.tensor("t", DType::kS32, {256}), y = m.s8({4});
    m.node(Op::kSoftmax, {x, t}, y);
    m.check(Status::kConstantExpected);
  }
  SUBCASE("the table has another type") {
    OneNode m;
    const int32_t x = m.s8({4}), t = m.constant(DType::kF32, {256}, std::vector<float>(256, 1.0f)),
                  y = m.s8({4});
    m.node(Op::kSoftmax, {x, t}, y);
    m.check(Status::kBadDType, kF32Value, kS32Value);
  }
  SUBCASE("FP32 has no table") {
    OneNode m;
    const int32_t x = m.f32({4}), t = m.constant(DType::kS32, {256}, std::vector<int32_t>(256, 1)),
                  y = m.f32({4});
    m.node(Op::kSoftmax, {x, t}, y);
    m.check(Status::kInputCount, 2, 1);
  }
  SUBCASE("shape") {
    OneNode m;
    const int32_t x = m.f32({4, 2}), y = m.f32({4, 3});
    m.node(Op::kSoftmax, {x}, y);
    m.check(Status::kShapeMismatch, 3, 2);
  }
}

TEST_CASE("reshape") {
  SUBCASE("elements") {
    OneNode m;
    const int32_t x = m.f32({4, 2}), y = m.f32({9});
    m.node(Op::kReshape, {x}, y);
    m.check(Status::kShapeMismatch, 9, 8);
  }
  SUBCASE("quantization") {
    OneNode m;
    const int32_t x = m.s8({4, 2}), y = m.s8({8}, kScale, 1);
    m.node(Op::kReshape, {x}, y);
    m.check(Status::kQuantizationMismatch, 1, 0);
  }
  SUBCASE("type") {
    OneNode m;
    const int32_t x = m.s8({4, 2}), y = m.f32({8});
    m.node(Op::kReshape, {x}, y);
    m.check(Status::kBadDType, kS8Value, kF32Value);
  }
}

TEST_CASE("transpose") {
  const auto refused = [](const Dims& axes, const Dims& out, Status status, int64_t value, int64_t limit) {
    OneNode m;
    const int32_t x = m.s8({2, 3, 4}), y = m.s8(out);
    m.node(Op::kTranspose, {x}, y).as<TransposeOptions>().permutation = m.b.keep(axes);
    m.check(status, value, limit);
  };
  refused({2, 0, 1}, {4, 2, 3}, Status::kOk, 0, 0);
  refused({1, 0}, {3, 2, 4}, Status::kBadRank, 2, 3);
  refused({0, 1, 2}, {2, 12}, Status::kBadRank, 2, 3);
  refused({0, 1, 3}, {2, 3, 4}, Status::kBadAxis, 3, 3);
  refused({0, 1, 1}, {2, 3, 3}, Status::kBadAxis, 1, 3);
  refused({-1, 1, 2}, {2, 3, 4}, Status::kBadAxis, -1, 3);
  refused({2, 0, 1}, {4, 3, 2}, Status::kShapeMismatch, 3, 2);
}

TEST_CASE("quantize, dequantize, lookup, clamp") {
  SUBCASE("quantize takes reals") {
    OneNode m;
    const int32_t x = m.s8({4}), y = m.s8({4});
    m.node(Op::kQuantize, {x}, y);
    m.check(Status::kBadDType, kS8Value, kF32Value);
  }
  SUBCASE("quantize needs a scale") {
    OneNode m;
    const int32_t x = m.f32({4}), y = m.s8({4}, 0.0f);
    m.node(Op::kQuantize, {x}, y);
    m.check(Status::kQuantizationMissing);
  }
  SUBCASE("dequantize needs a scale") {
    OneNode m;
    const int32_t x = m.s8({4}, 0.0f), y = m.f32({4});
    m.node(Op::kDequantize, {x}, y);
    m.check(Status::kQuantizationMissing);
  }
  SUBCASE("dequantize keeps the shape") {
    OneNode m;
    const int32_t x = m.s8({4}), y = m.f32({5});
    m.node(Op::kDequantize, {x}, y);
    m.check(Status::kShapeMismatch, 5, 4);
  }
  SUBCASE("a lookup's table has 256 entries") {
    OneNode m;
    const int32_t x = m.s8({4}), t = m.constant(DType::kS8, {255}, std::vector<int8_t>(255)), y = m.s8({4});
    m.node(Op::kLookup, {x, t}, y);
    m.check(Status::kShapeMismatch, 255, 256);
  }
  SUBCASE("a lookup has a table") {
    OneNode m;
    const int32_t x = m.s8({4}), y = m.s8({4});
    m.node(Op::kLookup, {x}, y);
    m.check(Status::kInputCount, 1, 2);
  }
  SUBCASE("clamp is FP32 alone") {
    OneNode m;
    const int32_t x = m.s8({4}), y = m.s8({4});
    m.node(Op::kClamp, {x}, y);
    m.check(Status::kOperatorMissing, static_cast<int64_t>(Op::kClamp));
  }
  SUBCASE("clamp keeps the shape") {
    OneNode m;
    const int32_t x = m.f32({4}), y = m.f32({2, 2});
    m.node(Op::kClamp, {x}, y);
    m.check(Status::kBadRank, 2, 1);
  }
}

}  // namespace
}  // namespace intaglio::test::ops_refusal_test
