#include "calibrator/host/pictures/image_decode.h"

#include <algorithm>
#include <cstring>

#include "calibrator/host/pictures/picture_faults.h"

#if ITG_WEBP
#include <webp/decode.h>
#endif

namespace intaglio {

// A RIFF file of the kind WEBP (RFC 9649, section 2.4).
bool is_webp(Span<const uint8_t> file) {
  return file.size >= 12 && std::memcmp(file.data, "RIFF", 4) == 0 &&
         std::memcmp(file.data + 8, "WEBP", 4) == 0;
}

#if ITG_WEBP
Outcome<Picture> decode_webp(Span<const uint8_t> file, const DecodeLimits& limits) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(file.data, file.size, &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) return Failure{kPictureCutOff};
  if (status != VP8_STATUS_OK || features.width <= 0 || features.height <= 0)
    return Failure{"cannot be decoded: its header is damaged"};
  if (features.has_animation != 0)
    return Failure{"is an animation; give one picture of it as PNG, JPEG or WebP"};
  if (std::max(features.width, features.height) > kMaxDecodedSide) return Failure{picture_too_large()};
  // Four bytes a pixel are a lossless picture as it is decoded. libwebp's tables come on top: 9 to 20 KB for each group of
  // prefix codes. It has no bound of its own on them but the format's 65,536 groups, and takes no allocator.
  const size_t pixels = static_cast<size_t>(features.width) * static_cast<size_t>(features.height);
  if (pixels > limits.max_bytes / (3 + 4)) return Failure{picture_needs_more_than(limits.max_bytes)};
  Picture picture{features.width, features.height, 3, std::vector<uint8_t>(pixels * 3)};
  if (WebPDecodeRGBInto(file.data, file.size, picture.pixels.data(), picture.pixels.size(),
                        features.width * 3) == nullptr)
    return Failure{"cannot be decoded: it is damaged or cut off"};
  return picture;
}
#else
Outcome<Picture> decode_webp(Span<const uint8_t>, const DecodeLimits&) {
  return Failure{
      "is WebP, and this program was built without WebP (-DITG_WEBP=OFF): build it with WebP, or convert the pictures "
      "to PNG"};
}
#endif

}  // namespace intaglio
