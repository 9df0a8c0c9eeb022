// Samples as inputs of a model: which are taken, and how they are read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/pictures/image_folder.h"
#include "intaglio/session.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

// Which samples are taken, and where they are.
struct SampleChoice {
  std::vector<SamplePlace> places;       // one an input, in the order of the inputs
  std::string only;                      // a text file with the names to take, one a line; empty: all
  int64_t limit = 0;                     // those with the smallest digests; 0: all
  bool skip_bad = false;                 // leaves out pictures that cannot be read, with a note each
  std::optional<RawFrames> frames = {};  // files of pictures are raw frames of a camera
};

// The name of the model's input `i`.
std::string input_name(const Model& model, size_t i);

// One sample outside of any session, as it is kept and handed on.

// The values of all inputs of a model, in memory of bytes() that outlives this.
class SampleBuffer {
 public:
  static size_t bytes(const Model& model);
  SampleBuffer(const Model& model, uint8_t* memory);

  Span<const TensorView> views() const { return {views_.data(), views_.size()}; }
  Span<const Span<const uint8_t>> inputs() const { return {inputs_.data(), inputs_.size()}; }

 private:
  std::vector<TensorView> views_;
  std::vector<Span<const uint8_t>> inputs_;
};

// Into a session's inputs, of the same types.
void fill_inputs(Session& session, Span<const Span<const uint8_t>> inputs);

// The pictures or arrays that a tool is given, as inputs of a model.

// A sample holds every input of a model, each from a folder or an array of its own; the first one names it.
// They are paired in the order of their names.
class Samples {
 public:
  // The model outlives this. What the user should know is told as notes. No places: no samples.
  static Outcome<Samples> open(const SampleChoice& choice, const LoadedModel& file, const Work& work);

  size_t count() const { return sources_.empty() ? 0 : sources_[0].folder.count(); }
  const std::string& name(size_t i) const { return sources_[0].folder.name(i); }
  Outcome<Digest> digest(size_t i) const;
  // As the model's preprocessing wants it, one view an input.
  Outcome<Done> load(size_t i, Span<const TensorView> inputs) const;
  Outcome<Done> load(size_t i, const Session& session) const;
  // Whether the first input's samples have no names but their numbers.
  bool is_array() const { return sources_[0].folder.is_array(); }
  // Refuses an output that would stand in the place of a file of samples.
  Outcome<Done> check_output(const std::string& output) const;
  // Behind the values of its inputs each sample has these bytes, which load() writes into the inputs that follow.
  void follow_by(std::vector<std::vector<uint8_t>> states) { states_ = std::move(states); }
  // Whether the input's samples are pictures, not arrays of its values.
  bool holds_pictures(size_t input) const {
    return input < sources_.size() && sources_[input].folder.holds_pictures();
  }
  // Where the input's samples are; empty: a state, which has none.
  std::string path(size_t input) const {
    return input < sources_.size() ? sources_[input].folder.path() : "";
  }
  // Whether they are numbers in the input's own unit: neither pictures nor codes.
  bool holds_values(size_t input) const {
    return input < sources_.size() && sources_[input].folder.holds_values();
  }
  // One input of a sample alone.
  Outcome<Done> load_input(size_t i, size_t input, const TensorView& view) const {
    return sources_[input].folder.load(i, view, recipe(input));
  }
  // nullptr: the input has none.
  const ImageInput* recipe(size_t input) const {
    return input < sources_.size() && sources_[input].recipe ? &*sources_[input].recipe : nullptr;
  }

 private:
  struct Source {
    ImageFolder folder;
    std::optional<ImageInput> recipe;
  };

  Outcome<Done> check_pictures(const LoadedModel& file) const;
  Outcome<Done> check_pairs(const Model& model) const;
  Outcome<Done> leave_out_bad(const Model& model, const Work& work);
  void keep(const std::vector<size_t>& places);

  std::vector<Source> sources_;               // one an input
  std::vector<std::vector<uint8_t>> states_;  // of each sample; empty: nothing follows
};

}  // namespace intaglio::tools
