// Camera frames and an FP32 model in memory to an int8 model: what a board and the build machine both run.
#pragma once

#include "intaglio/calibrator.h"

// Gray frames of the size of the model's input.
struct Frames {
  const uint8_t* pixels;  // [count][height][width]
  int32_t count, height, width;
};

// Normalizes frame `i` as the model says, into its FP32 input.
inline intaglio::Error write_frame(const intaglio::Model& model, const Frames& frames, int32_t i,
                                   intaglio::Span<uint8_t> input, intaglio::Span<uint8_t> rows) {
  using namespace intaglio;
  const TensorView view{model.tensor(model.inputs()[0]), input.data};
  const PictureInfo info{frames.width, frames.height, PixelOrder::kGray};
  const auto stride = static_cast<size_t>(frames.width);
  const size_t frame_bytes = stride * static_cast<size_t>(frames.height);
  const Span<const uint8_t> pixels{frames.pixels + static_cast<size_t>(i) * frame_bytes, frame_bytes};
  return write_image(model.image(0), view, info, pixels, stride, rows);
}

// What a calibration needs beside the calibrator's own memory.
struct FrameMemory {
  intaglio::Span<uint8_t> input, rows;  // one FP32 input; working memory of write_image()
};

// Looks at every frame, chooses ranges by `method`, writes the int8 model through `sink`.
inline intaglio::Error calibrate_frames(const intaglio::Model& model, const Frames& frames,
                                        const intaglio::CalibratorOptions& options,
                                        intaglio::Span<uint8_t> memory, const FrameMemory& frame,
                                        const intaglio::ModelSink& sink) {
  using namespace intaglio;
  Result<Calibrator> calibrator = Calibrator::create(model, memory, options);
  if (!calibrator) return calibrator.error();
  for (int32_t i = 0; i < frames.count; ++i) {
    ITG_TRY(write_frame(model, frames, i, frame.input, frame.rows));
    const Span<const uint8_t> input = frame.input;
    ITG_TRY(calibrator->add({&input, 1}));
  }
  // The frames are still there: errors are corrected layer by layer.
  struct Again {
    const Model& model;
    const Frames& frames;
    const FrameMemory& frame;
  } again{model, frames, frame};
  const SampleSource source{[](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
                              const Again& a = *static_cast<Again*>(context);
                              return write_frame(a.model, a.frames, i, inputs[0], a.frame.rows).ok();
                            },
                            &again, frames.count};
  return calibrator->finish(sink, &source);
}
