#include "calibrator/host/system/npy.h"

#include <algorithm>
#include <cstring>

namespace intaglio {
namespace {

constexpr size_t kMaxNpyRank = 8;
constexpr size_t kMaxTextShown = 24;
const char kMagic[] = "\x93NUMPY";

// The header is a Python dictionary; only the three entries that numpy writes are known, each once.
class HeaderParser {
 public:
  HeaderParser(const char* begin, const char* end) : at_(begin), end_(end) {}

  Outcome<Done> parse(NpyHeader* header) {
    if (!take('{')) return Failure{"the header is no dictionary"};
    bool has_type = false, has_order = false, has_shape = false;
    while (!take('}')) {
      std::string key;
      if (!take_string(&key) || !take(':')) return Failure{"the header is damaged"};
      bool* seen = key == "descr" ? &has_type : key == "fortran_order" ? &has_order : &has_shape;
      if (*seen || (seen == &has_shape && key != "shape")) {
        return Failure{"the header has an unexpected entry '" + key.substr(0, kMaxTextShown) + "'"};
      }
      *seen = true;
      auto step = seen == &has_type    ? parse_type(header)
                  : seen == &has_order ? parse_order()
                                       : parse_shape(header);
      if (!step) return step;
      if (!take(',') && !at('}')) return Failure{"the header is damaged"};
    }
    skip_spaces();
    if (at_ != end_) return Failure{"the header is damaged after its dictionary"};
    if (!has_type || !has_order || !has_shape)
      return Failure{"the header lacks descr, fortran_order or shape"};
    if (fortran_order_ && header->shape.size() > 1) {
      return Failure{"the array is in Fortran order; save it with numpy.ascontiguousarray"};
    }
    return Done{};
  }

 private:
  void skip_spaces() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n')) ++at_;
  }
  bool at(char c) {
    skip_spaces();
    return at_ != end_ && *at_ == c;
  }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  bool take_word(const char* word) {
    skip_spaces();
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end_ - at_) < length || std::memcmp(at_, word, length) != 0) return false;
    at_ += length;
    return true;
  }
  // Letters, digits and the signs of an element type; an escape is none of them.
  bool take_string(std::string* text) {
    const char quote = at('"') ? '"' : '\'';
    if (!take(quote)) return false;
    const char* first = at_;
    while (at_ != end_ && *at_ != quote && *at_ != '\\' && *at_ >= ' ' && *at_ <= '~') ++at_;
    if (at_ == end_ || *at_ != quote) return false;
    text->assign(first, at_++);
    return true;
  }

  Outcome<Done> parse_type(NpyHeader* header) {
    static constexpr struct {
      const char* text;
      NpyType type;
    } kTypes[] = {{"|u1", NpyType::kU8},
                  {"|i1", NpyType::kS8},
                  {"<i4", NpyType::kS32},
                  {"<i8", NpyType::kS64},
                  {"<f4", NpyType::kF32}};
    std::string text;
    if (!take_string(&text)) return Failure{"the elements are records, which are not read"};
    for (const auto& known : kTypes) {
      if (text != known.text) continue;
      header->type = known.type;
      return Done{};
    }
    const std::string found = "'" + text.substr(0, kMaxTextShown) + "'";
    if (text.find('O') != std::string::npos) return Failure{"Python objects (pickles) are not read"};
    if (!text.empty() && text[0] == '>') return Failure{"big-endian elements (" + found + ") are not read"};
    return Failure{"elements of type " + found + " are not read; convert them to float32, uint8 or int8"};
  }

  Outcome<Done> parse_order() {
    fortran_order_ = take_word("True");
    if (!fortran_order_ && !take_word("False")) return Failure{"the header is damaged at fortran_order"};
    return Done{};
  }

  Outcome<Done> parse_shape(NpyHeader* header) {
    const Failure damaged{"the header is damaged at shape"};
    if (!take('(')) return damaged;
    while (!take(')')) {
      skip_spaces();
      int64_t dimension = 0;
      int digits = 0;  // more than 18 could overflow; the next one then stands where a comma should
      for (; digits < 18 && at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_, ++digits) {
        dimension = dimension * 10 + (*at_ - '0');
      }
      if (digits == 0) return damaged;
      if (header->shape.size() == kMaxNpyRank) {
        return Failure{"the array has more than " + std::to_string(kMaxNpyRank) + " dimensions"};
      }
      header->shape.push_back(dimension);
      const bool comma = take(',');
      if (!comma && (!at(')') || header->shape.size() == 1)) return damaged;  // (3) is no tuple
    }
    return Done{};
  }

  const char* at_;
  const char* end_;
  bool fortran_order_ = false;
};

}  // namespace

const char* npy_type_name(NpyType type) {
  switch (type) {
    case NpyType::kU8:
      return "uint8";
    case NpyType::kS8:
      return "int8";
    case NpyType::kS32:
      return "int32";
    case NpyType::kS64:
      return "int64";
    case NpyType::kF32:
      return "float32";
  }
  return "?";
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Outcome<NpyHeader> parse_npy_header(Span<const uint8_t> start, uint64_t file_bytes) {
  if (start.size < 10 || std::memcmp(start.data, kMagic, 6) != 0) return Failure{"is no .npy file"};
  const int major = start[6];
  if (major != 1 && major != 2) {
    return Failure{".npy version " + std::to_string(major) + " is not read (1 and 2 are)"};
  }
  const size_t text_start = major == 1 ? 10 : 12;
  if (start.size < text_start) return Failure{"is cut off in its header"};
  uint64_t text_bytes = 0;
  for (size_t i = text_start; i-- > 8;) text_bytes = text_bytes << 8 | start[i];
  if (text_start + text_bytes > kNpyHeaderBytes) return Failure{"has a header of more than 64 KiB"};
  if (start.size - text_start < text_bytes) return Failure{"is cut off in its header"};

  NpyHeader header;
  const char* text = reinterpret_cast<const char*>(start.data) + text_start;
  if (auto step = HeaderParser(text, text + text_bytes).parse(&header); !step) return step.failure();
  header.data_offset = text_start + text_bytes;

  // Bounded by the file's length, which is real, before each multiplication.
  const uint64_t room = file_bytes < header.data_offset ? 0 : file_bytes - header.data_offset;
  uint64_t bytes = element_bytes(header.type);
  bool too_many = false;
  for (const int64_t dimension : header.shape) {
    if (dimension == 0) bytes = 0;
  }
  for (const int64_t dimension : header.shape) {
    if (bytes != 0 && static_cast<uint64_t>(dimension) > room / bytes) too_many = true;
    if (!too_many) bytes *= static_cast<uint64_t>(dimension);
  }
  if (too_many || bytes > room) {
    return Failure{"is cut off: its " + shape_text(header.shape) + " elements need more than the " +
                   std::to_string(room) + " bytes after the header"};
  }
  if (bytes != room) {
    return Failure{"has " + std::to_string(room - bytes) + " bytes after its " + shape_text(header.shape) +
                   " elements"};
  }
  header.data_bytes = bytes;
  return header;
}

Outcome<NpyHeader> read_npy_header(const std::string& path) {
  auto size = file_size(path);
  if (!size) return size.failure();
  auto start = read_file_part(path, 0, static_cast<size_t>(std::min<uint64_t>(*size, kNpyHeaderBytes)));
  if (!start) return start.failure();
  auto header = parse_npy_header(start->span(), *size);
  if (!header) return Failure{path + ": " + header.message()};
  return header;
}

Outcome<NpyArray> read_npy(const std::string& path, uint64_t max_bytes) {
  auto header = read_npy_header(path);
  if (!header) return header.failure();
  if (header->data_bytes > max_bytes) {
    return Failure{path + ": has " + std::to_string(header->data_bytes) + " bytes, more than the " +
                   std::to_string(max_bytes) + " that are allowed here"};
  }
  auto data = read_file_part(path, header->data_offset, static_cast<size_t>(header->data_bytes));
  if (!data) return data.failure();
  return NpyArray{std::move(*header), std::move(*data)};
}

std::vector<uint8_t> npy_file(NpyType type, const std::vector<int64_t>& shape, Span<const uint8_t> data) {
  static constexpr const char* kTypeTexts[] = {"|u1", "|i1", "<i4", "<i8", "<f4"};
  std::string text = std::string("{'descr': '") + kTypeTexts[static_cast<size_t>(type)] +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const size_t start = 10;
  while ((start + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::vector<uint8_t> file(kMagic, kMagic + 6);
  file.push_back(1);
  file.push_back(0);
  file.push_back(static_cast<uint8_t>(text.size()));
  file.push_back(static_cast<uint8_t>(text.size() >> 8));
  file.insert(file.end(), text.begin(), text.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Outcome<Done> write_npy(const std::string& path, NpyType type, const std::vector<int64_t>& shape,
                        Span<const uint8_t> data) {
  const auto file = npy_file(type, shape, data);
  return write_file_atomically(path, {file.data(), file.size()});
}

}  // namespace intaglio
