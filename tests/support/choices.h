// Decisions drawn from bytes, a fuzzer's or random ones: what is made of them changes in parts where a byte
// does. When the bytes end, every decision is 0.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace intaglio::test {

// a * b, which may be anything where either is odd.
template <typename T>
T wrapping_product(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool at_end() const { return left_ == 0; }
  uint32_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint32_t bits() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }
  uint32_t below(size_t count) {
    return count <= 256 ? byte() % static_cast<uint32_t>(count) : bits() % static_cast<uint32_t>(count);
  }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(static_cast<size_t>(hi - lo + 1)); }
  // Never at the end of the bytes, so that what is rare stays rare there.
  bool one_in(uint32_t count) { return byte() % count == count - 1; }
  template <typename T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  // In lo..hi, but now and then one that no check expects.
  int64_t number(int64_t lo, int64_t hi) {
    if (!one_in(24)) return between(lo, hi);
    // None that asks for much work and is right.
    const std::vector<int64_t> odd{-1,
                                   0,
                                   -2,
                                   7,
                                   255,
                                   300,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_MAX,
                                   INT64_MIN,
                                   int64_t{1} << 31,
                                   INT32_MAX - 1,
                                   int64_t{1} << 40};
    return of(odd);
  }
  std::vector<int64_t> numbers(size_t count, int64_t lo, int64_t hi) {
    if (one_in(32)) count = below(9);
    std::vector<int64_t> list;
    for (size_t i = 0; i < count; ++i) list.push_back(number(lo, hi));
    return list;
  }
  float real() {
    if (!one_in(32)) return (static_cast<float>(byte()) - 100.0f) / 32.0f;
    const std::vector<float> odd{0.0f,
                                 -0.0f,
                                 1.0f,
                                 6.0f,
                                 1e30f,
                                 -1e30f,
                                 1e-30f,
                                 1e-45f,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::nanf("")};
    return of(odd);
  }
  // Values of a constant, all made of a few bytes.
  std::vector<float> reals(size_t count) {
    const float first = real(), step = real() / 16.0f;
    std::vector<float> list(count);
    for (size_t i = 0; i < count; ++i) list[i] = first + step * static_cast<float>(i * 7 % 13);
    return list;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace intaglio::test
