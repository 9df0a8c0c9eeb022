// Random numbers for tests: the same on every machine and run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace intaglio::test {

class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}

  uint32_t bits() { return static_cast<uint32_t>(generator_()); }
  int32_t between(int32_t lo, int32_t hi) {  // both included
    return lo + static_cast<int32_t>(bits() % static_cast<uint32_t>(hi - lo + 1));
  }
  bool one_in(int32_t n) { return between(1, n) == 1; }
  float real(float lo, float hi) { return lo + (hi - lo) * static_cast<float>(bits() >> 8) * 0x1p-24f; }
  float any_float() {
    const uint32_t b = bits();
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
  }
  std::vector<int8_t> codes(size_t count) {
    std::vector<int8_t> v(count);
    for (int8_t& x : v) x = static_cast<int8_t>(between(-128, 127));
    return v;
  }
  std::vector<float> reals(size_t count, float lo, float hi) {
    std::vector<float> v(count);
    for (float& x : v) x = real(lo, hi);
    return v;
  }

 private:
  std::mt19937 generator_;
};

// How many random cases a test runs: INTAGLIO_SHAPES, or what lets it end in a few seconds.
inline int32_t shape_count(int32_t usual) {
  const char* const text = std::getenv("INTAGLIO_SHAPES");
  const int32_t count = text != nullptr ? std::atoi(text) : 0;
  return count > 0 ? count : usual;
}

// Exactly `count` elements on the heap, so that a sanitizer sees any step past their end.
template <typename T>
class Exact {
 public:
  explicit Exact(size_t count, size_t alignment = 64) : count_(count) {
    if (posix_memalign(reinterpret_cast<void**>(&data_), alignment, count == 0 ? 1 : count * sizeof(T)) != 0)
      std::abort();
  }
  explicit Exact(const std::vector<T>& values) : Exact(values.size()) {
    if (count_ > 0) memcpy(data_, values.data(), count_ * sizeof(T));
  }
  ~Exact() { std::free(data_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace intaglio::test
