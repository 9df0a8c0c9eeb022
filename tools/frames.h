// A camera's frames in words ("640x480:yuyv"), what a model needs for them, and the picture that one is.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/pictures/image_folder.h"
#include "calibrator/host/system/outcome.h"
#include "intaglio/frame.h"

namespace intaglio::tools {

// By "WxH:ORDER" or "WxH:ORDER:YUV": rgb, nv12, bayer-rggb and others, with the bits of a sample behind gray and Bayer's (gray10); YUV is
// bt601 unless given.
Outcome<FrameInfo> frame_of(const std::string& text);

// For files that hold such frames (--frame, --row-bytes). `row_bytes`: 0 without gaps.
Outcome<RawFrames> raw_frames_of(const std::string& text, int64_t row_bytes);

// The orders' names, for a help.
std::string frame_order_names();

// "bayer-rggb", without bits.
const char* order_name(PixelOrder order);
const char* yuv_name(YuvColors yuv);

// The frame as `frame_of` reads it.
std::string frame_text(const FrameInfo& frame);

// A frame that the model's first picture input takes.
struct ModelFrame {
  FrameInfo info;
  size_t scratch_bytes = 0;  // of a FrameWriter
};
Outcome<ModelFrame> frame_for(const Model& model, const FrameInfo& frame);

// The frame as a picture [h, w, 3] of RGB, or [h, w] of gray. A model makes the same input of it as of the frame, a gray model of the gray
// one.
Outcome<std::vector<uint8_t>> pixels_of(const Frame& frame, bool gray);

}  // namespace intaglio::tools
