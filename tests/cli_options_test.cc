// Options that go together: each row of the table is refused or noted where it holds, before any file is read, and
// says nothing where it does not. What depends on the model or the samples is noted, too.
#include "tools/option_rules.h"

#include <map>

#include "calibrator/host/system/npy.h"
#include "calibrator/host/system/text_lines.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_options_test {

using intaglio::split;
using intaglio::tools::kOptionRules;
using intaglio::tools::OptionRule;
using intaglio::tools::OptionRuleKind;
using intaglio::tools::OptionUse;

namespace {

// A command line without options, which fails since there are no such files.
const std::map<std::string, std::string> kBare = {{"import", "import %/net.onnx -o %/net.itg"},
                                                  {"calibrate", "calibrate %/net.itg -o %/int8.itg"},
                                                  {"observe", "observe %/net.itg -o %/seen.itgcal"},
                                                  {"simulate", "simulate %/net.itg"},
                                                  {"run", "run %/net.itg --input %/x.png"},
                                                  {"eval", "eval %/net.itg --labels %/labels.txt"},
                                                  {"compare", "compare %/net.itg %/int8.itg"},
                                                  {"bench", "bench %/net.itg"},
                                                  {"inspect", "inspect %/net.itg"},
                                                  {"plan", "plan %/net.itg -o %/planned.itg"},
                                                  {"export-onnx", "export-onnx %/net.itg -o %/out.onnx"}};

// One value that each option takes; flags have none.
const std::map<std::string, std::string> kValues = {{"--pixels", "0..1"},
                                                    {"--mean", "1"},
                                                    {"--norm", "1"},
                                                    {"--resize", "crop"},
                                                    {"--border", "114"},
                                                    {"--images", "%/pictures"},
                                                    {"--input", "%/x"},
                                                    {"--percentile", "0.9"},
                                                    {"--question", "%/q"},
                                                    {"--min-sqnr", "20"},
                                                    {"--max-drop", "1"},
                                                    {"--labels", "%/l"},
                                                    {"--params", "%/p"},
                                                    {"--report", "%/r"},
                                                    {"--state", "h=h2"},
                                                    {"--from", "%/s"},
                                                    {"--initial", "h=0"},
                                                    {"--limit", "3"},
                                                    {"--only", "%/list"},
                                                    {"--output", "%/y.npy"},
                                                    {"--params-format", "ppq"},
                                                    {"--map", "names.txt"},
                                                    {"--names", "names.txt"},
                                                    {"--dump-after", "read"},
                                                    {"--target", "scalar"},
                                                    {"--isa", "scalar"},
                                                    {"--threads", "2"},
                                                    {"--frame", "6x4:rgb"},
                                                    {"--clock", "100"},
                                                    {"--chip", "stm32l4r5"},
                                                    {"--row-bytes", "20"},
                                                    {"--max-work", "1000"},
                                                    {"--max-memory", "1000"},
                                                    // values other than these are asked for by rows with "!"
                                                    {"--method", "mse"},
                                                    {"--recover", "bias"}};

// Words that make a use hold.
std::vector<std::string> words_for(const OptionUse& use) {
  const auto value = kValues.find(use.option);
  if (use.values == nullptr || use.values[0] == '!')
    return {" " + std::string(use.option) + (value == kValues.end() ? "" : " " + value->second)};
  std::vector<std::string> words;
  for (const std::string& one : split(use.values, '|'))
    words.push_back(" " + std::string(use.option) + " " + one);
  return words;
}

// All but those of a whole command, which tests/cli_test.cc tries.
std::vector<OptionRule> rows_of_an_option() {
  std::vector<OptionRule> rows;
  for (const OptionRule& rule : kOptionRules)
    if (rule.kind != OptionRuleKind::kOneOf) rows.push_back(rule);
  return rows;
}

std::vector<OptionUse> others_of(const OptionRule& rule) {
  std::vector<OptionUse> others;
  for (const OptionUse& other : rule.others)
    if (other.option != nullptr) others.push_back(other);
  return others;
}

// Whether the value that an option has without being given is one of the use's.
bool holds_by_default(const OptionUse& use) {
  return use.values != nullptr && std::string(use.option) == "--method" && std::string(use.values) == "auto";
}

}  // namespace

TEST_CASE("each row: refused or noted where it holds") {
  const CommandFolder folder;
  for (const OptionRule& rule : rows_of_an_option())
    for (const std::string& command : split(rule.commands, '|'))
      for (const std::string& use : words_for(rule.use)) {
        const std::string line = kBare.at(command) + use;
        CAPTURE(line);
        const std::string samples = command == "calibrate" || command == "observe" || command == "simulate"
                                        ? " --images %/pictures"
                                        : "";
        const auto others = others_of(rule);
        REQUIRE(!others.empty());
        if (rule.kind == OptionRuleKind::kNeeds) {
          // A value other than the default's takes its place.
          const Ran without = folder.run(line + (holds_by_default(others[0]) ? " --method minmax" : ""));
          CHECK(without.code == 2);
          CHECK(holds(without.err, std::string(rule.use.option)));
          CHECK(holds(without.err, "has no effect without"));
          continue;
        }
        for (const OptionUse& other : others)
          for (const std::string& with : words_for(other)) {
            CAPTURE(with);
            const Ran both = folder.run(
                line + with + (holds(line + with, " --images ") || holds(line, " --input ") ? "" : samples));
            CHECK(both.code == (rule.kind == OptionRuleKind::kExcludes ? 2 : 1));
            CHECK(holds(both.err, rule.why));
            CHECK(holds(both.err, other.option));
          }
      }
}

TEST_CASE("each row: nothing is said where it does not hold") {
  const CommandFolder folder;
  for (const OptionRule& rule : rows_of_an_option())
    for (const std::string& command : split(rule.commands, '|'))
      for (const std::string& use : words_for(rule.use)) {
        std::string line = kBare.at(command) + use;
        if (rule.kind == OptionRuleKind::kNeeds) {
          for (const OptionUse& other : others_of(rule))
            CHECK(!holds(folder.run(line + words_for(other)[0]).err, std::string("without ") + other.option));
        } else {
          const Ran alone = folder.run(line);
          CAPTURE(line);
          CHECK(!holds(alone.err, rule.why));
        }
      }
}

TEST_CASE("whole command lines: what is said, and that what goes together runs") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  const std::string calibrate = "calibrate %/net.itg --images @/calibration -o %/int8.itg";
  struct Line {
    std::string words, text;
  };
  for (const Line& line : std::vector<Line>{
           {" --percentile 0.6", "--percentile has no effect without --method percentile"},
           {" --percentile 0.6 --method minmax", "--percentile has no effect without --method percentile"},
           {" --params-format ppq", "--params-format has no effect without --params"},
           {" --safe-pairs --recover bias,eq", "--recover bias,eq with --safe-pairs would have no effect"},
           {" --method minmax --recover method", "--recover method has no effect without --method auto"},
           {" --params %/p.json --recover lsq", "--recover lsq with --params would have no effect"}}) {
    const Ran ran = folder.run(calibrate + line.words);
    INFO(line.words << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(holds(ran.err, line.text));
  }
  CHECK(!std::filesystem::exists(folder / "int8.itg"));
  CHECK(folder.run("params import %/net.itg %/p.json -o %/x.itg --method minmax").code == 2);
  CHECK(folder.good(calibrate + " --recover none --limit 16").err.empty());
  CHECK(folder.good(calibrate + " --recover none --method percentile --percentile 0.99").err.empty());
  const Ran few = folder.good(calibrate + " --recover none --limit 50");
  CHECK(holds(few.err, "--limit 50: there are only 16 samples, and all are taken"));
}

TEST_CASE("options that this model or these samples make nothing of are noted") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  std::vector<float> values(3 * 28 * 28 * 3, 0.25f);
  values[0] = -1.0f;
  folder.put("x.npy",
             intaglio::npy_file(intaglio::NpyType::kF32, {3, 28, 28, 3},
                                {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}));
  CHECK(holds(folder.good("simulate %/net.itg --images %/x.npy --skip-bad").err,
              "it leaves out pictures alone"));
  CHECK(holds(folder.good("run %/net.itg --input @/test/digit_0007.png --raw --output %/y.npy").err,
              "has no int8 output"));
}

}  // namespace intaglio::test::cli_options_test
