// Shared by the Linux examples: a model file, a session in memory of its own, and errors that end the program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "intaglio/describe.h"
#include "intaglio/session.h"

namespace example {

[[noreturn]] inline void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

inline void check(const std::string& what, const intaglio::Error& error,
                  const intaglio::Model* model = nullptr) {
  if (error.ok()) return;
  char text[256];
  intaglio::describe(error, model, text, sizeof text);
  fail(what + ": " + text);
}

// Bytes that start where a model or a session may.
class Memory {
 public:
  explicit Memory(size_t size) : lines_(size / sizeof(Line) + 1), size_(size) {}
  intaglio::Span<uint8_t> span() { return {lines_[0].bytes, size_}; }

 private:
  struct alignas(intaglio::kMemoryAlignment) Line {
    uint8_t bytes[intaglio::kMemoryAlignment];
  };
  std::vector<Line> lines_;
  size_t size_;
};

inline Memory read_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);  // fails for what is no file
  if (error) fail(path + ": " + error.message());
  std::ifstream file(path, std::ios::binary);
  Memory memory(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(memory.span().data), static_cast<std::streamsize>(memory.span().size));
  if (!file) fail(path + ": cannot be read");
  return memory;
}

// A model file and its session. It stays where it is.
class FileSession {
 public:
  explicit FileSession(const std::string& path) : path_(path), file_(read_file(path)), memory_(0) {
    const auto model = intaglio::Model::open(file_.span());
    check(path, model.error());
    model_ = *model;
    const auto needs = intaglio::Session::measure(model_, intaglio::all_ops());
    check(path, needs.error(), &model_);
    memory_ = Memory(needs->total());
    const auto session = intaglio::Session::create(model_, intaglio::all_ops(),
                                                   intaglio::Session::split(memory_.span(), *needs));
    check(path, session.error(), &model_);
    session_ = *session;
    if (model_.inputs().size != 1 || model_.outputs().size != 1)
      fail(path + ": has not one input and one output");
    const intaglio::TensorInfo scores = model_.tensor(model_.outputs()[0]);
    const bool codes = scores.dtype == intaglio::DType::kS8 && scores.quantization.scales.size == 1;
    if (scores.dtype != intaglio::DType::kF32 && !codes)
      fail(path + ": its output is neither FP32 nor int8 with one scale, so it gives no scores of classes");
  }
  FileSession(const FileSession&) = delete;
  FileSession& operator=(const FileSession&) = delete;

  const intaglio::Model& model() const { return model_; }
  intaglio::Session* operator->() { return &session_; }

  // The class of the largest score: int8 codes of one scale are in the same order as the reals.
  size_t best_class() {
    const intaglio::TensorView scores = session_.output();
    const auto count = static_cast<size_t>(scores.info.shape.elements());
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      const bool above = scores.info.dtype == intaglio::DType::kF32
                             ? scores.as<float>()[i] > scores.as<float>()[best]
                             : scores.as<int8_t>()[i] > scores.as<int8_t>()[best];
      if (above) best = i;
    }
    return best;
  }

 private:
  std::string path_;
  Memory file_, memory_;
  intaglio::Model model_;
  intaglio::Session session_;
};

}  // namespace example
