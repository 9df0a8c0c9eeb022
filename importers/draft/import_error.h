// Errors inside the importers: exceptions with finished sentences, caught by import_model().
#pragma once

#include <exception>
#include <string>
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

// The parts in a row. No stream: the memory sanitizer does not see what the C++ library's own streams write.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::string line;
  const auto add = [&line](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_floating_point_v<Part>) {
      line += number_text(part);
    } else if constexpr (std::is_arithmetic_v<Part> && !std::is_same_v<Part, char>) {
      static_assert(sizeof(Part) > 1, "a number of one byte would be shown as a letter");
      line += std::to_string(part);
    } else {
      static_assert(!std::is_enum_v<Part>, "an enumerator would be shown as a letter");
      line += part;
    }
  };
  (add(parts), ...);
  return line;
}

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw ImportError(text(parts...));
}

// What a file says may be of any length; these three are the places that make it short for a message.
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
