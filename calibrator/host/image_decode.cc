// The only file that includes stb_image: restricted to three formats, with its own limits on sides and
// memory. ITG_STB: stb_image was found. ITG_STB_JPEG: it is 2.30 or newer; older ones crash on hostile JPEGs.
#include "calibrator/host/image_decode.h"

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "runtime/crc32.h"

#if ITG_STB
namespace {

// What stb_image may still allocate on this thread. Its own checks bound sides, not memory: a header of a few
// bytes may ask for a gigabyte.
struct Quota {
  size_t left = 0;
  bool exceeded = false;
};
thread_local Quota quota;

constexpr size_t kHeader = alignof(std::max_align_t);  // holds the block's size

void* quota_malloc(size_t size) {
  if (size > quota.left) {
    quota.exceeded = true;
    return nullptr;
  }
  auto* block = static_cast<unsigned char*>(std::malloc(size + kHeader));
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
#define STBI_ONLY_BMP
#if ITG_STB_JPEG
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
#endif

namespace intaglio {
namespace {

enum class Format { kUnknown, kPng, kJpeg, kBmp };

Format format_of(Span<const uint8_t> file) {
  static constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
  if (file.size >= 8 && std::memcmp(file.data, kPngStart, 8) == 0) return Format::kPng;
  if (file.size >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff) return Format::kJpeg;
  if (file.size >= 2 && file[0] == 'B' && file[1] == 'M') return Format::kBmp;
  return Format::kUnknown;
}

constexpr const char* kCutOff = "is cut off: the picture's end is missing";

uint32_t big_endian(Span<const uint8_t> file, size_t at) {
  return static_cast<uint32_t>(file[at]) << 24 | static_cast<uint32_t>(file[at + 1]) << 16 |
         static_cast<uint32_t>(file[at + 2]) << 8 | file[at + 3];
}

// What stb_image does not look at: whether all chunks are there, and the checksums of those that make pixels.
// It copies to a null pointer where the first IDAT is empty. The text is empty where all is well.
std::string png_fault(Span<const uint8_t> file, bool check_sums) {
  constexpr size_t kFrame = 12;  // length, type and checksum
  bool has_pixels = false;
  for (size_t at = 8; file.size - at >= kFrame;) {
    const size_t length = big_endian(file, at);
    if (length > file.size - at - kFrame) break;
    const uint8_t* const type = file.data + at + 4;
    const bool makes_pixels = (type[0] & 0x20) == 0;
    if (check_sums && makes_pixels && crc32(0, type, length + 4) != big_endian(file, at + 8 + length)) {
      return "is damaged: the checksum of a part of it does not fit (chunk at byte " + std::to_string(at) +
             ")";
    }
    if (std::memcmp(type, "IEND", 4) == 0) return {};
    if (std::memcmp(type, "IDAT", 4) == 0) {
      if (length == 0 && !has_pixels) return "cannot be decoded: its first IDAT chunk is empty";
      has_pixels = true;
    }
    at += kFrame + length;
  }
  return check_sums ? kCutOff : "";
}

// stb_image reads zeros past the end of a JPEG or BMP and calls the gray rest a picture: these two tell.

// The end marker comes after the first scan's start; before it, segments (an EXIF thumbnail) may hold one.
bool jpeg_is_whole(Span<const uint8_t> file) {
  size_t at = 2;
  while (at + 4 <= file.size && file[at] == 0xff) {
    if (file[at + 1] == 0xff) {  // filling
      ++at;
      continue;
    }
    const bool scan = file[at + 1] == 0xda;
    at += 2 + static_cast<size_t>(file[at + 2] << 8 | file[at + 3]);
    if (scan) break;
  }
  for (; at + 2 <= file.size; ++at) {
    if (file[at] == 0xff && file[at + 1] == 0xd9) return true;
  }
  return false;
}

uint32_t little_endian(Span<const uint8_t> file, size_t at, size_t bytes) {
  uint32_t v = 0;
  for (size_t i = bytes; i-- > 0;) v = v << 8 | file[at + i];
  return v;
}

bool bmp_is_whole(Span<const uint8_t> file) {
  if (file.size < 26) return false;
  const uint64_t start = little_endian(file, 10, 4);
  const bool old_header = little_endian(file, 14, 4) == 12;
  if (!old_header && file.size < 30) return false;
  const size_t field = old_header ? 2 : 4;
  const int64_t width = little_endian(file, 18, field);
  int64_t height = little_endian(file, 18 + field, field);
  if (!old_header && height > INT32_MAX) height = (int64_t{1} << 32) - height;  // top to bottom
  const uint64_t bits = little_endian(file, 18 + 2 * field + 2, 2);
  if (bits > 32 || height > kMaxDecodedSide || width > kMaxDecodedSide) return true;  // refused by stb_image
  const uint64_t row_bytes = (static_cast<uint64_t>(width) * bits + 31) / 32 * 4;
  return start + row_bytes * static_cast<uint64_t>(height) <= file.size;
}

#if ITG_STB
Outcome<Picture> decode_with_stb(Span<const uint8_t> file, const DecodeLimits& limits) {
  quota = {limits.max_bytes, false};
  int width = 0, height = 0, found = 0;
  stbi_uc* pixels = stbi_load_from_memory(file.data, static_cast<int>(file.size), &width, &height, &found, 0);
  if (pixels == nullptr) {
    if (quota.exceeded) {
      return Failure{"needs more than the " + std::to_string(limits.max_bytes >> 20) +
                     " MiB of memory that decoding may take"};
    }
    const char* reason = stbi_failure_reason();
    if (reason != nullptr && std::strcmp(reason, "too large") == 0) {
      return Failure{"has a side of more than " + std::to_string(kMaxDecodedSide) + " pixels"};
    }
    return Failure{std::string("cannot be decoded: ") + (reason != nullptr ? reason : "no reason given")};
  }
  // 2 and 4 channels end in alpha.
  Picture picture{width, height, found < 3 ? 1 : 3, {}};
  const auto from = static_cast<size_t>(found), to = static_cast<size_t>(picture.channels);
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  picture.pixels.resize(count * to);
  for (size_t i = 0; i < count; ++i) std::memcpy(picture.pixels.data() + i * to, pixels + i * from, to);
  stbi_image_free(pixels);
  return picture;
}
#else
Outcome<Picture> decode_with_stb(Span<const uint8_t>, const DecodeLimits&) {
  return Failure{
      "cannot be decoded: this program was built without stb_image; run scripts/get_stb_image and build "
      "again, or use .npy arrays"};
}
#endif

}  // namespace

Outcome<Picture> decode_picture(Span<const uint8_t> file, const DecodeLimits& limits) {
  const Format format = format_of(file);
  if (format == Format::kUnknown) return Failure{"is no PNG, JPEG or BMP picture"};
  if (format == Format::kJpeg && ITG_STB && !ITG_STB_JPEG) {
    return Failure{
        "is a JPEG, and this program was built with a stb_image older than 2.30, which is not safe for JPEG: "
        "run scripts/get_stb_image and build again, or convert the pictures to PNG"};
  }
  if (file.size > INT_MAX) return Failure{"has more than 2 GiB"};
  if ((format == Format::kJpeg && !jpeg_is_whole(file)) || (format == Format::kBmp && !bmp_is_whole(file))) {
    return Failure{kCutOff};
  }
  if (format == Format::kPng) {
    if (const std::string fault = png_fault(file, limits.check_sums); !fault.empty()) return Failure{fault};
  }
  return decode_with_stb(file, limits);
}

}  // namespace intaglio
