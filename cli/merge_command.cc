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
    "Of three states and more it says how much farther the ranges of each are from the median than those of nine in ten,\n"
    "in octaves, and warns of more than two: other pictures, another preprocessing, or a device that is not to be trusted.\n\n"
    "Example:\n"
    "  intaglio merge device*.itgcal -o all.itgcal";

Outcome<Done> run_merge(const MergeArguments& arguments) {
  const OutputFile output(arguments.output);
  Work work(listener());
  ObservedSum sum;
  for (const std::string& path : arguments.states) {
    if (auto step = check_output_path(arguments.output, path); !step) return step;
    work.show("merging", sum.parts(), arguments.states.size());
    if (auto step = sum.add_file(path); !step) return step;
  }
  work.clear();
  const std::vector<StateSum::Place> places = sum.states().places();
  for (const StateSum::Place& place : places)
    if (place.is_outlier())
      work.warn(
          place.name + ": a range is " + decimal(place.octaves, 1) +
          " octaves farther from the median than those of nine in ten states; look at its samples, or merge without it");
  const auto merged = sum.save();
  if (!merged) return merged.failure();
  if (auto step = output.write(merged->span()); !step) return step;
  if (arguments.json) {
    Json rows = Json::array();
    for (const StateSum::Place& place : places)
      rows.push_back({{"name", safe(place.name)}, {"samples", place.samples}, {"octaves", place.octaves}});
    print_json({{"samples", sum.samples()}, {"bytes", merged->size()}, {"states", rows}});
    return Done{};
  }
  Table table({"state", "samples", "octaves"}, 1);
  for (const StateSum::Place& place : places)
    table.add({safe(place.name), std::to_string(place.samples), decimal(place.octaves, 2)});
  if (!sum.are_answers()) table.print();
  print("%s: %u samples of %zu %s, %s bytes\n", safe(arguments.output).c_str(), sum.samples(), sum.parts(),
        sum.are_answers() ? "places" : "states", grouped(merged->size()).c_str());
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
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {samples, bytes, states: [{name, samples, octaves}]}");
  return make_command(app, arguments, run_merge);
}

}  // namespace intaglio::cli
