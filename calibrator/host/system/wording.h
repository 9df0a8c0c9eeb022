// How messages name what a user can say: "--keep-float" to the command's, "keep_float=" to Python's.
#pragma once

#include <cstdint>
#include <string>

namespace intaglio {

enum class Wording : uint8_t { kCommand, kPython };

// While one stands, messages that this thread makes are worded so. Like a locale: errors come from deep below, and what lies
// between need not know who asked.
class WordedFor {
 public:
  explicit WordedFor(Wording wording);
  ~WordedFor();
  WordedFor(const WordedFor&) = delete;
  WordedFor& operator=(const WordedFor&) = delete;

 private:
  Wording before_;
};

Wording wording_here();

// "keep-float" becomes "--keep-float" or "keep_float=".
std::string option_word(const char* option);
// With a value: "--keep-float conv", "keep_float=conv".
std::string option_word(const char* option, const std::string& value);
// "calibrate" becomes the command "'intaglio calibrate'" or the function "intaglio.calibrate".
std::string tool_word(const char* tool);
// With an option: "'intaglio eval --steps'", "intaglio.evaluate(steps=)".
std::string tool_word(const char* tool, const char* option);

}  // namespace intaglio
