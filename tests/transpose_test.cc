#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "kernels/copy/strided_copy.h"
#include "tests/support/random.h"

namespace intaglio::test::transpose_test {
namespace {

using test::Random;

template <typename T>
std::vector<T> numbered(size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i * 2654435761u >> 7);
  return values;
}

// Element by element, by coordinates.
template <typename T>
std::vector<T> expected_permutation(const std::vector<T>& x, const std::vector<int32_t>& dims,
                                    const std::vector<int32_t>& permutation) {
  std::vector<T> y(x.size());
  std::vector<int32_t> at(dims.size(), 0);  // output coordinates
  for (T& target : y) {
    std::vector<int32_t> from(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) from[static_cast<size_t>(permutation[i])] = at[i];
    size_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset = offset * static_cast<size_t>(dims[i]) + static_cast<size_t>(from[i]);
    target = x[offset];
    for (size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < dims[static_cast<size_t>(permutation[i])]) break;
      at[i] = 0;
    }
  }
  return y;
}

template <typename T, typename Permute>
void check(const std::vector<int32_t>& dims, const std::vector<int32_t>& permutation, Permute permute) {
  size_t count = 1;
  for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
  const std::vector<T> values = numbered<T>(count);
  const test::Exact<T> x(values);
  const Permutation p = make_permutation(dims.data(), permutation.data(), static_cast<int32_t>(dims.size()));
  test::Exact<T> y(count);
  // In two parts, the second first.
  const int32_t middle = p.dims[0] / 2;
  permute(p, x.data(), y.data(), middle, p.dims[0]);
  permute(p, x.data(), y.data(), 0, middle);
  const std::vector<T> expected = expected_permutation(values, dims, permutation);
  REQUIRE(memcmp(y.data(), expected.data(), count * sizeof(T)) == 0);
}

TEST_CASE("every permutation of every rank") {
  Random random(1);
  for (int32_t rank = 1; rank <= 6; ++rank) {
    std::vector<int32_t> permutation(static_cast<size_t>(rank));
    std::iota(permutation.begin(), permutation.end(), 0);
    do {
      std::vector<int32_t> dims;
      for (int32_t i = 0; i < rank; ++i) dims.push_back(random.between(1, 5));
      check<uint8_t>(dims, permutation, permute_8);
      check<uint32_t>(dims, permutation, permute_32);
    } while (std::next_permutation(permutation.begin(), permutation.end()));
  }
}

TEST_CASE("sizes around the tile") {
  for (const int32_t rows : {1, 31, 32, 33, 70})
    for (const int32_t columns : {1, 31, 32, 33, 70}) {
      check<uint8_t>({rows, columns}, {1, 0}, permute_8);
      check<uint32_t>({2, rows, columns}, {0, 2, 1}, permute_32);
      check<uint8_t>({rows, 3, columns}, {2, 1, 0}, permute_8);
      check<uint32_t>({1, 3, rows, columns}, {0, 2, 3, 1}, permute_32);
    }
}

// Around vectors of 16 bytes, and what of a side is no whole vector.
TEST_CASE("matrices, random sides and elements") {
  Random random(2);
  const int32_t cases = test::shape_count(4000);
  for (int32_t trial = 0; trial < cases; ++trial) {
    const auto side = [&] { return random.between(1, random.one_in(2) ? 9 : 40); };
    const std::vector<int32_t> dims = {random.between(1, 4), side(), side(), random.between(1, 3)};
    const std::vector<int32_t> order = random.one_in(2)   ? std::vector<int32_t>{0, 2, 1, 3}
                                       : random.one_in(2) ? std::vector<int32_t>{2, 0, 1, 3}
                                                          : std::vector<int32_t>{3, 2, 1, 0};
    check<uint8_t>(dims, order, permute_8);
    check<uint16_t>(dims, order, permute_16);
    check<uint32_t>(dims, order, permute_32);
  }
}

TEST_CASE("axes of size 1 and neighbours merge") {
  const int32_t dims[] = {1, 3, 4, 5}, to_nhwc[] = {0, 2, 3, 1}, none[] = {0, 1, 2, 3};
  const Permutation p = make_permutation(dims, to_nhwc, 4);
  CHECK(p.rank == 2);
  CHECK(p.dims[0] == 20);
  CHECK(p.dims[1] == 3);
  CHECK(p.strides[0] == 1);
  CHECK(p.strides[1] == 20);
  CHECK(make_permutation(dims, none, 4).rank == 1);
  const int32_t ones[] = {1, 1};
  CHECK(make_permutation(ones, none, 2).dims[0] == 1);
}

}  // namespace
}  // namespace intaglio::test::transpose_test
