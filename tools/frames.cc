#include "tools/frames.h"

#include <cstdlib>

#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"

namespace intaglio::tools {
namespace {

// By PixelOrder and YuvColors.
constexpr const char* kOrders[] = {
    "rgb",  "bgr",  "gray", "rgba",       "bgra",       "rgb565",     "rgb565-swapped", "yuyv",
    "uyvy", "nv12", "nv21", "bayer-rggb", "bayer-grbg", "bayer-gbrg", "bayer-bggr"};
constexpr const char* kYuv[] = {"bt601", "bt601-full", "bt709", "bt709-full"};

template <size_t kCount>
int32_t place_of(const std::string& name, const char* const (&names)[kCount]) {
  for (size_t i = 0; i < kCount; ++i)
    if (name == names[i]) return static_cast<int32_t>(i);
  return -1;
}

// A number of at most five digits and nothing else; -1 otherwise.
int32_t number_of(const std::string& digits) {
  if (digits.empty() || digits.size() > 5 || digits.find_first_not_of("0123456789") != std::string::npos)
    return -1;
  return std::atoi(digits.c_str());
}

}  // namespace

std::string frame_order_names() {
  std::string all;
  for (const char* const name : kOrders) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

const char* order_name(PixelOrder order) { return kOrders[static_cast<size_t>(order)]; }
const char* yuv_name(YuvColors yuv) { return kYuv[static_cast<size_t>(yuv)]; }

Outcome<FrameInfo> frame_of(const std::string& text) {
  const std::string how =
      "a frame is WIDTHxHEIGHT:ORDER, e.g. 640x480:yuyv or 320x240:gray10; ORDER is one of " +
      frame_order_names();
  const size_t x = text.find('x'), colon = text.find(':');
  if (x == std::string::npos || colon == std::string::npos || colon < x)
    return Failure{"'" + text + "': " + how};
  const size_t second = text.find(':', colon + 1);
  FrameInfo frame;
  frame.width = number_of(text.substr(0, x));
  frame.height = number_of(text.substr(x + 1, colon - x - 1));
  if (frame.width < 1 || frame.height < 1 || frame.width > kMaxPictureSide || frame.height > kMaxPictureSide)
    return Failure{"'" + text + "': its sides are 1 to " + std::to_string(kMaxPictureSide) + " pixels"};
  std::string order = text.substr(colon + 1, second == std::string::npos ? second : second - colon - 1);
  int32_t place = place_of(order, kOrders);
  if (place < 0) {  // with bits
    const size_t digits = order.find_last_not_of("0123456789") + 1;
    const int32_t bits = number_of(order.substr(digits));
    place = place_of(order.substr(0, digits), kOrders);
    const bool has_bits = place == static_cast<int32_t>(PixelOrder::kGray) ||
                          place >= static_cast<int32_t>(PixelOrder::kBayerRggb);
    if (bits < 0 || !has_bits) return Failure{"'" + text + "': " + how};
    if (bits < 8 || bits > 16) return Failure{"'" + text + "': samples have 8 to 16 bits"};
    frame.bits = static_cast<uint8_t>(bits);
  }
  frame.order = static_cast<PixelOrder>(place);
  if (second != std::string::npos) {
    const int32_t yuv = place_of(text.substr(second + 1), kYuv);
    if (yuv < 0 || frame.order < PixelOrder::kYuyv || frame.order > PixelOrder::kNv21)
      return Failure{
          "'" + text +
          "': behind the order of yuyv, uyvy, nv12 and nv21 may stand :bt601, :bt601-full, :bt709 or "
          ":bt709-full"};
    frame.yuv = static_cast<YuvColors>(yuv);
  }
  return frame;
}

Outcome<RawFrames> raw_frames_of(const std::string& text, int64_t row_bytes) {
  const auto frame = frame_of(text);
  if (!frame) return frame.failure();
  const auto least = static_cast<int64_t>(frame_row_bytes(*frame));
  if (row_bytes != 0 && row_bytes < least)
    return Failure{option_word("row-bytes", std::to_string(row_bytes)) + ": a row of " + frame_text(*frame) +
                   " has " + std::to_string(least) + " bytes"};
  return RawFrames{*frame, static_cast<size_t>(row_bytes)};
}

std::string frame_text(const FrameInfo& frame) {
  std::string text =
      std::to_string(frame.width) + "x" + std::to_string(frame.height) + ":" + order_name(frame.order);
  if (frame.bits != 8) text += std::to_string(frame.bits);
  if (frame.yuv != YuvColors::kBt601) text += std::string(":") + yuv_name(frame.yuv);
  return text;
}

Outcome<ModelFrame> frame_for(const Model& model, const FrameInfo& frame) {
  const ImageInput recipe = model.image(0);
  const auto bytes =
      FrameWriter::measure(recipe, model.tensor(model.inputs()[static_cast<size_t>(recipe.input)]), frame);
  if (!bytes) return Failure{frame_text(frame) + ": " + error_text(bytes.error(), &model)};
  return ModelFrame{frame, *bytes};
}

Outcome<std::vector<uint8_t>> pixels_of(const Frame& frame, bool gray) {
  std::vector<int8_t> table;
  ImageInput recipe;
  recipe.color = gray ? ColorOrder::kGray : ColorOrder::kRgb;
  recipe.channels = gray ? 1 : 3;
  for (int32_t i = 0; i < recipe.channels * 256; ++i) table.push_back(static_cast<int8_t>(i % 256));
  recipe.table = {table.data(), table.size()};
  const int32_t dims[] = {1, frame.info.height, frame.info.width, recipe.channels};
  TensorInfo target;
  target.dtype = DType::kS8;
  target.shape = {dims, 4};
  const auto scratch_bytes = FrameWriter::measure(recipe, target, frame.info);
  if (!scratch_bytes) return Failure{frame_text(frame.info) + ": " + error_text(scratch_bytes.error())};
  std::vector<uint8_t> pixels(target.bytes()), scratch(*scratch_bytes);
  const Error error = write_frame(recipe, {target, pixels.data()}, frame, {scratch.data(), scratch.size()});
  if (!error.ok()) return Failure{frame_text(frame.info) + ": " + error_text(error)};
  return pixels;
}

}  // namespace intaglio::tools
