// Pieces of text that messages, tables and pages share. Names from files and callers are not trusted: safe() makes them harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "intaglio/tensor.h"

namespace intaglio::tools {

// Control and direction characters and bytes that are no UTF-8 become \x1b and the like; line ends too, unless `lines` keeps
// them: then the lines behind the first are indented, so that a name with a line end in it is no line of ours.
std::string safe(std::string_view text, bool lines = false);

// The start and the end of a long name, whole characters: at most `most`, which is 4 or more.
std::string shortened(const std::string& text, size_t most = 48);
size_t width_of(const std::string& text);  // in characters

std::string decimal(double value, int digits);  // "exact" where it is infinite, "-" where it is no number
std::string grouped(uint64_t number);           // 1 234 567
std::string shape_text(const Shape& shape);     // 1x28x28x3
std::string time_text(double seconds);          // "about 12 s", "about 3 min", "about 2 h"

// A word for a POSIX shell, quoted where it has to be. Empty where no quoting makes it safe to paste: control
// characters, or bytes that are no printable ASCII.
std::string pasted_word(std::string_view word);

}  // namespace intaglio::tools
