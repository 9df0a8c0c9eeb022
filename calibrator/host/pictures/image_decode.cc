#include "calibrator/host/pictures/image_decode.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "calibrator/host/pictures/exif_orientation.h"
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

namespace {

// The bytes that stb_image may still allocate on this thread. Its own checks bound sides, not memory: a header of a few
// bytes may ask for a gigabyte.
struct Quota {
  size_t left = 0;
  bool exceeded = false;
};
thread_local Quota quota;

// Fills new memory, so that pixels which a decoder leaves out are the same on every run.
thread_local unsigned char fill = 0;

// The memory sanitizer is shown what a decoder leaves out, where that is not looked for by decoding twice.
void* allocate(size_t size) {
#if defined(__has_feature)
#if __has_feature(memory_sanitizer) && !ITG_STB_BEFORE_2_30
  return std::malloc(size);
#endif
#endif
  if (fill == 0) return std::calloc(size, 1);
  void* const memory = std::malloc(size);
  if (memory != nullptr) std::memset(memory, fill, size);
  return memory;
}

constexpr size_t kHeader = alignof(std::max_align_t);  // holds the block's size

void* quota_malloc(size_t size) {
  if (size > quota.left) {
    quota.exceeded = true;
    return nullptr;
  }
  auto* block = static_cast<unsigned char*>(allocate(size + kHeader));
  if (block == nullptr) return nullptr;
  std::memcpy(block, &size, sizeof size);
  quota.left -= size;
  return block + kHeader;
}

void quota_free(void* data) {
  if (data == nullptr) return;
  auto* block = static_cast<unsigned char*>(data) - kHeader;
  size_t size;
  std::memcpy(&size, block, sizeof size);
  quota.left += size;
  std::free(block);
}

void* quota_realloc(void* data, size_t old_size, size_t new_size) {
  void* moved = quota_malloc(new_size);
  if (moved == nullptr || data == nullptr) return moved;
  std::memcpy(moved, data, old_size < new_size ? old_size : new_size);
  quota_free(data);
  return moved;
}

}  // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#if ITG_JPEG
#define STBI_ONLY_JPEG
#endif
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 8192
#define STBI_ASSERT(x) ((void)(x))
#define STBI_MALLOC(size) quota_malloc(size)
#define STBI_REALLOC_SIZED(data, old_size, new_size) quota_realloc(data, old_size, new_size)
#define STBI_FREE(data) quota_free(data)
// gcc, inlining, sees a reader callback that a picture in memory does not have.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <stb_image.h>
static_assert(STBI_MAX_DIMENSIONS == intaglio::kMaxDecodedSide);

namespace intaglio {

// The only file that includes stb_image (2.27 or newer; for PNG alone an older one will do): restricted to two formats, with
// its own limits on sides and memory. Releases before 2.30 crash on hostile JPEGs: picture_faults.h refuses these.

namespace {

enum class Format { kUnknown, kPng, kJpeg, kBmp, kWebp };

Format format_of(Span<const uint8_t> file) {
  static constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
  if (file.size >= 8 && std::memcmp(file.data, kPngStart, 8) == 0) return Format::kPng;
  if (file.size >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff) return Format::kJpeg;
  if (file.size >= 2 && file[0] == 'B' && file[1] == 'M') return Format::kBmp;
  return is_webp(file) ? Format::kWebp : Format::kUnknown;
}

// `palette_is_marked`: colours that the file's own palette lacks have alpha 0, and no others have.
Outcome<Picture> decode_with_stb(Span<const uint8_t> file, const DecodeLimits& limits,
                                 bool palette_is_marked) {
  quota = {limits.max_bytes, false};
  int width = 0, height = 0, found = 0;
  stbi_uc* pixels = stbi_load_from_memory(file.data, static_cast<int>(file.size), &width, &height, &found, 0);
  if (pixels == nullptr) {
    if (quota.exceeded) {
      return Failure{picture_needs_more_than(limits.max_bytes)};
    }
    const char* reason = stbi_failure_reason();
    if (reason != nullptr && std::strcmp(reason, "too large") == 0) {
      return Failure{picture_too_large()};
    }
    return Failure{std::string("cannot be decoded: ") + (reason != nullptr ? reason : "no reason given")};
  }
  // 2 and 4 channels end in alpha.
  Picture picture{width, height, found < 3 ? 1 : 3, {}};
  const auto from = static_cast<size_t>(found), to = static_cast<size_t>(picture.channels);
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  picture.pixels.resize(count * to);
  for (size_t i = 0; i < count; ++i) {
    const stbi_uc* const pixel = pixels + i * from;
    if (palette_is_marked && pixel[3] == 0) {
      const std::string colour = std::to_string(pixel[0]);
      stbi_image_free(pixels);
      return Failure{"is damaged: a pixel has colour " + colour + ", which its palette does not hold"};
    }
    std::memcpy(picture.pixels.data() + i * to, pixel, to);
  }
  stbi_image_free(pixels);
  return picture;
}

Outcome<Picture> decode_png(Span<const uint8_t> file, const DecodeLimits& limits, bool palette_is_marked) {
  Outcome<Picture> picture = decode_with_stb(file, limits, palette_is_marked);
#if ITG_STB_BEFORE_2_30
  // Distance codes that DEFLATE does not have are a distance of 0 there: bytes that nothing wrote become pixels.
  if (!picture) return picture;
  fill = 255;
  const Outcome<Picture> again = decode_with_stb(file, limits, palette_is_marked);
  fill = 0;
  if (!again || again->pixels != picture->pixels)
    return Failure{"is damaged: its data does not give every pixel"};
#endif
  return picture;
}

Outcome<Picture> upright(Outcome<Picture> picture, int32_t orientation, const DecodeLimits& limits) {
  if (!picture || orientation == 1) return picture;
  if (picture->pixels.size() > limits.max_bytes / 2)
    return Failure{picture_needs_more_than(limits.max_bytes)};
  return oriented(std::move(*picture), orientation);
}

}  // namespace

Outcome<Picture> decode_picture(Span<const uint8_t> file, const DecodeLimits& limits) {
  const Format format = format_of(file);
  if (format == Format::kUnknown) return Failure{"is no PNG, JPEG, BMP or WebP picture"};
  if (format == Format::kJpeg && !ITG_JPEG) {
    return Failure{
        "is a JPEG, and this program was built without JPEG (-DITG_JPEG=OFF): build it with JPEG, or convert the "
        "pictures to PNG"};
  }
  if (file.size > INT_MAX) return Failure{"has more than 2 GiB"};
  if (format == Format::kBmp) return decode_bmp(file, limits);
  if (format == Format::kWebp) return upright(decode_webp(file, limits), webp_orientation(file), limits);
  if (format == Format::kJpeg) {
    const auto plain = plain_jpeg(file, limits.max_bytes);
    if (!plain) return plain.failure();
    return upright(decode_with_stb({plain->data(), plain->size()}, limits, false), jpeg_orientation(file),
                   limits);
  }
  if (const std::string fault = png_fault(file, limits.check_sums); !fault.empty()) return Failure{fault};
  const std::vector<uint8_t> marked = png_with_whole_palette(file);
  return upright(marked.empty() ? decode_png(file, limits, false)
                                : decode_png({marked.data(), marked.size()}, limits, true),
                 png_orientation(file), limits);
}

}  // namespace intaglio
