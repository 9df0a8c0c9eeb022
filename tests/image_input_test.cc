#include "intaglio/image_input.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace intaglio::test::image_input_test {
namespace {

struct Picture {
  PictureInfo info;
  std::vector<uint8_t> pixels;

  size_t row_bytes() const { return static_cast<size_t>(info.width * pixel_bytes(info.order)); }
};

Picture noise(int32_t width, int32_t height, PixelOrder order, uint32_t seed) {
  Picture picture{{width, height, order}, {}};
  std::mt19937 random(seed);
  picture.pixels.resize(picture.row_bytes() * static_cast<size_t>(height));
  for (auto& p : picture.pixels) p = static_cast<uint8_t>(random() >> 8);
  return picture;
}

struct Target {
  std::vector<int32_t> dims;
  DType dtype;
  std::vector<uint8_t> bytes;

  Target(int32_t h, int32_t w, int32_t c, DType type) : dims{1, h, w, c}, dtype(type) {
    bytes.assign(info().bytes(), 0xA5);
  }
  TensorInfo info() const {
    TensorInfo result;
    result.dtype = dtype;
    result.shape = {dims.data(), static_cast<int32_t>(dims.size())};
    return result;
  }
  TensorView view() { return {info(), bytes.data()}; }
};

// A recipe that leaves pixels as they are, for either type: p, or p - 128.
struct Recipe {
  ImageInput input;
  std::vector<int8_t> table;

  explicit Recipe(ColorOrder color, ResizeMode resize) {
    input.color = color;
    input.resize = resize;
    input.channels = color == ColorOrder::kGray ? 1 : 3;
    for (int c = 0; c < 3; ++c) input.norm[c] = 1.0f;
    for (int i = 0; i < input.channels * 256; ++i) table.push_back(static_cast<int8_t>(i % 256 - 128));
    input.table = {table.data(), table.size()};
  }
};

std::vector<int> pixels_of(const Target& target) {
  std::vector<int> pixels;
  const auto* codes = reinterpret_cast<const int8_t*>(target.bytes.data());
  const auto* reals = reinterpret_cast<const float*>(target.bytes.data());
  for (int64_t i = 0; i < target.info().shape.elements(); ++i) {
    pixels.push_back(target.dtype == DType::kS8 ? codes[i] + 128 : static_cast<int>(reals[i]));
  }
  return pixels;
}

std::vector<int> resized(const Recipe& recipe, const Picture& picture, int32_t h, int32_t w,
                         DType dtype = DType::kS8) {
  Target target(h, w, recipe.input.channels, dtype);
  const auto needed = ImageWriter::measure(recipe.input, target.info(), picture.info);
  REQUIRE(needed);
  std::vector<uint8_t> scratch(*needed, 0xA5);
  const Error error =
      write_image(recipe.input, target.view(), picture.info, {picture.pixels.data(), picture.pixels.size()},
                  picture.row_bytes(), {scratch.data(), scratch.size()});
  REQUIRE(error.ok());
  return pixels_of(target);
}

// The header's formulas, written down as they stand: all weights of all source pixels, in wide integers.
std::vector<std::vector<int64_t>> weights(int64_t from, int64_t to) {
  std::vector<std::vector<int64_t>> w(static_cast<size_t>(to),
                                      std::vector<int64_t>(static_cast<size_t>(from)));
  for (int64_t t = 0; t < to; ++t) {
    auto& row = w[static_cast<size_t>(t)];
    if (to < from) {
      for (int64_t i = 0; i < from; ++i) {
        const int64_t a = std::max<int64_t>(i * to - t * from, 0),
                      b = std::min((i + 1) * to - t * from, from);
        if (a < b) row[static_cast<size_t>(i)] = (2048 * b + from / 2) / from - (2048 * a + from / 2) / from;
      }
    } else {
      const double exact =
          std::floor((2048.0 * double((2 * t + 1) * from - to) + double(to)) / double(2 * to));
      const auto p = static_cast<int64_t>(std::min(std::max(exact, 0.0), 2048.0 * double(from - 1)));
      row[static_cast<size_t>(p >> 11)] += 2048 - (p & 2047);
      if ((p & 2047) != 0) row[static_cast<size_t>((p >> 11) + 1)] += p & 2047;
    }
  }
  return w;
}

struct Box {
  int x, y, w, h;
};

std::vector<int> plain_resize(const Picture& picture, Box part, int h, int w) {
  const auto wy = weights(part.h, h), wx = weights(part.w, w);
  const int channels = pixel_bytes(picture.info.order);
  std::vector<int> out;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int c = 0; c < channels; ++c) {
        int64_t sum = 0;
        for (int i = 0; i < part.h; ++i)
          for (int j = 0; j < part.w; ++j) {
            const auto at =
                static_cast<size_t>(((part.y + i) * picture.info.width + part.x + j) * channels + c);
            sum += wy[size_t(y)][size_t(i)] * wx[size_t(x)][size_t(j)] * picture.pixels[at];
          }
        out.push_back(static_cast<int>((sum + (1 << 21)) >> 22));
      }
  return out;
}

}  // namespace

TEST_CASE("weights of an axis sum to 2048 and none is negative") {
  for (int from : {1, 2, 3, 7, 96, 333, 5000})
    for (int to : {1, 2, 3, 5, 32, 96, 224}) {
      for (const auto& row : weights(from, to)) {
        int64_t sum = 0;
        for (const int64_t w : row) {
          CHECK(w >= 0);
          sum += w;
        }
        CHECK(sum == 2048);
      }
    }
}

TEST_CASE("resizing follows the header's formulas") {
  const int sizes[] = {1, 2, 3, 5, 8, 13, 31};
  uint32_t seed = 1;
  for (int sw : sizes)
    for (int sh : sizes)
      for (int tw : {1, 4, 8, 17})
        for (int th : {1, 3, 8, 20}) {
          const Picture picture = noise(sw, sh, PixelOrder::kRgb, ++seed);
          const Recipe recipe(ColorOrder::kRgb, ResizeMode::kStretch);
          CHECK(resized(recipe, picture, th, tw) == plain_resize(picture, {0, 0, sw, sh}, th, tw));
        }
}

TEST_CASE("shrinking is the mean of the area, enlarging bilinear, each to within one") {
  const Picture picture = noise(97, 61, PixelOrder::kGray, 7);
  const Recipe recipe(ColorOrder::kGray, ResizeMode::kStretch);
  const auto mean = resized(recipe, picture, 10, 16);
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 16; ++x) {
      double sum = 0;
      for (int i = 0; i < 61; ++i)
        for (int j = 0; j < 97; ++j) {
          const double h = std::min((i + 1) / 6.1, y + 1.0) - std::max(i / 6.1, double(y));
          const double w = std::min((j + 1) * 16 / 97.0, x + 1.0) - std::max(j * 16 / 97.0, double(x));
          if (h > 0 && w > 0) sum += h * w * picture.pixels[static_cast<size_t>(i * 97 + j)];
        }
      CHECK(std::fabs(mean[static_cast<size_t>(y * 16 + x)] - sum) < 1.0);
    }
  const auto large = resized(recipe, picture, 150, 200);
  for (int y = 0; y < 150; ++y)
    for (int x = 0; x < 200; ++x) {
      const double v = std::min(std::max((y + 0.5) * 61 / 150 - 0.5, 0.0), 60.0);
      const double u = std::min(std::max((x + 0.5) * 97 / 200 - 0.5, 0.0), 96.0);
      const int i = std::min(int(v), 59), j = std::min(int(u), 95);
      const auto at = [&](int a, int b) { return double(picture.pixels[static_cast<size_t>(a * 97 + b)]); };
      const double f = v - i, g = u - j;
      const double exact = (1 - f) * ((1 - g) * at(i, j) + g * at(i, j + 1)) +
                           f * ((1 - g) * at(i + 1, j) + g * at(i + 1, j + 1));
      CHECK(std::fabs(large[static_cast<size_t>(y * 200 + x)] - exact) < 1.0);
    }
}

TEST_CASE("values worked out by hand") {
  const Recipe gray(ColorOrder::kGray, ResizeMode::kStretch);
  // (10 + 21) / 2 = 15.5, half rounds up.
  CHECK(resized(gray, {{2, 1, PixelOrder::kGray}, {10, 21}}, 1, 1) == std::vector<int>{16});
  // Thirds: weights 1365, 683 of 2048: (1365 * 30 + 683 * 60) / 2048 = 40.003.
  CHECK(resized(gray, {{3, 1, PixelOrder::kGray}, {30, 60, 90}}, 1, 2) == std::vector<int>{40, 80});
  // 2 to 4: positions 0 (clamped), 1/4, 3/4, 1.
  CHECK(resized(gray, {{2, 1, PixelOrder::kGray}, {0, 100}}, 1, 4) == std::vector<int>{0, 25, 75, 100});
  CHECK(resized(gray, {{1, 2, PixelOrder::kGray}, {0, 100}}, 4, 1) == std::vector<int>{0, 25, 75, 100});
  CHECK(resized(gray, {{1, 1, PixelOrder::kGray}, {200}}, 2, 3) == std::vector<int>(6, 200));
  // A flat picture stays flat, whatever its size.
  const Picture flat{{1000, 777, PixelOrder::kGray}, std::vector<uint8_t>(777000, 255)};
  CHECK(resized(gray, flat, 32, 45) == std::vector<int>(32 * 45, 255));
}

TEST_CASE("colours") {
  const std::vector<uint8_t> rgb = {200, 100, 50}, bgr = {50, 100, 200}, rgba = {200, 100, 50, 7};
  const int luma = (77 * 200 + 150 * 100 + 29 * 50 + 128) >> 8;
  const auto one = [](PixelOrder order, const std::vector<uint8_t>& pixel, ColorOrder color) {
    return resized(Recipe(color, ResizeMode::kStretch), {{1, 1, order}, pixel}, 1, 1);
  };
  CHECK(one(PixelOrder::kRgb, rgb, ColorOrder::kRgb) == std::vector<int>{200, 100, 50});
  CHECK(one(PixelOrder::kRgb, rgb, ColorOrder::kBgr) == std::vector<int>{50, 100, 200});
  CHECK(one(PixelOrder::kRgb, rgb, ColorOrder::kGray) == std::vector<int>{luma});
  CHECK(one(PixelOrder::kBgr, bgr, ColorOrder::kRgb) == std::vector<int>{200, 100, 50});
  CHECK(one(PixelOrder::kBgr, bgr, ColorOrder::kBgr) == std::vector<int>{50, 100, 200});
  CHECK(one(PixelOrder::kBgr, bgr, ColorOrder::kGray) == std::vector<int>{luma});
  CHECK(one(PixelOrder::kRgba, rgba, ColorOrder::kRgb) == std::vector<int>{200, 100, 50});
  CHECK(one(PixelOrder::kRgba, rgba, ColorOrder::kBgr) == std::vector<int>{50, 100, 200});
  CHECK(one(PixelOrder::kRgba, rgba, ColorOrder::kGray) == std::vector<int>{luma});
  CHECK(one(PixelOrder::kGray, {9}, ColorOrder::kRgb) == std::vector<int>{9, 9, 9});
  CHECK(one(PixelOrder::kGray, {9}, ColorOrder::kGray) == std::vector<int>{9});
}

TEST_CASE("crop takes 87.5 % of the largest central rectangle in the target's proportions") {
  const Recipe recipe(ColorOrder::kRgb, ResizeMode::kCrop);
  // 64 x 48 to 1:1: 42 x 42 at ((64 - 42) / 2, (48 - 42) / 2).
  const Picture wide = noise(64, 48, PixelOrder::kRgb, 3);
  CHECK(resized(recipe, wide, 20, 20) == plain_resize(wide, {11, 3, 42, 42}, 20, 20));
  const Picture tall = noise(48, 64, PixelOrder::kRgb, 4);
  CHECK(resized(recipe, tall, 20, 20) == plain_resize(tall, {3, 11, 42, 42}, 20, 20));
  // To 2:1: 64 x 32 fits, 56 x 28 is taken; enlarged here.
  CHECK(resized(recipe, wide, 40, 80) == plain_resize(wide, {4, 10, 56, 28}, 40, 80));
  CHECK(resized(recipe, noise(1, 1, PixelOrder::kRgb, 5), 4, 4).size() == 48);
}

TEST_CASE("letterbox keeps the whole picture and fills the rest with the border") {
  Recipe recipe(ColorOrder::kRgb, ResizeMode::kLetterbox);
  const Picture picture = noise(40, 20, PixelOrder::kRgb, 5);
  const auto content = plain_resize(picture, {0, 0, 40, 20}, 9, 17);
  for (const uint8_t border : {uint8_t{0}, uint8_t{114}, kUsualBorder, uint8_t{255}}) {
    recipe.input.border = border;
    for (const DType dtype : {DType::kS8, DType::kF32}) {
      const auto found = resized(recipe, picture, 16, 17, dtype);  // content 17 x 9 (8.5 rounds up) at y = 3
      for (int y = 0; y < 16; ++y)
        for (int i = 0; i < 51; ++i) {
          const bool inside = y >= 3 && y < 12;
          const int expected = inside ? content[static_cast<size_t>((y - 3) * 51 + i)] : border;
          CHECK(found[static_cast<size_t>(y * 51 + i)] == expected);
        }
    }
  }
  // Tall: borders at the sides. Content 5 x 10 at x = 2.
  recipe.input.border = kUsualBorder;
  const Picture tall = noise(20, 40, PixelOrder::kRgb, 6);
  const auto found = resized(recipe, tall, 10, 10);
  const auto tall_content = plain_resize(tall, {0, 0, 20, 40}, 10, 5);
  CHECK(found[0] == 128);
  CHECK(found[6] == tall_content[0]);
  CHECK(found[21] == 128);
}

TEST_CASE("a picture of the target's size passes unchanged in every mode, without scratch") {
  const Picture picture = noise(32, 32, PixelOrder::kRgb, 8);
  const std::vector<int> same(picture.pixels.begin(), picture.pixels.end());
  for (const ResizeMode mode : {ResizeMode::kStretch, ResizeMode::kCrop, ResizeMode::kLetterbox}) {
    const Recipe recipe(ColorOrder::kRgb, mode);
    CHECK(resized(recipe, picture, 32, 32) == same);
    CHECK(resized(recipe, picture, 32, 32, DType::kF32) == same);
    CHECK(*ImageWriter::measure(recipe.input, Target(32, 32, 3, DType::kS8).info(), picture.info) == 0);
  }
}

TEST_CASE("values go through the table, or through mean and norm in two float operations") {
  Recipe recipe(ColorOrder::kRgb, ResizeMode::kStretch);
  for (size_t i = 0; i < 768; ++i) recipe.table[i] = static_cast<int8_t>(i * 7 + i / 256);
  const Picture picture = noise(16, 16, PixelOrder::kRgb, 9);
  Target codes(16, 16, 3, DType::kS8), reals(16, 16, 3, DType::kF32);
  const float mean[] = {123.675f, 116.28f, 103.53f}, norm[] = {0.0171247538f, 0.0175070f, 0.0174292f};
  for (int c = 0; c < 3; ++c) {
    recipe.input.mean[c] = mean[c];
    recipe.input.norm[c] = norm[c];
  }
  for (Target* target : {&codes, &reals}) {
    REQUIRE(write_image(recipe.input, target->view(), picture.info,
                        {picture.pixels.data(), picture.pixels.size()}, 48, {})
                .ok());
  }
  for (size_t i = 0; i < 768; ++i) {
    const size_t c = i % 3, p = picture.pixels[i];
    CHECK(codes.view().as<int8_t>()[i] == recipe.table[c * 256 + p]);
    const volatile float difference = static_cast<float>(p) - mean[c];
    const volatile float product = difference * norm[c];
    CHECK(reals.view().as<float>()[i] == product);
  }
}

TEST_CASE("row by row gives what the whole picture gives, from rows that lie anywhere") {
  for (const ResizeMode mode : {ResizeMode::kStretch, ResizeMode::kCrop, ResizeMode::kLetterbox}) {
    const Recipe recipe(ColorOrder::kBgr, mode);
    const Picture picture = noise(50, 37, PixelOrder::kRgba, 10);
    Target target(24, 40, 3, DType::kS8);
    const size_t needed = *ImageWriter::measure(recipe.input, target.info(), picture.info);
    std::vector<uint8_t> scratch(needed);
    ImageWriter writer;
    CHECK_FALSE(writer.done());
    REQUIRE(writer.begin(recipe.input, target.view(), picture.info, {scratch.data(), needed}).ok());
    for (size_t y = 0; y < 37; ++y) {
      const std::vector<uint8_t> row(picture.pixels.begin() + static_cast<ptrdiff_t>(y * 200),
                                     picture.pixels.begin() + static_cast<ptrdiff_t>(y * 200 + 200));
      CHECK(writer.push_row(row.data()).ok());
    }
    CHECK(writer.done());
    CHECK(pixels_of(target) == resized(recipe, picture, 24, 40));
    const Error late = writer.push_row(picture.pixels.data());
    CHECK(late.status == Status::kPictureRows);
    CHECK(late.value == 37);
    CHECK(late.limit == 37);
  }
}

TEST_CASE("what cannot work is refused") {
  const Recipe recipe(ColorOrder::kRgb, ResizeMode::kStretch);
  const PictureInfo info{20, 10, PixelOrder::kGray};
  Target target(8, 8, 3, DType::kS8);
  const auto status = [&](const ImageInput& input, const TensorInfo& to, const PictureInfo& from) {
    return ImageWriter::measure(input, to, from).error().status;
  };
  const auto with = [&](auto change) {
    ImageInput input = recipe.input;
    change(input);
    return input;
  };
  CHECK(status(recipe.input, target.info(), info) == Status::kOk);
  CHECK(status(recipe.input, Target(8, 8, 3, DType::kU8).info(), info) == Status::kBadDType);
  CHECK(status(recipe.input, Target(8, 8, 1, DType::kS8).info(), info) == Status::kShapeMismatch);
  Target other(8, 8, 3, DType::kS8);
  other.dims = {2, 8, 8, 3};
  CHECK(status(recipe.input, other.info(), info) == Status::kShapeMismatch);
  other.dims = {8, 8, 3};
  CHECK(status(recipe.input, other.info(), info) == Status::kBadRank);
  other.dims = {1, 40000, 8, 3};
  CHECK(status(recipe.input, other.info(), info) == Status::kBadDimension);
  CHECK(status(recipe.input, target.info(), {0, 10, PixelOrder::kGray}) == Status::kBadPictureSize);
  CHECK(status(recipe.input, target.info(), {20, 32768, PixelOrder::kGray}) == Status::kBadPictureSize);
  CHECK(status(recipe.input, target.info(), {20, 10, static_cast<PixelOrder>(9)}) == Status::kBadEnum);
  CHECK(status(with([](ImageInput& i) { i.table.size = 767; }), target.info(), info) ==
        Status::kBadImageInput);
  CHECK(status(with([](ImageInput& i) { i.table = {}; }), target.info(), info) == Status::kBadImageInput);
  CHECK(status(with([](ImageInput& i) { i.color = ColorOrder::kGray; }), target.info(), info) ==
        Status::kBadImageInput);
  const Target float_target(8, 8, 3, DType::kF32);
  const TensorInfo reals = float_target.info();
  CHECK(status(with([](ImageInput& i) { i.norm[1] = std::nanf(""); }), reals, info) ==
        Status::kBadImageInput);

  const size_t needed = *ImageWriter::measure(recipe.input, target.info(), info);
  std::vector<uint32_t> memory(needed / 4 + 2);
  auto* scratch = reinterpret_cast<uint8_t*>(memory.data());
  ImageWriter writer;
  CHECK(writer.begin(recipe.input, target.view(), info, {scratch, needed}).ok());
  const Error small = writer.begin(recipe.input, target.view(), info, {scratch, needed - 1});
  CHECK(small.status == Status::kScratchTooSmall);
  CHECK(small.limit == static_cast<int64_t>(needed));
  const uint8_t row[20] = {};
  CHECK(writer.push_row(row).status == Status::kPictureRows);  // and nothing is touched
  CHECK_FALSE(writer.done());
  CHECK(writer.begin(recipe.input, target.view(), info, {scratch + 1, needed}).status ==
        Status::kMemoryMisaligned);
  CHECK(writer.begin(recipe.input, {target.info(), nullptr}, info, {scratch, needed}).status ==
        Status::kInputMissing);
  REQUIRE(writer.begin(recipe.input, target.view(), info, {scratch, needed}).ok());
  CHECK(writer.push_row(nullptr).status == Status::kInputMissing);

  const std::vector<uint8_t> pixels(10 * 24);
  const auto whole = [&](size_t size, size_t row_bytes) {
    return write_image(recipe.input, target.view(), info, {pixels.data(), size}, row_bytes,
                       {scratch, needed});
  };
  CHECK(whole(9 * 24 + 20, 24).ok());
  CHECK(whole(9 * 24 + 19, 24).status == Status::kPictureBytes);
  CHECK(whole(240, 19).status == Status::kRowBytes);
  CHECK(whole(240, 19).limit == 20);
  CHECK(whole(240, SIZE_MAX).status == Status::kPictureBytes);
}

}  // namespace intaglio::test::image_input_test
