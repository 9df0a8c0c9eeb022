// intaglio export-c: a model as sources of a firmware project.
#include <filesystem>

#include "cli/command.h"
#include "cli/output.h"
#include "tools/export_c.h"

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

Outcome<Done> run_export(const ExportArguments& arguments) {
  const auto target = find_target(arguments.target);
  if (!target) return target.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const ExportCChoice choice{*target, arguments.prefix, arguments.frame, arguments.planned};
  const auto made = export_c(*file, choice);
  if (!made) return made.failure();
  const auto sources = write_sources(arguments.folder, choice, made->files, Work(listener()));
  if (!sources) return sources.failure();
  if (arguments.json) {
    print_json(json_of(*made, choice, *sources));
    return Done{};
  }
  const std::string source = std::filesystem::path(arguments.model).filename().string();
  print("%s: %s for %s%s\n", safe(arguments.folder).c_str(), safe(source).c_str(), target->name.c_str(),
        arguments.planned ? ", planned" : "");
  print("  flash   model %s bytes", grouped(made->model_bytes).c_str());
  if (made->plan_bytes) print(", plan %s", grouped(*made->plan_bytes).c_str());
  print("\n");
  print("  memory  %s bytes: %s persistent, %s activations, %s scratch\n",
        grouped(made->needs.total()).c_str(), grouped(made->needs.persistent_bytes).c_str(),
        grouped(made->needs.activation_bytes).c_str(), grouped(made->needs.scratch_bytes).c_str());
  if (made->fast_bytes > 0)
    print("  fast    %s bytes of activations in a memory of their own\n", grouped(made->fast_bytes).c_str());
  if (made->frame)
    print("  frame   %s, %s bytes of scratch\n", frame_text(made->frame->info).c_str(),
          grouped(made->frame->scratch_bytes).c_str());
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
           "fast_bytes, persistent_bytes, activation_bytes, scratch_bytes, frame_scratch_bytes}");
  return make_command(app, arguments, run_export);
}

}  // namespace intaglio::cli
