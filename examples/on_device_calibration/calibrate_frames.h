// Camera frames and an FP32 model in memory to an int8 model: what a board and the build machine both run.
#pragma once

#include "intaglio/calibrator.h"

// Frames as the camera's interface gives them, one behind the other.
struct Frames {
  const uint8_t* pixels;
  int32_t count;
  intaglio::FrameInfo info;

  intaglio::Frame at(int32_t i) const {
    const size_t bytes = intaglio::frame_bytes(info);
    intaglio::Frame frame;
    frame.info = info;
    frame.pixels = {pixels + static_cast<size_t>(i) * bytes, bytes};
    return frame;
  }
};

inline intaglio::CalibratorOptions options_of(bool as_device, intaglio::RangeMethod method) {
  intaglio::CalibratorOptions options;
  if (as_device) options = intaglio::CalibratorOptions::device();
  options.method = method;
  return options;
}

// Looks at every frame, chooses ranges, writes the int8 model through `sink`. `scratch` is that of FrameWriter::measure().
inline intaglio::Error calibrate_frames(const intaglio::Model& model, const Frames& frames,
                                        const intaglio::CalibratorOptions& options,
                                        intaglio::Span<uint8_t> memory, intaglio::Span<uint8_t> scratch,
                                        const intaglio::ModelSink& sink) {
  using namespace intaglio;
  Result<Calibrator> calibrator = Calibrator::create(model, memory, options);
  if (!calibrator) return calibrator.error();
  for (int32_t i = 0; i < frames.count; ++i) ITG_TRY(calibrator->add_frame(frames.at(i), scratch));
  // The frames are still there: a search may run them again. CalibratorOptions::device() does without, and a program that takes
  // these gives finish() the sink alone.
  struct Again {
    const Model& model;
    const Frames& frames;
    Span<uint8_t> scratch;
  } again{model, frames, scratch};
  const SampleSource source{[](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
                              const Again& a = *static_cast<Again*>(context);
                              const TensorView input{a.model.tensor(a.model.inputs()[0]), inputs[0].data};
                              return write_frame(a.model.image(0), input, a.frames.at(i), a.scratch).ok();
                            },
                            &again, frames.count};
  return calibrator->finish(sink, &source);
}
