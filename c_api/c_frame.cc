#include "intaglio/frame.h"

#include "c_api/c_handles.h"

using namespace intaglio;

static_assert(ITG_YUV_BT601_FULL == static_cast<int>(YuvColors::kBt601Full) &&
              ITG_YUV_BT709_FULL == static_cast<int>(YuvColors::kBt709Full));

namespace {

// The C++ fields have a byte: a number outside it becomes one that is refused.
uint8_t byte_of(int32_t v) { return static_cast<uint8_t>(v < 0 || v > 0xff ? 0xff : v); }

FrameInfo info_of(const itg_frame& frame) {
  return {frame.width, frame.height, static_cast<PixelOrder>(byte_of(frame.order)),
          frame.bits == 0 ? uint8_t{8} : byte_of(frame.bits), static_cast<YuvColors>(byte_of(frame.yuv))};
}

FrameWriter& in(itg_frame_writer* writer) { return object_in<FrameWriter>(writer); }

}  // namespace

namespace intaglio {

Frame from_c(const itg_frame& frame) {
  Frame result;
  result.info = info_of(frame);
  result.pixels = {frame.pixels, frame.pixels_bytes};
  result.row_bytes = frame.row_bytes;
  result.chroma = {frame.chroma, frame.chroma_bytes};
  result.chroma_row_bytes = frame.chroma_row_bytes;
  return result;
}

}  // namespace intaglio

itg_error itg_frame_measure(const itg_model* model, int32_t index, const itg_frame* frame,
                            size_t* scratch_bytes) {
  const Model& opened = model_in(model);
  const ImageInput recipe = opened.image(index);
  const TensorInfo target = opened.tensor(opened.inputs()[static_cast<size_t>(recipe.input)]);
  const Result<size_t> bytes = FrameWriter::measure(recipe, target, info_of(*frame));
  *scratch_bytes = bytes ? *bytes : 0;
  return to_c(bytes.error());
}

itg_error itg_write_frame(const itg_session* session, int32_t image, const itg_frame* frame,
                          itg_span scratch) {
  const Session& running = session_in(session);
  const ImageInput recipe = running.model().image(image);
  return to_c(
      write_frame(recipe, running.input(recipe.input), intaglio::from_c(*frame), intaglio::from_c(scratch)));
}

itg_error itg_feed_frame(itg_session* session, const itg_frame* frame, itg_span scratch) {
  return to_c(
      feed_frame(object_in<CSession>(session).session, intaglio::from_c(*frame), intaglio::from_c(scratch)));
}

itg_error itg_frame_writer_begin(itg_frame_writer* writer, const itg_session* session, int32_t image,
                                 const itg_frame* frame, itg_span scratch) {
  put_object(writer, FrameWriter());
  const Session& running = session_in(session);
  const ImageInput recipe = running.model().image(image);
  return to_c(
      in(writer).begin(recipe, running.input(recipe.input), info_of(*frame), intaglio::from_c(scratch)));
}

itg_error itg_frame_writer_begin_feed(itg_frame_writer* writer, itg_session* session, const itg_frame* frame,
                                      itg_span scratch) {
  put_object(writer, FrameWriter());
  return to_c(in(writer).begin_feed(object_in<CSession>(session).session, info_of(*frame),
                                    intaglio::from_c(scratch)));
}

itg_error itg_frame_writer_push_row(itg_frame_writer* writer, const uint8_t* row, const uint8_t* chroma) {
  return to_c(in(writer).push_row(row, chroma));
}

bool itg_frame_writer_done(const itg_frame_writer* writer) { return object_in<FrameWriter>(writer).done(); }
