// Operators that move elements: concatenation, padding, slices, gathering, by coordinates one by one.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "kernels/copy/strided_copy.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::shape_ops_test {
namespace {

using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::run_widths;

// Coordinates of the element at `index`, and back.
Dims place_of(size_t index, const Dims& dims) {
  Dims at(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    at[i] = static_cast<int32_t>(index % static_cast<size_t>(dims[i]));
    index /= static_cast<size_t>(dims[i]);
  }
  return at;
}
size_t index_of(const Dims& at, const Dims& dims) {
  size_t index = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    index = index * static_cast<size_t>(dims[i]) + static_cast<size_t>(at[i]);
  return index;
}

Dims random_dims(Random& random, int32_t rank, int32_t most) {
  Dims dims;
  for (int32_t i = 0; i < rank; ++i) dims.push_back(random.between(1, most));
  if (random.one_in(4)) dims.back() = random.between(60, 200);
  return dims;
}

template <typename T>
std::vector<T> random_values(Random& random, size_t count);
template <>
std::vector<int8_t> random_values(Random& random, size_t count) {
  return random.codes(count);
}
template <>
std::vector<float> random_values(Random& random, size_t count) {
  return random.reals(count, -4.0f, 4.0f);
}

template <typename T>
int32_t add_tensor(ModelBuilder& b, const std::string& name, const Dims& dims) {
  if (sizeof(T) == 1) return b.tensor(name, DType::kS8, dims, 0.5f, 7);
  return b.tensor(name, DType::kF32, dims);
}

// The output of one node with the inputs `x`; `set` gives it options and constants.
template <typename T>
std::vector<T> run_node(Op op, const std::vector<Dims>& in, const Dims& out,
                        const std::vector<std::vector<T>>& x,
                        const std::function<void(ModelBuilder&, NodeOptions&)>& set,
                        const std::vector<int32_t>& indices = {}, const Dims& index_dims = {}) {
  ModelBuilder b;
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    inputs.push_back(add_tensor<T>(b, "x" + std::to_string(i), in[i]));
    b.input(inputs.back());
  }
  if (!indices.empty()) inputs.push_back(b.constant("indices", DType::kS32, index_dims, indices));
  const int32_t y = add_tensor<T>(b, "y", out);
  set(b, b.node(op, inputs, {y}).options);
  b.output(y);
  return run_widths<T>(b, x);
}

template <typename T>
void check_concat(Random& random) {
  const int32_t rank = random.between(1, 6), count = random.between(1, 5), axis = random.between(0, rank - 1);
  const Dims base = random_dims(random, rank, 5);
  std::vector<Dims> in(static_cast<size_t>(count), base);
  Dims out = base;
  out[static_cast<size_t>(axis)] = 0;
  std::vector<std::vector<T>> x;
  for (Dims& dims : in) {
    dims[static_cast<size_t>(axis)] = random.between(1, 40);
    out[static_cast<size_t>(axis)] += dims[static_cast<size_t>(axis)];
    x.push_back(random_values<T>(random, elements(dims)));
  }
  std::vector<T> expected(elements(out));
  for (size_t i = 0; i < expected.size(); ++i) {
    Dims at = place_of(i, out);
    size_t from = 0;
    while (at[static_cast<size_t>(axis)] >= in[from][static_cast<size_t>(axis)])
      at[static_cast<size_t>(axis)] -= in[from++][static_cast<size_t>(axis)];
    expected[i] = x[from][index_of(at, in[from])];
  }
  REQUIRE(run_node<T>(Op::kConcat, in, out, x,
                      [&](ModelBuilder&, NodeOptions& o) { o.as<ConcatOptions>().axis = axis; }) == expected);
}

TEST_CASE("concatenation") {
  Random random(1);
  for (int32_t trial = 0; trial < 150; ++trial) {
    check_concat<int8_t>(random);
    check_concat<float>(random);
  }
}

template <typename T>
void check_pad(Random& random, float value, T padding) {
  const int32_t rank = random.between(1, 6);
  const Dims in = random_dims(random, rank, 4);
  Dims begin, out;
  for (const int32_t dim : in) {
    begin.push_back(random.between(0, 2));
    out.push_back(dim + begin.back() + random.between(0, 2));
  }
  const std::vector<T> x = random_values<T>(random, elements(in));
  std::vector<T> expected(elements(out), padding);
  for (size_t i = 0; i < x.size(); ++i) {
    Dims at = place_of(i, in);
    for (size_t d = 0; d < at.size(); ++d) at[d] += begin[d];
    expected[index_of(at, out)] = x[i];
  }
  const auto set = [&](ModelBuilder& b, NodeOptions& o) {
    o.as<PadOptions>().before = b.keep(begin);
    o.as<PadOptions>().value = value;
  };
  REQUIRE(run_node<T>(Op::kPad, {in}, out, {x}, set) == expected);
}

TEST_CASE("padding writes the zero point, or the value's code") {
  Random random(2);
  for (int32_t trial = 0; trial < 100; ++trial) {
    check_pad<int8_t>(random, 0.0f, 7);
    check_pad<int8_t>(random, -2.0f, 3);      // scale 0.5, zero point 7
    check_pad<int8_t>(random, -1e30f, -128);  // as far as codes go
    check_pad<float>(random, -2.0f, -2.0f);
  }
}

template <typename T>
void check_slice(Random& random) {
  const int32_t rank = random.between(1, 6);
  const Dims in = random_dims(random, rank, 6);
  Dims begin, strides, out;
  for (const int32_t dim : in) {
    begin.push_back(random.between(0, dim - 1));
    const int32_t stride = random.one_in(2) ? 1 : random.between(1, 3);
    strides.push_back(random.one_in(3) ? -stride : stride);
    const int32_t room = strides.back() > 0 ? dim - 1 - begin.back() : begin.back();
    out.push_back(random.between(1, room / stride + 1));
  }
  const std::vector<T> x = random_values<T>(random, elements(in));
  std::vector<T> expected(elements(out));
  for (size_t i = 0; i < expected.size(); ++i) {
    Dims at = place_of(i, out);
    for (size_t d = 0; d < at.size(); ++d) at[d] = begin[d] + at[d] * strides[d];
    expected[i] = x[index_of(at, in)];
  }
  const auto set = [&](ModelBuilder& b, NodeOptions& o) {
    o.as<StridedSliceOptions>().begin = b.keep(begin);
    o.as<StridedSliceOptions>().strides = b.keep(strides);
  };
  REQUIRE(run_node<T>(Op::kStridedSlice, {in}, out, {x}, set) == expected);
}

TEST_CASE("slices, forwards and backwards") {
  Random random(3);
  for (int32_t trial = 0; trial < 300; ++trial) {
    check_slice<int8_t>(random);
    check_slice<float>(random);
  }
}

TEST_CASE("a stride that is never taken may be any number but 0") {
  const auto set = [](ModelBuilder& b, NodeOptions& o) {
    o.as<StridedSliceOptions>().begin = b.keep({2, 0});
    o.as<StridedSliceOptions>().strides = b.keep({INT32_MIN, INT32_MAX});
  };
  CHECK(run_node<float>(Op::kStridedSlice, {{3, 1}}, {1, 1}, {{1, 2, 3}}, set) == std::vector<float>{3});
}

template <typename T>
void check_gather(Random& random) {
  const int32_t rank = random.between(1, 4), index_rank = random.between(1, 2);
  const auto axis = static_cast<size_t>(random.between(0, rank - 1));
  const Dims in = random_dims(random, rank, 6);
  const Dims index_dims = random_dims(random, index_rank, 4);
  std::vector<int32_t> indices(elements(index_dims));
  for (int32_t& index : indices) index = random.between(0, in[axis] - 1);
  Dims out(in.begin(), in.begin() + static_cast<ptrdiff_t>(axis));
  out.insert(out.end(), index_dims.begin(), index_dims.end());
  out.insert(out.end(), in.begin() + static_cast<ptrdiff_t>(axis) + 1, in.end());
  const std::vector<T> x = random_values<T>(random, elements(in));
  std::vector<T> expected(elements(out));
  for (size_t i = 0; i < expected.size(); ++i) {
    const Dims at = place_of(i, out);
    const auto middle = at.begin() + static_cast<ptrdiff_t>(axis);
    const Dims chosen(middle, middle + index_rank);
    Dims from(at.begin(), middle);
    from.push_back(indices[index_of(chosen, index_dims)]);
    from.insert(from.end(), middle + index_rank, at.end());
    expected[i] = x[index_of(from, in)];
  }
  const auto set = [&](ModelBuilder&, NodeOptions& o) {
    o.as<GatherOptions>().axis = static_cast<int32_t>(axis);
  };
  REQUIRE(run_node<T>(Op::kGather, {in}, out, {x}, set, indices, index_dims) == expected);
}

TEST_CASE("gathering by constant indices") {
  Random random(4);
  for (int32_t trial = 0; trial < 200; ++trial) {
    check_gather<int8_t>(random);
    check_gather<float>(random);
  }
}

template <typename T, typename Copy>
void check_copy(Random& random, Copy copy_function) {
  const int32_t rank = random.between(1, 6);
  int32_t dims[6], strides[2][6];
  ptrdiff_t start[2], size[2];
  for (int32_t d = 0; d < rank; ++d) dims[d] = random.between(1, d + 1 == rank && random.one_in(4) ? 70 : 4);
  // Room for both, walked from whichever end, with gaps that only the source may repeat.
  for (int32_t side = 0; side < 2; ++side) {
    ptrdiff_t span = 1;
    start[side] = 0;
    size[side] = 1;
    for (int32_t d = rank; d-- > 0;) {
      const bool repeats = side == 0 && random.one_in(10);
      const auto step =
          static_cast<int32_t>(repeats ? 0 : span * (random.one_in(4) ? random.between(1, 4) : 1));
      const ptrdiff_t reach = ptrdiff_t{step} * (dims[d] - 1);
      const bool backwards = random.one_in(6);
      strides[side][d] = backwards ? -step : step;
      if (backwards) start[side] += reach;
      size[side] += reach;
      span = std::max(span, ptrdiff_t{step} * dims[d]);
    }
  }
  test::Exact<T> x(static_cast<size_t>(size[0])), y(static_cast<size_t>(size[1]));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.bits());
  memset(y.data(), 0x5a, y.size() * sizeof(T));
  std::vector<T> expected(y.data(), y.data() + y.size());
  const StridedCopy copy = make_strided_copy(dims, strides[0], strides[1], rank);
  int32_t cut[2] = {random.between(0, copy.dims[0]), random.between(0, copy.dims[0])};
  if (cut[0] > cut[1]) std::swap(cut[0], cut[1]);
  const Dims sizes(dims, dims + rank);
  const size_t count = elements(sizes), slice = count / static_cast<size_t>(copy.dims[0]);
  for (size_t i = slice * static_cast<size_t>(cut[0]); i < slice * static_cast<size_t>(cut[1]); ++i) {
    const Dims at = place_of(i, sizes);
    ptrdiff_t from = start[0], to = start[1];
    for (size_t d = 0; d < at.size(); ++d) {
      from += ptrdiff_t{at[d]} * strides[0][d];
      to += ptrdiff_t{at[d]} * strides[1][d];
    }
    expected[static_cast<size_t>(to)] = x[static_cast<size_t>(from)];
  }
  copy_function(copy, x.data() + start[0], y.data() + start[1], cut[0], cut[1]);
  REQUIRE(memcmp(y.data(), expected.data(), expected.size() * sizeof(T)) == 0);
}

TEST_CASE("copies, random sizes and strides") {
  Random random(6);
  const int32_t cases = test::shape_count(3000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    check_copy<uint8_t>(random, strided_copy_8);
    check_copy<uint16_t>(random, strided_copy_16);
    check_copy<uint32_t>(random, strided_copy_32);
  }
}

// Rows and matrices around vectors: rows of any length beside each other, every second element, planes that are turned.
template <typename T, typename Copy>
void check_planes(Random& random, Copy copy_function) {
  const int32_t rows = random.between(1, 40), columns = random.between(1, random.one_in(3) ? 300 : 40),
                dims[3] = {random.between(1, 3), rows, columns};
  int32_t strides[2][3];
  size_t size[2];
  for (int32_t side = 0; side < 2; ++side) {
    int32_t* const s = strides[side];
    if (random.one_in(4)) {
      s[1] = 1;
      s[2] = rows + random.between(0, 3);
      s[0] = s[2] * columns;
    } else {
      s[2] = side == 0 ? random.between(1, 5) : random.one_in(4) ? 2 : 1;
      s[1] = s[2] * (columns - 1) + 1 + random.between(0, 5);
      s[0] = s[1] * rows;
    }
    size[side] = 1;
    for (int32_t d = 0; d < 3; ++d) size[side] += static_cast<size_t>(s[d] * (dims[d] - 1));
  }
  test::Exact<T> x(size[0]), y(size[1]);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random.bits());
  memset(y.data(), 0x5a, y.size() * sizeof(T));
  std::vector<T> expected(y.data(), y.data() + y.size());
  for (int32_t i = 0; i < dims[0]; ++i)
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) {
        const auto at = [&](const int32_t* s) { return static_cast<size_t>(i * s[0] + r * s[1] + c * s[2]); };
        expected[at(strides[1])] = x[at(strides[0])];
      }
  const StridedCopy copy = make_strided_copy(dims, strides[0], strides[1], 3);
  const int32_t cut = random.between(0, copy.dims[0]);
  copy_function(copy, x.data(), y.data(), cut, copy.dims[0]);
  copy_function(copy, x.data(), y.data(), 0, cut);
  REQUIRE(memcmp(y.data(), expected.data(), expected.size() * sizeof(T)) == 0);
}

TEST_CASE("copies of planes, random sizes and strides") {
  Random random(8);
  const int32_t cases = test::shape_count(3000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    check_planes<uint8_t>(random, strided_copy_8);
    check_planes<uint16_t>(random, strided_copy_16);
    check_planes<uint32_t>(random, strided_copy_32);
  }
}

TEST_CASE("copies merge the axes that stay together") {
  const int32_t dims[] = {1, 4, 5, 6}, x_strides[] = {120, 30, 6, 1}, y_strides[] = {999, 60, 6, 1};
  const StridedCopy copy = make_strided_copy(dims, x_strides, y_strides, 4);
  CHECK(copy.rank == 2);
  CHECK(copy.dims[0] == 4);
  CHECK(copy.dims[1] == 30);
  const int32_t ones[] = {1, 1}, strides[] = {5, 5};
  CHECK(make_strided_copy(ones, strides, strides, 2).rank == 1);
  // Nothing for an empty range.
  uint8_t y = 1;
  const uint8_t x = 2;
  strided_copy_8(make_strided_copy(ones, strides, strides, 2), &x, &y, 0, 0);
  CHECK(y == 1);
}

}  // namespace
}  // namespace intaglio::test::shape_ops_test
