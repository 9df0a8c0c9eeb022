// The texts of a model as sources of a firmware project.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/plan_model.h"
#include "intaglio/session.h"
#include "tools/frames.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct ExportedModel {
  const Model* model = nullptr;
  Target target;
  SessionNeeds needs;               // of a session there, without a fast memory
  size_t fast_bytes = 0;            // of activations in a fast memory; 0: there is one memory
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

}  // namespace intaglio::tools
