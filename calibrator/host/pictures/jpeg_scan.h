// The entropy-coded data of one JPEG scan, walked without making pixels: whether each of its blocks is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "intaglio/span.h"

namespace intaglio {

// A canonical Huffman code, as a DHT segment defines it.
class JpegHuffman {
 public:
  // counts [16] of codes with 1 to 16 bits; symbols [sum of counts]. False: more codes than bits have room for.
  bool define(const uint8_t* counts, const uint8_t* symbols);
  bool defined() const { return defined_; }
  // Length and symbol of the code at the top of 16 bits; the length is 0 where no code fits.
  int find(uint32_t ahead, uint8_t* symbol) const;

 private:
  static constexpr int kLookupBits = 9;
  bool defined_ = false;
  uint8_t symbols_[256] = {};
  uint16_t lookup_[1 << kLookupBits] = {};  // length << 8 | symbol; 0: a longer code, or none
  uint32_t limit_[17] = {};                 // past the last code of up to so many bits, at the top of 16 bits
  int32_t offset_[17] = {};                 // a code of so many bits plus this is its symbol's index
};

// Bits of entropy-coded data up to the next marker; stuffed zeros are taken out.
class JpegBits {
 public:
  JpegBits(Span<const uint8_t> file, size_t at) : file_(file), at_(at) {}
  // The next 16 bits, zeros past the end.
  uint32_t ahead();
  // False: fewer are left.
  bool skip(int count);
  bool get(int count, uint32_t* value);
  // Skips the rest up to the marker. Not counted are the bits of a byte of which one was taken.
  struct Rest {
    size_t bytes = 0;
    bool zero = true;
  };
  Rest drop_rest();
  // The marker's second byte after drop_rest, 0 where there is none; `at` is then behind it.
  uint8_t marker();
  size_t at() const { return at_; }
  bool at_file_end() const { return at_ + 1 >= file_.size; }

 private:
  void fill();

  Span<const uint8_t> file_;
  size_t at_;
  uint64_t bits_ = 0;  // the next one on top
  int count_ = 0;
  bool ended_ = false;
};

struct JpegComponent {
  uint8_t id = 0, h = 0, v = 0, quantization = 0;
  int32_t blocks_w = 0, blocks_h = 0;  // in a scan of its own
  int32_t dc = 0;                      // of the block before
  int32_t dc_step = 1;                 // baseline: what a mean is multiplied with
  // Bits of each coefficient's value that no scan has brought yet; kUnseen: no scan has brought any.
  static constexpr int8_t kUnseen = 127;
  int8_t missing[64];
  std::vector<uint64_t> nonzero;  // progressive, AC: a bit for each coefficient, blocks_w * blocks_h
};

struct JpegScan {
  JpegComponent* components[4] = {};
  const JpegHuffman* dc[4] = {};
  const JpegHuffman* ac[4] = {};
  int count = 0;
  bool progressive = false;
  int first = 0, last = 63;  // coefficients
  int before = 0, low = 0;   // bits that were missing before this scan (0: all), and still are after it
  int32_t units = 0;         // of one block in a scan of one component, else h * v of each
  int32_t restart_interval = 0;
  size_t padding = 0;  // found: bytes of 0 behind the last block
};

// Null where all units are there and nothing is left; else what is wrong. `unit` is then the unit, from 0 on.
// Afterwards `bits` stand at the marker behind the scan, and behind a restart marker that ends it.
const char* jpeg_scan_fault(JpegScan& scan, JpegBits& bits, int32_t* unit);

}  // namespace intaglio
