// Text files by lines, for lists that people write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/model.h"
#include "intaglio/span.h"

namespace intaglio {

struct TextLine {
  size_t number = 0;  // from 1
  std::string text;   // without spaces at its ends; never empty
};

// Empty lines are left out. Line ends of any system, and a byte order mark, are no text.
std::vector<TextLine> lines_of(Span<const uint8_t> text);
Outcome<std::vector<TextLine>> read_lines(const std::string& path, uint64_t max_bytes);

// The parts between the separators, empty ones too: one more than there are separators.
std::vector<std::string> split(const std::string& text, char at);

// "labels.txt line 3"
std::string line_name(const std::string& path, const TextLine& line);

// Errors of the runtime and the calibrator as text.

// One line: what is wrong, where, the value and the limit. With `model`, nodes and tensors have their names.
std::string error_text(const Error& error, const Model* model = nullptr);

// The same behind the name of the file that it is about, with its numbers.
Failure failure_in(const std::string& file, const Error& error, const Model* model = nullptr);

}  // namespace intaglio
