// Operators that give or take indices, against plain loops: gathering by computed indices, the greatest elements and their
// places, rows of one-hot, casts; and what their plans refuse.
#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::index_ops_test {
namespace {

using test::Dims;
using test::elements;
using test::kF32Value;
using test::kS32Value;
using test::kS8Value;
using test::ModelBuilder;
using test::OneNode;
using test::Random;

// Outer blocks, the axis, and what lies side by side behind it.
struct Rows {
  size_t outer = 1, dim = 1, inner = 1;
};

Rows rows_of(const Dims& dims, int32_t axis) {
  Rows rows;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto dim = static_cast<size_t>(dims[i]);
    (static_cast<int32_t>(i) < axis   ? rows.outer
     : static_cast<int32_t>(i) > axis ? rows.inner
                                      : rows.dim) *= dim;
  }
  return rows;
}

template <typename T>
constexpr DType dtype_of() {
  return sizeof(T) == 1 ? DType::kS8 : DType::kF32;
}

template <typename T>
std::vector<T> few_values(Random& random, size_t count) {  // so that many are equal
  std::vector<T> x(count);
  for (T& v : x) v = static_cast<T>(random.between(-4, 4));
  return x;
}

// An index as a run may compute it: most are in the axis.
int32_t any_index(Random& random, int32_t dim) {
  const int32_t far[] = {INT32_MIN, INT32_MAX, -dim - 1, -dim, -1, dim - 1, dim};
  return random.one_in(3) ? far[random.between(0, 6)] : random.between(0, dim - 1);
}

size_t place(int32_t index, size_t dim) {
  const auto size = static_cast<int64_t>(dim);
  const int64_t at = index < 0 ? index + size : index;
  return static_cast<size_t>(std::clamp<int64_t>(at, 0, size - 1));
}

Dims random_dims(Random& random, int32_t rank) {
  Dims dims;
  for (int32_t i = 0; i < rank; ++i) dims.push_back(random.between(1, 6));
  if (random.one_in(4)) dims[static_cast<size_t>(random.between(0, rank - 1))] = random.between(30, 90);
  return dims;
}

// Two inputs of different types, of which the second holds indices.
template <typename T>
std::vector<T> run_indexed(ModelBuilder& b, const std::vector<T>& x, const std::vector<int32_t>& indices) {
  test::RunningModel model(b.finish());
  REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
  model.set_input(x, 0);
  model.set_input(indices, 1);
  model.session().run();
  return model.output<T>();
}

template <typename T>
void check_gather(Random& random) {
  const int32_t rank = random.between(1, 4), axis = random.between(0, rank - 1);
  const Dims in = random_dims(random, rank);
  const Rows rows = rows_of(in, axis);
  std::vector<int32_t> indices(static_cast<size_t>(random.between(1, 7)));
  for (int32_t& index : indices) index = any_index(random, static_cast<int32_t>(rows.dim));
  Dims out = in;
  out[static_cast<size_t>(axis)] = static_cast<int32_t>(indices.size());
  const std::vector<T> x = few_values<T>(random, elements(in));
  std::vector<T> expected;
  for (size_t o = 0; o < rows.outer; ++o)
    for (const int32_t index : indices)
      for (size_t i = 0; i < rows.inner; ++i)
        expected.push_back(x[(o * rows.dim + place(index, rows.dim)) * rows.inner + i]);
  ModelBuilder b;
  const float scale = sizeof(T) == 1 ? 0.5f : 0.0f;
  const int32_t tx = b.tensor("x", dtype_of<T>(), in, scale),
                ti = b.tensor("i", DType::kS32, {out[static_cast<size_t>(axis)]}),
                ty = b.tensor("y", dtype_of<T>(), out, scale);
  b.input(tx);
  b.input(ti);
  b.node(Op::kGather, {tx, ti}, {ty}).options.as<GatherOptions>().axis = axis;
  b.output(ty);
  REQUIRE(run_indexed(b, x, indices) == expected);
}

template <typename T>
void check_gather_elements(Random& random) {
  const int32_t rank = random.between(1, 4), axis = random.between(0, rank - 1);
  const Dims in = random_dims(random, rank);
  Dims out = in;
  out[static_cast<size_t>(axis)] = random.between(1, 5);
  const Rows rows = rows_of(in, axis);
  const auto count = static_cast<size_t>(out[static_cast<size_t>(axis)]);
  std::vector<int32_t> indices(elements(out));
  for (int32_t& index : indices) index = any_index(random, static_cast<int32_t>(rows.dim));
  const std::vector<T> x = few_values<T>(random, elements(in));
  std::vector<T> expected;
  for (size_t o = 0; o < rows.outer; ++o)
    for (size_t k = 0; k < count; ++k)
      for (size_t i = 0; i < rows.inner; ++i)
        expected.push_back(
            x[(o * rows.dim + place(indices[(o * count + k) * rows.inner + i], rows.dim)) * rows.inner + i]);
  ModelBuilder b;
  const float scale = sizeof(T) == 1 ? 0.5f : 0.0f;
  const int32_t tx = b.tensor("x", dtype_of<T>(), in, scale), ti = b.tensor("i", DType::kS32, out),
                ty = b.tensor("y", dtype_of<T>(), out, scale);
  b.input(tx);
  b.input(ti);
  b.node(Op::kGatherElements, {tx, ti}, {ty}).options.as<GatherOptions>().axis = axis;
  b.output(ty);
  REQUIRE(run_indexed(b, x, indices) == expected);
}

template <typename T>
void check_top_k(Random& random) {
  const int32_t rank = random.between(1, 4);
  TopKOptions options{random.between(0, rank - 1), random.one_in(2), random.one_in(3)};
  const Dims in = random_dims(random, rank);
  const Rows rows = rows_of(in, options.axis);
  const auto k = static_cast<size_t>(random.between(1, std::min(8, static_cast<int32_t>(rows.dim))));
  Dims out = in;
  out[static_cast<size_t>(options.axis)] = static_cast<int32_t>(k);
  const std::vector<T> x = few_values<T>(random, elements(in));
  std::vector<int32_t> expected(elements(out));
  for (size_t o = 0; o < rows.outer; ++o) {
    for (size_t i = 0; i < rows.inner; ++i) {
      const auto value = [&](size_t n) { return x[(o * rows.dim + n) * rows.inner + i]; };
      std::vector<size_t> order(rows.dim);
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&](size_t p, size_t q) {
        if (value(p) != value(q)) return options.smallest ? value(p) < value(q) : value(p) > value(q);
        return options.last_of_equal ? p > q : p < q;
      });
      for (size_t n = 0; n < k; ++n) expected[(o * k + n) * rows.inner + i] = static_cast<int32_t>(order[n]);
    }
  }
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype_of<T>(), in, sizeof(T) == 1 ? 0.5f : 0.0f),
                ty = b.tensor("y", DType::kS32, out);
  b.input(tx);
  b.node(Op::kTopK, {tx}, {ty}).options.as<TopKOptions>() = options;
  b.output(ty);
  REQUIRE(test::run_widths<int32_t>(b, std::vector<std::vector<T>>{x}) == expected);
}

TEST_CASE("gathering by computed indices: the nearest where one does not exist, below 0 from the end") {
  Random random(1);
  for (int32_t trial = 0; trial < 200; ++trial) {
    check_gather<int8_t>(random);
    check_gather<float>(random);
    check_gather_elements<int8_t>(random);
    check_gather_elements<float>(random);
  }
}

TEST_CASE("the greatest and the least elements: of equal ones the first, or the last") {
  Random random(2);
  for (int32_t trial = 0; trial < 200; ++trial) {
    check_top_k<int8_t>(random);
    check_top_k<float>(random);
  }
}

template <typename T>
void check_max_unpool(Random& random) {
  const int32_t n = random.between(1, 2), h = random.between(1, 4), w = random.between(1, 4),
                c = random.between(1, 9), kh = random.between(1, 3), kw = random.between(1, 3);
  const Dims in{n, h, w, c}, out{n, h * kh, w * kw, c};
  const auto zero = static_cast<T>(sizeof(T) == 1 ? -3 : 0);
  const std::vector<T> x = few_values<T>(random, elements(in)), map = few_values<T>(random, elements(out));
  std::vector<T> expected(elements(out), zero);
  const auto at = [&](int32_t picture, int32_t row, int32_t column, int32_t channel) {
    return static_cast<size_t>(((picture * h * kh + row) * w * kw + column) * c + channel);
  };
  for (int32_t i = 0; i < n * h * w * c; ++i) {
    const int32_t channel = i % c, column = i / c % w, row = i / c / w % h, picture = i / c / w / h;
    size_t best = at(picture, row * kh, column * kw, channel);
    for (int32_t tap = 1; tap < kh * kw; ++tap) {
      const size_t other = at(picture, row * kh + tap / kw, column * kw + tap % kw, channel);
      if (map[other] > map[best]) best = other;
    }
    expected[best] = x[static_cast<size_t>(i)];
  }
  ModelBuilder b;
  const bool is_s8 = sizeof(T) == 1;
  const int32_t tx = b.tensor("x", dtype_of<T>(), in, is_s8 ? 0.5f : 0.0f, zero),
                tm = b.tensor("map", dtype_of<T>(), out, is_s8 ? 0.25f : 0.0f),
                ty = b.tensor("y", dtype_of<T>(), out, is_s8 ? 0.5f : 0.0f, zero);
  b.input(tx);
  b.input(tm);
  b.node(Op::kMaxUnpool2d, {tx, tm}, {ty});
  b.output(ty);
  REQUIRE(test::run_widths<T>(b, std::vector<std::vector<T>>{x, map}) == expected);
}

TEST_CASE("elements at the greatest of their windows: of equal ones the first") {
  Random random(4);
  for (int32_t trial = 0; trial < 200; ++trial) {
    check_max_unpool<int8_t>(random);
    check_max_unpool<float>(random);
  }
}

TEST_CASE("one-hot rows") {
  Random random(3);
  for (int32_t trial = 0; trial < 100; ++trial) {
    const int32_t rank = random.between(1, 4);
    const Dims in = random_dims(random, rank);
    OneHotOptions options{random.between(0, rank), 2.5f, -1.0f, random.one_in(2)};
    const int32_t depth = random.between(1, 9);
    Dims out = in;
    out.insert(out.begin() + options.axis, depth);
    const Rows rows = rows_of(out, options.axis);
    std::vector<int32_t> x(elements(in));
    for (int32_t& index : x) index = any_index(random, depth);
    std::vector<float> expected(elements(out), options.off);
    for (size_t o = 0; o < rows.outer; ++o) {
      for (size_t i = 0; i < rows.inner; ++i) {
        int64_t index = x[o * rows.inner + i];
        if (index < 0 && options.from_end) index += depth;
        if (index >= 0 && index < depth)
          expected[(o * rows.dim + static_cast<size_t>(index)) * rows.inner + i] = options.on;
      }
    }
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS32, in), ty = b.tensor("y", DType::kF32, out);
    b.input(tx);
    b.node(Op::kOneHot, {tx}, {ty}).options.as<OneHotOptions>() = options;
    b.output(ty);
    REQUIRE(test::run_widths<float>(b, std::vector<std::vector<int32_t>>{x}) == expected);
  }
}

TEST_CASE("casts: to FP32 the nearest, to s32 towards 0 and within int32") {
  {
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kS32, {6}), y = b.tensor("y", DType::kF32, {6});
    b.input(x);
    b.node(Op::kCast, {x}, {y});
    b.output(y);
    const std::vector<int32_t> in = {0, -7, 16777217, 16777219, INT32_MAX, INT32_MIN};
    CHECK(test::run_widths<float>(b, std::vector<std::vector<int32_t>>{in}) ==
          std::vector<float>{0.0f, -7.0f, 16777216.0f, 16777220.0f, 2147483648.0f, -2147483648.0f});
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {9}), y = b.tensor("y", DType::kS32, {9});
  b.input(x);
  b.node(Op::kCast, {x}, {y});
  b.output(y);
  const std::vector<float> in = {1.9f,      -1.9f,      -0.0f,         2147483648.0f, -2147483648.0f,
                                 kInfinity, -kInfinity, std::nanf(""), 2147483520.0f};
  CHECK(test::run_widths<int32_t>(b, std::vector<std::vector<float>>{in}) ==
        std::vector<int32_t>{1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, 2147483520});
}

TEST_CASE("s32: reshaped and transposed") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS32, {2, 3}), turned = b.tensor("turned", DType::kS32, {3, 2}),
                y = b.tensor("y", DType::kS32, {6});
  b.input(x);
  b.node(Op::kTranspose, {x}, {turned}).options.as<TransposeOptions>().permutation = b.keep({1, 0});
  b.node(Op::kReshape, {turned}, {y});
  b.output(y);
  const std::vector<int32_t> in = {1, 2, 3, 4, 5, INT32_MIN};
  CHECK(test::run_widths<int32_t>(b, std::vector<std::vector<int32_t>>{in}) ==
        std::vector<int32_t>{1, 4, 2, 5, 3, INT32_MIN});
}

TEST_CASE("what the plans refuse") {
  const auto refuse = [](Op op, DType in, const Dims& x, DType out, const Dims& y, int32_t axis,
                         Status status, int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    const int32_t tx = m.b.tensor("x", in, x, in == DType::kS8 ? 0.5f : 0.0f),
                  ty = m.b.tensor("y", out, y, out == DType::kS8 ? 0.5f : 0.0f);
    NodeOptions& o = m.node(op, {tx}, ty);
    if (auto* const top = o.get<TopKOptions>()) top->axis = axis;
    if (auto* const hot = o.get<OneHotOptions>()) hot->axis = axis;
    m.check(status, value, limit);
  };
  const DType f32 = DType::kF32, s32 = DType::kS32, s8 = DType::kS8;
  refuse(Op::kTopK, f32, {4, 5}, s32, {4, 2}, 1, Status::kOk);
  refuse(Op::kTopK, s8, {4, 5}, s32, {4, 5}, 1, Status::kOk);
  refuse(Op::kTopK, f32, {4, 5}, s32, {4, 6}, 1, Status::kShapeMismatch, 6, 5);
  refuse(Op::kTopK, f32, {4, 5}, s32, {3, 5}, 1, Status::kShapeMismatch, 3, 4);
  refuse(Op::kTopK, f32, {4, 5}, s32, {4}, 1, Status::kBadRank, 1, 2);
  refuse(Op::kTopK, f32, {4, 5}, s32, {4, 5}, 2, Status::kBadAxis, 2, 2);
  refuse(Op::kTopK, f32, {4, 5}, s32, {4, 5}, -1, Status::kBadAxis, -1, 2);
  refuse(Op::kOneHot, s32, {3}, f32, {3, 8}, 1, Status::kOk);
  refuse(Op::kOneHot, s32, {3}, f32, {8, 3}, 0, Status::kOk);
  refuse(Op::kOneHot, s32, {3}, f32, {8, 3}, 1, Status::kShapeMismatch, 8, 3);
  refuse(Op::kOneHot, s32, {3}, f32, {8, 3}, 2, Status::kBadAxis, 2, 2);
  refuse(Op::kOneHot, s32, {3}, f32, {8, 3}, -1, Status::kBadAxis, -1, 2);
  refuse(Op::kOneHot, s32, {3}, f32, {3}, 0, Status::kBadRank, 1, 2);
  refuse(Op::kOneHot, f32, {3}, f32, {3, 8}, 1, Status::kBadDType, kF32Value, kS32Value);
  refuse(Op::kCast, s32, {3}, f32, {4}, 0, Status::kShapeMismatch, 4, 3);
  refuse(Op::kCast, f32, {3}, s32, {3, 1}, 0, Status::kBadRank, 2, 1);
  refuse(Op::kCast, s8, {3}, s32, {3}, 0, Status::kBadDType, kS8Value, kF32Value);
  refuse(Op::kReshape, s32, {3}, s32, {4}, 0, Status::kShapeMismatch, 4, 3);
  refuse(Op::kReshape, f32, {4}, s32, {4}, 0, Status::kBadDType, kF32Value, kS32Value);
}

TEST_CASE("what the plans of indices refuse") {
  const auto refuse = [](Op op, const Dims& x, DType dtype, const Dims& indices, const Dims& y, int32_t axis,
                         Status status, int64_t value = 0, int64_t limit = 0) {
    OneNode m;
    const int32_t tx = m.f32(x), ti = m.b.tensor("indices", dtype, indices);
    m.node(op, {tx, ti}, m.f32(y)).as<GatherOptions>().axis = axis;
    m.check(status, value, limit);
  };
  const DType f32 = DType::kF32, s32 = DType::kS32;
  refuse(Op::kGather, {4, 5}, s32, {2}, {2, 5}, 0, Status::kOk);
  refuse(Op::kGather, {4, 5}, f32, {2}, {2, 5}, 0, Status::kBadDType, kF32Value, kS32Value);
  refuse(Op::kGather, {4, 5}, s32, {2}, {3, 5}, 0, Status::kShapeMismatch, 3, 2);
  refuse(Op::kGatherElements, {4, 5}, s32, {4, 2}, {4, 2}, 1, Status::kOk);
  refuse(Op::kGatherElements, {4, 5}, s32, {4, 2}, {4, 3}, 1, Status::kShapeMismatch, 3, 2);
  refuse(Op::kGatherElements, {4, 5}, s32, {3, 5}, {3, 5}, 1, Status::kShapeMismatch, 3, 4);
  refuse(Op::kGatherElements, {4, 5}, s32, {4}, {4}, 1, Status::kBadRank, 1, 2);
  refuse(Op::kGatherElements, {4, 5}, s32, {4, 2}, {4, 2}, 2, Status::kBadAxis, 2, 2);
  refuse(Op::kGatherElements, {4, 5}, f32, {4, 2}, {4, 2}, 1, Status::kBadDType, kF32Value, kS32Value);
}

TEST_CASE("what the plan of windows refuses") {
  const auto refuse = [](const Dims& x, const Dims& map, const Dims& y, Status status, int64_t value = 0,
                         int64_t limit = 0) {
    OneNode m;
    const int32_t tx = m.f32(x), tm = m.f32(map);
    m.node(Op::kMaxUnpool2d, {tx, tm}, m.f32(y));
    m.check(status, value, limit);
  };
  refuse({1, 2, 3, 4}, {1, 4, 3, 4}, {1, 4, 3, 4}, Status::kOk);
  refuse({1, 2, 3, 4}, {1, 5, 3, 4}, {1, 5, 3, 4}, Status::kShapeMismatch, 5, 2);
  refuse({1, 2, 3, 4}, {1, 4, 2, 4}, {1, 4, 2, 4}, Status::kShapeMismatch, 2, 3);
  refuse({1, 2, 3, 4}, {1, 4, 6, 8}, {1, 4, 6, 8}, Status::kShapeMismatch, 8, 4);
  refuse({1, 2, 3, 4}, {2, 4, 6, 4}, {2, 4, 6, 4}, Status::kShapeMismatch, 2, 1);
  refuse({1, 2, 3, 4}, {1, 4, 6, 4}, {1, 4, 3, 4}, Status::kShapeMismatch, 3, 6);
  refuse({2, 3, 4}, {4, 6, 4}, {4, 6, 4}, Status::kBadRank, 3, 4);
  for (const bool other_scale : {false, true}) {
    OneNode m;
    const int32_t tx = m.s8({1, 1, 1, 1}), tm = m.s8({1, 2, 2, 1}, 0.25f, 3);
    m.node(Op::kMaxUnpool2d, {tx, tm}, m.s8({1, 2, 2, 1}, other_scale ? 0.25f : kScale));
    m.check(other_scale ? Status::kQuantizationMismatch : Status::kOk);
  }
}

}  // namespace
}  // namespace intaglio::test::index_ops_test
