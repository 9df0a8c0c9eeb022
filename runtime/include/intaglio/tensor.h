// A tensor: element type, shape, quantization, and where its bytes are.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

// Element types. kS8, kS16 and kS32 are signed integers of so many bits; kU8 is unsigned. kS4 is two signed integers
// in a byte. kF32 is IEEE binary32.
enum class DType : uint8_t { kNone = 0, kS8 = 1, kU8 = 2, kS32 = 3, kF32 = 4, kS4 = 5, kS16 = 6 };

// Bytes of one element: 1, 2 or 4. 0 for kNone, and for kS4, which has no whole byte.
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

// The DType of a C++ type; kNone for a type that no tensor holds.
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

inline constexpr int32_t kMaxRank = 6;  // dimensions of a tensor, at most

// The dimensions of a tensor, outermost first. Activations of pictures are NHWC: batch, height, width, channels.
// Each dimension is at least 1. `dims` points into the model.
struct Shape {
  const int32_t* dims = nullptr;  // [rank]
  int32_t rank = 0;               // 1 to kMaxRank

  // Dimension `i`, counted from the outermost. `i` is in [0, rank): this is not checked.
  constexpr int32_t operator[](int32_t i) const { return dims[i]; }
  // Dimension `i`, counted from the innermost: back(0) is the innermost.
  constexpr int32_t back(int32_t i) const { return dims[rank - 1 - i]; }
  // How many elements a tensor of this shape has.
  constexpr int64_t elements() const { return elements(0, rank); }
  // The product of the dimensions `first` to `last` - 1.
  constexpr int64_t elements(int32_t first, int32_t last) const {
    int64_t product = 1;
    for (int32_t i = first; i < last; ++i) product *= dims[i];
    return product;
  }
  // Equal rank and equal dimensions.
  constexpr bool operator==(const Shape& other) const {
    if (rank != other.rank) return false;
    for (int32_t i = 0; i < rank; ++i)
      if (dims[i] != other.dims[i]) return false;
    return true;
  }
  // Another rank or another dimension.
  constexpr bool operator!=(const Shape& other) const { return !(*this == other); }
};

// The reals that a tensor's codes stand for: real = scale * (code - zero_point). A tensor without scales is not quantized.
struct Quantization {
  Span<const float> scales;  // one, or one for each index of `axis`; in [2^-40, 2^40]
  int32_t zero_point = 0;    // int8: [-128, 127]; 0 for weights
  int32_t axis = -1;         // dimension that the scales belong to; -1: one scale for the tensor
};

// One tensor of a model. Everything points into the model's bytes and lives as long as they do.
struct TensorInfo {
  const char* name = "";  // as in the network that was imported; unique in a model
  DType dtype = DType::kNone;
  Shape shape;
  Quantization quantization;
  Span<const uint8_t> constant;  // the elements; empty for an activation

  // Whether its elements are in the model file.
  constexpr bool is_constant() const { return constant.data != nullptr; }
  // Bytes of all its elements.
  constexpr size_t bytes() const { return static_cast<size_t>(shape.elements()) * element_bytes(dtype); }
};

// Which channels of an imported network's tensor a model's tensor has: its last axis has those alone, in their order. A hint for
// those who compare both: a file may say anything here.
struct KeptChannels {
  int32_t channels = 0;      // of the network's tensor; 0: it has lost none
  Span<const uint8_t> bits;  // [(channels + 7) / 8]

  // Whether channel `c`, in [0, channels), is left.
  constexpr bool has(int32_t c) const {
    return ((bits[static_cast<size_t>(c) / 8] >> (static_cast<uint32_t>(c) % 8)) & 1) != 0;
  }
};

// A tensor of a session, with its memory. The elements stand without gaps, and the innermost dimension varies fastest.
// An activation starts at a multiple of kTensorAlignment. The elements of a constant must not be written.
struct TensorView {
  TensorInfo info;
  void* data = nullptr;  // info.bytes() bytes, in the session's memory or in the model

  // The elements as T: int8_t for kS8, float for kF32, and so on. Empty where T is another type than the tensor's.
  template <typename T>
  Span<T> as() const {
    static_assert(kDTypeOf<std::remove_const_t<T>> != DType::kNone, "no tensor has such elements");
    if (info.dtype != kDTypeOf<std::remove_const_t<T>>) return {};
    return {static_cast<T*>(data), static_cast<size_t>(info.shape.elements())};
  }
};

}  // namespace intaglio
