#include "calibrator/host/image_decode.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "calibrator/host/files.h"
#include "tests/support/picture_files.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

std::vector<uint8_t> noise(size_t size) {
  std::mt19937 random(5);
  std::vector<uint8_t> bytes(size);
  for (auto& b : bytes) b = static_cast<uint8_t>(random() >> 8);
  return bytes;
}

Outcome<Picture> decode(const std::vector<uint8_t>& file, const DecodeLimits& limits = {}) {
  return decode_picture({file.data(), file.size()}, limits);
}

bool refused(const Outcome<Picture>& decoded, const std::string& part) {
  if (decoded) return false;
  const bool found = decoded.message().find(part) != std::string::npos;
  if (!found) MESSAGE(decoded.message() << " lacks " << part);
  return found;
}

}  // namespace

TEST_CASE("PNG and BMP give their pixels; alpha is dropped and 16 bits become 8") {
  const auto rgb = noise(7 * 5 * 3);
  const auto png = decode(png_file(7, 5, 3, rgb));
  REQUIRE(png);
  CHECK(png->width == 7);
  CHECK(png->height == 5);
  CHECK(png->channels == 3);
  CHECK(png->pixels == rgb);
  const auto bmp = decode(bmp_file(7, 5, rgb));
  REQUIRE(bmp);
  CHECK(bmp->pixels == rgb);

  const auto gray = noise(7 * 5);
  const auto decoded_gray = decode(png_file(7, 5, 1, gray));
  REQUIRE(decoded_gray);
  CHECK(decoded_gray->channels == 1);
  CHECK(decoded_gray->info().order == PixelOrder::kGray);
  CHECK(decoded_gray->pixels == gray);

  std::vector<uint8_t> rgba, gray_alpha, deep;
  for (size_t i = 0; i < 35; ++i) {
    rgba.insert(rgba.end(), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], static_cast<uint8_t>(i)});
    gray_alpha.insert(gray_alpha.end(), {gray[i], static_cast<uint8_t>(i)});
    deep.insert(deep.end(), {gray[i], static_cast<uint8_t>(i)});
  }
  CHECK(decode(png_file(7, 5, 4, rgba))->pixels == rgb);
  CHECK(decode(png_file(7, 5, 2, gray_alpha))->pixels == gray);
  CHECK(decode(png_file(7, 5, 1, deep, 16))->pixels == gray);
}

TEST_CASE("broken pictures are refused at any length") {
  const auto rgb = noise(9 * 4 * 3);
  for (const auto& whole : {png_file(9, 4, 3, rgb), bmp_file(9, 4, rgb)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      // A PNG's end holds no pixels.
      if (whole[0] == 0x89 && size + 16 >= whole.size()) break;
      CAPTURE(size);
      CHECK_FALSE(decode({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}));
    }
  }
  CHECK(refused(decode({'G', 'I', 'F', '8', '9', 'a'}), "no PNG, JPEG or BMP"));
  CHECK(refused(decode({'P', '6', '\n', '1', ' ', '1'}), "no PNG, JPEG or BMP"));
}

TEST_CASE("limits have messages of their own") {
  CHECK(refused(decode(png_file(8193, 1, 1, std::vector<uint8_t>(8193))), "more than 8192 pixels"));
  CHECK(decode(png_file(8192, 1, 1, std::vector<uint8_t>(8192))));
  const auto file = png_file(1024, 1024, 1, std::vector<uint8_t>(1 << 20));
  CHECK(decode(file));
  CHECK(refused(decode(file, {size_t{1} << 20}), "more than the 1 MiB of memory"));
}

TEST_CASE("real pictures" * doctest::skip(std::getenv("INTAGLIO_SHARED") == nullptr)) {
  const std::string images = std::string(std::getenv("INTAGLIO_SHARED")) + "/images/";
  const auto png = read_file(images + "cifar10_500/image_0.png", 1 << 20);
  const auto jpeg = read_file(images + "cifar10_jpeg_2000/airplane_0000.jpg", 1 << 20);
  if (!png || !jpeg) return;
  const auto a = decode_picture(png->span());
  REQUIRE(a);
  CHECK(a->width == 32);
  CHECK(a->channels == 3);
  const auto b = decode_picture(jpeg->span());
  if (!b && b.message().find("stb_image") != std::string::npos) return;  // built without JPEG
  REQUIRE(b);
  CHECK(b->width == 32);
  CHECK(b->channels == 3);
  for (size_t size = 0; size < jpeg->size(); size += 7) {
    CHECK_FALSE(decode_picture({jpeg->data(), size}));
  }
}
