// The only file that includes stb_image (2.27 or newer; for PNG alone an older one will do): restricted to two formats, with
// its own limits on sides and memory. Releases before 2.30 crash on hostile JPEGs: jpeg_check.h refuses these.
#include "calibrator/host/pictures/image_decode.h"

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "calibrator/host/pictures/bmp_decode.h"
#include "calibrator/host/pictures/exif_orientation.h"
#include "calibrator/host/pictures/jpeg_check.h"
#include "calibrator/host/pictures/picture_faults.h"
#include "calibrator/host/pictures/png_check.h"
#include "calibrator/host/pictures/webp_decode.h"

namespace {

// What stb_image may still allocate on this thread. Its own checks bound sides, not memory: a header of a few
// bytes may ask for a gigabyte.
struct Quota {
  size_t left = 0;
  bool exceeded = false;
};
thread_local Quota quota;

// What new memory holds: whatever a decoder leaves out is the same on every run.
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
  if (!marked.empty()) return decode_png({marked.data(), marked.size()}, limits, true);
  return decode_png(file, limits, false);
}

}  // namespace intaglio
