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
      CAPTURE(size);
      CHECK_FALSE(decode({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}));
    }
  }
  CHECK(refused(decode({'G', 'I', 'F', '8', '9', 'a'}), "no PNG, JPEG or BMP"));
  CHECK(refused(decode({'P', '6', '\n', '1', ' ', '1'}), "no PNG, JPEG or BMP"));
}

TEST_CASE("a PNG whose parts do not fit their checksums is refused") {
  const auto whole = png_file(9, 4, 3, noise(9 * 4 * 3));
  const size_t first = 8, pixels = 8 + 25;  // chunks IHDR and IDAT
  for (const size_t chunk : {first, pixels}) {
    auto damaged = whole;
    damaged[chunk + 8 + 5] ^= 1;
    CHECK(refused(decode(damaged),
                  "checksum of a part of it does not fit (chunk at byte " + std::to_string(chunk)));
  }
  // Found by the fuzzer.
  std::vector<uint8_t> empty;
  put_png_chunk(empty, "IDAT", {});
  auto with_empty = whole;
  with_empty.insert(with_empty.begin() + static_cast<ptrdiff_t>(pixels), empty.begin(), empty.end());
  CHECK(refused(decode(with_empty), "first IDAT chunk is empty"));
  // Text and the like makes no pixels.
  std::vector<uint8_t> text;
  put_png_chunk(text, "tEXt", {'a', 0, 'b'});
  text.back() ^= 1;
  auto with_text = whole;
  with_text.insert(with_text.begin() + static_cast<ptrdiff_t>(pixels), text.begin(), text.end());
  const auto decoded = decode(with_text);
  REQUIRE(decoded);
  CHECK(decoded->pixels == decode(whole)->pixels);
}

TEST_CASE("kinds of JPEG: gray, colour and CMYK, baseline and progressive; arithmetic coding is refused") {
  const auto gray = decode(jpeg_file(1));
  if (!gray && gray.message().find("stb_image") != std::string::npos) return;  // built without JPEG
  REQUIRE_MESSAGE(gray, gray.message());
  CHECK(gray->channels == 1);
  CHECK(gray->pixels == std::vector<uint8_t>(64, 128));
  for (const uint8_t frame : {uint8_t{0xc0}, uint8_t{0xc2}}) {
    const auto rgb = decode(jpeg_file(3, frame)), cmyk = decode(jpeg_file(4, frame));
    REQUIRE_MESSAGE(rgb, rgb.message());
    REQUIRE_MESSAGE(cmyk, cmyk.message());
    CHECK(rgb->pixels == std::vector<uint8_t>(8 * 8 * 3, 128));
    CHECK(cmyk->channels == 3);
    CHECK(cmyk->pixels.size() == 8 * 8 * 3);
  }
  CHECK(refused(decode(jpeg_file(3, 0xc9)), "cannot be decoded"));
  const auto whole = jpeg_file(3);
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(decode({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}));
  }
}

TEST_CASE("pictures without pixels, or of one row") {
  CHECK_FALSE(decode(png_file(0, 0, 1, {})));
  CHECK_FALSE(decode(png_file(0, 4, 3, {})));
  const auto row = decode(png_file(9, 1, 3, noise(27)));
  REQUIRE(row);
  CHECK(row->height == 1);
  std::vector<uint8_t> giant = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a}, header;
  for (const uint32_t side : {30000u, 30000u}) put_number(header, side, 4, true);
  header.insert(header.end(), {8, 2, 0, 0, 0});
  put_png_chunk(giant, "IHDR", header);
  put_png_chunk(giant, "IDAT", {0x78, 0x01, 3, 0, 0, 0, 0, 1});
  put_png_chunk(giant, "IEND", {});
  CHECK(refused(decode(giant), "more than 8192 pixels"));
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
