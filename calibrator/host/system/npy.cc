#include "calibrator/host/system/npy.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "calibrator/host/system/half.h"
#include "calibrator/host/system/real_text.h"

namespace intaglio {
namespace {

constexpr size_t kMaxNpyRank = 8;
constexpr size_t kMaxTextShown = 24;

struct TypeText {
  const char *text, *name;  // in a header, in a message
};
constexpr TypeText kTypes[kNpyTypes] = {{"|u1", "uint8"},   {"|i1", "int8"},    {"<i4", "int32"},
                                        {"<i8", "int64"},   {"<f4", "float32"}, {"<u2", "uint16"},
                                        {"<i2", "int16"},   {"<u4", "uint32"},  {"<f2", "float16"},
                                        {"<f8", "float64"}, {"|b1", "bool"},    {"<u8", "uint64"}};

template <typename T>
T element(Span<const uint8_t> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data + i * sizeof value, sizeof value);
  return value;
}

bool is_integer(NpyType type) {
  return type != NpyType::kF16 && type != NpyType::kF32 && type != NpyType::kF64;
}

// An uint64 beyond int64 as the largest int64, which nothing here takes.
int64_t integer_element(NpyType type, Span<const uint8_t> bytes, size_t i) {
  switch (type) {
    case NpyType::kS8:
      return element<int8_t>(bytes, i);
    case NpyType::kU16:
      return element<uint16_t>(bytes, i);
    case NpyType::kS16:
      return element<int16_t>(bytes, i);
    case NpyType::kU32:
      return element<uint32_t>(bytes, i);
    case NpyType::kS32:
      return element<int32_t>(bytes, i);
    case NpyType::kS64:
      return element<int64_t>(bytes, i);
    case NpyType::kU64:
      return static_cast<int64_t>(std::min<uint64_t>(element<uint64_t>(bytes, i), INT64_MAX));
    case NpyType::kBool:
      return element<uint8_t>(bytes, i) != 0 ? 1 : 0;
    default:
      return element<uint8_t>(bytes, i);
  }
}

std::string integer_text(NpyType type, Span<const uint8_t> bytes, size_t i) {
  return type == NpyType::kU64 ? std::to_string(element<uint64_t>(bytes, i))
                               : std::to_string(integer_element(type, bytes, i));
}

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
    std::string text;
    if (!take_string(&text)) return Failure{"the elements are records, which are not read"};
    for (size_t i = 0; i < kNpyTypes; ++i) {
      if (text != kTypes[i].text) continue;
      header->type = static_cast<NpyType>(i);
      return Done{};
    }
    const std::string found = "'" + text.substr(0, kMaxTextShown) + "'";
    if (text.find('O') != std::string::npos)
      return Failure{"Python objects (pickles) are not read; save an array of numbers"};
    if (!text.empty() && text[0] == '>')
      return Failure{"big-endian elements (" + found +
                     ") are not read; save array.astype(array.dtype.newbyteorder('<'))"};
    return Failure{"elements of type " + found +
                   " are not read; convert them to float32, or to uint8 where they are pixels"};
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

const char* npy_type_name(NpyType type) { return kTypes[static_cast<size_t>(type)].name; }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Outcome<NpyHeader> parse_npy_header(Span<const uint8_t> start, uint64_t file_bytes) {
  if (start.empty()) return Failure{"is empty"};
  if (start.size < 10 || std::memcmp(start.data, kNpyMagic, 6) != 0) return Failure{"is no .npy file"};
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

Outcome<Done> npy_values(NpyType type, Span<const uint8_t> bytes, Span<float> values) {
  constexpr int64_t kExact = int64_t{1} << 24;
  for (size_t i = 0; i < values.size; ++i) {
    if (is_integer(type)) {
      const int64_t number = integer_element(type, bytes, i);
      if (number < -kExact || number > kExact)
        return Failure{"its element " + std::to_string(i) + " is " + integer_text(type, bytes, i) +
                       ", which float32 may not hold exactly; give values within 2^24 of 0"};
      values[i] = static_cast<float>(number);
    } else if (type == NpyType::kF64) {
      const auto number = element<double>(bytes, i);
      if (std::isfinite(number) && std::abs(number) > static_cast<double>(FLT_MAX)) {
        return Failure{"its element " + std::to_string(i) + " is " + general_text(number, 6) +
                       ", beyond float32, which ends at 3.4e38; scale it"};
      }
      values[i] = static_cast<float>(number);
    } else {
      values[i] =
          type == NpyType::kF16 ? real_of_half(element<uint16_t>(bytes, i)) : element<float>(bytes, i);
    }
  }
  return Done{};
}

Outcome<Done> npy_integers(NpyType type, Span<const uint8_t> bytes, Span<int32_t> values) {
  if (!is_integer(type))
    return Failure{std::string("holds ") + npy_type_name(type) + ", and integers are wanted: int32 or int64"};
  for (size_t i = 0; i < values.size; ++i) {
    const int64_t number = integer_element(type, bytes, i);
    if (number < INT32_MIN || number > INT32_MAX)
      return Failure{"its element " + std::to_string(i) + " is " + integer_text(type, bytes, i) +
                     "; numbers of 32 bits are wanted"};
    values[i] = static_cast<int32_t>(number);
  }
  return Done{};
}

std::vector<uint8_t> npy_file(NpyType type, const std::vector<int64_t>& shape, Span<const uint8_t> data) {
  std::string text = std::string("{'descr': '") + kTypes[static_cast<size_t>(type)].text +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const size_t start = 10;
  while ((start + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::vector<uint8_t> file(kNpyMagic, kNpyMagic + 6);
  file.push_back(1);
  file.push_back(0);
  file.push_back(static_cast<uint8_t>(text.size()));
  file.push_back(static_cast<uint8_t>(text.size() >> 8));
  file.insert(file.end(), text.begin(), text.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Outcome<Done> write_npy(const OutputFile& output, NpyType type, const std::vector<int64_t>& shape,
                        Span<const uint8_t> data) {
  const auto file = npy_file(type, shape, data);
  return output.write({file.data(), file.size()});
}

}  // namespace intaglio
