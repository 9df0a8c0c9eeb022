#include "calibrator/host/system/text_lines.h"

#include <algorithm>
#include <cstring>

#include "calibrator/host/system/files.h"
#include "intaglio/describe.h"

namespace intaglio {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(at, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<TextLine> lines_of(Span<const uint8_t> text) {
  const char* at = reinterpret_cast<const char*>(text.data);
  const char* const end = at + text.size;
  if (text.size >= 3 && std::memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
  std::vector<TextLine> lines;
  for (size_t number = 1; at < end; ++number) {
    const auto* line_end = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (line_end == nullptr) line_end = end;
    const char* first = at;
    const char* last = line_end;
    while (first < last && is_blank(*first)) ++first;
    while (first < last && is_blank(last[-1])) --last;
    if (first < last) lines.push_back({number, std::string(first, last)});
    at = line_end < end ? line_end + 1 : end;
  }
  return lines;
}

Outcome<std::vector<TextLine>> read_lines(const std::string& path, uint64_t max_bytes) {
  const auto file = read_file(path, max_bytes);
  if (!file) return file.failure();
  return lines_of(file->span());
}

std::string line_name(const std::string& path, const TextLine& line) {
  return path + " line " + std::to_string(line.number);
}

std::string error_text(const Error& error, const Model* model) {
  std::string text(describe(error, model, nullptr, 0) + 1, '\0');
  describe(error, model, text.data(), text.size());
  text.pop_back();
  return text;
}

Failure failure_in(const std::string& file, const Error& error, const Model* model) {
  Failure failure{file + ": " + error_text(error, model), error};
  if (model == nullptr) return failure;
  if (error.node >= 0 && error.node < model->node_count()) failure.node = model->node(error.node).name;
  if (error.tensor >= 0 && error.tensor < model->tensor_count())
    failure.tensor = model->tensor(error.tensor).name;
  return failure;
}

}  // namespace intaglio
