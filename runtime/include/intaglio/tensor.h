// What a tensor is: element type, shape, quantization, and where its bytes are.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

enum class DType : uint8_t { kNone = 0, kS8 = 1, kU8 = 2, kS32 = 3, kF32 = 4, kS4 = 5, kS16 = 6 };

constexpr size_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::kS8:
    case DType::kU8:
      return 1;
    case DType::kS16:
      return 2;
    case DType::kS32:
    case DType::kF32:
      return 4;
    default:
      return 0;
  }
}

// The DType of a C++ type.
template <typename T>
inline constexpr DType kDTypeOf = DType::kNone;
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kS8;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kU8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kS16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kS32;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;

inline constexpr int32_t kMaxRank = 6;

// Dimensions, outermost first; activations are NHWC. Each is at least 1. Points into the model.
struct Shape {
  const int32_t* dims = nullptr;
  int32_t rank = 0;

  constexpr int32_t operator[](int32_t i) const { return dims[i]; }
  constexpr int32_t back(int32_t i) const { return dims[rank - 1 - i]; }  // back(0) is innermost
  constexpr int64_t elements() const { return elements(0, rank); }
  constexpr int64_t elements(int32_t first, int32_t last) const {  // product of dims[first .. last)
    int64_t product = 1;
    for (int32_t i = first; i < last; ++i) product *= dims[i];
    return product;
  }
  constexpr bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (int32_t i = 0; i < rank; ++i)
      if (dims[i] != other.dims[i]) return false;
    return true;
  }
  constexpr bool operator!=(const Shape& other) const { return !(*this == other); }
};

// real = scale * (code - zero_point). No scales: not quantized.
struct Quantization {
  Span<const float> scales;  // one, or one per index of `axis`; in [2^-40, 2^40]
  int32_t zero_point = 0;    // int8: [-128, 127]; weights 0
  int32_t axis = -1;         // -1: per tensor
};

// One tensor of a model. Everything points into the model's bytes and lives as long as they do.
struct TensorInfo {
  const char* name = "";
  DType dtype = DType::kNone;
  Shape shape;
  Quantization quantization;
  Span<const uint8_t> constant;  // empty for an activation

  constexpr bool is_constant() const { return constant.data != nullptr; }
  constexpr size_t bytes() const { return static_cast<size_t>(shape.elements()) * element_bytes(dtype); }
};

// A tensor with its bytes, for a session's caller and observer.
struct TensorView {
  TensorInfo info;
  void* data = nullptr;

  // The elements; empty where T is not the element type: int8_t for s8, float for f32, ...
  template <typename T>
  Span<T> as() const {
    static_assert(kDTypeOf<std::remove_const_t<T>> != DType::kNone, "no tensor has such elements");
    if (info.dtype != kDTypeOf<std::remove_const_t<T>>) return {};
    return {static_cast<T*>(data), static_cast<size_t>(info.shape.elements())};
  }
};

}  // namespace intaglio
