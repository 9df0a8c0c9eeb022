#include "tools/export_c.h"

#include <cctype>
#include <filesystem>

#include "calibrator/host/system/wording.h"
#include "intaglio/streaming.h"
#include "intaglio/two_memories.h"
#include "runtime/crc32.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio::tools {
namespace {

namespace fs = std::filesystem;

// The answer that the self-test must find: the scalar kernels define it. `fed`: the first input comes by rows, behind the others.
Outcome<uint32_t> golden_crc(const LoadedModel& file, bool fed) {
  SessionOptions options;
  options.isa = isa::kScalar;
  auto session = LoadedSession::create(file, options);
  if (!session) return session.failure();
  const Model& model = file.model();
  SelfTestBytes bytes;
  for (int32_t i = fed ? 1 : 0; i < static_cast<int32_t>(model.inputs().size); ++i) {
    const TensorView input = (*session)->input(i);
    if (input.info.dtype == DType::kF32) {
      for (float& value : input.as<float>())
        value = static_cast<float>(static_cast<int32_t>(bytes.next()) - 128) / 128.0f;
    } else {
      auto* const codes = static_cast<uint8_t*>(input.data);
      for (size_t b = 0; b < input.info.bytes(); ++b) codes[b] = bytes.next();
    }
  }
  if (fed) {
    const TensorInfo picture = model.tensor(model.inputs()[0]);
    std::vector<uint8_t> rows(picture.bytes());
    for (uint8_t& byte : rows) byte = bytes.next();
    (*session)->feed_rows(rows.data(), picture.shape[1]);
  } else {
    (*session)->run();
  }
  uint32_t crc = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(model.outputs().size); ++i) {
    const TensorView output = (*session)->output(i);
    crc = crc32(crc, static_cast<const uint8_t*>(output.data), output.info.bytes());
  }
  return crc;
}

enum class WhatStandsThere : uint8_t { kOurs, kOfAnotherModel, kSomebodys };

// Says whose file an export would replace. A file of another model, with another prefix, was exported, too.
Outcome<WhatStandsThere> look_at_target(const std::string& path, const std::string& prefix) {
  std::error_code error;
  const auto kind = fs::status(path, error).type();
  if (kind == fs::file_type::not_found) return WhatStandsThere::kOurs;
  if (kind != fs::file_type::regular) return WhatStandsThere::kSomebodys;
  if (fs::file_size(path, error) == 0) return WhatStandsThere::kOurs;
  const auto file = read_file(path, UINT64_MAX);
  if (!file) return file.failure();
  const std::string text(reinterpret_cast<const char*>(file->data()), file->size());
  if (!is_as_exported(text)) return WhatStandsThere::kSomebodys;
  return text.find(prefix + "_model") == std::string::npos ? WhatStandsThere::kOfAnotherModel
                                                           : WhatStandsThere::kOurs;
}

// The frame that the sample takes: the one that is named, or one of the size and colours of a model's picture. None where the first
// input is no picture, or several at once.
Outcome<std::optional<ModelFrame>> sample_frame(const LoadedModel& file, const std::string& named) {
  const Model& model = file.model();
  if (!named.empty()) {
    const auto frame = frame_of(named);
    if (!frame) return frame.failure();
    auto measured = frame_for(model, *frame);
    if (!measured) return Failure{file.path() + ": " + measured.failure().message};
    if (model.image(0).input != 0)
      return Failure{file.path() + ": its first input is no picture; leave out " + option_word("frame")};
    return std::optional<ModelFrame>(*measured);
  }
  const ImageInput recipe = model.image(0);
  const Shape shape = model.inputs().empty() ? Shape() : model.tensor(model.inputs()[0]).shape;
  if (recipe.channels == 0 || recipe.input != 0 || shape.rank != 4) return std::optional<ModelFrame>();
  const PixelOrder orders[] = {PixelOrder::kRgb, PixelOrder::kBgr, PixelOrder::kGray};
  const auto own = frame_for(model, {shape[2], shape[1], orders[static_cast<size_t>(recipe.color)]});
  return own ? std::optional<ModelFrame>(*own) : std::optional<ModelFrame>();
}

}  // namespace

Outcome<Done> check_prefix(const std::string& name) {
  bool identifier = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  std::string capitals;
  for (const char c : name) {
    identifier &= std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    capitals += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  const std::string what = option_word("prefix", name) + ": ";
  if (!identifier) return Failure{what + "is no C identifier; use letters, digits and _"};
  if (capitals == "ITG" || capitals.rfind("ITG_", 0) == 0)
    return Failure{what + "names that begin with itg_ are the library's own; take another, e.g. net"};
  if (name.front() == '_' || name.back() == '_' || name.find("__") != std::string::npos)
    return Failure{what + "names with _ at an end, or __, are the compiler's own; take another, e.g. net"};
  return Done{};
}

Outcome<ExportedC> export_c(const LoadedModel& file, const ExportCChoice& choice) {
  if (auto step = check_prefix(choice.prefix); !step) return step.failure();
  const Model& model = file.model();
  SessionOptions options;
  options.isa = choice.target.isa;
  const Result<Model> by_rows = stream_rows(model);
  if (!by_rows) return file.failure(by_rows.error());
  const size_t fast_bytes = by_rows->fast_bytes();
  auto needs = fast_bytes > 0 ? TwoMemories::measure_anywhere(*by_rows, all_ops(), options, false)
                              : Session::measure_anywhere(*by_rows, all_ops(), options, false);
  if (!needs) return file.failure(needs.error());
  ModelPlan plan;
  if (choice.planned) {
    auto made = plan_model(model, choice.target.plan_target());
    if (!made) return file.failure(made.error());
    plan = std::move(*made);
    std::vector<const OpRun*> runs;
    *needs = TwoMemories::measure(plan.planned(model, runs));
  }
  const size_t all = needs->total() + fast_bytes;
  if (const uint32_t ceiling = model.memory_ceiling(); ceiling != 0 && all > ceiling)
    return file.failure({Status::kAboveCeiling, -1, -1, static_cast<int64_t>(all), int64_t{ceiling}});
  const bool fed = StreamedModel::feeding_segment(*by_rows).count != 0;
  const auto frame = sample_frame(file, choice.frame);
  if (!frame) return frame.failure();
  const auto golden = golden_crc(file, fed);
  if (!golden) return golden.failure();

  ExportedModel exported;
  exported.model = &model;
  exported.target = choice.target;
  exported.needs = *needs;
  exported.fast_bytes = fast_bytes;
  if (choice.planned) exported.plan = &plan;
  exported.prefix = choice.prefix;
  exported.source = fs::path(file.path()).filename().string();
  exported.golden = *golden;
  exported.fed = fed;
  exported.frame = *frame;
  ExportedC made{exported_files(exported), *needs, fast_bytes, model.bytes().size, {}, *frame};
  if (choice.planned) made.plan_bytes = plan.nodes.size() * sizeof(PlannedNode) + plan.prepared.size();
  return made;
}

Outcome<WrittenSources> write_sources(const std::string& folder, const ExportCChoice& choice,
                                      const std::vector<TextFile>& files, const Work& work,
                                      const std::string& option) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error))
    return Failure{folder + ": is no folder and could not be made; name another with " + option};
  WrittenSources names;
  std::vector<NewFile> changed;
  for (const TextFile& part : files) {
    const OutputFile file((fs::path(folder) / part.name).string());
    const std::string& path = file.path();
    const auto there = look_at_target(path, choice.prefix);
    if (!there) return there.failure();
    if (*there == WhatStandsThere::kOfAnotherModel && part.is_beginning)
      work.note(path + ": was of another model, and is of " + choice.prefix +
                " now; name a folder for each with " + option + " to build both");
    if (*there != WhatStandsThere::kSomebodys) {
      names.written.push_back(part.name);
      changed.push_back({file, {reinterpret_cast<const uint8_t*>(part.text.data()), part.text.size()}});
    } else if (part.is_beginning) {
      names.kept.push_back(part.name);
      work.note(path + ": was changed, or is not of export-c, and stays as it is");
    } else {
      return Failure{
          path +
          ": was changed since export-c wrote it, or is not of export-c, and would be lost; move or "
          "remove it, or name another folder with " +
          option};
    }
  }
  if (auto step = write_files_together({changed.data(), changed.size()}); !step) return step.failure();
  return names;
}

Json json_of(const ExportedC& made, const ExportCChoice& choice, const WrittenSources& sources) {
  const SessionNeeds& needs = made.needs;
  return {{"target", choice.target.name},
          {"files", json_lines(sources.written)},
          {"kept", json_lines(sources.kept)},
          {"model_bytes", made.model_bytes},
          {"plan_bytes", made.plan_bytes ? Json(*made.plan_bytes) : Json(nullptr)},
          {"memory_bytes", needs.total()},
          {"fast_bytes", made.fast_bytes},
          {"persistent_bytes", needs.persistent_bytes},
          {"activation_bytes", needs.activation_bytes},
          {"scratch_bytes", needs.scratch_bytes},
          {"frame_scratch_bytes", made.frame ? Json(made.frame->scratch_bytes) : Json(nullptr)}};
}

}  // namespace intaglio::tools
