// Runs the built intaglio command as a user does, through a shell.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include <doctest/doctest.h>
#include "tests/support/temporary_folder.h"

namespace intaglio::test {

struct Ran {
  int code = -1;  // 128 and more: ended by a signal
  std::string out, err;
};

// The value of a text; "discarded" where it is none. The parser is compiled once, not in each unit.
nlohmann::json parsed_json(const std::string& text);

inline std::string shell_word(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

class CommandFolder : public TemporaryFolder {
 public:
  // Words are separated by spaces; in them %/ stands for this folder and @/ for the demo's. `redirection` is
  // the shell's.
  Ran run(const std::string& words, const std::string& redirection = "") const {
    std::string line = shell_word(ITG_COMMAND);
    for (size_t start = 0; start < words.size();) {
      const size_t end = std::min(words.find(' ', start), words.size());
      std::string word = words.substr(start, end - start);
      if (word.rfind("%/", 0) == 0) word = *this / word.substr(2);
      if (word.rfind("@/", 0) == 0) word = ITG_DEMO + word.substr(1);
      if (!word.empty()) line += " " + shell_word(word);
      start = end + 1;
    }
    line += " " + redirection + " 2>" + shell_word(stderr_.path() + "/text");
    Ran ran;
    FILE* const pipe = ::popen(line.c_str(), "r");
    REQUIRE(pipe != nullptr);
    char buffer[4096];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, got);
    const int status = ::pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    ran.err = stderr_.get("text");
    return ran;
  }
  // Must succeed.
  Ran good(const std::string& words) const {
    Ran ran = run(words);
    INFO(words << "\n" << ran.err);
    REQUIRE(ran.code == 0);
    return ran;
  }
  nlohmann::json json(const std::string& words) const {
    const Ran ran = good(words);
    nlohmann::json json = parsed_json(ran.out);
    INFO(ran.out);
    REQUIRE(json.is_object());
    return json;
  }
  // Must fail with exit code 1 and "intaglio: ..." on stderr that holds `text`, nothing on stdout.
  void bad(const std::string& words, const std::string& text) const {
    const Ran ran = run(words);
    INFO(words << "\n" << ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK(ran.err.rfind("intaglio: ", 0) == 0);
    CHECK(ran.err.find(text) != std::string::npos);
  }

 private:
  TemporaryFolder stderr_;
};

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace intaglio::test
