// The pictures or arrays that a subcommand is given, as inputs of a model.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "calibrator/host/image_folder.h"
#include "cli/loaded_model.h"

namespace intaglio::cli {

struct SampleArguments {
  std::string images;
  std::string only;
  int64_t limit = 0;
  bool skip_bad = false;
};
// --images, --only, --limit, --skip-bad
void add_sample_options(CLI::App& app, SampleArguments& arguments);

class Samples {
 public:
  // The model outlives this. What the user should know is printed as notes.
  static Outcome<Samples> open(const SampleArguments& arguments, const LoadedModel& file);

  size_t count() const { return folder_.count(); }
  const std::string& name(size_t i) const { return folder_.name(i); }
  Outcome<Digest> digest(size_t i) const { return folder_.digest(i); }
  // As the model's preprocessing wants it.
  Outcome<Done> load(size_t i, const TensorView& input) const;
  const ImageInput* recipe() const { return has_recipe_ ? &recipe_ : nullptr; }

 private:
  ImageFolder folder_;
  bool has_recipe_ = false;
  ImageInput recipe_;
};

// Memory for one sample outside of any session.
class SampleBuffer {
 public:
  explicit SampleBuffer(const TensorInfo& info) : bytes_(info.bytes()) { view_.info = info; }
  TensorView view() {
    view_.data = bytes_.data();
    return view_;
  }
  Span<const uint8_t> bytes() const { return bytes_.span(); }

 private:
  FileBytes bytes_;
  TensorView view_;
};

}  // namespace intaglio::cli
