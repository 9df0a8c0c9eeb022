#include "intaglio/frame.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace intaglio::test::frame_test {
namespace {

const PixelOrder kOrders[] = {PixelOrder::kRgb,       PixelOrder::kBgr,           PixelOrder::kGray,
                              PixelOrder::kRgba,      PixelOrder::kBgra,          PixelOrder::kRgb565,
                              PixelOrder::kYuyv,      PixelOrder::kRgb565Swapped, PixelOrder::kUyvy,
                              PixelOrder::kNv12,      PixelOrder::kNv21,          PixelOrder::kBayerRggb,
                              PixelOrder::kBayerGrbg, PixelOrder::kBayerGbrg,     PixelOrder::kBayerBggr};

bool is_yuv(PixelOrder order) { return order >= PixelOrder::kYuyv && order <= PixelOrder::kNv21; }
bool has_bits(PixelOrder order) { return order == PixelOrder::kGray || order >= PixelOrder::kBayerRggb; }

// Bytes that end where the memory ends, so that a sanitizer sees one too many.
struct Bytes {
  std::unique_ptr<uint8_t[]> data;
  size_t size;

  explicit Bytes(size_t n) : data(new uint8_t[n]), size(n) {}
  Span<const uint8_t> span() const { return {data.get(), size}; }
  Span<uint8_t> span() { return {data.get(), size}; }
};

Bytes noise(size_t size, uint32_t seed) {
  Bytes bytes(size);
  std::mt19937 random(seed);
  for (size_t i = 0; i < size; ++i) bytes.data[i] = static_cast<uint8_t>(random() >> 8);
  return bytes;
}

// A frame with gaps behind its rows, and none behind the last.
struct Made {
  Frame frame;
  Bytes pixels, chroma;
};
Made make_frame(const FrameInfo& info, size_t gap, bool two_planes, uint32_t seed) {
  const size_t row = frame_row_bytes(info), chroma_row = frame_chroma_row_bytes(info);
  const auto h = static_cast<size_t>(info.height);
  // Rows of both planes are equally far apart unless there is more to say.
  const size_t stride = std::max(row, chroma_row) + gap;
  const size_t chroma_bytes = chroma_row == 0 ? 0 : ((h + 1) / 2 - 1) * stride + chroma_row;
  const bool apart = two_planes || chroma_row == 0;
  const size_t luma_bytes = apart ? (h - 1) * stride + row : h * stride;
  Made made{{}, noise(apart ? luma_bytes : luma_bytes + chroma_bytes, seed), noise(chroma_bytes, seed + 1)};
  made.frame.info = info;
  made.frame.pixels = const_cast<const Bytes&>(made.pixels).span();
  made.frame.row_bytes = stride;
  if (two_planes && chroma_row != 0) {
    made.frame.chroma = const_cast<const Bytes&>(made.chroma).span();
    made.frame.chroma_row_bytes = stride;
  }
  return made;
}

int floor_shift(int v, int bits) {
  const int unit = 1 << bits;
  return v >= 0 ? v / unit : -((-v + unit - 1) / unit);
}
int clamp(int v) { return std::min(std::max(v, 0), 255); }

struct Color {
  int r, g, b;
};

// The header's formulas, one pixel at a time.
class Reference {
 public:
  explicit Reference(const Frame& frame) : f_(frame) {}

  Color at(int x, int y, bool gray) const {
    switch (f_.info.order) {
      case PixelOrder::kRgb:
        return {byte(3 * x, y), byte(3 * x + 1, y), byte(3 * x + 2, y)};
      case PixelOrder::kBgr:
        return {byte(3 * x + 2, y), byte(3 * x + 1, y), byte(3 * x, y)};
      case PixelOrder::kRgba:
        return {byte(4 * x, y), byte(4 * x + 1, y), byte(4 * x + 2, y)};
      case PixelOrder::kBgra:
        return {byte(4 * x + 2, y), byte(4 * x + 1, y), byte(4 * x, y)};
      case PixelOrder::kGray: {
        const int v = sample(x, y);
        return {v, v, v};
      }
      case PixelOrder::kRgb565:
        return of_565(byte(2 * x, y) + 256 * byte(2 * x + 1, y));
      case PixelOrder::kRgb565Swapped:
        return of_565(byte(2 * x + 1, y) + 256 * byte(2 * x, y));
      case PixelOrder::kYuyv:
        return of_yuv(byte(2 * x, y), byte(x / 2 * 4 + 1, y), byte(x / 2 * 4 + 3, y), gray);
      case PixelOrder::kUyvy:
        return of_yuv(byte(2 * x + 1, y), byte(x / 2 * 4, y), byte(x / 2 * 4 + 2, y), gray);
      case PixelOrder::kNv12:
        return of_yuv(byte(x, y), pair(x / 2 * 2, y / 2), pair(x / 2 * 2 + 1, y / 2), gray);
      case PixelOrder::kNv21:
        return of_yuv(byte(x, y), pair(x / 2 * 2 + 1, y / 2), pair(x / 2 * 2, y / 2), gray);
      default:
        return of_bayer(x, y);
    }
  }

 private:
  int byte(int at, int y) const {
    return f_.pixels[static_cast<size_t>(y) * f_.row_bytes + static_cast<size_t>(at)];
  }
  int pair(int at, int y) const {
    const auto offset = static_cast<size_t>(y) * (f_.chroma.empty() ? f_.row_bytes : f_.chroma_row_bytes) +
                        static_cast<size_t>(at);
    if (!f_.chroma.empty()) return f_.chroma[offset];
    return f_.pixels[static_cast<size_t>(f_.info.height) * f_.row_bytes + offset];
  }
  int sample(int x, int y) const {
    if (f_.info.bits == 8) return byte(x, y);
    const int word = byte(2 * x, y) + 256 * byte(2 * x + 1, y);
    return word % (1 << f_.info.bits) / (1 << (f_.info.bits - 8));
  }
  static Color of_565(int word) {
    const int r = word / 2048, g = word / 32 % 64, b = word % 32;
    return {r * 8 + r / 4, g * 4 + g / 16, b * 8 + b / 4};
  }
  Color of_yuv(int y, int u, int v, bool gray) const {
    static const int kTables[4][6] = {{298, 16, 409, 100, 208, 516},
                                      {256, 0, 359, 88, 183, 454},
                                      {298, 16, 459, 55, 136, 541},
                                      {256, 0, 403, 48, 120, 475}};
    const int* const m = kTables[static_cast<int>(f_.info.yuv)];
    const int c = m[0] * (y - m[1]) + 128, d = gray ? 0 : u - 128, e = gray ? 0 : v - 128;
    return {clamp(floor_shift(c + m[2] * e, 8)), clamp(floor_shift(c - m[3] * d - m[4] * e, 8)),
            clamp(floor_shift(c + m[5] * d, 8))};
  }
  static int reflect(int i, int n) {
    if (n == 1) return 0;
    return i == -1 ? 1 : i == n ? n - 2 : i;
  }
  // 'R', 'G' or 'B'.
  char filter(int x, int y) const {
    static const char* const kNames[] = {"RGGB", "GRBG", "GBRG", "BGGR"};
    return kNames[static_cast<int>(f_.info.order) - static_cast<int>(PixelOrder::kBayerRggb)]
                 [(y + 2) % 2 * 2 + (x + 2) % 2];
  }
  Color of_bayer(int x, int y) const {
    // The mean of those of the eight neighbours and the pixel itself that have the colour: one pixel, two or four.
    const auto mean = [&](char color) {
      if (filter(x, y) == color) return sample(x, y);
      int sum = 0, count = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (filter(x + dx, y + dy) == color) {
            sum += sample(reflect(x + dx, f_.info.width), reflect(y + dy, f_.info.height));
            ++count;
          }
      return (sum + count / 2) / count;
    };
    return {mean('R'), mean('G'), mean('B')};
  }

  const Frame& f_;
};

struct Target {
  int32_t dims[4];
  DType dtype;
  Bytes bytes;

  Target(int32_t h, int32_t w, int32_t c, DType type) : dims{1, h, w, c}, dtype(type), bytes(info().bytes()) {
    std::fill_n(bytes.data.get(), bytes.size, uint8_t{0xA5});
  }
  TensorInfo info() const {
    TensorInfo result;
    result.dtype = dtype;
    result.shape = {dims, 4};
    return result;
  }
  TensorView view() { return {info(), bytes.data.get()}; }
  std::vector<uint8_t> copy() const { return {bytes.data.get(), bytes.data.get() + bytes.size}; }
};

struct Recipe {
  ImageInput input;
  std::vector<int8_t> table;

  Recipe(ColorOrder color, ResizeMode resize) {
    input.color = color;
    input.resize = resize;
    input.border = 77;
    input.channels = color == ColorOrder::kGray ? 1 : 3;
    for (int c = 0; c < 3; ++c) {
      input.norm[c] = 0.25f * static_cast<float>(c + 1);
      input.mean[c] = static_cast<float>(100 + c);
    }
    for (int i = 0; i < input.channels * 256; ++i) table.push_back(static_cast<int8_t>(i * 7 + i / 256));
    input.table = {table.data(), table.size()};
  }
};

// The frame as a picture of RGB, or of gray where that is what the model takes and the frame says it itself.
std::vector<uint8_t> as_picture(const Frame& frame, bool gray) {
  const Reference reference(frame);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < frame.info.height; ++y)
    for (int x = 0; x < frame.info.width; ++x) {
      const Color c = reference.at(x, y, gray);
      for (const int v : {c.r, c.g, c.b}) pixels.push_back(static_cast<uint8_t>(v));
    }
  return pixels;
}

std::vector<uint8_t> expected_of(const Recipe& recipe, const Frame& frame, Target target) {
  const PictureInfo info{frame.info.width, frame.info.height, PixelOrder::kRgb};
  const std::vector<uint8_t> rgb = as_picture(frame, recipe.input.color == ColorOrder::kGray);
  Bytes scratch(*ImageWriter::measure(recipe.input, target.info(), info));
  REQUIRE(write_image(recipe.input, target.view(), info, {rgb.data(), rgb.size()},
                      static_cast<size_t>(info.width) * 3, scratch.span())
              .ok());
  return target.copy();
}

std::vector<uint8_t> written(const Recipe& recipe, const Frame& frame, Target target) {
  Bytes scratch(*FrameWriter::measure(recipe.input, target.info(), frame.info));
  const Error error = write_frame(recipe.input, target.view(), frame, scratch.span());
  REQUIRE(error.status == Status::kOk);
  return target.copy();
}

std::vector<uint8_t> pushed(const Recipe& recipe, const Frame& frame, Target target) {
  Bytes scratch(*FrameWriter::measure(recipe.input, target.info(), frame.info));
  const size_t row_bytes = frame_row_bytes(frame.info), chroma_bytes = frame_chroma_row_bytes(frame.info);
  FrameWriter writer;
  CHECK_FALSE(writer.done());
  REQUIRE(writer.begin(recipe.input, target.view(), frame.info, scratch.span()).ok());
  for (size_t y = 0; y < static_cast<size_t>(frame.info.height); ++y) {
    Bytes row(row_bytes), chroma(chroma_bytes);  // somewhere else each time, and gone afterwards
    std::copy_n(frame.pixels.data + y * frame.row_bytes, row_bytes, row.data.get());
    if (chroma_bytes != 0) {
      const uint8_t* const plane =
          frame.chroma.empty() ? frame.pixels.data + static_cast<size_t>(frame.info.height) * frame.row_bytes
                               : frame.chroma.data;
      std::copy_n(plane + y / 2 * frame.row_bytes, chroma_bytes, chroma.data.get());
    }
    const bool none = chroma_bytes == 0 || recipe.input.color == ColorOrder::kGray;
    REQUIRE(writer.push_row(row.data.get(), none ? nullptr : chroma.data.get()).ok());
  }
  CHECK(writer.done());
  CHECK(writer.push_row(frame.pixels.data, frame.pixels.data).status == Status::kPictureRows);
  return target.copy();
}

// A flat frame of one pixel's bytes.
std::vector<int> one_pixel(PixelOrder order, const std::vector<uint8_t>& bytes, ColorOrder color,
                           uint8_t bits = 8, YuvColors yuv = YuvColors::kBt601) {
  Recipe recipe(color, ResizeMode::kStretch);
  for (size_t i = 0; i < recipe.table.size(); ++i)
    recipe.table[i] = static_cast<int8_t>(static_cast<int>(i % 256) - 128);
  Target target(1, 1, recipe.input.channels, DType::kS8);
  Frame frame;
  frame.info = {1, 1, order, bits, yuv};
  frame.pixels = {bytes.data(), bytes.size()};
  Bytes scratch(*FrameWriter::measure(recipe.input, target.info(), frame.info));
  REQUIRE(write_frame(recipe.input, target.view(), frame, scratch.span()).status == Status::kOk);
  std::vector<int> pixels;
  for (const uint8_t code : target.copy()) pixels.push_back(static_cast<int8_t>(code) + 128);
  return pixels;
}

using Pixel = std::vector<int>;

}  // namespace

TEST_CASE("every order, at odd sizes and strides, gives what its formula says, whole and row by row") {
  const struct {
    int32_t w, h;
  } sizes[] = {{1, 1}, {2, 2}, {1, 6}, {7, 1}, {5, 4}, {8, 7}, {13, 9}, {24, 17}};
  uint32_t seed = 1;
  for (const PixelOrder order : kOrders)
    for (const auto& size : sizes)
      for (const ColorOrder color : {ColorOrder::kRgb, ColorOrder::kBgr, ColorOrder::kGray})
        for (const ResizeMode mode : {ResizeMode::kStretch, ResizeMode::kCrop, ResizeMode::kLetterbox}) {
          const FrameInfo info{size.w, size.h, order};
          const Recipe recipe(color, mode);
          const Made made = make_frame(info, seed % 5, seed % 2 == 0, seed);
          ++seed;
          const Target target(static_cast<int32_t>(1 + seed % 11), static_cast<int32_t>(1 + seed / 3 % 13),
                              recipe.input.channels, seed % 4 == 0 ? DType::kF32 : DType::kS8);
          const auto fresh = [&] {
            return Target(target.dims[1], target.dims[2], target.dims[3], target.dtype);
          };
          const auto expected = expected_of(recipe, made.frame, fresh());
          INFO("order ", static_cast<int>(order), " size ", size.w, " x ", size.h, " colour ",
               static_cast<int>(color), " mode ", static_cast<int>(mode));
          REQUIRE(written(recipe, made.frame, fresh()) == expected);
          REQUIRE(pushed(recipe, made.frame, fresh()) == expected);
        }
}

TEST_CASE("a frame of the input's size passes unresized") {
  uint32_t seed = 900;
  for (const PixelOrder order : kOrders) {
    const Recipe recipe(ColorOrder::kRgb, ResizeMode::kCrop);
    const Made made = make_frame({11, 6, order}, 3, false, ++seed);
    const auto fresh = [] { return Target(6, 11, 3, DType::kS8); };
    const std::vector<uint8_t> rgb = as_picture(made.frame, false);
    std::vector<uint8_t> codes;
    for (size_t i = 0; i < rgb.size(); ++i)
      codes.push_back(static_cast<uint8_t>(recipe.table[i % 3 * 256 + rgb[i]]));
    CHECK(written(recipe, made.frame, fresh()) == codes);
    CHECK(pushed(recipe, made.frame, fresh()) == codes);
  }
}

TEST_CASE("samples of 8 to 16 bits, and every matrix") {
  uint32_t seed = 50;
  for (const PixelOrder order : kOrders) {
    if (has_bits(order))
      for (int bits = 8; bits <= 16; ++bits) {
        const Recipe recipe(bits % 2 == 0 ? ColorOrder::kRgb : ColorOrder::kGray, ResizeMode::kStretch);
        const Made made = make_frame({9, 5, order, static_cast<uint8_t>(bits)}, 1, false, ++seed);
        const auto fresh = [&] { return Target(4, 6, recipe.input.channels, DType::kS8); };
        CHECK(written(recipe, made.frame, fresh()) == expected_of(recipe, made.frame, fresh()));
      }
    if (is_yuv(order))
      for (int yuv = 0; yuv < 4; ++yuv) {
        const Recipe recipe(ColorOrder::kRgb, ResizeMode::kStretch);
        const Made made = make_frame({9, 5, order, 8, static_cast<YuvColors>(yuv)}, 1, false, ++seed);
        const auto fresh = [] { return Target(5, 9, 3, DType::kS8); };
        CHECK(written(recipe, made.frame, fresh()) == expected_of(recipe, made.frame, fresh()));
      }
  }
}

TEST_CASE("pixels worked out by hand") {
  const auto rgb = ColorOrder::kRgb, gray = ColorOrder::kGray;
  CHECK(one_pixel(PixelOrder::kBgra, {50, 100, 200, 7}, rgb) == Pixel{200, 100, 50});
  CHECK(one_pixel(PixelOrder::kRgb565, {0xFF, 0xFF}, rgb) == Pixel{255, 255, 255});
  CHECK(one_pixel(PixelOrder::kRgb565, {0x00, 0xF8}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kRgb565Swapped, {0xF8, 0x00}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kRgb565, {0xE0, 0x07}, rgb) == Pixel{0, 255, 0});
  CHECK(one_pixel(PixelOrder::kRgb565, {0x21, 0x08}, rgb) == Pixel{8, 4, 8});
  // Limited range: 16 is black and 235 white; red of BT.601 is (81, 90, 240).
  CHECK(one_pixel(PixelOrder::kYuyv, {16, 128, 0, 128}, rgb) == Pixel{0, 0, 0});
  CHECK(one_pixel(PixelOrder::kYuyv, {235, 128, 0, 128}, rgb) == Pixel{255, 255, 255});
  CHECK(one_pixel(PixelOrder::kYuyv, {81, 90, 0, 240}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kUyvy, {90, 81, 240, 0}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kNv12, {81, 90, 240}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kNv21, {81, 240, 90}, rgb) == Pixel{255, 0, 0});
  CHECK(one_pixel(PixelOrder::kYuyv, {255, 255, 0, 0}, rgb) == Pixel{74, 255, 255});
  CHECK(one_pixel(PixelOrder::kYuyv, {0, 128, 0, 128}, rgb, 8, YuvColors::kBt601Full) == Pixel{0, 0, 0});
  CHECK(one_pixel(PixelOrder::kYuyv, {76, 85, 0, 255}, rgb, 8, YuvColors::kBt601Full) == Pixel{254, 0, 0});
  // A gray model takes the luma, whatever the chroma says, and needs no second plane.
  CHECK(one_pixel(PixelOrder::kYuyv, {81, 90, 0, 240}, gray) == Pixel{76});
  CHECK(one_pixel(PixelOrder::kNv12, {81}, gray) == Pixel{76});
  CHECK(one_pixel(PixelOrder::kNv12, {81}, gray, 8, YuvColors::kBt709Full) == Pixel{81});
  CHECK(one_pixel(PixelOrder::kGray, {0xFF, 0x03}, gray, 10) == Pixel{255});
  CHECK(one_pixel(PixelOrder::kGray, {0x04, 0xFE}, gray, 10) ==
        Pixel{129});  // what is above 10 bits does not count
  CHECK(one_pixel(PixelOrder::kGray, {0xFF, 0x7F}, gray, 16) == Pixel{127});
  CHECK(one_pixel(PixelOrder::kBayerRggb, {9}, rgb) == Pixel{9, 9, 9});
}

TEST_CASE("a flat Bayer frame of one colour keeps it, in each of the four orders") {
  const struct {
    PixelOrder order;
    int red_x, red_y;
  } orders[] = {{PixelOrder::kBayerRggb, 0, 0},
                {PixelOrder::kBayerGrbg, 1, 0},
                {PixelOrder::kBayerGbrg, 0, 1},
                {PixelOrder::kBayerBggr, 1, 1}};
  for (const auto& o : orders) {
    Made made = make_frame({10, 8, o.order}, 0, false, 1);
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 10; ++x) {
        const bool red_x = x % 2 == o.red_x, red_y = y % 2 == o.red_y;
        made.pixels.data[static_cast<size_t>(y * 10 + x)] = red_x && red_y ? 200 : red_x == red_y ? 50 : 100;
      }
    Recipe recipe(ColorOrder::kRgb, ResizeMode::kStretch);
    for (size_t i = 0; i < 768; ++i) recipe.table[i] = static_cast<int8_t>(i);
    const std::vector<uint8_t> rgb = written(recipe, made.frame, Target(8, 10, 3, DType::kS8));
    for (size_t i = 0; i < rgb.size(); ++i) REQUIRE(rgb[i] == (i % 3 == 0 ? 200 : i % 3 == 1 ? 100 : 50));
  }
}

TEST_CASE("what cannot be a frame is refused, and nothing of it is read or written") {
  const Recipe recipe(ColorOrder::kRgb, ResizeMode::kLetterbox);
  Target target(8, 8, 3, DType::kS8);
  const std::vector<uint8_t> untouched = target.copy();
  const auto measured = [&](const FrameInfo& info) {
    return FrameWriter::measure(recipe.input, target.info(), info).error();
  };
  CHECK(measured({4, 4, PixelOrder::kNv12}).ok());
  CHECK(measured({0, 4, PixelOrder::kNv12}).status == Status::kBadPictureSize);
  CHECK(measured({4, -1, PixelOrder::kNv12}).status == Status::kBadPictureSize);
  CHECK(measured({32768, 4, PixelOrder::kNv12}).status == Status::kBadPictureSize);
  const Error order = measured({4, 4, static_cast<PixelOrder>(15)});
  CHECK(order.status == Status::kBadEnum);
  CHECK(order.value == 15);
  CHECK(order.limit == 14);
  CHECK(measured({4, 4, PixelOrder::kYuyv, 8, static_cast<YuvColors>(4)}).status == Status::kBadEnum);
  for (const PixelOrder any : kOrders)
    for (int bits = 0; bits <= 18; ++bits) {
      const Error error = measured({4, 4, any, static_cast<uint8_t>(bits)});
      const bool good = bits == 8 || (has_bits(any) && bits > 8 && bits <= 16);
      CHECK(error.status == (good ? Status::kOk : Status::kSampleBits));
      if (!good) CHECK(error.value == bits);
      if (!good) CHECK(error.limit == (has_bits(any) ? 16 : 8));
    }
  CHECK(FrameWriter::measure({}, target.info(), {4, 4}).error().status == Status::kNoImageInput);

  Bytes scratch(*FrameWriter::measure(recipe.input, target.info(), {6, 4, PixelOrder::kNv12}));
  const auto whole = [&](const Frame& frame) {
    return write_frame(recipe.input, target.view(), frame, scratch.span());
  };
  Bytes pixels(1000);
  const auto nv12 = [&](size_t size, size_t row_bytes, size_t chroma_size, size_t chroma_row_bytes) {
    Frame frame;
    frame.info = {6, 4, PixelOrder::kNv12};
    frame.pixels = {pixels.data.get(), size};
    frame.row_bytes = row_bytes;
    if (chroma_size != 0) frame.chroma = {pixels.data.get(), chroma_size};
    frame.chroma_row_bytes = chroma_row_bytes;
    return frame;
  };
  const auto check = [&](const Frame& frame, Status status, int64_t value, int64_t limit) {
    const Error error = whole(frame);
    CHECK(error.status == status);
    CHECK(error.value == value);
    CHECK(error.limit == limit);
  };
  check(nv12(24, 5, 0, 0), Status::kRowBytes, 5, 6);
  check(nv12(23, 0, 0, 0), Status::kPictureBytes, 23, 24);
  check(nv12(35, 0, 0, 0), Status::kPictureBytes, 11, 12);
  check(nv12(24, 0, 11, 0), Status::kPictureBytes, 11, 12);
  check(nv12(24, 0, 12, 5), Status::kRowBytes, 5, 6);
  check(nv12(24, 0, 13, 8), Status::kPictureBytes, 13, 14);
  check(nv12(54, 10, 0, 0), Status::kPictureBytes, 14, 16);
  for (const size_t hostile :
       {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 3 + 1, SIZE_MAX / 4 + 1, SIZE_MAX / 2 + 1}) {
    CHECK(whole(nv12(1000, hostile, 0, 0)).status == Status::kPictureBytes);
    CHECK(whole(nv12(1000, 0, 1000, hostile)).status == Status::kPictureBytes);
    Frame one = nv12(1000, hostile, 0, 0);
    one.info.height = 1;  // its chroma would lie behind all memory
    CHECK(whole(one).status == Status::kPictureBytes);
  }
  Frame none = nv12(24, 0, 12, 0);
  none.pixels.data = nullptr;
  CHECK(whole(none).status == Status::kInputMissing);
  Frame small = nv12(36, 0, 0, 0);
  const Error error = write_frame(recipe.input, target.view(), small, {scratch.data.get(), scratch.size - 1});
  CHECK(error.status == Status::kScratchTooSmall);
  CHECK(error.limit == static_cast<int64_t>(scratch.size));
  CHECK(write_frame(recipe.input, {target.info(), nullptr}, small, scratch.span()).status ==
        Status::kInputMissing);
  CHECK(target.copy() == untouched);
  CHECK(whole(small).ok());

  FrameWriter writer;
  CHECK(writer.push_row(pixels.data.get(), pixels.data.get()).status == Status::kPictureRows);
  CHECK_FALSE(writer.begin(recipe.input, target.view(), small.info, {}).ok());
  CHECK(writer.push_row(pixels.data.get(), pixels.data.get()).status == Status::kPictureRows);
  CHECK_FALSE(writer.done());
  REQUIRE(writer.begin(recipe.input, target.view(), small.info, scratch.span()).ok());
  CHECK(writer.push_row(pixels.data.get()).status == Status::kInputMissing);
  CHECK(writer.push_row(nullptr, pixels.data.get()).status == Status::kInputMissing);
  CHECK(writer.push_row(pixels.data.get(), pixels.data.get()).ok());
}

}  // namespace intaglio::test::frame_test
