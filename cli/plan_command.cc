// intaglio plan: where a model's activations stand.
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "tools/model_file.h"

namespace intaglio::cli {
namespace {

struct PlanArguments {
  std::string model, output, memory = "least";
  int64_t ceiling = -1;  // the file's own
  bool feeds_rows = false, json = false;
};

constexpr const char* kPlanFooter =
    "A streamed plan runs segments of layers a few rows at a time. The tensors between them stand in line buffers, so\n"
    "that activations need less memory than the largest layers. Nothing is computed twice, and outputs are the same\n"
    "bytes. A layer may also run alone, a few rows at a time, and overwrite rows of its input that it has read: that costs\n"
    "little time. The file keeps the flat plan too: 'run --streamed', 'bench --streamed' and 'export-c' use the streamed\n"
    "one.\n\n"
    "--memory says how much the activations may take:\n"
    "  least   as little as can be\n"
    "  BYTES   at most so many, by rows only where it is needed, in as few steps as that allows\n"
    "  flat    layer by layer: the file has no streamed plan\n"
    "  fast=BYTES,slow=BYTES\n"
    "          two memories, e.g. a core's own and one behind a bus: what is read most lies in the fast one, by rows only\n"
    "          where it is needed. K and M behind a number are 2^10 and 2^20. export-c's program takes both\n\n"
    "--feed-rows is for a camera that gives its picture line by line (Session::feed_rows): there is no memory for all of\n"
    "it. Commands that have the whole picture give it a place beside the others.\n\n"
    "Example:\n"
    "  intaglio plan net.int8.itg -o net.small.itg --memory 150000";

Outcome<Done> run_plan(const PlanArguments& arguments) {
  auto goal = memory_goal(arguments.memory);
  if (!goal) return goal.failure();
  goal->feeds_rows = arguments.feeds_rows;
  const OutputFile output(arguments.output);
  if (auto path = check_model_output(arguments.output, arguments.model); !path) return path.failure();
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  PlanChoice choice{*goal, {}};
  if (arguments.ceiling >= 0) choice.ceiling = static_cast<uint32_t>(arguments.ceiling);
  const auto planned = plan_memory(*file, choice, Work(listener()));
  if (!planned) return planned.failure();
  if (auto written = output.write(planned->bytes.span()); !written) return written.failure();
  if (arguments.json) {
    print_json(json_of(*planned));
    return Done{};
  }
  const size_t by_rows = planned->by_rows.activation_bytes;
  print("%s: %s bytes\n", safe(arguments.output).c_str(), grouped(planned->bytes.size()).c_str());
  print("  activations  %s bytes layer by layer", grouped(planned->flat_bytes).c_str());
  if (planned->by_rows.fast_bytes > 0)
    print("; in two memories%s %s in the fast one, %s in the other\n", by_rows > 0 ? ", by rows," : "",
          grouped(planned->by_rows.fast_bytes).c_str(), grouped(planned->by_rows.slow_bytes).c_str());
  else if (by_rows > 0)
    print(", %s by rows\n", grouped(by_rows).c_str());
  else
    print(goal->flat ? "\n" : "; rows would save nothing (only int8 layers run by rows)\n");
  return Done{};
}

}  // namespace

Command add_plan_command(CLI::App& parent) {
  const auto arguments = std::make_shared<PlanArguments>();
  CLI::App* app = add_subcommand(parent, "plan", "run layers by rows, to take less memory", kPlanFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_option(*app, "-o,--output", arguments->output, "the file to write").required().type_name("NET.itg");
  add_memory_option(*app, arguments->memory);
  add_ceiling_option(*app, arguments->ceiling);
  add_flag(*app, "--feed-rows", arguments->feeds_rows,
           "the model's first input comes row by row: it has a line buffer, too, where that saves memory");
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {bytes, arena_bytes, streamed_bytes, fast_bytes, slow_bytes, feeds_rows}");
  return make_command(app, arguments, run_plan);
}

}  // namespace intaglio::cli
