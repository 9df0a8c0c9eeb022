// Elements of a tensor of any rank by their places along its axes, the last axis fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace intaglio::test {

using Ints = std::vector<int64_t>;

inline int64_t count(const Ints& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Where element `i` of a tensor of `dims` lies along each axis.
inline Ints place_of(int64_t i, const Ints& dims) {
  Ints place(dims.size());
  for (size_t d = dims.size(); d-- > 0; i /= dims[d]) place[d] = i % dims[d];
  return place;
}
inline int64_t index_of(const Ints& place, const Ints& dims) {
  int64_t i = 0;
  for (size_t d = 0; d < dims.size(); ++d) i = i * dims[d] + place[d];
  return i;
}

}  // namespace intaglio::test
