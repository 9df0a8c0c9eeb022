// Numbers in arguments of the command: lists, and values of something that has a name.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace intaglio::cli {

// "123.7,116.3,103.5"; messages begin with the option.
template <typename T>
Outcome<std::vector<T>> parse_list(const std::string& option, std::string_view text) {
  std::vector<T> values;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    T value{};
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size())
      return Failure{option + ": '" + std::string(part) +
                     "' is no number; write numbers separated by commas, e.g. 1,2,3"};
    values.push_back(value);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

struct NamedValues {
  std::string name;
  std::vector<int32_t> dims;  // of an array in a file; empty: of a list
  std::vector<float> values;
};

struct NamedText {
  std::string name;
  std::string file;  // of an array; empty: `values` are a list
  std::vector<float> values;
};
// What the words alone say: no file is read.
Outcome<NamedText> parse_named_text(const std::string& option, const std::string& text, const char* what,
                                    const char* example);

// "h=0.5", "n=1,2" or "h=h0.npy"; names may hold an equals sign, so the last one parts them. `what` has the name, of which
// messages give `example`.
Outcome<NamedValues> parse_named_values(const std::string& option, const std::string& text, const char* what,
                                        const char* example);

}  // namespace intaglio::cli
