// intaglio verify: whether a model file is whole, safe and steady.
#include "cli/command.h"
#include "cli/output.h"
#include "tools/model_file.h"

namespace intaglio::cli {
namespace {

struct VerifyArguments {
  std::string model;
  bool json = false;
};

constexpr const char* kVerifyFooter =
    "Makes every check of the file and of its nodes. Then runs the model twice on zeros, the second time in memory that\n"
    "is full of other bytes. Both runs must give the same outputs, and so must a streamed plan.\n\n"
    "Example:\n"
    "  intaglio verify net.int8.itg";

Outcome<Done> run_verify(const VerifyArguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto found = verify(*file);
  if (!found) return found.failure();
  if (arguments.json) {
    print_json(json_of(*found, *file));
    return Done{};
  }
  const Model& model = file->model();
  print("%s: good\n", safe(arguments.model).c_str());
  print("  structure   %s bytes, format %u, checksum, %d tensors with names of their own\n",
        grouped(file->file_bytes()).c_str(), static_cast<unsigned>(model.format_version()),
        model.tensor_count());
  print("  memory      plan of %s bytes, nothing overlaps\n", grouped(model.activation_bytes()).c_str());
  if (found->is_streamed) print("  by rows     streamed plan proved; it gives the same outputs\n");
  print("  operators   %d nodes checked, each by its operator\n", model.node_count());
  if (found->pack_bytes > 0)
    print("  packs       %s bytes are what the weights give\n", grouped(found->pack_bytes).c_str());
  print("  run         twice on zeros with equal outputs\n");
  return Done{};
}

}  // namespace

Command add_verify_command(CLI::App& parent) {
  const auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* app =
      add_subcommand(parent, "verify", "check whether a model file is whole and can be run", kVerifyFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {good, bytes, format_version, nodes, tensors, arena_bytes, streamed, pack_bytes}. Of a "
      "bad file there is none, and the exit code is 1");
  return make_command(app, arguments, run_verify);
}

}  // namespace intaglio::cli
