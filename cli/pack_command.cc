// intaglio pack: weights packed beforehand for one instruction set.
#include "calibrator/bake/pack_model.h"
#include "calibrator/host/system/host_arena.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/whole_model.h"
#include "tools/loaded_model.h"

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
  const auto isa = isa_up_to(arguments.isa);
  if (!isa) return Failure{"--isa: " + isa.message()};
  const OutputFile output(arguments.output);
  if (auto path = check_model_output(arguments.output, arguments.model); !path) return path.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  if (const auto whole = check_whole(*file); !whole) return whole.failure();
  HostArena memory;
  const auto packed = pack_model(file->model(), all_ops(), *isa, memory.arena());
  if (!packed) return file->failure(packed.error());
  const auto reopened = Model::open(*packed);
  if (!reopened) return file->failure(reopened.error());
  int32_t nodes = 0;
  size_t bytes = 0;
  for (int32_t n = 0; n < reopened->node_count(); ++n) {
    const PackInfo pack = reopened->pack(n);
    nodes += pack.data.empty() ? 0 : 1;
    bytes += pack.data.size;
  }
  if (nodes == 0)
    return Failure{arguments.model + ": holds no int8 weights that a kernel of " + arguments.isa +
                   " packs; there is nothing to do"};
  if (auto written = output.write(*packed); !written) return written.failure();
  if (arguments.json) {
    print_json({{"bytes", packed->size}, {"packed_bytes", bytes}, {"nodes", nodes}, {"isa", arguments.isa}});
    return Done{};
  }
  print("%s: %s bytes\n", safe(arguments.output).c_str(), grouped(packed->size).c_str());
  print("  packed  %s bytes of %d nodes for %s\n", grouped(bytes).c_str(), nodes, arguments.isa.c_str());
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
