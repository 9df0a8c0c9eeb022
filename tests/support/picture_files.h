// Picture files made in memory: PNG without compression, and BMP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace intaglio::test {

inline void put_number(std::vector<uint8_t>& to, uint32_t v, int bytes, bool big_endian) {
  for (int i = 0; i < bytes; ++i)
    to.push_back(static_cast<uint8_t>(v >> 8 * (big_endian ? bytes - 1 - i : i)));
}

inline void put_png_chunk(std::vector<uint8_t>& to, const std::string& type,
                          const std::vector<uint8_t>& data) {
  put_number(to, static_cast<uint32_t>(data.size()), 4, true);
  const size_t start = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), data.begin(), data.end());
  uint32_t crc = ~0u;
  for (size_t i = start; i < to.size(); ++i) {
    crc ^= to[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
  }
  put_number(to, ~crc, 4, true);
}

// Rows of 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels of 8 or 16 bits.
inline std::vector<uint8_t> png_file(uint32_t width, uint32_t height, int channels,
                                     const std::vector<uint8_t>& pixels, int bits = 8) {
  static constexpr uint8_t kColorTypes[] = {0, 0, 4, 2, 6};
  std::vector<uint8_t> rows;
  const size_t row_bytes = width * static_cast<size_t>(channels * bits / 8);
  for (uint32_t y = 0; y < height; ++y) {
    rows.push_back(0);  // no filter
    rows.insert(rows.end(), pixels.begin() + static_cast<ptrdiff_t>(y * row_bytes),
                pixels.begin() + static_cast<ptrdiff_t>((y + 1) * row_bytes));
  }
  std::vector<uint8_t> zlib = {0x78, 0x01};
  uint32_t a = 1, b = 0;
  for (const uint8_t v : rows) {
    a = (a + v) % 65521;
    b = (b + a) % 65521;
  }
  for (size_t at = 0; at < rows.size() || at == 0;) {
    const size_t size = rows.size() - at < 65535 ? rows.size() - at : 65535;
    zlib.push_back(at + size == rows.size() ? 1 : 0);
    put_number(zlib, static_cast<uint32_t>(size), 2, false);
    put_number(zlib, ~static_cast<uint32_t>(size), 2, false);
    zlib.insert(zlib.end(), rows.begin() + static_cast<ptrdiff_t>(at),
                rows.begin() + static_cast<ptrdiff_t>(at + size));
    at += size == 0 ? 1 : size;
  }
  put_number(zlib, b << 16 | a, 4, true);

  std::vector<uint8_t> header;
  put_number(header, width, 4, true);
  put_number(header, height, 4, true);
  header.insert(header.end(), {static_cast<uint8_t>(bits), kColorTypes[channels], 0, 0, 0});
  std::vector<uint8_t> file = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
  put_png_chunk(file, "IHDR", header);
  put_png_chunk(file, "IDAT", zlib);
  put_png_chunk(file, "IEND", {});
  return file;
}

// An 8 x 8 JPEG of one gray, with 1 (gray), 3 (YCbCr) or 4 (CMYK) components and Huffman tables of one code
// each. `frame`: 0xc0 baseline, 0xc2 progressive, 0xc9 arithmetic.
inline std::vector<uint8_t> jpeg_file(int components, uint8_t frame = 0xc0) {
  std::vector<uint8_t> file = {0xff, 0xd8};
  const auto segment = [&file](uint8_t marker, const std::vector<uint8_t>& data) {
    file.insert(file.end(), {0xff, marker});
    put_number(file, static_cast<uint32_t>(data.size() + 2), 2, true);
    file.insert(file.end(), data.begin(), data.end());
  };
  const auto count = static_cast<uint8_t>(components);
  std::vector<uint8_t> quantization(65, 1), header = {8, 0, 8, 0, 8, count}, table(18, 0), scan = {count};
  quantization[0] = 0;
  table[1] = 1;  // one code, of one bit, for 0
  for (uint8_t c = 1; c <= count; ++c) {
    header.insert(header.end(), {c, 0x11, 0});
    scan.insert(scan.end(), {c, 0});
  }
  const bool progressive = frame == 0xc2;
  scan.insert(scan.end(), {0, static_cast<uint8_t>(progressive ? 0 : 63), 0});
  segment(0xdb, quantization);
  segment(frame, header);
  segment(0xc4, table);
  table[0] = 0x10;
  segment(0xc4, table);
  segment(0xda, scan);
  // A block is a bit for its mean and, but in a progressive file's first scan, one for its end; ones fill up.
  file.push_back(static_cast<uint8_t>(0xff >> (progressive ? count : 2 * count)));
  if (file.back() == 0xff) file.push_back(0);
  file.insert(file.end(), {0xff, 0xd9});
  return file;
}

// From RGB rows, top to bottom.
inline std::vector<uint8_t> bmp_file(uint32_t width, uint32_t height, const std::vector<uint8_t>& rgb) {
  const uint32_t row_bytes = (width * 3 + 3) / 4 * 4;
  std::vector<uint8_t> file = {'B', 'M'};
  put_number(file, 54 + row_bytes * height, 4, false);
  put_number(file, 0, 4, false);
  for (const uint32_t v : {54u, 40u, width, height}) put_number(file, v, 4, false);
  put_number(file, 1, 2, false);
  put_number(file, 24, 2, false);
  for (int i = 0; i < 6; ++i) put_number(file, 0, 4, false);
  for (uint32_t y = height; y-- > 0;) {
    for (uint32_t x = 0; x < width; ++x) {
      const uint8_t* pixel = rgb.data() + (y * width + x) * 3;
      file.insert(file.end(), {pixel[2], pixel[1], pixel[0]});
    }
    file.resize(file.size() + row_bytes - width * 3);
  }
  return file;
}

}  // namespace intaglio::test
