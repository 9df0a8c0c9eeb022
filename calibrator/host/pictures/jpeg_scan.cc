#include "calibrator/host/pictures/jpeg_scan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace intaglio {
namespace {

constexpr const char* kNoData = "data is missing";
constexpr const char* kNoCode = "a code that its Huffman table does not hold";
constexpr const char* kNoValue = "a value that no picture of 8 bits has";
constexpr const char* kNoPlace = "a block with more than its 64 values";

// Largest values of 8-bit pictures, in bits: differences of means, and other coefficients.
constexpr int kDcBits = 11, kAcBits = 10;
constexpr int32_t kLargestDc = (1 << kDcBits) - 1;

class Walk {
 public:
  Walk(JpegScan& scan, JpegBits& bits) : scan_(scan), bits_(bits) {}

  void restart() {
    for (int c = 0; c < scan_.count; ++c) scan_.components[c]->dc = 0;
  }
  bool in_run() const { return run_ > 0; }

  // Whatever is false leaves a reason.
  const char* reason() const { return reason_; }

  bool unit(int32_t index) {
    if (scan_.count == 1) return block(0, index);
    for (int c = 0; c < scan_.count; ++c) {
      const int blocks = scan_.components[c]->h * scan_.components[c]->v;
      for (int b = 0; b < blocks; ++b) {
        if (!block(c, 0)) return false;  // no coefficient but the mean: its place does not matter
      }
    }
    return true;
  }

 private:
  bool wrong(const char* reason) {
    reason_ = reason;
    return false;
  }

  bool block(int c, int32_t index) {
    JpegComponent& component = *scan_.components[c];
    if (!scan_.progressive) return mean(component, *scan_.dc[c]) && sequential(*scan_.ac[c]);
    if (scan_.first == 0) {
      if (scan_.before == 0) return mean(component, *scan_.dc[c]);
      return bits_.skip(1) || wrong(kNoData);
    }
    uint64_t& nonzero = component.nonzero[static_cast<size_t>(index)];
    return scan_.before == 0 ? first_bits(*scan_.ac[c], nonzero) : next_bit(*scan_.ac[c], nonzero);
  }

  bool symbol(const JpegHuffman& table, int* run, int* size) {
    uint8_t found = 0;
    const int length = table.find(bits_.ahead(), &found);
    if (length == 0) return wrong(kNoCode);
    if (!bits_.skip(length)) return wrong(kNoData);
    *run = found >> 4;
    *size = found & 15;
    return true;
  }

  bool mean(JpegComponent& component, const JpegHuffman& table) {
    int high, size;
    if (!symbol(table, &high, &size)) return false;
    if (high != 0 || size > kDcBits) return wrong(kNoValue);
    uint32_t value = 0;
    if (!bits_.get(size, &value)) return wrong(kNoData);
    const auto difference = static_cast<int32_t>(value);
    const bool negative = size > 0 && (value >> (size - 1)) == 0;
    component.dc += negative ? difference - (1 << size) + 1 : difference;
    if (std::abs(component.dc) > kLargestDc >> scan_.low) return wrong(kNoValue);
    const int32_t product = component.dc * component.dc_step;
    if (product < INT16_MIN || product > INT16_MAX) return wrong(kNoValue);
    return true;
  }

  bool sequential(const JpegHuffman& table) {
    for (int k = 1; k < 64; ++k) {
      int run, size;
      if (!symbol(table, &run, &size)) return false;
      if (size == 0 && run == 0) return true;
      if (size == 0 && run < 15) return wrong(kNoCode);
      k += run;
      // A run of sixteen zeros stands before a value.
      if (k + (size == 0 ? 1 : 0) > 63) return wrong(kNoPlace);
      if (size > kAcBits) return wrong(kNoValue);
      if (!bits_.skip(size)) return wrong(kNoData);
    }
    return true;
  }

  // This block and the next ones have no more values.
  bool begin_run(int exponent) {
    uint32_t more = 0;
    if (!bits_.get(exponent, &more)) return wrong(kNoData);
    run_ = (1 << exponent) + static_cast<int32_t>(more);
    return true;
  }

  bool first_bits(const JpegHuffman& table, uint64_t& nonzero) {
    for (int k = scan_.first; run_ == 0 && k <= scan_.last; ++k) {
      int run, size;
      if (!symbol(table, &run, &size)) return false;
      if (size == 0 && run < 15) {
        if (!begin_run(run)) return false;
        break;
      }
      k += run;
      if (k + (size == 0 ? 1 : 0) > scan_.last) return wrong(kNoPlace);
      if (size == 0) continue;
      if (size + scan_.low > kAcBits) return wrong(kNoValue);
      if (!bits_.skip(size)) return wrong(kNoData);
      nonzero |= uint64_t{1} << k;
    }
    if (run_ > 0) --run_;
    return true;
  }

  // A bit for each value that is there, and new values among the zeros.
  bool next_bit(const JpegHuffman& table, uint64_t& nonzero) {
    int k = scan_.first;
    while (run_ == 0 && k <= scan_.last) {
      int zeros, size;
      if (!symbol(table, &zeros, &size)) return false;
      if (size == 0 && zeros < 15) {
        if (!begin_run(zeros)) return false;
        break;
      }
      if (size > 1) return wrong(kNoCode);
      if (!bits_.skip(size)) return wrong(kNoData);
      for (;; ++k) {
        if (k > scan_.last) return wrong(kNoPlace);
        if ((nonzero >> k & 1) != 0) {
          if (!bits_.skip(1)) return wrong(kNoData);
        } else if (zeros-- == 0) {
          break;
        }
      }
      if (size == 1) nonzero |= uint64_t{1} << k;
      ++k;
    }
    if (run_ == 0) return true;
    --run_;
    for (; k <= scan_.last; ++k) {
      if ((nonzero >> k & 1) != 0 && !bits_.skip(1)) return wrong(kNoData);
    }
    return true;
  }

  JpegScan& scan_;
  JpegBits& bits_;
  int32_t run_ = 0;  // blocks without values, this one first
  const char* reason_ = nullptr;
};

}  // namespace

bool JpegHuffman::define(const uint8_t* counts, const uint8_t* symbols) {
  *this = {};
  uint32_t code = 0;
  int32_t index = 0;
  for (int length = 1; length <= 16; ++length) {
    offset_[length] = index - static_cast<int32_t>(code);
    const uint32_t end = code + counts[length - 1];
    if (end > (1u << length) || index + counts[length - 1] > 256) return false;
    for (; code < end; ++code, ++index) {
      symbols_[index] = symbols[index];
      if (length > kLookupBits) continue;
      const auto entry = static_cast<uint16_t>(length << 8 | symbols[index]);
      const uint32_t spread = 1u << (kLookupBits - length);
      std::fill_n(lookup_ + code * spread, spread, entry);
    }
    limit_[length] = code << (16 - length);
    code <<= 1;
  }
  defined_ = true;
  return true;
}

int JpegHuffman::find(uint32_t ahead, uint8_t* symbol) const {
  if (const uint16_t entry = lookup_[ahead >> (16 - kLookupBits)]; entry != 0) {
    *symbol = static_cast<uint8_t>(entry);
    return entry >> 8;
  }
  int length = kLookupBits + 1;
  while (length <= 16 && ahead >= limit_[length]) ++length;
  if (length > 16) return 0;
  *symbol = symbols_[static_cast<int32_t>(ahead >> (16 - length)) + offset_[length]];
  return length;
}

void JpegBits::fill() {
  while (count_ <= 56 && !ended_) {
    if (at_ >= file_.size) {
      ended_ = true;
      return;
    }
    const uint8_t byte = file_[at_];
    if (byte == 0xff && (at_ + 1 >= file_.size || file_[at_ + 1] != 0)) {
      ended_ = true;
      return;
    }
    at_ += byte == 0xff ? 2 : 1;
    bits_ |= static_cast<uint64_t>(byte) << (56 - count_);
    count_ += 8;
  }
}

uint32_t JpegBits::ahead() {
  if (count_ < 16) fill();
  return static_cast<uint32_t>(bits_ >> 48);
}

bool JpegBits::skip(int count) {
  if (count_ < count) fill();
  if (count_ < count) return false;
  bits_ <<= count;
  count_ -= count;
  return true;
}

bool JpegBits::get(int count, uint32_t* value) {
  if (count == 0) {
    *value = 0;
    return true;
  }
  *value = ahead() >> (16 - count);
  return skip(count);
}

JpegBits::Rest JpegBits::drop_rest() {
  Rest rest;
  skip(count_ % 8);
  do {
    fill();
    rest.bytes += static_cast<size_t>(count_ / 8);
    rest.zero = rest.zero && bits_ == 0;
    bits_ = 0;
    count_ = 0;
  } while (!ended_);
  return rest;
}

uint8_t JpegBits::marker() {
  while (at_ + 1 < file_.size && file_[at_] == 0xff && file_[at_ + 1] == 0xff) ++at_;  // filling
  if (at_file_end() || file_[at_] != 0xff) return 0;
  const uint8_t found = file_[at_ + 1];
  at_ += 2;
  ended_ = false;
  return found;
}

const char* jpeg_scan_fault(JpegScan& scan, JpegBits& bits, int32_t* unit) {
  Walk walk(scan, bits);
  walk.restart();
  int restarts = 0;
  for (*unit = 0; *unit < scan.units; ++*unit) {
    if (scan.restart_interval > 0 && *unit > 0 && *unit % scan.restart_interval == 0) {
      if (walk.in_run()) return "a run of blocks goes past a restart";
      if (bits.drop_rest().bytes > 0) return "more data than its blocks take";
      if (bits.marker() != 0xd0 + restarts++ % 8) return "a restart marker is missing or out of order";
      walk.restart();
    }
    if (!walk.unit(*unit)) return walk.reason();
  }
  if (walk.in_run()) return "a run of blocks goes past its end";
  // Some cameras pad the last scan with zeros.
  const JpegBits::Rest rest = bits.drop_rest();
  if (!rest.zero) return "more data than its blocks take";
  scan.padding = rest.bytes;
  return nullptr;
}

}  // namespace intaglio
