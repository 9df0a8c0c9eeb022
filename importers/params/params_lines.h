// Tables of words in lines, and the names in them.
#pragma once

#include <algorithm>

#include "importers/params/params_table.h"

namespace intaglio {

struct ParamsLine {
  size_t number = 0;  // from 1
  std::string_view text;
  std::vector<std::string_view> words;  // never empty

  std::string place() const { return "line " + std::to_string(number); }
  // What stands before one of the words, without the spaces between them.
  std::string_view before(std::string_view word) const {
    const char* end = word.data();
    while (end > words[0].data() && (end[-1] == ' ' || end[-1] == '\t')) --end;
    return {words[0].data(), static_cast<size_t>(end - words[0].data())};
  }
  // For a message: not all of a long line.
  std::string shown() const {
    constexpr size_t kMost = 60;
    return std::string(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
  }
};

// Lines that hold a word; line ends of any system.
std::vector<ParamsLine> lines_of(std::string_view text);

}  // namespace intaglio
