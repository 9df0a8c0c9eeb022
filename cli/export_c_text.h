// What the writers of sources share.
#pragma once

#include <cctype>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

#include "intaglio/span.h"

namespace intaglio::cli {

// A text that is filled with printf's formats.
class Text {
 public:
  Text& add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = std::vsnprintf(nullptr, 0, format, list);
    std::string line(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, again);
    va_end(again);
    va_end(list);
    text_.append(line, 0, static_cast<size_t>(length));
    return *this;
  }
  // The numbers of an array of bytes.
  Text& add(Span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size; ++i) {
      if (i % 24 == 0) text_ += "\n    ";
      text_ += std::to_string(bytes[i]) + ",";
    }
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

inline std::string upper(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace intaglio::cli
