#include "calibrator/host/pictures/exif_orientation.h"

#include <cstring>

namespace intaglio {
namespace {

// A part of a file with numbers of either byte order. What lies past its end reads as 0.
class Numbers {
 public:
  explicit Numbers(Span<const uint8_t> bytes) : bytes_(bytes) {}

  void use_big_endian(bool big_endian) { big_endian_ = big_endian; }
  uint32_t u16(size_t at) const { return number(at, 2); }
  uint32_t u32(size_t at) const { return number(at, 4); }

 private:
  uint32_t number(size_t at, size_t bytes) const {
    if (at > bytes_.size || bytes > bytes_.size - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | bytes_[big_endian_ ? at + i : at + bytes - 1 - i];
    return value;
  }

  Span<const uint8_t> bytes_;
  bool big_endian_ = true;
};

constexpr uint32_t kOrientation = 0x0112, kShort = 3;

// A TIFF header, and the directory that it leads to.
int32_t orientation_in(Span<const uint8_t> tiff) {
  Numbers numbers(tiff);
  const uint32_t order = numbers.u16(0);
  if (order != 0x4949 && order != 0x4d4d) return 1;
  numbers.use_big_endian(order == 0x4d4d);
  const size_t directory = numbers.u32(4);
  const uint32_t count = numbers.u16(directory);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (entry >= tiff.size) return 1;
    if (numbers.u16(entry) != kOrientation) continue;
    const uint32_t value = numbers.u16(entry + 8);
    const bool valid =
        numbers.u16(entry + 2) == kShort && numbers.u32(entry + 4) == 1 && value >= 1 && value <= 8;
    return valid ? static_cast<int32_t>(value) : 1;
  }
  return 1;
}

constexpr char kExif[] = {'E', 'x', 'i', 'f', 0, 0};

// The data of a chunk. Some writers keep JPEG's prefix.
int32_t orientation_in_chunk(Span<const uint8_t> data) {
  const bool has_prefix = data.size >= sizeof kExif && std::memcmp(data.data, kExif, sizeof kExif) == 0;
  const size_t skipped = has_prefix ? sizeof kExif : 0;
  return orientation_in({data.data + skipped, data.size - skipped});
}

}  // namespace

int32_t jpeg_orientation(Span<const uint8_t> file) {
  constexpr uint32_t kApp1 = 0xffe1, kStartOfScan = 0xffda, kFill = 0xffff;
  const Numbers numbers(file);
  size_t at = 2;  // behind the start of the image
  while (at + 4 <= file.size) {
    const uint32_t marker = numbers.u16(at);
    if (marker == kFill) {
      ++at;
      continue;
    }
    const uint32_t length = numbers.u16(at + 2);
    if (marker < 0xff00 || marker == kStartOfScan || length < 2 || length > file.size - at - 2) return 1;
    if (marker == kApp1 && length >= 2 + sizeof kExif &&
        std::memcmp(file.data + at + 4, kExif, sizeof kExif) == 0)
      return orientation_in({file.data + at + 4 + sizeof kExif, length - 2 - sizeof kExif});
    at += 2 + length;
  }
  return 1;
}

int32_t webp_orientation(Span<const uint8_t> file) {
  Numbers numbers(file);
  numbers.use_big_endian(false);
  for (size_t at = 12; at + 8 <= file.size;) {
    const size_t bytes = numbers.u32(at + 4);
    if (bytes > file.size - at - 8) return 1;
    if (std::memcmp(file.data + at, "EXIF", 4) == 0) return orientation_in_chunk({file.data + at + 8, bytes});
    at += 8 + bytes + bytes % 2;
  }
  return 1;
}

int32_t png_orientation(Span<const uint8_t> file) {
  constexpr size_t kSignature = 8, kFrame = 12;  // of a chunk: its length, type and checksum
  const Numbers numbers(file);
  for (size_t at = kSignature; at + kFrame <= file.size;) {
    const size_t bytes = numbers.u32(at);
    if (bytes > file.size - at - kFrame) return 1;
    if (std::memcmp(file.data + at + 4, "eXIf", 4) == 0)
      return orientation_in_chunk({file.data + at + 8, bytes});
    at += kFrame + bytes;
  }
  return 1;
}

Picture oriented(Picture picture, int32_t orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  const bool is_transposed = orientation >= 5;
  // Where the source is read from its far end.
  const bool mirrors_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirrors_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture made{is_transposed ? picture.height : picture.width,
               is_transposed ? picture.width : picture.height,
               picture.channels,
               {}};
  made.pixels.resize(picture.pixels.size());
  const auto channels = static_cast<size_t>(picture.channels);
  size_t to = 0;
  for (int32_t y = 0; y < made.height; ++y)
    for (int32_t x = 0; x < made.width; ++x, to += channels) {
      const int32_t u = is_transposed ? y : x, v = is_transposed ? x : y;
      const int32_t from_x = mirrors_x ? picture.width - 1 - u : u,
                    from_y = mirrors_y ? picture.height - 1 - v : v;
      const size_t from =
          static_cast<size_t>(from_y) * static_cast<size_t>(picture.width) + static_cast<size_t>(from_x);
      std::memcpy(made.pixels.data() + to, picture.pixels.data() + from * channels, channels);
    }
  return made;
}

}  // namespace intaglio
