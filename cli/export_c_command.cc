// intaglio export-c: a model as sources of a firmware project.
#include <cctype>
#include <filesystem>

#include "cli/command.h"
#include "cli/export_c_files.h"
#include "cli/output.h"
#include "intaglio/streaming.h"
#include "runtime/crc32.h"
#include "runtime/streaming/streamed_model.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {
namespace {

struct ExportArguments {
  std::string model, folder, target = "scalar", prefix = "net", frame;
  bool planned = false, json = false;
};

constexpr const char* kExportCFooter =
    "The folder gets:\n"
    "  - the model as an aligned constant array, and its list of operators: no other operator is linked\n"
    "  - the exact memory of a session on the target, and of a camera's frames for a model that takes pictures\n"
    "  - helpers from reals to codes and back\n"
    "  - a self-test whose output was computed here, a sample main and a CMakeLists.txt\n"
    "A later export replaces these files where nobody changed them. A main.c or CMakeLists.txt that is yours stays as\n"
    "it is. Another file that was changed, and would be lost, is an error.\n\n"
    "Without --planned the device checks every byte of the model when it starts. Another model of the same operators may\n"
    "take its place, from a model store or from a calibration on the device.\n"
    "A model with a streamed plan ('intaglio plan') runs by rows, and the memory is that of this plan. Where it is fed by\n"
    "rows, the program calls itg_session_feed_rows() instead of itg_session_run().\n"
    "With --planned all checks are made here, and the session is a table of constants. About half of the code is not\n"
    "linked. The program runs these bytes alone, with the version of the library that exported them.\n\n"
    "Example:\n"
    "  intaglio export-c net.int8.itg -o firmware/net --target cortex-m55 --planned";

// Every exported name is PREFIX_..., and in capitals for macros: none of them may be the library's or the compiler's.
Outcome<Done> check_prefix(const std::string& name) {
  bool identifier = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char c : name) identifier &= std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  const std::string what = "--prefix " + name + ": ";
  if (!identifier) return Failure{what + "is no C identifier; use letters, digits and _"};
  const std::string capitals = upper(name);
  if (capitals == "ITG" || capitals.rfind("ITG_", 0) == 0)
    return Failure{what + "names that begin with itg_ are the library's own; take another, e.g. net"};
  if (name.front() == '_' || name.back() == '_' || name.find("__") != std::string::npos)
    return Failure{what + "names with _ at an end, or __, are the compiler's own; take another, e.g. net"};
  return Done{};
}

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
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return WhatStandsThere::kOurs;
  if (kind != std::filesystem::file_type::regular) return WhatStandsThere::kSomebodys;
  if (std::filesystem::file_size(path, error) == 0) return WhatStandsThere::kOurs;
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
      return Failure{file.path() + ": its first input is no picture; leave out --frame"};
    return std::optional<ModelFrame>(*measured);
  }
  const ImageInput recipe = model.image(0);
  const Shape shape = model.inputs().empty() ? Shape() : model.tensor(model.inputs()[0]).shape;
  if (recipe.channels == 0 || recipe.input != 0 || shape.rank != 4) return std::optional<ModelFrame>();
  const PixelOrder orders[] = {PixelOrder::kRgb, PixelOrder::kBgr, PixelOrder::kGray};
  const auto own = frame_for(model, {shape[2], shape[1], orders[static_cast<size_t>(recipe.color)]});
  return own ? std::optional<ModelFrame>(*own) : std::optional<ModelFrame>();
}

struct WrittenFiles {
  Json written = Json::array(), kept = Json::array();
};

// Looks at all files before the first is written. Only what nobody changed is replaced.
Outcome<WrittenFiles> write_files(const std::string& folder, const std::string& prefix,
                                  std::vector<TextFile> files) {
  WrittenFiles names;
  std::vector<TextFile> changed;
  std::vector<OutputFile> outputs;
  for (TextFile& part : files) {
    const std::string path = (std::filesystem::path(folder) / part.name).string();
    OutputFile file(path);
    const auto there = look_at_target(path, prefix);
    if (!there) return there.failure();
    if (*there == WhatStandsThere::kOfAnotherModel && part.is_beginning)
      print_note(path + ": was of another model, and is of " + prefix +
                 " now; name a folder for each with -o to build both");
    if (*there != WhatStandsThere::kSomebodys) {
      changed.push_back(std::move(part));
      outputs.push_back(std::move(file));
    } else if (part.is_beginning) {
      names.kept.push_back(safe(part.name));
      print_note(path + ": was changed, or is not of export-c, and stays as it is");
    } else {
      return Failure{
          path +
          ": was changed since export-c wrote it, or is not of export-c, and would be lost; move or "
          "remove it, or name another folder with -o"};
    }
  }
  std::vector<NewFile> written;
  for (size_t i = 0; i < changed.size(); ++i) {
    const std::string& text = changed[i].text;
    names.written.push_back(safe(changed[i].name));
    written.push_back({outputs[i], {reinterpret_cast<const uint8_t*>(text.data()), text.size()}});
  }
  if (auto step = write_files_together({written.data(), written.size()}); !step) return step.failure();
  return names;
}

Outcome<Done> run_export(const ExportArguments& arguments) {
  const auto target = find_target(arguments.target);
  if (!target) return target.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const Model& model = file->model();
  SessionOptions options;
  options.isa = target->isa;
  const Result<Model> by_rows = stream_rows(model);
  if (!by_rows) return file->failure(by_rows.error());
  auto needs = Session::measure_anywhere(*by_rows, all_ops(), options, false);
  if (!needs) return file->failure(needs.error());
  ModelPlan plan;
  if (arguments.planned) {
    auto made = plan_model(model, target->plan_target());
    if (!made) return file->failure(made.error());
    plan = std::move(*made);
    *needs = plan.needs;
  }
  if (const uint32_t ceiling = model.memory_ceiling(); ceiling != 0 && needs->total() > ceiling)
    return file->failure(
        {Status::kAboveCeiling, -1, -1, static_cast<int64_t>(needs->total()), int64_t{ceiling}});
  const bool fed = StreamedModel::feeding_segment(*by_rows).count != 0;
  const auto frame = sample_frame(*file, arguments.frame);
  if (!frame) return frame.failure();
  const auto golden = golden_crc(*file, fed);
  if (!golden) return golden.failure();

  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(arguments.folder, error);
  if (!fs::is_directory(arguments.folder, error))
    return Failure{arguments.folder + ": is no folder and could not be made; name another with -o"};
  ExportedModel exported;
  exported.model = &model;
  exported.target = *target;
  exported.needs = *needs;
  if (arguments.planned) exported.plan = &plan;
  exported.prefix = arguments.prefix;
  exported.source = fs::path(arguments.model).filename().string();
  exported.golden = *golden;
  exported.fed = fed;
  exported.frame = *frame;
  const auto names = write_files(arguments.folder, exported.prefix, exported_files(exported));
  if (!names) return names.failure();
  const size_t plan_bytes = plan.nodes.size() * sizeof(PlannedNode) + plan.prepared.size();
  if (arguments.json) {
    print_json({{"target", target->name},
                {"files", names->written},
                {"kept", names->kept},
                {"model_bytes", model.bytes().size},
                {"plan_bytes", arguments.planned ? Json(plan_bytes) : Json(nullptr)},
                {"memory_bytes", needs->total()},
                {"persistent_bytes", needs->persistent_bytes},
                {"activation_bytes", needs->activation_bytes},
                {"scratch_bytes", needs->scratch_bytes},
                {"frame_scratch_bytes", *frame ? Json((*frame)->scratch_bytes) : Json(nullptr)}});
    return Done{};
  }
  print("%s: %s for %s%s\n", safe(arguments.folder).c_str(), safe(exported.source).c_str(),
        target->name.c_str(), arguments.planned ? ", planned" : "");
  print("  flash   model %s bytes", grouped(model.bytes().size).c_str());
  if (arguments.planned) print(", plan %s", grouped(plan_bytes).c_str());
  print("\n");
  print("  memory  %s bytes: %s persistent, %s activations, %s scratch\n", grouped(needs->total()).c_str(),
        grouped(needs->persistent_bytes).c_str(), grouped(needs->activation_bytes).c_str(),
        grouped(needs->scratch_bytes).c_str());
  if (*frame)
    print("  frame   %s, %s bytes of scratch\n", frame_text((*frame)->info).c_str(),
          grouped((*frame)->scratch_bytes).c_str());
  return Done{};
}

}  // namespace

Command add_export_c_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ExportArguments>();
  CLI::App* app =
      add_subcommand(parent, "export-c", "write a model as C and C++ sources for firmware", kExportCFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_option(*app, "-o,--output", arguments->folder, "the folder to write").required().type_name("DIR");
  add_option(*app, "--target", arguments->target, "the machine that will run it: " + target_names())
      .checked(readable_by(find_target))
      .type_name("NAME")
      .show_default();
  add_flag(*app, "--planned", arguments->planned,
           "check and plan the session here. The program is smaller, and its model cannot be replaced");
  add_option(*app, "--prefix", arguments->prefix,
             "begin every name with this, so that several models fit one program")
      .checked(check_prefix)
      .type_name("NAME")
      .show_default();
  add_option(
      *app, "--frame", arguments->frame,
      "the camera's frames that main.c takes, e.g. 320x240:rgb565 (see 'inspect --help'); by default of the size and "
      "colours of the model's picture")
      .checked(readable_by(frame_of))
      .type_name("WxH:ORDER");
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {target, files, kept, model_bytes, plan_bytes, memory_bytes, "
           "persistent_bytes, activation_bytes, scratch_bytes, frame_scratch_bytes}");
  return make_command(app, arguments, run_export);
}

}  // namespace intaglio::cli
