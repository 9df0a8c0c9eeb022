// Objects that are shown to the camera, and what the device learns of them: what a board and the build machine both run.
#pragma once

#include "intaglio/frame.h"
#include "intaglio/last_layer.h"
#include "intaglio/session.h"

inline constexpr int32_t kObjects = 3, kShown = 5,
                         kAsked = 9;  // examples of each, and how many are asked afterwards

// A disc, bars that lie or bars that stand, elsewhere each time: words r5 g6 b5, the high byte first.
inline void draw_object(int32_t object, int32_t time, const intaglio::FrameInfo& info, uint8_t* pixels) {
  const int32_t left = info.width / 2 - 6 + time * 5 % 13, top = info.height / 2 - 4 + time * 7 % 9;
  for (int32_t y = 0; y < info.height; ++y)
    for (int32_t x = 0; x < info.width; ++x) {
      const int32_t dx = x - left, dy = y - top;
      const bool is_lit = object == 0   ? dx * dx + dy * dy < 90
                          : object == 1 ? (y + time) / 4 % 2 == 0
                                        : (x + time) / 4 % 2 == 0;
      const int32_t light = (is_lit ? 190 : 20) + (x * 7 + y * 13 + time * 29) % 40;
      const int32_t word = light >> 3 << 11 | light >> 2 << 5 | light >> 3;
      *pixels++ = static_cast<uint8_t>(word >> 8);
      *pixels++ = static_cast<uint8_t>(word);
    }
}

// The features of an object as the camera sees it. `frame` has the bytes of a frame.
inline intaglio::Result<const int8_t*> see(intaglio::Session& session, const intaglio::Features& features,
                                           int32_t object, int32_t time, const intaglio::FrameInfo& info,
                                           intaglio::Span<uint8_t> frame, intaglio::Span<uint8_t> scratch) {
  draw_object(object, time, info, frame.data);
  intaglio::Frame seen;
  seen.info = info;
  seen.pixels = {frame.data, frame.size};
  ITG_TRY(intaglio::write_frame(session.model().image(0), session.input(), seen, scratch));
  session.run_nodes(0, features.node);
  return static_cast<const int8_t*>(session.tensor(features.tensor).data);
}

// Looks at each object a few times, and writes the layer that tells them apart.
inline intaglio::Result<intaglio::LearnReport> learn_objects(
    intaglio::Session& session, const intaglio::FrameInfo& info, intaglio::Span<uint8_t> frame,
    intaglio::Span<uint8_t> scratch, intaglio::Span<uint8_t> memory, intaglio::Span<uint8_t> patch) {
  using namespace intaglio;
  const Result<Features> features = find_features(session.model());
  if (!features) return features.error();
  Result<LastLayerLearner> learner =
      LastLayerLearner::create(session.model(), kObjects, kObjects * kShown, memory);
  if (!learner) return learner.error();
  for (int32_t time = 0; time < kShown; ++time)
    for (int32_t object = 0; object < kObjects; ++object) {
      const auto seen = see(session, *features, object, time, info, frame, scratch);
      if (!seen) return seen.error();
      ITG_TRY(learner->add(*seen, object));
    }
  return learner->finish(patch);
}
