#include "calibrator/host/pictures/bmp_decode.h"

#include <algorithm>

#include "calibrator/host/pictures/picture_faults.h"

namespace intaglio {
namespace {

constexpr uint32_t kFileHeader = 14, kOldHeader = 12, kMasksAt = 54;
constexpr uint32_t kNoCompression = 0, kBitFields = 3;

uint32_t little_endian(Span<const uint8_t> file, size_t at, size_t bytes) {
  uint32_t v = 0;
  for (size_t i = bytes; i-- > 0;) v = v << 8 | file[at + i];
  return v;
}

Failure unsupported(const std::string& what) { return Failure{"cannot be decoded: " + what}; }

// Bits of a pixel that are one channel, made 8 bits by repeating them.
class ChannelMask {
 public:
  // False: no bits, more than 8, or bits with gaps.
  bool set(uint32_t mask) {
    if (mask == 0) return false;
    while ((mask >> shift_ & 1) == 0) ++shift_;
    largest_ = mask >> shift_;
    while (bits_ < 32 && largest_ >> bits_ != 0) ++bits_;
    return bits_ <= 8 && (largest_ & (largest_ + 1)) == 0;
  }
  uint8_t of(uint32_t pixel) const {
    const uint32_t value = (pixel >> shift_ & largest_) << (8 - bits_);
    uint32_t filled = value;
    for (int bits = bits_; bits < 8; bits += bits_) filled |= value >> bits;
    return static_cast<uint8_t>(filled);
  }

 private:
  int shift_ = 0, bits_ = 0;
  uint32_t largest_ = 0;
};

struct Header {
  uint32_t pixels_at, size, bits;
  uint32_t width, height;
  bool top_down;
  uint32_t masks[3];  // red, green, blue; 16 and 32 bits
  uint32_t palette_at, colours, colour_bytes;
};

Outcome<Header> read_header(Span<const uint8_t> file) {
  if (file.size < kFileHeader + kOldHeader) return Failure{kPictureCutOff};
  Header header{};
  header.pixels_at = little_endian(file, 10, 4);
  header.size = little_endian(file, 14, 4);
  const bool old = header.size == kOldHeader;
  if (!old && header.size != 40 && header.size != 56 && header.size != 108 && header.size != 124) {
    return unsupported("its header of " + std::to_string(header.size) + " bytes is no known kind of BMP");
  }
  uint32_t end = kFileHeader + header.size;
  if (file.size < end) return Failure{kPictureCutOff};
  const size_t field = old ? 2 : 4;
  header.width = little_endian(file, 18, field);
  header.height = little_endian(file, 18 + field, field);
  header.top_down = !old && header.height > INT32_MAX;
  if (header.top_down) header.height = 0u - header.height;
  if (header.width == 0 || header.height == 0) return unsupported("it has no pixels");
  if (std::max(header.width, header.height) > static_cast<uint32_t>(kMaxDecodedSide)) {
    return Failure{picture_too_large()};
  }
  if (little_endian(file, 18 + 2 * field, 2) != 1) return unsupported("it has not one plane");
  header.bits = little_endian(file, 20 + 2 * field, 2);
  const uint32_t bits = header.bits, compression = old ? kNoCompression : little_endian(file, 30, 4);
  if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
    return unsupported("it has " + std::to_string(bits) + " bits a pixel, not 1, 4, 8, 16, 24 or 32");
  }
  const bool masked = bits == 16 || bits == 32;
  if (compression != kNoCompression && (compression != kBitFields || !masked)) {
    return unsupported("it is compressed (kind " + std::to_string(compression) + ")");
  }
  if (masked && compression == kBitFields) {
    if (header.size == 40) end += 12;
    if (file.size < end) return Failure{kPictureCutOff};
    for (size_t c = 0; c < 3; ++c) header.masks[c] = little_endian(file, kMasksAt + 4 * c, 4);
  } else if (masked) {
    const uint32_t width = bits == 16 ? 5 : 8;
    for (uint32_t c = 0; c < 3; ++c) header.masks[c] = ((1u << width) - 1) << width * (2 - c);
  }
  if (header.pixels_at < end) return unsupported("its pixels start inside of its header");
  if (header.pixels_at > file.size) return Failure{kPictureCutOff};
  header.palette_at = end;
  header.colour_bytes = old ? 3 : 4;
  header.colours = std::min((header.pixels_at - end) / header.colour_bytes, 256u);
  return header;
}

// A row of palette colours. False: it has one that the palette lacks, `*colour`.
bool paint_row(const Header& header, Span<const uint8_t> file, const uint8_t* row, uint8_t* out,
               uint32_t* colour) {
  for (uint32_t x = 0; x < header.width; ++x, out += 3) {
    const uint32_t bit = x * header.bits;
    *colour = row[bit / 8] >> (8 - header.bits - bit % 8) & ((1u << header.bits) - 1);
    if (*colour >= header.colours) return false;
    const uint8_t* const entry = file.data + header.palette_at + *colour * header.colour_bytes;
    std::reverse_copy(entry, entry + 3, out);
  }
  return true;
}

}  // namespace

Outcome<Picture> decode_bmp(Span<const uint8_t> file, const DecodeLimits& limits) {
  const auto header = read_header(file);
  if (!header) return header.failure();
  const size_t width = header->width, height = header->height;
  const size_t row_bytes = (width * header->bits + 31) / 32 * 4;
  if ((file.size - header->pixels_at) / row_bytes < height) return Failure{kPictureCutOff};
  if (width * height * 3 > limits.max_bytes) return Failure{picture_needs_more_than(limits.max_bytes)};
  ChannelMask masks[3];
  const bool masked = header->bits == 16 || header->bits == 32;
  for (size_t c = 0; masked && c < 3; ++c) {
    if (!masks[c].set(header->masks[c]))
      return unsupported("its masks of colours are no 1 to 8 bits side by side");
  }

  Picture picture{static_cast<int32_t>(width), static_cast<int32_t>(height), 3, {}};
  picture.pixels.resize(width * height * 3);
  for (size_t y = 0; y < height; ++y) {
    const uint8_t* const row =
        file.data + header->pixels_at + row_bytes * (header->top_down ? y : height - 1 - y);
    uint8_t* out = picture.pixels.data() + y * width * 3;
    if (header->bits < 16) {
      uint32_t colour;
      if (!paint_row(*header, file, row, out, &colour)) {
        return Failure{"is damaged: a pixel in row " + std::to_string(y) + " has colour " +
                       std::to_string(colour) + ", and the palette has " + std::to_string(header->colours) +
                       " colours"};
      }
      continue;
    }
    const size_t pixel_bytes = header->bits / 8;
    for (size_t x = 0; x < width; ++x, out += 3) {
      const uint8_t* const pixel = row + x * pixel_bytes;
      if (!masked) {
        std::reverse_copy(pixel, pixel + 3, out);
        continue;
      }
      uint32_t value = 0;
      for (size_t i = pixel_bytes; i-- > 0;) value = value << 8 | pixel[i];
      for (size_t c = 0; c < 3; ++c) out[c] = masks[c].of(value);
    }
  }
  return picture;
}

}  // namespace intaglio
