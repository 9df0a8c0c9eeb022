#include "calibrator/host/pictures/picture_faults.h"

#include <cstring>

#include "runtime/crc32.h"

namespace intaglio {
namespace {

constexpr size_t kSignature = 8;
constexpr size_t kFrame = 12;  // a chunk's length, type and checksum
constexpr size_t kColours = 256;
constexpr uint8_t kGray = 0, kPalette = 3;  // kinds of colour

uint32_t big_endian(Span<const uint8_t> file, size_t at) {
  return static_cast<uint32_t>(file[at]) << 24 | static_cast<uint32_t>(file[at + 1]) << 16 |
         static_cast<uint32_t>(file[at + 2]) << 8 | file[at + 3];
}

// The chunks of a file, one after the other.
class PngChunks {
 public:
  explicit PngChunks(Span<const uint8_t> file) : file_(file) {}
  // False at the file's end, and where the next one is cut off.
  bool next() {
    if (begun_) at_ += kFrame + size_;
    begun_ = true;
    if (file_.size - at_ < kFrame) return false;
    size_ = big_endian(file_, at_);
    return size_ <= file_.size - at_ - kFrame;
  }
  bool is(const char* type) const { return std::memcmp(file_.data + at_ + 4, type, 4) == 0; }
  bool makes_pixels() const { return (file_[at_ + 4] & 0x20) == 0 || is("eXIf"); }  // that one turns them
  bool sum_fits() const {
    return crc32(0, file_.data + at_ + 4, size_ + 4) == big_endian(file_, at_ + 8 + size_);
  }
  size_t at() const { return at_; }
  size_t size() const { return size_; }
  const uint8_t* data() const { return file_.data + at_ + 8; }

 private:
  Span<const uint8_t> file_;
  size_t at_ = kSignature, size_ = 0;
  bool begun_ = false;
};

void put_chunk(std::vector<uint8_t>& to, const char* type, const std::vector<uint8_t>& data) {
  const size_t size = data.size();
  to.insert(to.end(), {0, 0, static_cast<uint8_t>(size >> 8), static_cast<uint8_t>(size)});
  to.insert(to.end(), type, type + 4);
  to.insert(to.end(), data.begin(), data.end());
  to.insert(to.end(), 4, 0);  // stb_image reads no checksum
}

}  // namespace

std::string png_fault(Span<const uint8_t> file, bool check_sums) {
  bool has_pixels = false;
  for (PngChunks chunk(file); chunk.next();) {
    if (check_sums && chunk.makes_pixels() && !chunk.sum_fits()) {
      return "is damaged: the checksum of a part of it does not fit (chunk at byte " +
             std::to_string(chunk.at()) + ")";
    }
    // The format does not have these; some releases of stb_image read them.
    if (chunk.is("IHDR") && chunk.size() == 13 && chunk.data()[8] < 8 && chunk.data()[9] != kGray &&
        chunk.data()[9] != kPalette)
      return "cannot be decoded: it has " + std::to_string(chunk.data()[8]) +
             " bits a channel, and is neither gray nor has a palette";
    if (chunk.is("CgBI"))
      return "cannot be decoded: it is in a form for iPhones, with red and blue exchanged";
    if (chunk.is("IEND")) return {};
    // stb_image copies to a null pointer where the first one is empty.
    if (chunk.is("IDAT")) {
      if (chunk.size() == 0 && !has_pixels) return "cannot be decoded: its first IDAT chunk is empty";
      has_pixels = true;
    }
  }
  return check_sums ? kPictureCutOff : "";
}

std::vector<uint8_t> png_with_whole_palette(Span<const uint8_t> file) {
  PngChunks chunk(file);
  if (!chunk.next() || !chunk.is("IHDR") || chunk.size() != 13 || chunk.data()[9] != kPalette) return {};
  const unsigned bits = chunk.data()[8];
  std::vector<uint8_t> whole(file.begin(), chunk.data() + chunk.size() + 4);
  while (chunk.next()) {
    if (chunk.is("tRNS")) continue;  // alpha is dropped
    if (!chunk.is("PLTE")) {
      whole.insert(whole.end(), file.begin() + chunk.at(), chunk.data() + chunk.size() + 4);
      continue;
    }
    const size_t colours = chunk.size() / 3;
    if (chunk.size() % 3 != 0 || colours == 0 || colours > kColours || bits > 8 ||
        colours >= size_t{1} << bits)
      return {};
    std::vector<uint8_t> palette(chunk.data(), chunk.data() + chunk.size()), alpha(colours, 255);
    for (size_t i = colours; i < kColours; ++i) palette.insert(palette.end(), 3, static_cast<uint8_t>(i));
    alpha.resize(kColours, 0);
    put_chunk(whole, "PLTE", palette);
    put_chunk(whole, "tRNS", alpha);
  }
  whole.insert(whole.end(), file.begin() + chunk.at(), file.end());
  return whole;
}

}  // namespace intaglio
