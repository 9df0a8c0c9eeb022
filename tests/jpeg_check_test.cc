#include "calibrator/host/pictures/picture_faults.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/files.h"
#include "tests/support/jpeg_writer.h"

namespace intaglio::test::jpeg_check_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Samplings = std::vector<JpegWriter::Sampling>;

constexpr size_t kMemory = size_t{64} << 20;
const Samplings kColour{{2, 2}, {1, 1}, {1, 1}};

std::string fault(const Bytes& file) { return plain_jpeg({file.data(), file.size()}, kMemory).message(); }

// The picture that the decoder reads of a file that passes.
Bytes plain(const Bytes& file) {
  auto made = plain_jpeg({file.data(), file.size()}, kMemory);
  REQUIRE_MESSAGE(made, made.message());
  return *made;
}

bool refused(const Bytes& file, const std::string& part) {
  const std::string found = fault(file);
  if (found.find(part) != std::string::npos) return true;
  MESSAGE("'" << found << "' lacks " << part);
  return false;
}

// Whether this build decodes JPEG.
bool has_jpeg() {
  const Bytes file = jpeg_file(1);
  return static_cast<bool>(decode_picture({file.data(), file.size()}));
}

// Every pixel is looked at, which the memory sanitizer sees.
uint64_t sum_of(const Picture& picture) {
  uint64_t sum = 0;
  for (const uint8_t v : picture.pixels) sum = v % 2 == 1 ? sum * 3 + v : sum + v;
  return sum;
}

size_t first_marker(const Bytes& file, uint8_t marker, size_t from = 2) {
  for (size_t at = from; at + 1 < file.size(); ++at) {
    if (file[at] == 0xff && file[at + 1] == marker) return at;
  }
  REQUIRE(false);
  return 0;
}

size_t segment_size(const Bytes& file, size_t at) {
  return 2 + static_cast<size_t>(file[at + 2] << 8 | file[at + 3]);
}

Bytes without_segment(Bytes file, uint8_t marker) {
  const size_t at = first_marker(file, marker);
  const auto begin = file.begin() + static_cast<ptrdiff_t>(at);
  file.erase(begin, begin + static_cast<ptrdiff_t>(segment_size(file, at)));
  return file;
}

// The pixel data of the first scan.
size_t first_data(const Bytes& file) {
  const size_t at = first_marker(file, 0xda);
  return at + segment_size(file, at);
}

}  // namespace

TEST_CASE("whole files pass, and are the same picture however their blocks are coded") {
  for (const auto& sampling :
       {Samplings{{1, 1}}, Samplings{{2, 2}}, kColour, Samplings{{2, 1}, {1, 1}, {1, 1}},
        Samplings{{1, 2}, {1, 1}, {1, 1}}, Samplings{{1, 1}, {1, 1}, {1, 1}, {1, 1}}}) {
    for (const int width : {1, 8, 37}) {
      const int height = width == 8 ? 9 : 20;
      uint64_t expected = 0;
      bool is_first = true;
      for (const bool progressive : {false, true}) {
        for (const bool interleaved : {true, false}) {
          for (const int interval : {0, 1, 2, 3, 9}) {
            CAPTURE(sampling.size());
            CAPTURE(width);
            CAPTURE(progressive);
            CAPTURE(interleaved);
            CAPTURE(interval);
            const Bytes file = jpeg_of(width, height, sampling, progressive, interleaved, interval);
            REQUIRE(fault(file) == "");
            if (!has_jpeg()) continue;
            const auto picture = decode_picture({file.data(), file.size()});
            REQUIRE_MESSAGE(picture, picture.message());
            if (is_first) expected = sum_of(*picture);
            is_first = false;
            CHECK(sum_of(*picture) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("what real writers do: padding, a last restart marker, fill bytes, data behind the end") {
  const Bytes whole = jpeg_of(20, 20, kColour, false, true, 2);
  REQUIRE(fault(whole) == "");
  CHECK(plain(whole) == whole);
  Bytes padded = whole;
  padded.insert(padded.end() - 2, {0, 0, 0});
  CHECK(plain(padded) == whole);
  Bytes restarted = whole;  // four units: one marker of the scan's own
  restarted.insert(restarted.end() - 2, {0xff, 0xd1});
  CHECK(plain(restarted) == whole);
  Bytes ended = whole;
  ended.insert(ended.end() - 2, {0xff, 0xff});
  CHECK(plain(ended) == whole);
  Bytes filled = whole;
  const auto frame = static_cast<ptrdiff_t>(first_marker(filled, 0xc0));
  filled.insert(filled.begin() + frame, {0xff, 0xff});
  filled.insert(filled.begin() + frame, {0, 7, 0});
  CHECK(plain(filled) == whole);
  Bytes followed = whole;
  followed.insert(followed.end(), {1, 2, 3, 0xff, 0xd9});
  CHECK(plain(followed) == whole);
  Bytes described = whole;
  described.insert(described.begin() + 2, {0xff, 0xe1, 0, 4, 1, 2, 0xff, 0xfe, 0, 3, 7});
  CHECK(plain(described) == whole);
  // These two say what the components are.
  Bytes coloured = whole;
  coloured.insert(coloured.begin() + 2, {0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 0, 0, 0, 0, 0, 1});
  coloured.insert(coloured.begin() + 2, {0xff, 0xe0, 0, 7, 'J', 'F', 'I', 'F', 0});
  CHECK(plain(coloured) == coloured);
}

TEST_CASE("cut off at any byte, with or without an end marker put behind it") {
  for (const bool progressive : {false, true}) {
    for (const int interval : {0, 3}) {
      const Bytes whole = jpeg_of(20, 20, kColour, progressive, true, interval);
      const size_t data = first_data(whole);
      size_t passed = 0;
      for (size_t size = 0; size < whole.size() - 2; ++size) {
        Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
        CHECK(refused(cut, size < 2 ? "" : "is cut off"));
        cut.insert(cut.end(), {0xff, 0xd9});
        CAPTURE(size);
        if (size < data) CHECK(fault(cut) != "");
        // After each scan of a progressive file a coarser picture is whole; a byte FF before a marker is filling.
        if (fault(cut).empty()) {
          ++passed;
          CHECK(progressive);
          CHECK((whole[size] == 0xda || whole[size + 1] == 0xda));
        }
      }
      CHECK(passed == (progressive ? 36 : 0));
    }
  }
}

TEST_CASE("missing tables, and tables that are none") {
  const Bytes whole = jpeg_of(9, 9, kColour, false);
  CHECK(refused(without_segment(whole, 0xdb), "quantization table is missing"));
  CHECK(refused(without_segment(whole, 0xc4), "Huffman table is missing"));
  CHECK(refused(without_segment(whole, 0xc0), "a scan before the frame header"));
  CHECK(refused(without_segment(whole, 0xda), "bytes that belong to no segment"));
  Bytes zero = whole;
  zero[first_marker(zero, 0xdb) + 4 + 17] = 0;
  CHECK(refused(zero, "quantization table holds a 0"));
  Bytes overfull = whole;
  overfull[first_marker(overfull, 0xc4) + 5] = 3;  // codes of one bit
  CHECK(refused(overfull, "is no code"));
  Bytes moved = whole;
  moved[first_marker(moved, 0xda) + 6] = 0x33;
  CHECK(refused(moved, "Huffman table is missing"));
  moved[first_marker(moved, 0xda) + 6] = 0x44;
  CHECK(refused(moved, "of no known number"));
  JpegWriter changing(9, 9, {{1, 1}}, true);
  changing.start();
  changing.scan({0}, 0, 0);
  changing.quantization(2);
  changing.scan({0}, 1, 63);
  changing.end();
  CHECK(fault(changing.file) == "");
  changing.file.resize(changing.file.size() - 2);
  changing.quantization(3);
  CHECK(refused(changing.file, "changes between scans"));
}

TEST_CASE("components: each in a scan, once, and named in the frame") {
  JpegWriter part(9, 9, kColour, false);
  part.start();
  part.scan({0});
  part.scan({2});
  Bytes ended = part.file;
  ended.insert(ended.end(), {0xff, 0xd9});
  CHECK(refused(ended, "no scan has component 2 of 3"));
  part.scan({2});
  CHECK(refused(part.file, "another scan has, or should have, brought"));
  const Bytes whole = jpeg_of(9, 9, kColour, false);
  const size_t scan = first_marker(whole, 0xda), frame = first_marker(whole, 0xc0);
  Bytes twice = whole;
  twice[scan + 7] = 1;
  CHECK(refused(twice, "names a component twice"));
  Bytes unknown = whole;
  unknown[scan + 7] = 9;
  CHECK(refused(unknown, "a component that the frame lacks"));
  Bytes alike = whole;
  alike[frame + 13] = 1;
  CHECK(refused(alike, "two components of one name"));
  JpegWriter none(9, 9, kColour, false);
  none.start();
  none.end();
  CHECK(refused(none.file, "no scan has component 1 of 3"));
}

TEST_CASE("restart markers: each in its place, with its number") {
  const Bytes whole = jpeg_of(40, 40, kColour, false, true, 2);
  const size_t marker = first_marker(whole, 0xd1);
  Bytes other = whole;
  other[marker + 1] = 0xd2;
  CHECK(refused(other, "restart marker is missing or out of order in scan 1, at unit 4 of 9"));
  other[marker + 1] = 0x00;
  CHECK(fault(other) != "");
  Bytes without = whole;
  without.erase(without.begin() + static_cast<ptrdiff_t>(marker),
                without.begin() + static_cast<ptrdiff_t>(marker + 2));
  CHECK(fault(without) != "");
  Bytes late = whole;
  late.insert(late.begin() + static_cast<ptrdiff_t>(marker), 0);
  CHECK(refused(late, "more data than its blocks take"));
  CHECK(fault(without_segment(whole, 0xdd)) != "");
}

TEST_CASE("progressive scans: in an order that makes sense, and not without end") {
  const auto writer = [] {
    JpegWriter made(9, 9, {{1, 1}}, true);
    made.start();
    return made;
  };
  JpegWriter early = writer();
  early.scan({0}, 1, 63);
  CHECK(refused(early.file, "before its component's first one"));
  JpegWriter again = writer();
  again.scan({0}, 0, 0);
  again.scan({0}, 0, 0);
  CHECK(refused(again.file, "another scan has, or should have, brought"));
  JpegWriter skipped = writer();
  skipped.scan({0}, 0, 0, 0, 2);
  skipped.scan({0}, 0, 0, 1, 0);
  CHECK(refused(skipped.file, "another scan has, or should have, brought"));
  JpegWriter mixed = writer();
  mixed.scan({0}, 0, 5);
  CHECK(refused(mixed.file, "no known range"));

  JpegWriter many = writer();
  many.scan({0}, 0, 0);
  for (int k = 1; k < 32; ++k) {
    for (int low = 13; low >= 5; --low) many.scan({0}, k, k, low == 13 ? 0 : low + 1, low);
  }
  many.end();
  CHECK(refused(many.file, "more than 256 scans"));
}

TEST_CASE("values that no picture has, and headers that lie") {
  const Bytes whole = jpeg_of(9, 9, {{1, 1}}, false);
  const size_t frame = first_marker(whole, 0xc0), scan = first_marker(whole, 0xda);
  const auto with = [&](size_t at, uint8_t value) {
    Bytes changed = whole;
    changed[at] = value;
    return changed;
  };
  CHECK(refused(with(frame + 4, 12), "12 bits a channel, not 8"));
  CHECK(refused(with(frame + 1, 0xc3), "neither baseline nor progressive"));
  CHECK(refused(with(frame + 1, 0xc9), "neither baseline nor progressive"));
  CHECK(refused(with(frame + 6, 0), "width or height of 0"));
  CHECK(refused(with(frame + 5, 0x7f), "more than 8192 pixels"));
  CHECK(refused(with(frame + 6, 17), "is missing"));
  CHECK(refused(with(frame + 9, 2), "2 components"));
  CHECK(refused(with(frame + 11, 0x50), "no known kind"));
  CHECK(refused(with(frame + 3, 12), "another length"));
  CHECK(refused(with(scan + 4, 2), "another length"));
  CHECK(refused(with(scan + 7, 1), "no known range"));
  CHECK(refused(with(scan + 1, 0xd8), "a marker FF D8 where none is expected"));
  JpegWriter twice(9, 9, {{1, 1}}, false);
  twice.start();
  twice.frame();
  CHECK(refused(twice.file, "a second frame header"));
  // Progressive files take memory while they are looked at.
  const Bytes large = jpeg_of(64, 64, {{1, 1}}, true);
  CHECK(plain_jpeg({large.data(), large.size()}, 100).message().find("needs more than") == 0);
}

// Faults of stb_image 2.27 to 2.29, or what makes another picture there than with 2.30: calibrator/host/README.md lists them.
TEST_CASE("what older decoders do not stand is refused before they see it") {
  // CVE-2022-28042: more codes than a table has room for.
  JpegWriter writer(9, 9, {{1, 1}}, false);
  writer.quantization();
  writer.frame();
  const auto with_table = [&](size_t codes, size_t length) {
    JpegWriter other = writer;
    Bytes table(17 + codes, 0);
    table[length] = static_cast<uint8_t>(codes);
    if (codes > 255) {
      table[length] = 255;
      table[length + 1] = static_cast<uint8_t>(codes - 255);
    }
    other.segment(0xc4, table);
    return other.file;
  };
  CHECK(refused(with_table(256, 9), "more than 255 codes"));
  CHECK(refused(with_table(300, 9), "more than 255 codes"));
  CHECK(refused(with_table(300, 8), "more than 255 codes"));
  CHECK(refused(with_table(255, 9), "is cut off"));

  // CVE-2021-37789: planes that are no whole fraction of the picture, which resampling then reads past.
  for (const Samplings& sampling : {Samplings{{3, 1}, {2, 1}, {1, 1}}, Samplings{{1, 3}, {1, 2}, {1, 1}},
                                    Samplings{{1, 4}, {1, 3}, {1, 1}}}) {
    CHECK(refused(jpeg_of(20, 20, sampling, false), "no whole fraction"));
  }
  CHECK(fault(jpeg_of(20, 20, {{4, 1}, {2, 1}, {1, 1}}, false)) == "");

  // A mean times its step that leaves 16 bits: 2.30 refuses it, those before it make another value of it.
  const auto with_step = [](uint16_t step) {
    JpegWriter made(9, 9, {{1, 1}}, false);  // its means go up to 200
    made.start();
    made.scans(true);
    made.end();
    Bytes table(1 + 128, 0);
    table[0] = 0x10;
    for (size_t i = 1; i < table.size(); i += 2) {
      table[i] = static_cast<uint8_t>(step >> 8);
      table[i + 1] = static_cast<uint8_t>(step);
    }
    Bytes segment{0xff, 0xdb, 0, 131};
    segment.insert(segment.end(), table.begin(), table.end());
    const size_t scan = first_marker(made.file, 0xda);
    made.file.insert(made.file.begin() + static_cast<ptrdiff_t>(scan), segment.begin(), segment.end());
    return made.file;
  };
  CHECK(fault(with_step(160)) == "");
  CHECK(refused(with_step(65535), "a value that no picture of 8 bits has in scan 1"));

  // CVE-2022-28041: sums of means that leave 32 bits. Those of a picture stay below 2048.
  // CVE-2022-28048 and others: codes and values past the end of the data, at each of its bits.
  for (const bool progressive : {false, true}) {
    const Bytes whole = jpeg_of(20, 20, kColour, progressive);
    const size_t data = first_data(whole), end = first_marker(whole, progressive ? 0xda : 0xd9, data);
    for (size_t at = data; at < end; ++at) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(at));
      cut.insert(cut.end(), {0xff, 0xd9});
      CHECK(fault(cut) != "");
    }
  }
}

// With the memory sanitizer this shows that no pixel is left out; with the others, that nothing else goes wrong.
TEST_CASE("one bit of a file changed: refused, or every pixel is written" * doctest::skip(!has_jpeg())) {
  size_t accepted = 0, total = 0;
  for (const bool progressive : {false, true}) {
    for (const int interval : {0, 3}) {
      Bytes file = jpeg_of(20, 20, kColour, progressive, true, interval);
      for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
        file[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        const auto picture = decode_picture({file.data(), file.size()}, {size_t{16} << 20});
        if (picture && sum_of(*picture) > 0) ++accepted;
        ++total;
        file[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      }
    }
  }
  CHECK(accepted < total / 2);
}

TEST_CASE("damaged pictures of a review" * doctest::skip(std::getenv("INTAGLIO_SHARED") == nullptr)) {
  const char* const shared = std::getenv("INTAGLIO_SHARED");
  const std::string folder = std::string(shared == nullptr ? "" : shared) + "/regressions/pictures/";
  for (const auto& [name, part] :
       {std::pair{"j_badrst.jpg", "restart marker is missing"}, std::pair{"j_cut_eoi.jpg", "is cut off"},
        std::pair{"j_cut_plain.jpg", "data is missing"}, std::pair{"j_dqt0.jpg", "is damaged"},
        std::pair{"j_onecomp.jpg", "is damaged"}, std::pair{"b_short.bmp", "the palette has 2 colours"},
        std::pair{"b_short4.bmp", "the palette has 3 colours"}, std::pair{"pal_gap.png", "does not hold"},
        std::pair{"bmp_lie.png", "more than 8192 pixels"}}) {
    const auto file = read_file(folder + name, 1 << 20);
    if (!file) continue;
    const auto picture = decode_picture(file->span());
    CHECK_FALSE(picture);
    if (!picture && has_jpeg())
      CHECK_MESSAGE(picture.message().find(part) != std::string::npos, picture.message());
  }
}

}  // namespace intaglio::test::jpeg_check_test
