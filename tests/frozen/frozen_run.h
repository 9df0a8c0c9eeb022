// The question to the files of tests/frozen: the outputs of two runs, as one number. It stays as it is, or the numbers of
// outputs.txt mean nothing.
#pragma once

#include <climits>
#include <cstring>
#include <vector>

#include "intaglio/session.h"
#include "runtime/crc32.h"
#include "tests/support/model_builder.h"

namespace intaglio::test {

// Element `i` of an input: reals in [-1, 1), codes, token numbers 0 and 1; pixels by the model's recipe.
inline void fill_frozen_input(const TensorView& view, size_t input, uint32_t run) {
  const auto count = static_cast<size_t>(view.info.shape.elements());
  for (size_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<uint32_t>((i + 13 * input + 5) * (2 * run + 37)) % 251;
    if (view.info.dtype == DType::kF32)
      static_cast<float*>(view.data)[i] = static_cast<float>(mixed) / 128.0f - 1.0f;
    else if (view.info.dtype == DType::kS32)
      static_cast<int32_t*>(view.data)[i] = static_cast<int32_t>(mixed % 2);
    else if (view.info.dtype == DType::kS16)
      static_cast<int16_t*>(view.data)[i] = static_cast<int16_t>(257 * static_cast<int32_t>(mixed) - 32000);
    else
      static_cast<uint8_t*>(view.data)[i] = static_cast<uint8_t>(mixed);
  }
}

inline std::vector<uint8_t> frozen_pixels(size_t count, uint32_t run) {
  std::vector<uint8_t> pixels(count);
  for (size_t i = 0; i < count; ++i) pixels[i] = static_cast<uint8_t>(i * (2 * run + 11));
  return pixels;
}

// A picture higher than the input is wide, so that a letterbox has borders.
inline Error write_frozen_picture(const Model& model, Session& session, uint32_t run) {
  const ImageInput recipe = model.image(0);
  const TensorView target = session.input(recipe.input);
  const PictureInfo picture{7, 23, recipe.channels == 1 ? PixelOrder::kGray : PixelOrder::kRgb};
  const Result<size_t> scratch_bytes = ImageWriter::measure(recipe, target.info, picture);
  if (!scratch_bytes) return scratch_bytes.error();
  AlignedBytes scratch(*scratch_bytes);
  const size_t row_bytes = 7 * static_cast<size_t>(pixel_bytes(picture.order));
  const std::vector<uint8_t> pixels = frozen_pixels(23 * row_bytes, run);
  return write_image(recipe, target, picture, {pixels.data(), pixels.size()}, row_bytes, scratch.span());
}

// A picture by rows: pixels where the model has a recipe, else what fill_frozen_input() writes.
inline void feed_frozen_picture(const Model& model, Session& session, uint32_t run) {
  TensorView rows = session.input();
  std::vector<uint8_t> bytes = frozen_pixels(rows.info.bytes(), run);
  rows.data = bytes.data();
  if (model.image_count() == 0) fill_frozen_input(rows, 0, run);
  session.begin_picture();
  session.feed_rows(bytes.data(), INT32_MAX);
}

// How a file is asked: by its streamed plan, with its first input as rows.
struct FrozenRun {
  bool by_rows = false, feeds = false;
  SessionOptions options;
};

// CRC-32 over all outputs of two runs, which carry states from the first to the second.
inline Result<uint32_t> frozen_outputs(Span<const uint8_t> file, const FrozenRun& how = {}) {
  RunningModel running(AlignedBytes(file), all_ops(), how.options, how.by_rows);
  if (!running.error().ok()) return running.error();
  const Model& model = running.model();
  Session& session = running.session();
  uint32_t crc = 0;
  for (uint32_t run = 0; run < 2; ++run) {
    for (size_t i = 0; i < model.inputs().size; ++i)
      if (session.input(static_cast<int32_t>(i)).data != nullptr)
        fill_frozen_input(session.input(static_cast<int32_t>(i)), i, run);
    if (how.feeds || session.input().data == nullptr) {
      feed_frozen_picture(model, session, run);
    } else {
      if (model.image_count() > 0) ITG_TRY(write_frozen_picture(model, session, run));
      session.run();
    }
    for (size_t i = 0; i < model.outputs().size; ++i) {
      const TensorView output = session.output(static_cast<int32_t>(i));
      crc = crc32(crc, static_cast<const uint8_t*>(output.data), output.info.bytes());
    }
  }
  return crc;
}

}  // namespace intaglio::test
