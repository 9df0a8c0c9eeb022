#include "importers/draft/import_error.h"

#include <array>
#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "importers/draft/names.h"

namespace intaglio::importers {
namespace {

constexpr size_t kShownNameBytes = 96;
constexpr size_t kShownDims = 16;
constexpr size_t kShownProblems = 64;
constexpr size_t kShownProblemBytes = 1024;

}  // namespace

std::string number_text(double number) { return general_text(number, 6); }

// No stream: the memory sanitizer does not see what the C++ library's own streams write.
void TextPart::add_to(std::string& line) const {
  switch (kind_) {
    case kWords:
      line += value_.words;
      break;
    case kString:
      line += *value_.string;
      break;
    case kView:
      line += *value_.view;
      break;
    case kLetter:
      line += value_.letter;
      break;
    case kReal:
      line += number_text(value_.real);
      break;
    case kSigned:
      line += std::to_string(static_cast<int64_t>(value_.bits));
      break;
    case kUnsigned:
      line += std::to_string(value_.bits);
      break;
  }
}

std::string joined_text(const TextPart* parts, size_t count) {
  std::string line;
  for (size_t i = 0; i < count; ++i) parts[i].add_to(line);
  return line;
}

void fail_with(const TextPart* parts, size_t count) { throw ImportError(joined_text(parts, count)); }

std::string shown(const std::string& name) {
  const std::string clean = clean_name(name, kShownNameBytes);
  return clean.size() < name.size() ? clean + "..." : clean;
}

std::string quoted(const std::string& name) { return text("'", shown(name), "'"); }

std::string shape_text(const std::vector<int32_t>& shape) {
  std::string line = "[";
  for (size_t i = 0; i < shape.size() && i < kShownDims; ++i) line += text(i == 0 ? "" : ", ", shape[i]);
  if (shape.size() > kShownDims) line += text(", ..., of ", shape.size());
  return line + "]";
}

void Problems::add(const std::string& problem) {
  const bool fits = problem.size() <= kShownProblemBytes;
  lines_.push_back(fits ? problem : clean_name(problem, kShownProblemBytes) + "...");
}

Failure Problems::failure(const std::string& path) const {
  if (lines_.size() == 1) return {path + " cannot be imported: " + lines_[0]};
  std::string message = text(path, " cannot be imported, ", lines_.size(), " problems:");
  for (size_t i = 0; i < lines_.size() && i < kShownProblems; ++i) message += "\n  " + lines_[i];
  if (lines_.size() > kShownProblems) message += text("\n  and ", lines_.size() - kShownProblems, " more");
  return {message};
}

}  // namespace intaglio::importers
