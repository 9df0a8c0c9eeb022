// Frames that a session takes row by row. Apart from frame.cc, so that a program without fed rows links none of their code.
#include "runtime/picture_rows.h"

namespace intaglio {

Error FrameWriter::begin_feed(Session& session, const FrameInfo& frame, Span<uint8_t> scratch) {
  if (session.model().inputs().empty()) return {Status::kNoImageInput};
  session.begin_picture();
  const auto feed = [](ImageWriter& writer, const uint8_t* pixels) {
    static_cast<Session*>(writer.sink_)->feed_rows(pixels, 1);
  };
  return begin_rows(recipe_of_fed_input(session.model()), session.input().info, frame, scratch, &session,
                    feed);
}

Error feed_frame(Session& session, const Frame& frame, Span<uint8_t> scratch) {
  if (session.model().inputs().empty()) return {Status::kNoImageInput};
  const Result<FramePlanes> planes =
      planes_of(recipe_of_fed_input(session.model()), session.input().info, frame);
  ITG_TRY(planes.error());
  FrameWriter writer;
  ITG_TRY(writer.begin_feed(session, frame.info, scratch));
  return push_planes(writer, frame.info, *planes);
}

}  // namespace intaglio
