// Bump allocation from memory that someone else gave: a span on a board, growing chunks on a host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "intaglio/span.h"

namespace intaglio {

// Running out is sticky and never fatal: allocate() gives nullptr, Array::push() a spare element, and
// whoever hands over a result asks exhausted() first.
class Arena {
 public:
  // Called when a span is used up; returns another of at least `bytes`, or an empty one.
  using Refill = Span<uint8_t> (*)(void* context, size_t bytes);

  Arena() = default;
  explicit Arena(Span<uint8_t> memory, Refill refill = nullptr, void* context = nullptr)
      : memory_(memory), refill_(refill), context_(context) {}

  void* allocate(size_t bytes, size_t alignment) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const size_t misaligned = reinterpret_cast<uintptr_t>(memory_.data + used_) % alignment;
      const size_t skip = misaligned == 0 ? 0 : alignment - misaligned;
      if (memory_.data != nullptr && skip <= memory_.size - used_ && bytes <= memory_.size - used_ - skip) {
        uint8_t* const place = memory_.data + used_ + skip;
        used_ += skip + bytes;
        return place;
      }
      if (refill_ == nullptr) break;
      memory_ = refill_(context_, bytes + alignment);
      used_ = 0;
    }
    exhausted_ = true;
    return nullptr;
  }

  // `count` zeroed elements; an empty span when memory has run out.
  template <typename T>
  Span<T> make(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > SIZE_MAX / sizeof(T)) {
      exhausted_ = true;
      return {};
    }
    T* const first = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    if (first == nullptr) return {};
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    return {first, count};
  }
  template <typename T>
  Span<T> copy(Span<const T> source) {
    const Span<T> target = make<T>(source.size);
    if (!target.empty()) memcpy(target.data, source.data, source.size * sizeof(T));
    return target;
  }
  const char* copy_name(const char* text, size_t length) {
    char* const place = static_cast<char*>(allocate(length + 1, 1));
    if (place == nullptr) return "";
    memcpy(place, text, length);
    place[length] = '\0';
    return place;
  }
  const char* copy_name(const char* text) { return copy_name(text, strlen(text)); }

  bool exhausted() const { return exhausted_; }
  size_t used() const { return used_; }  // of the span in use
  size_t left() const { return memory_.size - used_; }

 private:
  Span<uint8_t> memory_;
  size_t used_ = 0;
  Refill refill_ = nullptr;
  void* context_ = nullptr;
  bool exhausted_ = false;
};

// A growable array in an arena. Growth leaves the old place unused: reserve where the count is known.
template <typename T>
class Array {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  T& push(Arena& arena, const T& value = T()) {
    if (size_ == capacity_) reserve(arena, capacity_ == 0 ? 8 : 2 * capacity_);
    if (size_ == capacity_) return spare_ = value;
    return data_[size_++] = value;
  }
  void reserve(Arena& arena, size_t capacity) {
    if (capacity <= capacity_) return;
    const Span<T> place = arena.make<T>(capacity);
    if (place.empty()) return;
    if (size_ > 0) memcpy(static_cast<void*>(place.data), data_, size_ * sizeof(T));
    data_ = place.data;
    capacity_ = capacity;
  }
  void resize_down(size_t size) { size_ = size < size_ ? size : size_; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  Span<T> span() { return {data_, size_}; }
  Span<const T> span() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  T spare_{};
};

}  // namespace intaglio
