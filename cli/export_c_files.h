// The texts that export-c writes: a model as sources of a firmware project.
#pragma once

#include <cctype>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/plan_model.h"
#include "intaglio/session.h"
#include "intaglio/span.h"
#include "tools/frames.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {

using namespace tools;

struct ExportedModel {
  const Model* model = nullptr;
  Target target;
  SessionNeeds needs;               // of a session there
  const ModelPlan* plan = nullptr;  // where the session is planned here
  std::string prefix;               // of every name: a C identifier
  std::string source;               // the model file's name, for the comments
  bool fed = false;                 // the first input comes by rows
  std::optional<ModelFrame> frame;  // what the sample gives to a model whose first input is a picture
  uint32_t golden = 0;              // CRC-32 of the outputs' bytes for the inputs of the self-test
};

struct TextFile {
  std::string name, text;
  bool is_beginning;  // the user goes on with it: main.c and CMakeLists.txt
};

std::vector<TextFile> exported_files(const ExportedModel& exported);

// Whether this is a text of exported_files(), of any model, that nobody changed.
bool is_as_exported(const std::string& text);

// Input bytes of the self-test, the same on every machine: the high byte of a linear congruence for each
// element; FP32 inputs get it, as a signed number, in parts of 128.
class SelfTestBytes {
 public:
  uint8_t next() { return static_cast<uint8_t>((state_ = state_ * 1664525u + 1013904223u) >> 24); }

 private:
  uint32_t state_ = 1;
};

// The two ways in which an exported model starts: as a file that is checked on the device, or as a session
// that was planned here.

// Into the header: what names the model beside its bytes.
std::string checked_declarations(const ExportedModel& exported);
std::string planned_declarations(const ExportedModel& exported);

// The beginning of the source: its includes, <prefix>_start(), and check(), which the self-test calls.
std::string checked_program(const ExportedModel& exported);
std::string planned_program(const ExportedModel& exported);

// Shared by the writers of sources.

// A text that is filled with printf's formats.
class Text {
 public:
  Text& add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = std::vsnprintf(nullptr, 0, format, list);
    std::string line(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, again);
    va_end(again);
    va_end(list);
    text_.append(line, 0, static_cast<size_t>(length));
    return *this;
  }
  // The numbers of an array of bytes.
  Text& add(Span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size; ++i) {
      if (i % 24 == 0) text_ += "\n    ";
      text_ += std::to_string(bytes[i]) + ",";
    }
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

inline std::string upper(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace intaglio::cli
