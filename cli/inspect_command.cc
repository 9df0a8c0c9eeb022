// intaglio inspect: what a model file holds and what it needs.
#include "cli/command.h"
#include "cli/inspection.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "intaglio/streaming.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {
namespace {

constexpr const char* kInspectFooter =
    "Sizes are in bytes.\n"
    "  arena        the memory of activations, as planned in the file. Its lower bound is the largest set of tensors\n"
    "               alive at once\n"
    "  session      the memory that running the model needs. It is exact: one byte less is refused\n"
    "  safe pairs   weights whose products AVX2 cannot saturate. They run at full speed, the others at half of it.\n"
    "               3 x 3 layers that AVX2 computes by Winograd's tiles do not depend on them\n\n"
    "Examples:\n"
    "  intaglio inspect net.int8.itg\n"
    "  intaglio inspect net.int8.itg --target x86-avx2 --threads 4 --json\n"
    "  intaglio inspect net.itg --dot | dot -Tsvg -o net.svg";

Outcome<SessionReport> measure_session(const InspectArguments& arguments, const Model& model) {
  SessionReport report;
  const int32_t threads = arguments.execution.threads;
  report.threads = threads;
  ExecutionOptions serial = arguments.execution;
  serial.threads = 1;
  const auto of_this_cpu = session_options(serial);
  if (!of_this_cpu) return of_this_cpu.failure();
  SessionOptions options = *of_this_cpu;
  const OpList ops = ops_of(arguments.execution);
  // Only sized, never called.
  options.executor.width = threads;
  if (threads > 1) options.executor.parallel_for = [](void*, int32_t, void (*)(void*, int32_t), void*) {};
  report.target = arguments.target;
  if (arguments.target.empty())
    report.target =
        "this CPU" + (arguments.execution.isa.empty() ? "" : ", no more than " + arguments.execution.isa);
  if (!arguments.target.empty()) {
    const auto found = find_target(arguments.target);
    if (!found) return found.failure();
    options.isa = found->isa;
    if (threads == 1) {
      const auto planned = measure_planned(model, found->plan_target());
      if (planned) report.planned_bytes = planned->total();
    }
  }
  const auto needs = Session::measure(model, ops, options, arguments.target.empty());
  if (const auto streamed = stream_rows(model); streamed && model.has_streamed_plan()) {
    const auto by_rows = Session::measure(*streamed, ops, options, arguments.target.empty());
    if (by_rows) report.streamed_bytes = by_rows->total();
  }
  if (needs) {
    report.needs = *needs;
  } else {
    report.problem = error_text(needs.error(), &model);
  }
  return report;
}

Outcome<Done> run_inspect(const InspectArguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto session = measure_session(arguments, file->model());
  if (!session) return session.failure();
  if (arguments.dot) {
    print_dot(file->model());
  } else if (arguments.json) {
    print_json(inspection_json(arguments, *file, *session));
  } else {
    print_inspection(arguments, *file, *session);
  }
  if (!session->problem.empty()) return Failure{arguments.model + ": cannot be run: " + session->problem};
  return Done{};
}

}  // namespace

Command add_inspect_command(CLI::App& parent) {
  const auto arguments = std::make_shared<InspectArguments>();
  CLI::App* app =
      add_subcommand(parent, "inspect", "show what a model file holds and what it needs", kInspectFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_flag(*app, "--ops", arguments->ops, "list the nodes");
  add_flag(*app, "--plan", arguments->plan, "show where each activation lies in the arena, and when");
  add_flag(*app, "--quant", arguments->quant, "list scales and zero points");
  add_option(*app, "--target", arguments->target,
             "show what a session needs on this target: " + target_names())
      .checked(readable_by(find_target))
      .type_name("NAME");
  add_isa_option(*app, arguments->execution);
  add_compact_option(*app, arguments->execution);
  add_option(*app, "--threads", arguments->execution.threads,
             "show what a session needs with so many threads")
      .range(1, Executor::kMaxWidth)
      .type_name("N")
      .show_default();
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {format_version, nodes, weight_bytes, arena_bytes, "
      "arena_lower_bound, left_out_channels, streamed, inputs, outputs, session, calibration, preprocessing}");
  add_flag(*app, "--dot", arguments->dot, "print the graph in Graphviz' language");
  return make_command(app, arguments, run_inspect);
}

}  // namespace intaglio::cli
