#include "tools/known_params.h"

#include "calibrator/host/calibration_facts.h"
#include "calibrator/host/system/wording.h"
#include "tools/calibration_figures.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {
namespace {

constexpr size_t kMostNames = 20;
constexpr uint64_t kMaxMapBytes = uint64_t{1} << 24;

// The first names, and how many more there are.
std::string listed(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) text += (i == 0 ? "" : between) + names[i];
  if (names.size() > kMostNames)
    text += between + ("and " + std::to_string(names.size() - kMostNames) + " more");
  return text;
}

struct Bytes {
  std::vector<uint8_t> bytes;
  static bool write(void* context, Span<const uint8_t> bytes) {
    static_cast<Bytes*>(context)->bytes.assign(bytes.begin(), bytes.end());
    return true;
  }
};

Outcome<Done> finish_params(const LoadedModel& file, const CalibratorOptions& options,
                            const ModelSink& sink) {
  const auto needs = Calibrator::measure(file.model(), options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(file.model(), {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  const Error error = calibrator->finish(sink);
  return error.ok() ? Outcome<Done>(Done{}) : file.failure(error);
}

// What a model says of its options, less the word that its parameters were known.
std::string options_of(const std::vector<uint8_t>& bytes) {
  FileBytes aligned(bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.data());
  const auto model = Model::open(aligned.span());
  if (!model) return "";
  std::string text = model->calibration().options;
  const std::string known = ", known parameters";
  if (const size_t at = text.find(known); at != std::string::npos) text.erase(at, known.size());
  return text;
}

}  // namespace

std::string params_format_names(bool written) {
  std::string names;
  for (int32_t i = 0; i < kParamsFormatCount; ++i) {
    const auto format = static_cast<ParamsFormat>(i);
    if (written && format == ParamsFormat::kModel) continue;
    names += (names.empty() ? "" : ", ") + std::string(params_format_name(format));
  }
  return names;
}

Outcome<ParamsFormat> params_format(const std::string& name, const std::string& path) {
  for (int32_t i = 0; i < kParamsFormatCount; ++i)
    if (name == params_format_name(static_cast<ParamsFormat>(i))) return static_cast<ParamsFormat>(i);
  if (!name.empty())
    return Failure{"'" + name + "' is no format of parameters; there are " + params_format_names()};
  if (const auto format = params_format_of(path)) return *format;
  return Failure{path +
                 ": its name does not tell its format; give it with --format (calibrate: --params-format): " +
                 params_format_names()};
}

Outcome<ParamsFormat> params_format_of_file(const ParamsChoice& choice) {
  if (const auto file = open_regular_file(choice.file, UINT64_MAX); !file) return file.failure();
  return params_format(choice.format, choice.file);
}

Outcome<ParamsTable> read_named_params(const ParamsChoice& choice, ParamsNameMap* names) {
  const auto format = params_format_of_file(choice);
  if (!format) return format.failure();
  auto table = read_params(choice.file, *format);
  if (!table || choice.map.empty()) return table;
  const auto text = read_file(choice.map, kMaxMapBytes);
  if (!text) return text.failure();
  auto map = read_name_map(choice.map, {reinterpret_cast<const char*>(text->data()), text->size()});
  if (!map) return map.failure();
  rename_entries(*table, *map, choice.map);
  if (names != nullptr) *names = std::move(*map);
  return table;
}

Outcome<Done> KnownParamsFile::read(const ParamsChoice& choice, const LoadedModel& file, const Work& work) {
  if (choice.file.empty()) return Done{};
  path_ = choice.file;
  ParamsNameMap names;
  auto table = read_named_params(choice, &names);
  if (!table) return table.failure();
  table_ = std::move(*table);
  auto resolved = resolve_params(table_, file.model(), path_);
  if (!resolved) return resolved.failure();
  resolved_ = std::move(*resolved);
  for (const std::string& note : table_.notes) work.note(note);
  for (const std::string& note : resolved_.notes) work.note(note);
  if (!table_.pruned.empty())
    work.note(path_ + ": its prune_record is not applied here; " + tool_word("params prune") +
              " does that first");
  std::vector<std::string> unknown;
  for (size_t i = 0; i < resolved_.unknown.size(); ++i) {
    const std::string& name = resolved_.unknown[i];
    for (const auto& [from, to] : names)
      if (to == name)
        return Failure{choice.map + ": " + from + " is called " + name + ", which is not in " + file.path() +
                       "; nearest: " + resolved_.nearest[i]};
    unknown.push_back(name +
                      (resolved_.nearest[i].empty() ? "" : " (nearest: " + resolved_.nearest[i] + ")"));
  }
  if (!unknown.empty())
    work.note(path_ + ": " + std::to_string(unknown.size()) + " names are not in " + file.path() +
              " and are ignored; " + option_word("map") +
              " says what they are called there: " + listed(unknown, ", "));
  return Done{};
}

Outcome<Done> KnownParamsFile::check_complete(const LoadedModel& file,
                                              const CalibratorOptions& options) const {
  const auto missing = missing_params(file.model(), options);
  if (!missing) return missing.failure();
  if (missing->empty()) return Done{};
  std::vector<std::string> names;
  for (const int32_t tensor : *missing) names.emplace_back(file.model().tensor(tensor).name);
  return Failure{
      path_ + ": has no parameters for " + std::to_string(names.size()) + " tensors of " + file.path() +
      ":\n  " + listed(names, "\n  ") + "\nadd them, keep their nodes in FP32 (" + option_word("keep-float") +
      "), or let pictures give their ranges (" +
      (wording_here() == Wording::kPython ? "batches" : "intaglio calibrate --params FILE --images DIR") +
      ")"};
}

Outcome<BakedParams> KnownParamsFile::bake(const LoadedModel& file, CalibratorOptions options,
                                           const Work& work, const MemoryGoal& goal,
                                           const WriteModel& write) const {
  options.recover = recovery::kNone;
  options.layer_report = false;
  set(options);
  if (auto step = check_complete(file, options); !step) return step.failure();
  Bytes made;
  if (auto step = finish_params(file, options, {Bytes::write, &made}); !step) return step.failure();
  const CalibrationInfo info = table_.provenance ? table_.provenance->info() : CalibrationInfo();
  if (table_.provenance) {
    const std::string own = options_of(made.bytes);
    if (own == table_.provenance->options) {
      options.provenance = &info;
    } else {
      work.note("the parameters were calibrated with '" + table_.provenance->options +
                "', and this call has '" + own +
                "': the int8 model does not name the first calibration as its origin");
    }
  }
  FinishedModel finished(goal, write);
  if (auto step = finish_params(file, options, finished.sink()); !step)
    return finished.problem().empty() ? step.failure() : Failure{finished.problem()};
  BakedParams baked;
  baked.activations = resolved_.activations;
  baked.weight_layers = resolved_.weight_layers;
  baked.unknown = resolved_.unknown.size();
  baked.sha256 = finished.sha256();
  baked.bytes = finished.take_bytes();
  return baked;
}

Json json_of(const BakedParams& baked) {
  return {{"activations", baked.activations},
          {"weight_layers", baked.weight_layers},
          {"unknown", baked.unknown},
          {"sha256", baked.sha256}};
}

}  // namespace intaglio::tools
