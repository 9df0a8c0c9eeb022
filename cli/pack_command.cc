// intaglio pack: weights packed beforehand for one instruction set.
#include "cli/command.h"
#include "cli/output.h"
#include "tools/model_file.h"

namespace intaglio::cli {
namespace {

struct PackArguments {
  std::string model, output, isa;
  bool json = false;
};

constexpr const char* kPackFooter =
    "Most kernels read weights in a layout of their own, and a session packs them when it starts. A packed file also\n"
    "holds the packed weights. A machine with this instruction set compares them with the plain ones, then uses them\n"
    "in place: map the file, and its pages are shared and never copied. Other machines ignore them. Results do not\n"
    "change. 'inspect' and 'bench' show what is used.\n\n"
    "Example:\n"
    "  intaglio pack net.int8.itg -o net.avx2.itg --isa avx2";

Outcome<Done> run_pack(const PackArguments& arguments) {
  const OutputFile output(arguments.output);
  if (auto path = check_model_output(arguments.output, arguments.model); !path) return path.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto packed = pack_weights(*file, arguments.isa);
  if (!packed) return packed.failure();
  if (auto written = output.write(packed->bytes.span()); !written) return written.failure();
  if (arguments.json) {
    print_json(json_of(*packed, arguments.isa));
    return Done{};
  }
  print("%s: %s bytes\n", safe(arguments.output).c_str(), grouped(packed->bytes.size()).c_str());
  print("  packed  %s bytes of %d nodes for %s\n", grouped(packed->packed_bytes).c_str(), packed->nodes,
        arguments.isa.c_str());
  return Done{};
}

}  // namespace

Command add_pack_command(CLI::App& parent) {
  const auto arguments = std::make_shared<PackArguments>();
  CLI::App* app =
      add_subcommand(parent, "pack", "store weights in the layout of one instruction set", kPackFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_option(*app, "-o,--output", arguments->output, "the file to write").required().type_name("NET.itg");
  add_option(*app, "--isa", arguments->isa, "the instruction set: " + isa_names())
      .required()
      .checked(readable_by(isa_up_to))
      .type_name("NAME");
  add_flag(*app, "--json", arguments->json, "print one JSON object: {bytes, packed_bytes, nodes, isa}");
  return make_command(app, arguments, run_pack);
}

}  // namespace intaglio::cli
