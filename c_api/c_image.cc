#include "c_api/c_handles.h"

using namespace intaglio;

namespace {

PictureInfo from_c(const itg_picture& picture) {
  return {picture.width, picture.height, static_cast<PixelOrder>(picture.order)};
}

// The C++ enumeration has a fixed type, so that a number outside it would be taken for another one.
Error check_order(const itg_picture& picture) {
  if (picture.order < ITG_PIXELS_RGB || picture.order > ITG_PIXELS_RGBA)
    return {Status::kBadEnum, -1, -1, picture.order, ITG_PIXELS_RGBA};
  return kNoError;
}

}  // namespace

itg_error itg_image_measure(const itg_model* model, int32_t index, const itg_picture* picture,
                            size_t* scratch_bytes) {
  *scratch_bytes = 0;
  if (const Error error = check_order(*picture); !error.ok()) return to_c(error);
  const Model& opened = model_in(model);
  const ImageInput recipe = opened.image(index);
  const TensorInfo target = opened.tensor(opened.inputs()[static_cast<size_t>(recipe.input)]);
  const Result<size_t> bytes = ImageWriter::measure(recipe, target, from_c(*picture));
  *scratch_bytes = *bytes;
  return to_c(bytes.error());
}

itg_error itg_write_image(const itg_session* session, int32_t image, const itg_picture* picture,
                          const uint8_t* pixels, size_t pixels_bytes, size_t row_bytes, itg_span scratch) {
  if (const Error error = check_order(*picture); !error.ok()) return to_c(error);
  const Session& running = session_in(session);
  const ImageInput recipe = running.model().image(image);
  return to_c(write_image(recipe, running.input(recipe.input), from_c(*picture), {pixels, pixels_bytes},
                          row_bytes, intaglio::from_c(scratch)));
}

itg_error itg_image_writer_begin(itg_image_writer* writer, const itg_session* session, int32_t image,
                                 const itg_picture* picture, itg_span scratch) {
  put_object(writer, ImageWriter());
  if (const Error error = check_order(*picture); !error.ok()) return to_c(error);
  const Session& running = session_in(session);
  const ImageInput recipe = running.model().image(image);
  return to_c(object_in<ImageWriter>(writer).begin(recipe, running.input(recipe.input), from_c(*picture),
                                                   intaglio::from_c(scratch)));
}

itg_error itg_image_writer_push_row(itg_image_writer* writer, const uint8_t* row) {
  return to_c(object_in<ImageWriter>(writer).push_row(row));
}

bool itg_image_writer_done(const itg_image_writer* writer) { return object_in<ImageWriter>(writer).done(); }
