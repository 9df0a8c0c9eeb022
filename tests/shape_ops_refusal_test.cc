// Refusals of operators that move, gate or bend elements: each fault with its own status,
// the value found and the limit. The shapes of known faults of other runtimes are among them (trust.md 1.2).
#include <doctest/doctest.h>

#include <limits>

#include "tests/support/one_node.h"

namespace intaglio::test::shape_ops_refusal_test {
namespace {

using test::Dims;
using test::kF32Value;
using test::kS32Value;
using test::kS8Value;
using test::OneNode;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_CASE("mul and sub") {
  for (const Op op : {Op::kMul, Op::kSub}) {
    {
      OneNode m;  // a broadcast of both
      m.node(op, {m.s8({2, 1}), m.s8({1, 3})}, m.s8({2, 3}));
      m.check(Status::kOk);
    }
    {
      OneNode m;
      m.node(op, {m.f32({2, 3}), m.f32({2})}, m.f32({2, 3}));
      m.check(Status::kShapeMismatch, 2, 3);
    }
    {
      OneNode m;
      m.node(op, {m.f32({3}), m.f32({2, 1})}, m.f32({2, 1}));
      m.check(Status::kShapeMismatch, 1, 3);
    }
    {
      OneNode m;
      m.node(op, {m.f32({3}), m.f32({3})}, m.f32({2, 3}));
      m.check(Status::kShapeMismatch, 2, 1);
    }
    {
      OneNode m;
      m.node(op, {m.s8({3}), m.f32({3})}, m.s8({3}));
      m.check(Status::kBadDType, kF32Value, kS8Value);
    }
    {
      OneNode m;
      m.node(op, {m.s8({3}), m.s8({3}, 0.0f)}, m.s8({3}));
      m.check(Status::kQuantizationMissing);
    }
    {
      OneNode m;
      m.node(op, {m.s8({3})}, m.s8({3}));
      m.check(Status::kInputCount, 1, 2);
    }
    {
      OneNode m;
      m.node(op, {m.s8({3}), m.s8({3})}, m.s8({3})).as<Clamp>().hi = -129;
      m.check(Status::kBadClamp, -128, -129);
    }
  }
  OneNode m;
  m.node(Op::kSub, {m.s8({3}, 0x1p20f), m.s8({3})}, m.s8({3}, 1.0f));
  m.check(Status::kScaleRatio);
}

TEST_CASE("concat") {
  const auto refuse = [](int32_t axis, const Dims& a, const Dims& b, const Dims& y, Status status,
                         int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    m.node(Op::kConcat, {m.s8(a), m.s8(b)}, m.s8(y)).as<ConcatOptions>().axis = axis;
    m.check(status, value, limit);
  };
  refuse(1, {2, 3}, {2, 4}, {2, 7}, Status::kOk);
  refuse(2, {2, 3}, {2, 4}, {2, 7}, Status::kBadAxis, 2, 2);
  refuse(-1, {2, 3}, {2, 4}, {2, 7}, Status::kBadAxis, -1, 2);
  refuse(INT32_MIN, {2, 3}, {2, 4}, {2, 7}, Status::kBadAxis, INT32_MIN, 2);
  refuse(1, {2, 3}, {4}, {2, 7}, Status::kBadRank, 1, 2);
  refuse(1, {2, 3}, {3, 4}, {2, 7}, Status::kShapeMismatch, 3, 2);
  refuse(1, {2, 3}, {2, 4}, {2, 8}, Status::kShapeMismatch, 8, 7);
  refuse(0, {2, 3}, {1, 3}, {4, 3}, Status::kShapeMismatch, 4, 3);
  {
    OneNode m;
    m.node(Op::kConcat, {m.s8({2}), m.s8({2}, 0.25f)}, m.s8({4})).as<ConcatOptions>().axis = 0;
    m.check(Status::kQuantizationMismatch);
  }
  {
    OneNode m;
    m.node(Op::kConcat, {m.s8({2}), m.s8({2}, 0.5f, 3)}, m.s8({4})).as<ConcatOptions>().axis = 0;
    m.check(Status::kQuantizationMismatch, 3, 0);
  }
  {
    OneNode m;
    m.node(Op::kConcat, {m.f32({2}), m.s8({2})}, m.f32({4})).as<ConcatOptions>().axis = 0;
    m.check(Status::kBadDType, kS8Value, kF32Value);
  }
  {
    OneNode m;
    m.node(Op::kConcat, {m.f32({2}), -1}, m.f32({4})).as<ConcatOptions>().axis = 0;
    m.check(Status::kInputMissing, 1);
  }
}

TEST_CASE("pad") {
  const auto refuse = [](const Dims& begin, const Dims& x, const Dims& y, Status status, int64_t value = 0,
                         int64_t limit = 0, float pad_value = 0.0f) {
    OneNode m;
    NodeOptions& o = m.node(Op::kPad, {m.f32(x)}, m.f32(y));
    o.as<PadOptions>().before = m.b.keep(begin);
    o.as<PadOptions>().value = pad_value;
    m.check(status, value, limit);
  };
  refuse({1, 0}, {2, 3}, {4, 3}, Status::kOk);
  refuse({1}, {2, 3}, {4, 3}, Status::kBadRank, 1, 2);
  refuse({}, {2, 3}, {4, 3}, Status::kBadRank, 0, 2);
  refuse({-1, 0}, {2, 3}, {4, 3}, Status::kBadPadding, -1, 2);
  refuse({3, 0}, {2, 3}, {4, 3}, Status::kBadPadding, 3, 2);
  refuse({0, INT32_MAX}, {2, 3}, {4, 3}, Status::kBadPadding, INT32_MAX, 0);
  refuse({0, 0}, {2, 3}, {2, 2}, Status::kShapeMismatch, 2, 3);
  refuse({0, 0}, {2, 3}, {2, 3, 1}, Status::kBadRank, 3, 2);
  refuse({0, 0}, {2, 3}, {2, 3}, Status::kBadAttribute, 2, 0, kInf);
  refuse({0, 0}, {2, 3}, {2, 3}, Status::kBadAttribute, 2, 0, std::numeric_limits<float>::quiet_NaN());
  OneNode m;
  m.node(Op::kPad, {m.s8({2}, 0.5f, 1)}, m.s8({2})).as<PadOptions>().before = m.b.keep({0});
  m.check(Status::kQuantizationMismatch, 0, 1);
}

TEST_CASE("strided slice") {
  const auto refuse = [](const Dims& begin, const Dims& strides, const Dims& x, const Dims& y, Status status,
                         int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    NodeOptions& o = m.node(Op::kStridedSlice, {m.s8(x)}, m.s8(y));
    o.as<StridedSliceOptions>().begin = m.b.keep(begin);
    o.as<StridedSliceOptions>().strides = m.b.keep(strides);
    m.check(status, value, limit);
  };
  refuse({1, 0}, {1, 2}, {4, 9}, {3, 5}, Status::kOk);
  refuse({3, 8}, {-1, -2}, {4, 9}, {4, 5}, Status::kOk);
  refuse({1, 0}, {1, 2}, {4, 9}, {3, 6}, Status::kBadSlice, 10, 9);
  refuse({4, 0}, {1, 1}, {4, 9}, {1, 9}, Status::kBadSlice, 4, 4);
  refuse({-1, 0}, {1, 1}, {4, 9}, {1, 9}, Status::kBadSlice, -1, 4);
  refuse({3, 0}, {-1, 1}, {4, 9}, {5, 9}, Status::kBadSlice, -1, 4);
  refuse({0, 0}, {INT32_MAX, 1}, {4, 9}, {3, 9}, Status::kBadSlice, int64_t{2} * INT32_MAX, 4);
  refuse({0, 0}, {0, 1}, {4, 9}, {1, 9}, Status::kBadStride, 0, 4);
  refuse({0}, {1, 1}, {4, 9}, {4, 9}, Status::kBadRank, 1, 2);
  refuse({0, 0}, {1, 1, 1}, {4, 9}, {4, 9}, Status::kBadRank, 3, 2);
  refuse({0, 0}, {1, 1}, {4, 9}, {4}, Status::kBadRank, 1, 2);
}

TEST_CASE("gather") {
  const auto refuse = [](int32_t axis, const std::vector<int32_t>& indices, const Dims& y, Status status,
                         int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    const int32_t x = m.f32({4, 5});
    const int32_t list = m.constant(DType::kS32, {static_cast<int32_t>(indices.size())}, indices);
    m.node(Op::kGather, {x, list}, m.f32(y)).as<GatherOptions>().axis = axis;
    m.check(status, value, limit);
  };
  refuse(0, {3, 0}, {2, 5}, Status::kOk);
  refuse(0, {4, 0}, {2, 5}, Status::kBadIndex, 4, 4);
  refuse(0, {0, -1}, {2, 5}, Status::kBadIndex, -1, 4);
  refuse(1, {0, INT32_MIN}, {4, 2}, Status::kBadIndex, INT32_MIN, 5);
  refuse(2, {0, 0}, {2, 5}, Status::kBadAxis, 2, 2);
  refuse(-1, {0, 0}, {2, 5}, Status::kBadAxis, -1, 2);
  refuse(0, {0, 0}, {3, 5}, Status::kShapeMismatch, 3, 2);
  refuse(0, {0, 0}, {2, 4}, Status::kShapeMismatch, 4, 5);
  refuse(0, {0, 0}, {10}, Status::kBadRank, 1, 2);
  {
    OneNode m;
    m.node(Op::kGather, {m.f32({4}), m.f32({2})}, m.f32({2}));
    m.check(Status::kBadDType, kF32Value, kS32Value);
  }
}

TEST_CASE("resize") {
  const auto refuse = [](const Dims& x, const Dims& y, Status status, int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    m.node(Op::kResize, {m.s8(x)}, m.s8(y));
    m.check(status, value, limit);
  };
  refuse({1, 4, 4, 3}, {1, 7, 2, 3}, Status::kOk);
  refuse({4, 4, 3}, {1, 7, 2, 3}, Status::kBadRank, 3, 4);
  refuse({1, 4, 4, 3}, {7, 2, 3}, Status::kBadRank, 3, 4);
  refuse({1, 4, 4, 3}, {2, 7, 2, 3}, Status::kShapeMismatch, 2, 1);
  refuse({1, 4, 4, 3}, {1, 7, 2, 4}, Status::kShapeMismatch, 4, 3);
  refuse({1, 1, 1 << 21, 1}, {1, 1, 1, 1}, Status::kBadPictureSize, 1 << 21, 1 << 20);
  refuse({1, 1, 1, 1}, {1, 1 << 21, 1, 1}, Status::kBadPictureSize, 1 << 21, 1 << 20);
  {
    OneNode m;
    m.node(Op::kResize, {m.s8({1, 1, 1, 1})}, m.s8({1, 2, 2, 1}, 0.25f));
    m.check(Status::kQuantizationMismatch);
  }
  {
    OneNode m;  // an enumerator that no reader knows
    m.node(Op::kResize, {m.f32({1, 1, 1, 1})}, m.f32({1, 2, 2, 1})).as<ResizeOptions>().coordinates =
        static_cast<Coordinates>(9);
    m.check(Status::kBadEnum, 9, 2);
  }
}

TEST_CASE("functions of one variable") {
  for (const Op op : {Op::kLeakyRelu, Op::kSigmoid, Op::kTanh, Op::kHardSwish, Op::kHardSigmoid, Op::kSwish,
                      Op::kGelu, Op::kExp, Op::kAbs, Op::kSqrt, Op::kRsqrt, Op::kReciprocal, Op::kLog,
                      Op::kErf, Op::kElu, Op::kSoftplus, Op::kMish, Op::kGeluTanh}) {
    const auto refuse = [op](Status status, int64_t value, int64_t limit, const Dims& y, float alpha,
                             float beta) {
      OneNode m;
      auto* const o = m.node(op, {m.f32({2, 3})}, m.f32(y)).get<UnaryOptions>();
      if (o != nullptr) *o = {alpha, beta};
      m.check(status, value, limit);
    };
    refuse(Status::kOk, 0, 0, {2, 3}, 0.1f, 0.5f);
    refuse(Status::kShapeMismatch, 4, 3, {2, 4}, 0.1f, 0.5f);
    refuse(Status::kBadRank, 1, 2, {6}, 0.1f, 0.5f);
    if (NodeOptions(op).get<UnaryOptions>() != nullptr) {
      refuse(Status::kBadAttribute, 0, 0, {2, 3}, kInf, 0.5f);
      refuse(Status::kBadAttribute, 1, 0, {2, 3}, 0.1f, std::numeric_limits<float>::quiet_NaN());
    }
    {
      OneNode m;
      m.node(op, {m.s8({3})}, m.f32({3}));
      m.check(Status::kBadDType, kS8Value, kF32Value);
    }
    {
      OneNode m;  // in int8 they are Lookups
      m.node(op, {m.s8({3})}, m.s8({3}));
      m.check(Status::kOperatorMissing, static_cast<int64_t>(op));
    }
  }
}

TEST_CASE("prelu, and a table a channel") {
  {
    OneNode m;
    m.node(Op::kPRelu, {m.f32({2, 3}), m.constant<float>(DType::kF32, {3}, {1, 2, 3})}, m.f32({2, 3}));
    m.check(Status::kOk);
  }
  {
    OneNode m;
    m.node(Op::kPRelu, {m.f32({2, 3}), m.constant<float>(DType::kF32, {2}, {1, 2})}, m.f32({2, 3}));
    m.check(Status::kShapeMismatch, 2, 3);
  }
  {
    OneNode m;
    m.node(Op::kPRelu, {m.f32({2, 3}), m.f32({3})}, m.f32({2, 3}));
    m.check(Status::kConstantExpected);
  }
  const auto lookup = [](const Dims& tables, Status status, int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    const int32_t x = m.s8({2, 3});
    m.node(Op::kLookup, {x, m.constant(DType::kS8, tables, std::vector<int8_t>(test::elements(tables)))},
           m.s8({2, 3}));
    m.check(status, value, limit);
  };
  lookup({256}, Status::kOk);
  lookup({1, 256}, Status::kOk);
  lookup({3, 256}, Status::kOk);
  lookup({2, 256}, Status::kShapeMismatch, 2, 3);
  lookup({3, 255}, Status::kShapeMismatch, 765, 768);
  lookup({768}, Status::kShapeMismatch, 768, 256);
}

}  // namespace
}  // namespace intaglio::test::shape_ops_refusal_test
