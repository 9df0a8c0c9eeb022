#include "calibrator/host/pictures/picture_faults.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "calibrator/host/pictures/jpeg_scan.h"

namespace intaglio {
namespace {

// Encoders write some ten; each may take time for the whole picture out of a few bytes.
constexpr int kMaxScans = 256;

constexpr uint8_t kSof0 = 0xc0, kSof2 = 0xc2, kDht = 0xc4, kRst0 = 0xd0, kSoi = 0xd8, kEoi = 0xd9,
                  kSos = 0xda, kDqt = 0xdb, kDnl = 0xdc, kDri = 0xdd, kApp0 = 0xe0, kApp14 = 0xee,
                  kApp15 = 0xef, kCom = 0xfe;

int32_t divide_up(int32_t a, int32_t b) { return (a + b - 1) / b; }

std::string hexadecimal(uint8_t byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

class JpegCheck {
 public:
  JpegCheck(Span<const uint8_t> file, size_t max_bytes) : file_(file), max_bytes_(max_bytes) {}

  // True where all is well.
  bool run();
  const std::string& fault() const { return fault_; }
  std::vector<uint8_t>& plain() { return plain_; }

 private:
  struct Quantization {
    uint16_t values[64] = {};
    bool defined = false;
  };

  bool wrong(const std::string& what) {
    fault_ = what;
    return false;
  }
  bool damaged(const std::string& what) {
    return wrong("is damaged: " + what + " (byte " + std::to_string(at_) + ")");
  }
  bool unsupported(const std::string& what) { return wrong("cannot be decoded: " + what); }
  void keep(size_t begin, size_t end) { plain_.insert(plain_.end(), file_.data + begin, file_.data + end); }
  void keep_marker(uint8_t marker) { plain_.insert(plain_.end(), {0xff, marker}); }
  bool next_marker(uint8_t* marker);
  bool segment(uint8_t marker);
  bool quantization(Span<const uint8_t> body);
  bool huffman(Span<const uint8_t> body);
  bool frame(uint8_t marker, Span<const uint8_t> body);
  bool scan(Span<const uint8_t> body);
  bool scan_header(Span<const uint8_t> body, JpegScan& scan);
  bool has_tables(const JpegScan& scan, const uint8_t* selectors);
  bool begins(const JpegScan& scan);
  bool end();

  Span<const uint8_t> file_;
  size_t max_bytes_;
  size_t at_ = 2;
  std::string fault_;
  std::vector<uint8_t> plain_;
  Quantization quantization_[4];
  JpegHuffman huffman_[2][4];  // of means (DC), of the rest (AC)
  JpegComponent components_[4];
  int count_ = 0;  // of components; 0 before the frame header
  int32_t width_ = 0, height_ = 0, h_max_ = 1, v_max_ = 1;
  bool progressive_ = false;
  int scans_ = 0;
  int32_t restart_interval_ = 0;
};

bool JpegCheck::next_marker(uint8_t* marker) {
  // Some writers pad segments before the frame.
  while (count_ == 0 && at_ < file_.size && file_[at_] != 0xff) ++at_;
  if (at_ < file_.size && file_[at_] != 0xff) return damaged("bytes that belong to no segment");
  while (at_ < file_.size && file_[at_] == 0xff) ++at_;
  if (at_ >= file_.size) return wrong(kPictureCutOff);
  *marker = file_[at_++];
  return true;
}

bool JpegCheck::run() {
  plain_.reserve(file_.size);
  keep_marker(kSoi);
  for (;;) {
    uint8_t marker = 0;
    if (!next_marker(&marker)) return false;
    if (marker == kEoi) {
      keep_marker(kEoi);
      return end();
    }
    if (!segment(marker)) return false;
  }
}

bool JpegCheck::segment(uint8_t marker) {
  const bool skipped = (marker >= kApp0 && marker <= kApp15) || marker == kCom;
  const bool is_frame =
      marker >= kSof0 && marker <= 0xcf && marker != kDht && marker != 0xc8 && marker != 0xcc;
  if (!skipped && !is_frame && marker != kDht && marker != kSos && marker != kDqt && marker != kDnl &&
      marker != kDri) {
    return damaged("a marker FF " + hexadecimal(marker) + " where none is expected");
  }
  if (is_frame && marker > kSof2) {
    return unsupported("its kind of coding, FF " + hexadecimal(marker) +
                       ", is neither baseline nor progressive with Huffman codes");
  }
  if (file_.size - at_ < 2) return wrong(kPictureCutOff);
  const size_t length = static_cast<size_t>(file_[at_] << 8 | file_[at_ + 1]);
  if (length < 2) return damaged("a segment without length");
  if (file_.size - at_ < length) return wrong(kPictureCutOff);
  const Span<const uint8_t> body{file_.data + at_ + 2, length - 2};
  // Faults are then named with the segment's own place.
  bool good = true;
  if (marker == kDqt) good = quantization(body);
  if (marker == kDht) good = huffman(body);
  if (is_frame) good = frame(marker, body);
  if (marker == kDri) {
    if (body.size != 2) return damaged("a restart interval of another length");
    restart_interval_ = body[0] << 8 | body[1];
  }
  if (marker == kDnl && (body.size != 2 || scans_ == 0 || (body[0] << 8 | body[1]) != height_)) {
    return damaged("another height behind the first scan");
  }
  if (marker == kSos) return scan(body);
  if (!(skipped && marker != kApp0 && marker != kApp14) && marker != kDnl) {
    keep_marker(marker);
    keep(at_, at_ + length);
  }
  at_ += length;
  return good;
}

bool JpegCheck::quantization(Span<const uint8_t> body) {
  for (size_t at = 0; at < body.size;) {
    const int bytes = 1 + (body[at] >> 4), index = body[at] & 15;
    const size_t size = 1 + 64 * static_cast<size_t>(bytes);
    if (bytes > 2 || index > 3 || body.size - at < size)
      return damaged("a quantization table of no known kind");
    Quantization table;
    table.defined = true;
    const uint8_t* value = body.data + at + 1;
    for (uint16_t& v : table.values) {
      v = static_cast<uint16_t>(bytes == 1 ? value[0] : value[0] << 8 | value[1]);
      value += bytes;
    }
    // Progressive blocks take their table when all scans are there, or at the first one: decoders differ.
    const bool changes = std::memcmp(table.values, quantization_[index].values, sizeof table.values) != 0;
    for (int c = 0; changes && progressive_ && c < count_; ++c) {
      if (components_[c].quantization == index && components_[c].missing[0] != JpegComponent::kUnseen)
        return damaged("a quantization table that changes between scans");
    }
    quantization_[index] = table;
    at += size;
  }
  return true;
}

bool JpegCheck::huffman(Span<const uint8_t> body) {
  for (size_t at = 0; at < body.size;) {
    if (body.size - at < 17) return damaged("a Huffman table that is cut off");
    const int kind = body[at] >> 4, index = body[at] & 15;
    size_t symbols = 0;
    for (size_t i = 1; i <= 16; ++i) symbols += body[at + i];
    // No coding of 8 bits has as many; and where the 256th code is a short one, stb_image reads another.
    if (symbols > 255) return damaged("a Huffman table with more than 255 codes");
    if (kind > 1 || index > 3 || body.size - at < 17 + symbols ||
        !huffman_[kind][index].define(body.data + at + 1, body.data + at + 17)) {
      return damaged("a Huffman table that is no code");
    }
    at += 17 + symbols;
  }
  return true;
}

bool JpegCheck::frame(uint8_t marker, Span<const uint8_t> body) {
  if (count_ != 0) return damaged("a second frame header");
  if (body.size < 6) return damaged("a frame header that is cut off");
  if (body[0] != 8) return unsupported("it has " + std::to_string(body[0]) + " bits a channel, not 8");
  height_ = body[1] << 8 | body[2];
  width_ = body[3] << 8 | body[4];
  const int count = body[5];
  if (count != 1 && count != 3 && count != 4)
    return unsupported("it has " + std::to_string(count) + " components");
  if (body.size != 6 + 3 * static_cast<size_t>(count)) return damaged("a frame header of another length");
  if (width_ == 0 || height_ == 0) return damaged("a width or height of 0");
  if (std::max(width_, height_) > kMaxDecodedSide) return wrong(picture_too_large());
  progressive_ = marker == kSof2;
  for (int c = 0; c < count; ++c) {
    const uint8_t* const field = body.data + 6 + 3 * c;
    JpegComponent& component = components_[c];
    component.id = field[0];
    component.h = field[1] >> 4;
    component.v = field[1] & 15;
    component.quantization = field[2];
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4 ||
        component.quantization > 3)
      return damaged("a component of no known kind");
    for (int other = 0; other < c; ++other) {
      if (components_[other].id == component.id) return damaged("two components of one name");
    }
    h_max_ = std::max<int32_t>(h_max_, component.h);
    v_max_ = std::max<int32_t>(v_max_, component.v);
    std::fill(std::begin(component.missing), std::end(component.missing), JpegComponent::kUnseen);
  }
  size_t blocks = 0;
  for (int c = 0; c < count; ++c) {
    JpegComponent& component = components_[c];
    if (h_max_ % component.h != 0 || v_max_ % component.v != 0)
      return unsupported("a component's width or height is no whole fraction of the picture's");
    component.blocks_w = divide_up(divide_up(width_ * component.h, h_max_), 8);
    component.blocks_h = divide_up(divide_up(height_ * component.v, v_max_), 8);
    blocks += static_cast<size_t>(component.blocks_w) * static_cast<size_t>(component.blocks_h);
  }
  if (progressive_ && blocks > max_bytes_ / sizeof(uint64_t))
    return wrong(picture_needs_more_than(max_bytes_));
  count_ = count;
  return true;
}

bool JpegCheck::has_tables(const JpegScan& scan, const uint8_t* selectors) {
  const bool means = scan.first == 0 && scan.before == 0, rest = scan.last > 0;
  for (int c = 0; c < scan.count; ++c) {
    JpegComponent& component = *scan.components[c];
    const int dc = selectors[2 * c] >> 4, ac = selectors[2 * c] & 15;
    if (dc > 3 || ac > 3) return damaged("a scan with a Huffman table of no known number");
    if ((means && !huffman_[0][dc].defined()) || (rest && !huffman_[1][ac].defined()))
      return damaged("a scan whose Huffman table is missing");
    const Quantization& table = quantization_[component.quantization];
    if (!table.defined) return damaged("a component whose quantization table is missing");
    if (std::find(std::begin(table.values), std::end(table.values), 0) != std::end(table.values))
      return damaged("a component whose quantization table holds a 0");
    component.dc_step = progressive_ ? 1 : table.values[0];
  }
  return true;
}

// Whether what the scan brings is what the scans before it left to bring.
bool JpegCheck::begins(const JpegScan& scan) {
  for (int c = 0; c < scan.count; ++c) {
    JpegComponent& component = *scan.components[c];
    const int8_t before = scan.before == 0 ? JpegComponent::kUnseen : static_cast<int8_t>(scan.before);
    if (scan.first > 0 && component.missing[0] == JpegComponent::kUnseen)
      return damaged("a scan before its component's first one");
    for (int k = scan.first; k <= scan.last; ++k) {
      if (component.missing[k] != before)
        return damaged("a scan of values that another scan has, or should have, brought");
      component.missing[k] = static_cast<int8_t>(scan.low);
    }
    if (scan.first > 0) {
      component.nonzero.resize(static_cast<size_t>(component.blocks_w) *
                               static_cast<size_t>(component.blocks_h));
    }
  }
  return true;
}

bool JpegCheck::scan_header(Span<const uint8_t> body, JpegScan& scan) {
  if (count_ == 0) return damaged("a scan before the frame header");
  if (body.size < 1 || body[0] < 1 || body[0] > count_ || body.size != 4 + 2 * static_cast<size_t>(body[0]))
    return damaged("a scan header of another length");
  scan.count = body[0];
  scan.progressive = progressive_;
  scan.restart_interval = restart_interval_;
  for (int c = 0; c < scan.count; ++c) {
    const uint8_t* const field = body.data + 1 + 2 * c;
    scan.components[c] = std::find_if(components_, components_ + count_, [&](const JpegComponent& component) {
      return component.id == field[0];
    });
    if (scan.components[c] == components_ + count_)
      return damaged("a scan of a component that the frame lacks");
    if (std::find(scan.components, scan.components + c, scan.components[c]) != scan.components + c)
      return damaged("a scan that names a component twice");
    scan.dc[c] = &huffman_[0][field[1] >> 4 & 3];
    scan.ac[c] = &huffman_[1][field[1] & 3];
  }
  const uint8_t* const range = body.data + 1 + 2 * scan.count;
  scan.first = range[0];
  scan.last = progressive_ ? range[1] : 63;  // which some writers leave 0 in a baseline file
  scan.before = range[2] >> 4;
  scan.low = range[2] & 15;
  const bool known = !progressive_     ? scan.first == 0 && range[2] == 0
                     : scan.first == 0 ? scan.last == 0
                                       : scan.first <= scan.last && scan.last < 64 && scan.count == 1;
  if (!known || scan.low > 13 || (scan.before > 0 && scan.low != scan.before - 1))
    return damaged("a scan of no known range of values");
  const JpegComponent& only = *scan.components[0];
  scan.units = scan.count == 1 ? only.blocks_w * only.blocks_h
                               : divide_up(width_, 8 * h_max_) * divide_up(height_, 8 * v_max_);
  return has_tables(scan, body.data + 2) && begins(scan);
}

bool JpegCheck::scan(Span<const uint8_t> body) {
  JpegScan scan;
  if (++scans_ > kMaxScans) return damaged("more than " + std::to_string(kMaxScans) + " scans");
  if (!scan_header(body, scan)) return false;
  JpegBits bits(file_, at_ + 2 + body.size);
  int32_t unit = 0;
  if (const char* const reason = jpeg_scan_fault(scan, bits, &unit); reason != nullptr) {
    if (bits.at_file_end()) return wrong(kPictureCutOff);
    at_ = bits.at();
    return damaged(std::string(reason) + " in scan " + std::to_string(scans_) + ", at unit " +
                   std::to_string(unit) + " of " + std::to_string(scan.units));
  }
  keep_marker(kSos);
  keep(at_, bits.at() - scan.padding);
  at_ = bits.at();
  // A last restart marker is needless, and there in some files.
  const int32_t restarts = restart_interval_ == 0 ? -1 : (scan.units - 1) / restart_interval_;
  if (restarts >= 0 && bits.marker() == kRst0 + restarts % 8) at_ = bits.at();
  return true;
}

bool JpegCheck::end() {
  for (int c = 0; c < count_; ++c) {
    if (components_[c].missing[0] == JpegComponent::kUnseen) {
      return damaged("no scan has component " + std::to_string(c + 1) + " of " + std::to_string(count_));
    }
  }
  return count_ > 0 || damaged("it ends before a frame header");
}

}  // namespace

Outcome<std::vector<uint8_t>> plain_jpeg(Span<const uint8_t> file, size_t max_bytes) {
  JpegCheck check(file, max_bytes);
  if (!check.run()) return Failure{check.fault()};
  return std::move(check.plain());
}

}  // namespace intaglio
