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
  std::optional<double> most_of_one;
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
  const auto again = [&](size_t i) { return read_file(arguments.states[i], kMaxStateBytes); };
  const auto merged = arguments.most_of_one ? sum.save_limited(again, *arguments.most_of_one) : sum.save();
  if (!merged) return merged.failure();
  const std::vector<StateSum::Place> places = sum.states().places();
  for (const StateSum::Place& place : places)
    if (place.is_outlier())
      work.warn(
          place.name + ": a range is " + decimal(place.octaves, 1) +
          " octaves farther from the median than those of nine in ten states; look at its samples, or merge without it");
  if (auto step = output.write(merged->span()); !step) return step;
  if (arguments.json) {
    Json rows = Json::array();
    for (const StateSum::Place& place : places)
      rows.push_back({{"name", safe(place.name)},
                      {"samples", place.samples},
                      {"octaves", place.octaves},
                      {"moved", arguments.most_of_one ? Json(place.moved) : Json()}});
    print_json({{"samples", sum.samples()}, {"bytes", merged->size()}, {"states", rows}});
    return Done{};
  }
  std::vector<std::string> columns{"state", "samples", "octaves"};
  if (arguments.most_of_one) columns.push_back("drawn in");
  Table table(columns, 1);
  for (const StateSum::Place& place : places) {
    std::vector<std::string> row{safe(place.name), std::to_string(place.samples), decimal(place.octaves, 2)};
    if (arguments.most_of_one) row.push_back(decimal(100 * place.moved, 1) + " %");
    table.add(row);
  }
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
  add_option(
      *app, "--most-of-one", arguments->most_of_one,
      "draw in what a state says to the farthest of the others, and this share more: 0.1 is a tenth. All places' "
      "files at once, three at least")
      .range(0.0, 1.0)
      .type_name("SHARE");
  add_flag(*app, "--json", arguments->json,
           "print one JSON object: {samples, bytes, states: [{name, samples, octaves, moved}]}");
  return make_command(app, arguments, run_merge);
}

}  // namespace intaglio::cli
