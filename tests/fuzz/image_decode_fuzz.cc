// Any bytes decode to a picture of the size it says, or are refused, within the memory that is allowed.
#include "calibrator/host/pictures/image_decode.h"

#include "tests/fuzz/written.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto picture = intaglio::decode_picture({data, size}, {size_t{2} << 20, false});
  if (!picture) return 0;
  const auto expected = static_cast<size_t>(picture->width) * static_cast<size_t>(picture->height) *
                        static_cast<size_t>(picture->channels);
  if (picture->pixels.size() != expected || picture->width > intaglio::kMaxDecodedSide) __builtin_trap();
  intaglio::fuzz::check_written(picture->pixels.data(), picture->pixels.size());
  return 0;
}
