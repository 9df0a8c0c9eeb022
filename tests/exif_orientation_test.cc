// Pictures are turned as their Exif data say.
#include "calibrator/host/pictures/exif_orientation.h"

#include <doctest/doctest.h>

#include "tests/support/jpeg_writer.h"
#include "tests/support/picture_files.h"

namespace intaglio::test::exif_orientation_test {
namespace {

// "Exif", and a directory of one entry.
std::vector<uint8_t> exif(uint32_t value, bool big_endian, uint32_t tag = 0x0112, uint32_t type = 3,
                          uint32_t count = 1, uint32_t directory = 8) {
  std::vector<uint8_t> data = {'E', 'x', 'i', 'f', 0, 0};
  data.insert(data.end(), 2, big_endian ? 'M' : 'I');
  put_number(data, 42, 2, big_endian);
  put_number(data, directory, 4, big_endian);
  put_number(data, 1, 2, big_endian);
  put_number(data, tag, 2, big_endian);
  put_number(data, type, 2, big_endian);
  put_number(data, count, 4, big_endian);
  put_number(data, value, 2, big_endian);
  put_number(data, 0, 2, big_endian);
  put_number(data, 0, 4, big_endian);
  return data;
}

std::vector<uint8_t> jpeg(const std::vector<uint8_t>& app1, int width = 24, int height = 16) {
  JpegWriter writer(width, height, {{1, 1}, {1, 1}, {1, 1}}, false);
  if (!app1.empty()) writer.segment(0xe1, app1);
  writer.start();
  writer.scans(true);
  writer.end();
  return writer.file;
}

int32_t orientation(const std::vector<uint8_t>& file) { return jpeg_orientation({file.data(), file.size()}); }

}  // namespace

TEST_CASE("the tag is found in either byte order, and nothing else is taken for it") {
  for (const bool big_endian : {false, true})
    for (uint32_t value = 1; value <= 8; ++value)
      CHECK(orientation(jpeg(exif(value, big_endian))) == static_cast<int32_t>(value));
  CHECK(orientation(jpeg({})) == 1);
  CHECK(orientation(jpeg(exif(0, true))) == 1);
  CHECK(orientation(jpeg(exif(9, true))) == 1);
  CHECK(orientation(jpeg(exif(6, true, 0x0113))) == 1);
  CHECK(orientation(jpeg(exif(6, true, 0x0112, 4))) == 1);
  CHECK(orientation(jpeg(exif(6, true, 0x0112, 3, 2))) == 1);
  for (const uint32_t directory : {9u, 26u, 27u, 1000u, 0xfffffff0u, 0xffffffffu})
    CHECK(orientation(jpeg(exif(6, true, 0x0112, 3, 1, directory))) == 1);
  std::vector<uint8_t> other = exif(6, true);
  other[3] = 'g';
  CHECK(orientation(jpeg(other)) == 1);
}

TEST_CASE("a WebP's chunk is found among others, with JPEG's prefix or without") {
  const auto webp = [](const std::vector<uint8_t>& data) {
    std::vector<uint8_t> file = {'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P',
                                 'V', 'P', '8', 'X', 3, 0, 0, 0, 1,   2,   3,   0};
    file.insert(file.end(), {'E', 'X', 'I', 'F'});
    put_number(file, static_cast<uint32_t>(data.size()), 4, false);
    file.insert(file.end(), data.begin(), data.end());
    return file;
  };
  const auto orientation_of = [](const std::vector<uint8_t>& file) {
    return webp_orientation({file.data(), file.size()});
  };
  const std::vector<uint8_t> with = exif(6, true), without(with.begin() + 6, with.end());
  CHECK(orientation_of(webp(with)) == 6);
  CHECK(orientation_of(webp(without)) == 6);
  CHECK(orientation_of(webp({})) == 1);
  const std::vector<uint8_t> file = webp(with);
  for (size_t size = 0; size < file.size(); ++size)
    CHECK(orientation_of({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)}) == 1);
}

TEST_CASE("a PNG's chunk is found before the pixels and behind them, and its checksum must fit") {
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6}, plain = png_file(3, 2, 1, pixels);
  const std::vector<uint8_t> with = exif(6, true), without(with.begin() + 6, with.end());
  constexpr ptrdiff_t kBehindHeader = 8 + 25, kEnd = 12;  // signature and IHDR; IEND
  for (const bool behind : {false, true})
    for (const auto& data : {with, without, {}}) {
      std::vector<uint8_t> chunk;
      put_png_chunk(chunk, "eXIf", data);
      std::vector<uint8_t> file = plain;
      const ptrdiff_t at = behind ? static_cast<ptrdiff_t>(file.size()) - kEnd : kBehindHeader;
      file.insert(file.begin() + at, chunk.begin(), chunk.end());
      CHECK(png_orientation({file.data(), file.size()}) == (data.empty() ? 1 : 6));
      const Outcome<Picture> turned = decode_picture({file.data(), file.size()});
      REQUIRE_MESSAGE(turned, turned.message());
      CHECK(turned->pixels == oriented({3, 2, 1, pixels}, data.empty() ? 1 : 6).pixels);
      file[static_cast<size_t>(at) + chunk.size() - 1] ^= 1;
      CHECK(!decode_picture({file.data(), file.size()}));
      for (size_t size = 0; size < file.size(); ++size) {
        const std::vector<uint8_t> part(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
        const int32_t found = png_orientation({part.data(), part.size()});
        CHECK((found == 1 || found == 6));
      }
    }
}

TEST_CASE("cut anywhere, no byte past the end is read") {
  const std::vector<uint8_t> file = jpeg(exif(6, false));
  for (size_t size = 0; size < 80; ++size) {
    const std::vector<uint8_t> part(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    const int32_t found = orientation(part);
    CHECK((found == 1 || found == 6));
  }
}

TEST_CASE("each orientation, pixel by pixel") {
  //  1 2 3      as the file has them
  //  4 5 6
  const Picture source{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const std::vector<uint8_t> expected[] = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                           {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                           {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int32_t orientation = 1; orientation <= 8; ++orientation) {
    const Picture made = oriented(source, orientation);
    CHECK(made.width == (orientation < 5 ? 3 : 2));
    CHECK(made.height == (orientation < 5 ? 2 : 3));
    CHECK(made.pixels == expected[orientation - 1]);
  }
}

TEST_CASE("a decoded JPEG stands upright, within the memory that is allowed") {
  const std::vector<uint8_t> plain = jpeg({}), turned = jpeg(exif(6, false));
  const Outcome<Picture> as_it_is = decode_picture({plain.data(), plain.size()});
  if (!as_it_is && as_it_is.message().find("without JPEG") != std::string::npos)
    return;  // built without JPEG
  REQUIRE_MESSAGE(as_it_is, as_it_is.message());
  const Outcome<Picture> upright = decode_picture({turned.data(), turned.size()});
  REQUIRE_MESSAGE(upright, upright.message());
  CHECK(upright->width == 16);
  CHECK(upright->height == 24);
  CHECK(upright->pixels == oriented(*as_it_is, 6).pixels);
}

}  // namespace intaglio::test::exif_orientation_test
