// Arrays in .npy files, versions 1 and 2: C order, little-endian, plain numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrator/host/system/files.h"

namespace intaglio {

// The header of a file.
inline constexpr char kNpyMagic[] = "\x93NUMPY";

enum class NpyType : uint8_t { kU8, kS8, kS32, kS64, kF32, kU16, kS16, kU32, kF16, kF64, kBool, kU64 };
inline constexpr size_t kNpyTypes = 12;

constexpr size_t element_bytes(NpyType type) {
  constexpr uint8_t kBytes[kNpyTypes] = {1, 1, 4, 8, 4, 2, 2, 4, 2, 8, 1, 8};
  return kBytes[static_cast<size_t>(type)];
}
const char* npy_type_name(NpyType type);  // "float32"

struct NpyHeader {
  NpyType type = NpyType::kU8;
  std::vector<int64_t> shape;  // empty: a single number
  uint64_t data_offset = 0;    // of the first element in the file
  uint64_t data_bytes = 0;

  uint64_t elements() const { return data_bytes / element_bytes(type); }
};

// The start of a file suffices: kNpyHeaderBytes of it, or all where it is shorter. `file_bytes` is its
// whole length, which must be exactly that of the header and the elements.
inline constexpr size_t kNpyHeaderBytes = (size_t{64} << 10) + 16;
Outcome<NpyHeader> parse_npy_header(Span<const uint8_t> start, uint64_t file_bytes);

Outcome<NpyHeader> read_npy_header(const std::string& path);

struct NpyArray {
  NpyHeader header;
  FileBytes data;

  // T must be the type of the elements.
  template <typename T>
  Span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

// `bytes`, elements of any type, as the numbers that they are, in `values`, which has a place for each. float64 is rounded;
// what lies beyond float32, and an integer that float32 cannot hold, is refused.
Outcome<Done> npy_values(NpyType type, Span<const uint8_t> bytes, Span<float> values);
// The same for integers, into 32 bits; elements of a float type are refused.
Outcome<Done> npy_integers(NpyType type, Span<const uint8_t> bytes, Span<int32_t> values);

Outcome<NpyArray> read_npy(const std::string& path, uint64_t max_bytes = uint64_t{1} << 30);

// A whole file, version 1, its data at a multiple of 64.
std::vector<uint8_t> npy_file(NpyType type, const std::vector<int64_t>& shape, Span<const uint8_t> data);
Outcome<Done> write_npy(const OutputFile& output, NpyType type, const std::vector<int64_t>& shape,
                        Span<const uint8_t> data);

// "(1000, 49, 10, 1)"
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace intaglio
