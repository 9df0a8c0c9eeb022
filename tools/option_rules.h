// The one table of which options of the command and keywords of Python go together. An option that could
// not have its effect is refused before anything is read, or noted where the rest of what it asks for is done.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "tools/work.h"

namespace intaglio::tools {

// An option that is given, or with `values` ("eq|lsq") one whose value, given or default, is or lists one of
// them; "!auto|none": one whose value is none of them. Values are separated by commas in the option's text.
struct OptionUse {
  const char* option = nullptr;
  const char* values = nullptr;
};

enum class OptionRuleKind : uint8_t {
  kNeeds,     // one of the others is used, or `use` is refused
  kExcludes,  // none of the others is used, or `use` is refused
  kNotes,     // one of the others is used: what `why` says is noted
  kOneOf,     // one of the others is used, or the command is refused; `use` is empty
};

struct OptionRule {
  const char* commands;  // "calibrate|simulate"
  OptionUse use;
  OptionRuleKind kind;
  OptionUse others[7];
  const char* why;  // a clause, behind a colon
};

inline constexpr OptionRule kOptionRules[] = {
    // import
    {"import|calibrate|observe",
     {"--pixels"},
     OptionRuleKind::kExcludes,
     {{"--mean"}, {"--norm"}},
     "a recipe holds a mean and a norm of its own"},
    {"import|calibrate|observe",
     {"--border"},
     OptionRuleKind::kNeeds,
     {{"--resize", "letterbox"}},
     "it is the pixel of a letterbox's borders"},
    {"import|calibrate|observe",
     {"--initial"},
     OptionRuleKind::kNeeds,
     {{"--state"}},
     "it says what a state begins with"},
    {"import", {"--dump-after"}, OptionRuleKind::kExcludes, {{"--json"}}, "the network it prints is no JSON"},
    // plan
    {"plan",
     {"--feed-rows"},
     OptionRuleKind::kExcludes,
     {{"--memory", "flat"}},
     "rows are fed to a plan by rows"},
    // samples
    {"calibrate|observe|simulate|eval|compare",
     {"--input"},
     OptionRuleKind::kExcludes,
     {{"--images"}},
     "both name the samples"},
    {"calibrate|observe|simulate|eval|compare",
     {"--frame"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}},
     "it says how their files are read"},
    {"calibrate|observe|simulate|eval|compare",
     {"--row-bytes"},
     OptionRuleKind::kNeeds,
     {{"--frame"}},
     "it is about raw frames"},
    // calibrate, simulate
    {"calibrate|observe|simulate",
     {"--percentile"},
     OptionRuleKind::kNeeds,
     {{"--method", "percentile"}},
     "no other method takes a share of the values"},
    {"calibrate|observe|simulate",
     {"--int8-answers"},
     OptionRuleKind::kNotes,
     {{"--compat", "tengine|ppq"}},
     "such a model always has int8 answers"},
    {"calibrate",
     {"--recover", "method"},
     OptionRuleKind::kNeeds,
     {{"--method", "auto"}},
     "this recovery tries other methods, and one was chosen"},
    {"calibrate",
     {"--recover", "eq|lsq|adaround"},
     OptionRuleKind::kExcludes,
     {{"--safe-pairs"}},
     "these recoveries choose single codes, and the pairs would not stay safe"},
    {"calibrate",
     {"--recover", "all"},
     OptionRuleKind::kNotes,
     {{"--safe-pairs"}},
     "eq, lsq and adaround do not run, since they choose single codes"},
    {"calibrate",
     {"--recover", "depthwise|cle|absorb|eq|lsq|adaround"},
     OptionRuleKind::kExcludes,
     {{"--params"}},
     "the scales of the file are not changed; only method and bias can run"},
    {"calibrate",
     {"--recover", "all"},
     OptionRuleKind::kNotes,
     {{"--params"}},
     "only method and bias run, since the scales of the file are not changed"},
    {"calibrate",
     {"--profile", "device"},
     OptionRuleKind::kExcludes,
     {{"--recover", "!default"}, {"--min-sqnr"}, {"--max-drop"}, {"--params"}},
     "a device does not run the samples again"},
    {"calibrate|simulate",
     {"--params-format"},
     OptionRuleKind::kNeeds,
     {{"--params"}},
     "it says how that file is read"},
    {"calibrate|simulate",
     {"--map"},
     OptionRuleKind::kNeeds,
     {{"--params"}},
     "it says what that file's names mean"},
    {"calibrate",
     {"--from"},
     OptionRuleKind::kExcludes,
     {{"--min-sqnr"}, {"--max-drop"}},
     "layers are judged on samples, and what was observed does not hold them"},
    {"calibrate",
     {"--from"},
     OptionRuleKind::kExcludes,
     {{"--params"}},
     "what was observed gives every scale"},
    {"calibrate", {"--labels"}, OptionRuleKind::kNeeds, {{"--max-drop"}}, "nothing else reads labels here"},
    {"calibrate",
     {"--max-drop"},
     OptionRuleKind::kNeeds,
     {{"--labels"}},
     "top1 cannot be counted without the right classes"},
    {"calibrate",
     {"--no-fpu"},
     OptionRuleKind::kNeeds,
     {{"--min-sqnr"}, {"--max-drop"}},
     "it says what these choose from"},
    {"calibrate|compare",
     {"--names"},
     OptionRuleKind::kNeeds,
     {{"--labels"}},
     "it says how labels name the classes"},
    // calibrate with --params alone
    {"calibrate",
     {"--recover", "!default|none"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}, {"--from"}},
     "it needs samples"},
    {"calibrate",
     {"--method", "!auto"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}, {"--from"}},
     "it needs samples"},
    {"calibrate", {"--min-sqnr"}, OptionRuleKind::kNeeds, {{"--images"}, {"--input"}}, "it needs samples"},
    {"calibrate", {"--max-drop"}, OptionRuleKind::kNeeds, {{"--images"}, {"--input"}}, "it needs samples"},
    {"calibrate", {"--report"}, OptionRuleKind::kNeeds, {{"--images"}, {"--input"}}, "it needs samples"},
    {"calibrate|observe|simulate|eval|compare",
     {"--only"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}},
     "it names samples"},
    {"calibrate|observe|simulate|eval|compare",
     {"--limit"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}},
     "it counts samples"},
    {"calibrate|observe|simulate|eval|compare",
     {"--skip-bad"},
     OptionRuleKind::kNeeds,
     {{"--images"}, {"--input"}},
     "it leaves out samples"},
    {"calibrate",
     {},
     OptionRuleKind::kOneOf,
     {{"--images"}, {"--input"}, {"--params"}, {"--from"}},
     "no samples are given (of a model with several inputs each takes its own, --input NAME=DIR|X.npy)"},
    {"observe|simulate|eval|compare",
     {},
     OptionRuleKind::kOneOf,
     {{"--images"}, {"--input"}},
     "no samples are given (of a model with several inputs each takes its own, --input NAME=DIR|X.npy)"},
    // run
    {"run", {"--input"}, OptionRuleKind::kExcludes, {{"samples"}}, "both name the samples"},
    {"run",
     {},
     OptionRuleKind::kOneOf,
     {{"samples"}, {"--input"}},
     "name a picture, a folder of pictures, or an .npy array"},
    {"run", {"--raw"}, OptionRuleKind::kNeeds, {{"--output"}}, "it says how that file is written"},
    // bench
    {"bench", {"--per-layer"}, OptionRuleKind::kNotes, {{"--json"}}, "the object holds the layers always"},
    // inspect
    {"inspect", {"--isa"}, OptionRuleKind::kExcludes, {{"--target"}}, "a target says its instruction sets"},
    {"inspect",
     {"--dot"},
     OptionRuleKind::kExcludes,
     {{"--json"}, {"--ops"}, {"--plan"}, {"--quant"}, {"--target"}, {"--isa"}, {"--threads"}},
     "it is the graph alone"},
};

// The options that a user gave, by the names of the table ("--recover").
class GivenOptions {
 public:
  virtual ~GivenOptions() = default;
  virtual bool knows(const std::string& option) const = 0;  // commands need not have every option of a row
  virtual bool gives(const std::string& option) const = 0;
  // As they were given, or the default one.
  virtual std::vector<std::string> values(const std::string& option) const = 0;
};

// A failure says which options, and why.
Outcome<Done> check_rules(const std::string& command, const GivenOptions& given, const Work& work);

}  // namespace intaglio::tools
