// intaglio merge: what was observed in several places as one file.
#include "cli/command.h"
#include "cli/output.h"
#include "tools/observed_samples.h"

namespace intaglio::cli {
namespace {

using namespace tools;

struct MergeArguments {
  std::vector<std::string> states;
  std::string output;
  bool json = false;
};

constexpr const char* kMergeFooter =
    "The order of the files does not matter, and a merged file can be merged again. The result is what one\n"
    "'intaglio observe' of all samples writes.\n\n"
    "Example:\n"
    "  intaglio merge device*.itgcal -o all.itgcal";

Outcome<Done> run_merge(const MergeArguments& arguments) {
  const OutputFile output(arguments.output);
  Work work(listener());
  StateSum sum;
  for (const std::string& path : arguments.states) {
    if (auto step = check_output_path(arguments.output, path); !step) return step;
    work.show("merging", sum.states(), arguments.states.size());
    if (auto step = sum.add_file(path); !step) return step;
  }
  work.clear();
  const FileBytes merged = sum.save();
  if (auto step = output.write(merged.span()); !step) return step;
  if (arguments.json)
    print_json({{"states", sum.states()}, {"samples", sum.samples()}, {"bytes", merged.size()}});
  else
    print("%s: %u samples of %zu states, %s bytes\n", safe(arguments.output).c_str(), sum.samples(),
          sum.states(), grouped(merged.size()).c_str());
  return Done{};
}

}  // namespace

Command add_merge_command(CLI::App& parent) {
  const auto arguments = std::make_shared<MergeArguments>();
  CLI::App* app =
      add_subcommand(parent, "merge", "add up what 'intaglio observe' wrote in several places", kMergeFooter);
  add_option(*app, "states", arguments->states, "files of 'intaglio observe', of one model")
      .required()
      .type_name("S.itgcal...");
  add_option(*app, "-o,--output", arguments->output, "the file to write").required().type_name("ALL.itgcal");
  add_flag(*app, "--json", arguments->json, "print one JSON object: {states, samples, bytes}");
  return make_command(app, arguments, run_merge);
}

}  // namespace intaglio::cli
