// A pointer and a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace intaglio {

// `size` elements from `data` on, like std::span. It owns nothing, and its indices are not checked.
template <typename T>
struct Span {
  T* data = nullptr;
  size_t size = 0;  // in elements

  constexpr Span() = default;
  // `count` elements from `first` on; a whole array.
  constexpr Span(T* first, size_t count) : data(first), size(count) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data(array), size(N) {}  // NOLINT(google-explicit-constructor)
  // From Span<T> to Span<const T>.
  template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
  constexpr Span(const Span<U>& other) : data(other.data), size(other.size) {}  // NOLINT

  // Element `i`, in [0, size).
  constexpr T& operator[](size_t i) const { return data[i]; }
  // For loops over all elements.
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size; }
  // Whether it has no elements.
  constexpr bool empty() const { return size == 0; }
};

}  // namespace intaglio
