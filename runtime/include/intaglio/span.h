// A pointer and a count; owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace intaglio {

template <typename T>
struct Span {
  T* data = nullptr;
  size_t size = 0;

  constexpr Span() = default;
  constexpr Span(T* first, size_t count) : data(first), size(count) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data(array), size(N) {}  // NOLINT(google-explicit-constructor)
  // Span<T> to Span<const T>.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Span(const Span<U>& other) : data(other.data), size(other.size) {}  // NOLINT

  constexpr T& operator[](size_t i) const { return data[i]; }
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size; }
  constexpr bool empty() const { return size == 0; }
};

}  // namespace intaglio
