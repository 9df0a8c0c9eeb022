// Any frame: sizes, orders, bits, strides and planes are refused, or every byte of the input is written, and nothing beside it. Row by row it
// is the same input.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "intaglio/frame.h"
#include "tests/fuzz/written.h"
#include "tests/support/choices.h"

using namespace intaglio;

namespace {

constexpr int64_t kMostPixels = 1 << 14;

size_t stride(test::Choices& choices) {
  return choices.one_in(2) ? 0 : static_cast<size_t>(choices.number(0, 255));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::Choices choices(data, size);
  int8_t table[768];
  for (int i = 0; i < 768; ++i) table[i] = static_cast<int8_t>(i * 5);
  ImageInput recipe;
  recipe.color = static_cast<ColorOrder>(choices.below(3));
  recipe.resize = static_cast<ResizeMode>(choices.below(3));
  recipe.channels = recipe.color == ColorOrder::kGray ? 1 : 3;
  recipe.table = {table, static_cast<size_t>(recipe.channels) * 256};
  int32_t dims[] = {1, 1 + static_cast<int32_t>(choices.below(40)),
                    1 + static_cast<int32_t>(choices.below(40)), recipe.channels};
  TensorInfo target;
  target.dtype = choices.one_in(4) ? DType::kF32 : DType::kS8;
  target.shape = {dims, 4};
  Frame frame;
  frame.info = {static_cast<int32_t>(choices.number(1, 60)), static_cast<int32_t>(choices.number(1, 60)),
                static_cast<PixelOrder>(choices.one_in(24) ? choices.byte() : choices.below(15)),
                static_cast<uint8_t>(choices.one_in(2) ? 8 : choices.number(0, 20)),
                static_cast<YuvColors>(choices.one_in(24) ? choices.byte() : choices.below(4))};
  frame.row_bytes = stride(choices);
  frame.chroma_row_bytes = stride(choices);
  const Result<size_t> scratch_bytes = FrameWriter::measure(recipe, target, frame.info);
  // Memory of any size, most often of the frame's, in an allocation of its own.
  const bool small =
      scratch_bytes.error().ok() && int64_t{frame.info.width} * frame.info.height <= kMostPixels;
  const size_t whole = !small ? 0 : frame_bytes(frame.info);
  size_t bytes = choices.one_in(2) ? whole : choices.below(20000), chroma_bytes = 0;
  if (frame.row_bytes != 0 && frame.row_bytes < 1000 && small && !choices.one_in(4))
    bytes = frame.row_bytes * static_cast<size_t>(frame.info.height) * 2;
  if (choices.one_in(3)) chroma_bytes = choices.below(8000);
  const std::unique_ptr<uint8_t[]> pixels(new uint8_t[bytes]), chroma(new uint8_t[chroma_bytes]);
  for (size_t i = 0; i < bytes; ++i) pixels[i] = static_cast<uint8_t>(i * 37 ^ i >> 5);
  for (size_t i = 0; i < chroma_bytes; ++i) chroma[i] = static_cast<uint8_t>(i * 91 ^ i >> 5);
  frame.pixels = {pixels.get(), bytes};
  if (chroma_bytes != 0) frame.chroma = {chroma.get(), chroma_bytes};
  const size_t scratch_size = scratch_bytes ? *scratch_bytes : 0;
  const std::unique_ptr<uint8_t[]> scratch(new uint8_t[scratch_size]), input(new uint8_t[target.bytes()]),
      again(new uint8_t[target.bytes()]);
  fuzz::make_unwritten(scratch.get(), scratch_size);
  fuzz::make_unwritten(input.get(), target.bytes());
  const Error error = write_frame(recipe, {target, input.get()}, frame, {scratch.get(), scratch_size});
  if (!error.ok()) return 0;
  if (!scratch_bytes) std::abort();
  fuzz::check_written(input.get(), target.bytes());

  // Each row where it ends with its memory.
  const size_t row_bytes = frame_row_bytes(frame.info), pair_bytes = frame_chroma_row_bytes(frame.info);
  const size_t step = frame.row_bytes == 0 ? row_bytes : frame.row_bytes;
  const size_t pair_step = frame.chroma_row_bytes != 0 ? frame.chroma_row_bytes
                           : frame.row_bytes != 0      ? frame.row_bytes
                                                       : pair_bytes;
  const std::unique_ptr<uint8_t[]> row(new uint8_t[row_bytes]), pairs(new uint8_t[pair_bytes]);
  const bool colour = pair_bytes != 0 && recipe.color != ColorOrder::kGray;
  const uint8_t* plane = chroma.get();
  if (colour && chroma_bytes == 0) plane = pixels.get() + step * static_cast<size_t>(frame.info.height);
  FrameWriter writer;
  if (!writer.begin(recipe, {target, again.get()}, frame.info, {scratch.get(), scratch_size}).ok())
    std::abort();
  for (size_t y = 0; y < static_cast<size_t>(frame.info.height); ++y) {
    memcpy(row.get(), pixels.get() + y * step, row_bytes);
    if (colour) memcpy(pairs.get(), plane + y / 2 * pair_step, pair_bytes);
    if (!writer.push_row(row.get(), colour ? pairs.get() : nullptr).ok()) std::abort();
  }
  if (!writer.done() || memcmp(input.get(), again.get(), target.bytes()) != 0) std::abort();
  return 0;
}
