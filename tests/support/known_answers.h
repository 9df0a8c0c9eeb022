// Answers of probes of generated files. Most of a mutated input is as its parent was, and so are the files on its way:
// the answer of a probe follows from the file alone, and is kept.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

namespace intaglio::test {

template <typename Answer>
class KnownAnswers {
 public:
  // `ask` gives the answer of a file that is not known.
  template <typename Ask>
  const Answer& of(std::string file, Ask ask) {
    const auto known = answers_.find(file);
    if (known != answers_.end()) return known->second;
    bytes_ += file.size();
    if (bytes_ > kMostBytes) {
      answers_.clear();
      bytes_ = file.size();
    }
    return answers_.emplace(std::move(file), ask()).first->second;
  }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 25;

  std::unordered_map<std::string, Answer> answers_;
  size_t bytes_ = 0;
};

}  // namespace intaglio::test
