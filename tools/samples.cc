#include "tools/samples.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "calibrator/host/system/wording.h"
#include "importers/import.h"
#include "tools/text.h"

namespace intaglio::tools {

std::string input_name(const Model& model, size_t i) { return model.tensor(model.inputs()[i]).name; }

namespace {

size_t aligned(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

}  // namespace

size_t SampleBuffer::bytes(const Model& model) {
  size_t bytes = 0;
  for (const int32_t input : model.inputs()) bytes += aligned(model.tensor(input).bytes());
  return bytes;
}

SampleBuffer::SampleBuffer(const Model& model, uint8_t* memory) {
  for (const int32_t input : model.inputs()) {
    TensorView view;
    view.info = model.tensor(input);
    view.data = memory;
    views_.push_back(view);
    inputs_.push_back({memory, view.info.bytes()});
    memory += aligned(view.info.bytes());
  }
}

void fill_inputs(Session& session, Span<const Span<const uint8_t>> inputs) {
  for (size_t j = 0; j < inputs.size; ++j)
    std::memcpy(session.input(static_cast<int32_t>(j)).data, inputs[j].data, inputs[j].size);
}

namespace {

std::string without_ending(const std::string& name) { return std::filesystem::path(name).stem().string(); }

}  // namespace

Outcome<Samples> Samples::open(const SampleChoice& choice, const LoadedModel& file, const Work& work) {
  const Model& model = file.model();
  SampleOptions options;
  options.only = choice.only;
  options.frames = choice.frames;
  if (choice.places.size() == 1) options.limit = choice.limit;
  Samples samples;
  if (choice.places.empty()) return samples;
  for (const SamplePlace& place : choice.places) {
    auto folder = ImageFolder::open(place, options);
    if (!folder) return folder.failure();
    samples.sources_.push_back({std::move(*folder), std::nullopt});
  }
  for (int32_t i = 0; i < model.image_count(); ++i)
    samples.sources_[static_cast<size_t>(model.image(i).input)].recipe = model.image(i);
  if (auto step = samples.check_pictures(file); !step) return step.failure();
  if (auto step = samples.check_pairs(model); !step) return step.failure();
  if (choice.places.size() > 1 && choice.limit > 0) {
    const auto places = smallest_digests(samples.count(), static_cast<size_t>(choice.limit),
                                         [&samples](size_t i) { return samples.digest(i); });
    if (!places) return places.failure();
    samples.keep(*places);
  }
  for (const Source& source : samples.sources_)
    for (const std::string& note : source.folder.notes()) work.note(note);
  if (choice.limit > static_cast<int64_t>(samples.count()))
    work.note(option_word("limit", std::to_string(choice.limit)) + ": there are only " +
              std::to_string(samples.count()) + " samples, and all are taken");
  if (choice.skip_bad && std::none_of(samples.sources_.begin(), samples.sources_.end(),
                                      [](const Source& s) { return s.folder.holds_pictures(); }))
    work.note(option_word("skip-bad") +
              ": arrays of values are read as a whole; it leaves out pictures alone");
  if (choice.skip_bad)
    if (auto step = samples.leave_out_bad(model, work); !step) return step.failure();
  return samples;
}

Outcome<Done> Samples::check_pictures(const LoadedModel& file) const {
  const Model& model = file.model();
  for (size_t j = 0; j < sources_.size(); ++j) {
    if (!sources_[j].folder.holds_pictures() || recipe(j) != nullptr) continue;
    const TensorInfo info = model.tensor(model.inputs()[j]);
    const std::string what = sources_[j].folder.path() + ": holds pictures, and the input '" +
                             std::string(info.name) + "' of " + file.path();
    const bool fits = info.shape.rank == 4 && (info.shape[3] == 1 || info.shape[3] == 3);
    if (!fits)
      return Failure{what + " takes " + shape_text(info.shape) +
                     "; pictures fill 1 x height x width x 1 or 3: give the samples as an .npy array"};
    return Failure{what + " has no preprocessing for pictures; import the network with " +
                   option_word("pixels", pixel_choices()) + ", as it was trained, or with " +
                   option_word("mean") + " and " + option_word("norm") +
                   (wording_here() == Wording::kPython ? "" : " (see 'intaglio import --help')") +
                   ", or give its values "
                   "as a float32 .npy array"};
  }
  return Done{};
}

Outcome<Done> Samples::check_pairs(const Model& model) const {
  for (size_t j = 1; j < sources_.size(); ++j) {
    const ImageFolder &first = sources_[0].folder, &other = sources_[j].folder;
    if (first.count() != other.count())
      return Failure{"the input " + input_name(model, 0) + " has " + std::to_string(first.count()) +
                     " samples, " + input_name(model, j) + " has " + std::to_string(other.count()) +
                     "; give each as many"};
    if (first.is_array() || other.is_array()) continue;
    for (size_t i = 0; i < first.count(); ++i)
      if (without_ending(first.name(i)) != without_ending(other.name(i)))
        return Failure{"sample " + first.name(i) + " of the input " + input_name(model, 0) +
                       " would go with " + other.name(i) + " of " + input_name(model, j) +
                       "; give what belongs together the same name"};
  }
  return Done{};
}

Outcome<Done> Samples::leave_out_bad(const Model& model, const Work& work) {
  FileBytes memory(SampleBuffer::bytes(model));
  const SampleBuffer buffer(model, memory.data());
  std::vector<size_t> good;
  std::string first;
  for (size_t i = 0; i < count(); ++i) {
    const auto loaded = load(i, buffer.views());
    if (loaded) {
      good.push_back(i);
      continue;
    }
    if (first.empty()) first = loaded.message();
    work.note("left out: " + loaded.message());
  }
  if (good.empty())
    return Failure{sources_[0].folder.path() + ": none of its samples can be read; the first one: " + first};
  keep(good);
  return Done{};
}

void Samples::keep(const std::vector<size_t>& places) {
  for (Source& source : sources_) source.folder.keep(places);
}

Outcome<Digest> Samples::digest(size_t i) const {
  if (sources_.size() == 1 && states_.empty()) return sources_[0].folder.digest(i);
  Sha256 hash;
  for (const Source& source : sources_) {
    const auto part = source.folder.digest(i);
    if (!part) return part.failure();
    hash.update(part->bytes, sizeof part->bytes);
  }
  if (!states_.empty()) hash.update(states_[i].data(), states_[i].size());
  return hash.finish();
}

Outcome<Done> Samples::load(size_t i, Span<const TensorView> inputs) const {
  for (size_t j = 0; j < sources_.size(); ++j)
    if (auto step = sources_[j].folder.load(i, inputs[j], recipe(j)); !step) return step;
  size_t at = 0;
  for (size_t j = sources_.size(); j < inputs.size; ++j) {
    std::memcpy(inputs[j].data, &states_[i][at], inputs[j].info.bytes());
    at += inputs[j].info.bytes();
  }
  return Done{};
}

Outcome<Done> Samples::load(size_t i, const Session& session) const {
  std::vector<TensorView> inputs;
  for (size_t j = 0; j < sources_.size(); ++j) inputs.push_back(session.input(static_cast<int32_t>(j)));
  return load(i, {inputs.data(), inputs.size()});
}

Outcome<Done> Samples::check_output(const std::string& output) const {
  for (const Source& source : sources_)
    if (auto step = check_output_path(output, source.folder.path()); !step) return step;
  return Done{};
}

}  // namespace intaglio::tools
