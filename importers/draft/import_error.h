// Errors inside the importers: exceptions with finished sentences, caught by import_model().
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace intaglio::importers {

// One problem with one node or tensor. Its words are its own: the memory sanitizer does not see what std::runtime_error writes.
class ImportError : public std::exception {
 public:
  explicit ImportError(std::string problem) : problem_(std::move(problem)) {}
  const char* what() const noexcept override { return problem_.c_str(); }

 private:
  std::string problem_;
};

// A node reads what a node with a problem should have made: nothing new to report.
struct ReadsFailed {};

// A number as a message shows it: a real one with at most six digits.
std::string number_text(double number);

// A text or a number in a message: a view, as long as the expression that it stands in. There are more than a thousand messages,
// each of other types: what they have in common is compiled once.
class TextPart {
 public:
  // NOLINTBEGIN(google-explicit-constructor): the parts of a message are written as they are
  TextPart(const char* text) : kind_(kWords) { value_.words = text; }
  TextPart(const std::string& text) : kind_(kString) { value_.string = &text; }
  TextPart(const std::string_view& text) : kind_(kView) { value_.view = &text; }
  TextPart(char letter) : kind_(kLetter) { value_.letter = letter; }
  TextPart(double number) : kind_(kReal) { value_.real = number; }
  TextPart(float number) : TextPart(static_cast<double>(number)) {}
  // Not of one byte, which would be a letter as well.
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> && (sizeof(T) > 1)>>
  TextPart(T number) : kind_(std::is_signed_v<T> ? kSigned : kUnsigned) {
    value_.bits = static_cast<uint64_t>(number);
  }
  // NOLINTEND(google-explicit-constructor)

  void add_to(std::string& line) const;

 private:
  enum Kind : uint8_t { kWords, kString, kView, kLetter, kReal, kSigned, kUnsigned };
  union {
    const char* words;
    const std::string* string;
    const std::string_view* view;
    char letter;
    double real;
    uint64_t bits;
  } value_;
  Kind kind_;
};
std::string joined_text(const TextPart* parts, size_t count);
[[noreturn]] void fail_with(const TextPart* parts, size_t count);

// The parts in a row.
template <typename... Parts>
__attribute__((always_inline)) inline std::string text(const Parts&... parts) {
  const TextPart list[] = {TextPart(parts)...};
  return joined_text(list, sizeof...(parts));
}

template <typename... Parts>
[[noreturn]] __attribute__((always_inline)) inline void fail(const Parts&... parts) {
  const TextPart list[] = {TextPart(parts)...};
  fail_with(list, sizeof...(parts));
}

// Texts of a file may be of any length; these three functions shorten them for a message.
//
// A name as it may be shown: short, on one line, UTF-8; and the same in quotes.
std::string shown(const std::string& name);
std::string quoted(const std::string& name);
inline std::string quoted(std::string& name) { return quoted(std::as_const(name)); }  // not std::quoted
// "[1, 32, 32, 3]", or of a long list its first numbers and how many it has: "[1, 1, ..., of 1000]".
std::string shape_text(const std::vector<int32_t>& shape);

// Collects what stands in the way, so that one message lists it all.
class Problems {
 public:
  // One line; what is longer than any sentence of ours is cut short.
  void add(const std::string& problem);
  bool empty() const { return lines_.empty(); }
  size_t count() const { return lines_.size(); }
  // "net.onnx cannot be imported:" and a line for each problem; very many are cut short.
  Failure failure(const std::string& path) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace intaglio::importers
