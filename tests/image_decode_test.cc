#include "calibrator/host/pictures/image_decode.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "calibrator/host/system/files.h"
#include "tests/support/picture_files.h"
#include "tests/support/refused.h"
#include "tests/support/webp_files.h"

namespace intaglio::test::image_decode_test {
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

std::vector<uint8_t> bmp_header(int bits, uint32_t width, uint32_t height, uint32_t compression,
                                uint32_t start) {
  std::vector<uint8_t> file = {'B', 'M'};
  for (const uint32_t v : {0u, 0u, start, 40u, width, height}) put_number(file, v, 4, false);
  put_number(file, 1, 2, false);
  put_number(file, static_cast<uint32_t>(bits), 2, false);
  for (const uint32_t v : {compression, 0u, 0u, 0u, 0u, 0u}) put_number(file, v, 4, false);
  return file;
}

// 16 x 1 pixels, the n-th of colour n (with 1 bit: n mod 2), which is (n, 2n, 3n). `old`: with OS/2's header.
std::vector<uint8_t> palette_bmp(int bits, size_t colours, bool old) {
  const auto start = static_cast<uint32_t>(old ? 26 + 3 * colours : 54 + 4 * colours);
  std::vector<uint8_t> file = bmp_header(bits, 16, 1, 0, start);
  if (old) {
    file.resize(14);
    put_number(file, 12, 4, false);
    for (const uint32_t v : {16u, 1u, 1u, static_cast<uint32_t>(bits)}) put_number(file, v, 2, false);
  }
  for (size_t n = 0; n < colours; ++n) {
    for (size_t c = 3; c > 0; --c) file.push_back(static_cast<uint8_t>(n * c));
    if (!old) file.push_back(0);
  }
  for (uint32_t x = 0; x < 16; ++x) {
    if (bits == 8) file.push_back(static_cast<uint8_t>(x));
    if (bits == 4 && x % 2 == 0) file.push_back(static_cast<uint8_t>(x << 4 | (x + 1)));
  }
  if (bits == 1) file.insert(file.end(), {0x55, 0x55, 0, 0});
  return file;
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

TEST_CASE("BMP of every depth, upside down too") {
  for (const bool old : {false, true}) {
    for (const int bits : {1, 4, 8}) {
      const size_t colours = bits == 1 ? 2 : 16;
      const auto file = palette_bmp(bits, colours, old);
      const auto decoded = decode(file);
      REQUIRE_MESSAGE(decoded, decoded.message());
      CHECK(decoded->width == 16);
      CHECK(decoded->height == 1);
      CHECK(decoded->channels == 3);
      for (size_t x = 0; x < 16; ++x) {
        const size_t colour = x % colours;
        for (size_t c = 0; c < 3; ++c) CHECK(decoded->pixels[3 * x + c] == colour * (c + 1));
      }
      CHECK(refused(decode(palette_bmp(bits, colours - 1, old)),
                    "has colour " + std::to_string(colours - 1) + ", and the palette has " +
                        std::to_string(colours - 1) + " colours"));
      auto cut = file;
      cut.pop_back();
      CHECK(refused(decode(cut), "is cut off"));
    }
  }
  // 5, 6 and 5 bits; top row first.
  std::vector<uint8_t> file = bmp_header(16, 1, static_cast<uint32_t>(-2), 3, 54 + 12);
  for (const uint32_t mask : {0xf800u, 0x7e0u, 0x1fu}) put_number(file, mask, 4, false);
  for (const uint32_t pixel : {0xf800u, 0x0410u}) put_number(file, pixel, 4, false);
  const auto masked = decode(file);
  REQUIRE_MESSAGE(masked, masked.message());
  CHECK(masked->height == 2);
  CHECK(masked->pixels == std::vector<uint8_t>{255, 0, 0, 0, 130, 132});
  file[54 + 1] = 0xa8;  // red with a gap
  CHECK(refused(decode(file), "masks"));
}

TEST_CASE("BMP headers that lie are refused") {
  const auto whole = bmp_file(9, 4, noise(9 * 4 * 3));
  const auto with = [&](size_t at, uint32_t value, int bytes = 4) {
    auto changed = whole;
    for (int i = 0; i < bytes; ++i)
      changed[at + static_cast<size_t>(i)] = static_cast<uint8_t>(value >> 8 * i);
    return decode(changed);
  };
  CHECK(refused(with(22, 0x80000000u), "more than 8192 pixels"));
  CHECK(refused(with(18, 0xffffffffu), "more than 8192 pixels"));
  CHECK(refused(with(18, 8192), "is cut off"));
  CHECK(refused(with(22, 0), "no pixels"));
  CHECK(refused(with(10, 20), "inside of its header"));
  CHECK(refused(with(10, 0xffffffffu), "is cut off"));
  CHECK(refused(with(10, 55), "is cut off"));
  CHECK(refused(with(14, 41), "no known kind"));
  CHECK(refused(with(28, 7, 2), "7 bits a pixel"));
  CHECK(refused(with(28, 8, 2), "the palette has 0 colours"));
  CHECK(refused(with(30, 1), "compressed"));
  CHECK(refused(decode(whole, {8}), "needs more than"));
}

TEST_CASE("a PNG's palette is as long as the colours that its pixels name") {
  const std::vector<uint8_t> colours{0, 1, 2, 1};  // as gray, then in a palette
  const auto gray = png_file(2, 2, 1, colours);
  const auto with_palette = [&](size_t count, bool transparent, bool twice = false) {
    std::vector<uint8_t> header, palette;
    for (const uint32_t side : {2u, 2u}) put_number(header, side, 4, true);
    header.insert(header.end(), {8, 3, 0, 0, 0});
    for (size_t i = 0; i < count; ++i) palette.insert(palette.end(), {static_cast<uint8_t>(10 * i), 7, 9});
    std::vector<uint8_t> file(gray.begin(), gray.begin() + 8);
    put_png_chunk(file, "IHDR", header);
    put_png_chunk(file, "PLTE", palette);
    if (twice) put_png_chunk(file, "PLTE", palette);
    if (transparent) put_png_chunk(file, "tRNS", {0, 9});
    file.insert(file.end(), gray.begin() + 33, gray.end());
    return file;
  };
  for (const bool transparent : {false, true}) {
    for (const size_t count : {size_t{3}, size_t{256}}) {
      const auto decoded = decode(with_palette(count, transparent));
      REQUIRE_MESSAGE(decoded, decoded.message());
      CHECK(decoded->pixels == std::vector<uint8_t>{0, 7, 9, 10, 7, 9, 20, 7, 9, 10, 7, 9});
    }
    CHECK(refused(decode(with_palette(2, transparent)), "has colour 2, which its palette does not hold"));
  }
  CHECK_FALSE(decode(with_palette(0, false)));
  CHECK(decode(with_palette(3, false, true)));
  auto iphone = gray;
  std::vector<uint8_t> chunk;
  put_png_chunk(chunk, "CgBI", {0, 0, 0, 0});
  iphone.insert(iphone.begin() + 8, chunk.begin(), chunk.end());
  CHECK(refused(decode(iphone), "for iPhones"));
}

TEST_CASE("broken pictures are refused at any length") {
  const auto rgb = noise(9 * 4 * 3);
  for (const auto& whole : {png_file(9, 4, 3, rgb), bmp_file(9, 4, rgb)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      CHECK_FALSE(decode({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}));
    }
  }
  CHECK(refused(decode({'G', 'I', 'F', '8', '9', 'a'}), "no PNG, JPEG, BMP or WebP"));
  CHECK(refused(decode({'P', '6', '\n', '1', ' ', '1'}), "no PNG, JPEG, BMP or WebP"));
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

TEST_CASE("a PNG whose data is no DEFLATE is refused, whatever stb_image makes of it") {
  // One block of fixed codes: 4 x 1 gray pixels, of which the first is a literal and the rest a copy.
  const auto with_copy = [](uint32_t distance_code) {
    std::vector<uint8_t> zlib = {0x78, 0x01};
    uint32_t bits = 0;
    int filled = 0;
    const auto put = [&](uint32_t value, int count) {  // lowest bit first
      bits |= value << filled;
      for (filled += count; filled >= 8; filled -= 8, bits >>= 8) zlib.push_back(static_cast<uint8_t>(bits));
    };
    const auto put_code = [&](uint32_t code, int count) {  // highest bit first
      while (count-- > 0) put(code >> count & 1, 1);
    };
    put(1, 1);
    put(1, 2);
    put_code(0x30 + 0, 8);    // no filter
    put_code(0x30 + 100, 8);  // the first pixel
    put_code(1, 7);           // a length of 3
    put_code(distance_code, 5);
    put_code(0, 7);
    put(0, 7);
    zlib.insert(zlib.end(), 4, 0);  // stb_image reads no sum of these
    std::vector<uint8_t> header, file = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
    for (const uint32_t side : {4u, 1u}) put_number(header, side, 4, true);
    header.insert(header.end(), {8, 0, 0, 0, 0});
    put_png_chunk(file, "IHDR", header);
    put_png_chunk(file, "IDAT", zlib);
    put_png_chunk(file, "IEND", {});
    return decode(file);
  };
  const auto copied = with_copy(0);
  REQUIRE_MESSAGE(copied, copied.message());
  CHECK(copied->pixels == std::vector<uint8_t>(4, 100));
  for (const uint32_t code : {30u, 31u}) CHECK_FALSE(with_copy(code));
  auto colour = png_file(4, 1, 3, noise(12));
  std::vector<uint8_t> header, file(colour.begin(), colour.begin() + 8);
  for (const uint32_t side : {4u, 1u}) put_number(header, side, 4, true);
  header.insert(header.end(), {4, 2, 0, 0, 0});
  put_png_chunk(file, "IHDR", header);
  file.insert(file.end(), colour.begin() + 33, colour.end());
  CHECK(refused(decode(file), "4 bits a channel"));
}

TEST_CASE("kinds of JPEG: gray, colour and CMYK, baseline and progressive; arithmetic coding is refused") {
  const auto gray = decode(jpeg_file(1));
  if (!gray && gray.message().find("without JPEG") != std::string::npos) return;  // built without JPEG
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

TEST_CASE("WebP gives its pixels; cut anywhere it is refused") {
  const std::vector<uint8_t> file = webp_lossless();  // 3 x 2
  const auto picture = decode(file);
  if (!picture && picture.message().find("without WebP") != std::string::npos) {
    MESSAGE("skipped: this build has no WebP");
    return;
  }
  REQUIRE_MESSAGE(picture, picture.message());
  CHECK(picture->width == 3);
  CHECK(picture->height == 2);
  CHECK(picture->channels == 3);
  CHECK(picture->pixels ==
        std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90});
  for (size_t size = 0; size + 1 < file.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(decode({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)}));
  }
  DecodeLimits small;
  small.max_bytes = 41;
  CHECK(refused(decode_picture({file.data(), file.size()}, small), "needs more than"));
}

TEST_CASE("WebP: lossy, with alpha, animated, too large") {
  const std::vector<uint8_t> lossy = webp_lossy(), alpha = webp_with_alpha();
  const auto plain = decode(lossy);
  if (!plain && plain.message().find("without WebP") != std::string::npos) {
    MESSAGE("skipped: this build has no WebP");
    return;
  }
  REQUIRE_MESSAGE(plain, plain.message());
  REQUIRE(plain->pixels.size() == 48);
  const int colour[] = {200, 60, 30};
  for (size_t i = 0; i < 48; ++i) CHECK(std::abs(plain->pixels[i] - colour[i % 3]) <= 12);
  const auto dropped = decode(alpha);
  REQUIRE_MESSAGE(dropped, dropped.message());
  CHECK(dropped->channels == 3);
  CHECK(dropped->pixels == std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7});

  const auto riff = [](const char* chunk, const std::vector<uint8_t>& data) {
    std::vector<uint8_t> file = {'R', 'I', 'F', 'F'};
    put_number(file, static_cast<uint32_t>(12 + data.size()), 4, false);
    for (const char* c = "WEBP"; *c != 0; ++c) file.push_back(static_cast<uint8_t>(*c));
    for (const char* c = chunk; *c != 0; ++c) file.push_back(static_cast<uint8_t>(*c));
    put_number(file, static_cast<uint32_t>(data.size()), 4, false);
    file.insert(file.end(), data.begin(), data.end());
    return file;
  };
  std::vector<uint8_t> extended = {2, 0, 0, 0, 3, 0, 0, 3, 0, 0};  // animation, 4 x 4
  CHECK(refused(decode(riff("VP8X", extended)), "is an animation"));
  // The header of a lossless picture: 14 bits each of width - 1 and height - 1.
  const auto lossless = [&](uint32_t width, uint32_t height) {
    std::vector<uint8_t> data = {0x2f};
    put_number(data, (width - 1) | (height - 1) << 14, 4, false);
    data.resize(32);
    return decode(riff("VP8L", data));
  };
  CHECK(refused(lossless(8193, 1), "more than 8192 pixels"));
  CHECK(refused(lossless(1, 8193), "more than 8192 pixels"));
  CHECK_FALSE(refused(lossless(8192, 1), "more than 8192 pixels"));
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
  if (!b && b.message().find("without JPEG") != std::string::npos) return;  // built without JPEG
  REQUIRE(b);
  CHECK(b->width == 32);
  CHECK(b->channels == 3);
  for (size_t size = 0; size < jpeg->size(); size += 7) {
    CHECK_FALSE(decode_picture({jpeg->data(), size}));
  }
}

}  // namespace intaglio::test::image_decode_test
