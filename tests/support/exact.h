// Room of an exact size, for kernels that must not step past an end.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace intaglio::test {

// Pages between two that nobody may touch; given back ones are used again.
class GuardedPages {
 public:
  static uint8_t* take(size_t pages) {
    std::vector<uint8_t*>& free = lists()[pages];
    if (!free.empty()) {
      uint8_t* const start = free.back();
      free.pop_back();
      return start;
    }
    const size_t size = page();
    void* const all =
        mmap(nullptr, (pages + 2) * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) std::abort();
    uint8_t* const start = static_cast<uint8_t*>(all) + size;
    if (mprotect(start, pages * size, PROT_READ | PROT_WRITE) != 0) std::abort();
    return start;
  }
  static void give_back(uint8_t* start, size_t pages) { lists()[pages].push_back(start); }
  static size_t page() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }

 private:
  static std::map<size_t, std::vector<uint8_t*>>& lists() {
    static std::map<size_t, std::vector<uint8_t*>> lists;
    return lists;
  }
};

// Exactly `count` elements, that end or, every other time, start at a page which stops the program when it is
// touched. With a size that is a multiple of the element's alignment both are aligned so; 64-byte blocks
// stand at multiples of 64.
template <typename T>
class Exact {
 public:
  explicit Exact(size_t count)
      : count_(count), pages_((count * sizeof(T) + GuardedPages::page() - 1) / GuardedPages::page()) {
    static bool at_start = false;
    at_start = !at_start;
    pages_ = pages_ == 0 ? 1 : pages_;
    start_ = GuardedPages::take(pages_);
    const size_t before = at_start ? 0 : pages_ * GuardedPages::page() - count * sizeof(T);
    data_ = reinterpret_cast<T*>(start_ + before);
  }
  explicit Exact(const std::vector<T>& values) : Exact(values.size()) {
    if (count_ > 0) memcpy(data_, values.data(), count_ * sizeof(T));
  }
  ~Exact() { GuardedPages::give_back(start_, pages_); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t count_, pages_;
  uint8_t* start_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace intaglio::test
