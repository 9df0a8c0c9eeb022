// The one table of which options of the command and keywords of Python go together. An option that could
// not have its effect is refused before anything is read, or noted where the rest of what it asks for is done.
#pragma once

#include <initializer_list>
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

constexpr OptionRule option_rule(const char* commands, OptionUse use, OptionRuleKind kind,
                                 std::initializer_list<OptionUse> others, const char* why) {
  OptionRule rule{commands, use, kind, {}, why};
  size_t i = 0;
  for (const OptionUse& other : others) rule.others[i++] = other;
  return rule;
}
using OptionUses = std::initializer_list<OptionUse>;
constexpr OptionRule needs(const char* commands, OptionUse use, OptionUses others, const char* why) {
  return option_rule(commands, use, OptionRuleKind::kNeeds, others, why);
}
constexpr OptionRule excludes(const char* commands, OptionUse use, OptionUses others, const char* why) {
  return option_rule(commands, use, OptionRuleKind::kExcludes, others, why);
}
constexpr OptionRule notes(const char* commands, OptionUse use, OptionUses others, const char* why) {
  return option_rule(commands, use, OptionRuleKind::kNotes, others, why);
}
constexpr OptionRule one_of(const char* commands, OptionUses others, const char* why) {
  return option_rule(commands, {}, OptionRuleKind::kOneOf, others, why);
}

inline constexpr OptionRule kOptionRules[] = {
    // import
    excludes("import|calibrate|observe", {"--pixels"}, {{"--mean"}, {"--norm"}},
             "a recipe holds a mean and a norm of its own"),
    needs("import|calibrate|observe", {"--border"}, {{"--resize", "letterbox"}},
          "it is the pixel of a letterbox's borders"),
    needs("import|calibrate|observe", {"--initial"}, {{"--state"}}, "it says what a state begins with"),
    excludes("import", {"--dump-after"}, {{"--json"}}, "the network it prints is no JSON"),
    // plan
    excludes("plan", {"--feed-rows"}, {{"--memory", "flat"}}, "rows are fed to a plan by rows"),
    // samples
    excludes("calibrate", {"--profile", "device"}, {{"--question"}},
             "a device does not run the samples again"),
    excludes("calibrate", {"--question"}, {{"--input"}, {"--images"}},
             "samples elsewhere are asked, and these would not be among them"),
    excludes("calibrate|observe|simulate|eval|compare", {"--input"}, {{"--images"}}, "both name the samples"),
    needs("calibrate|observe|simulate|eval|compare", {"--frame"}, {{"--images"}, {"--input"}},
          "it says how their files are read"),
    needs("calibrate|observe|simulate|eval|compare", {"--row-bytes"}, {{"--frame"}},
          "it is about raw frames"),
    // calibrate, simulate
    needs("calibrate|observe|simulate", {"--percentile"}, {{"--method", "percentile"}},
          "no other method takes a share of the values"),
    notes("calibrate|observe|simulate", {"--int8-answers"}, {{"--compat", "tengine|ppq"}},
          "such a model always has int8 answers"),
    needs("calibrate", {"--recover", "method"}, {{"--method", "auto"}},
          "this recovery tries other methods, and one was chosen"),
    excludes("calibrate", {"--recover", "eq|lsq|adaround"}, {{"--safe-pairs"}},
             "these recoveries choose single codes, and the pairs would not stay safe"),
    excludes("calibrate", {"--recover", "depthwise|cle|absorb|eq|lsq|adaround"}, {{"--params"}},
             "the scales of the file are not changed; only method and bias can run"),
    excludes("calibrate", {"--profile", "device"},
             {{"--recover", "!default"}, {"--min-sqnr"}, {"--max-drop"}, {"--params"}},
             "a device does not run the samples again"),
    needs("calibrate|simulate", {"--params-format"}, {{"--params"}}, "it says how that file is read"),
    needs("calibrate|simulate", {"--map"}, {{"--params"}}, "it says what that file's names mean"),
    excludes("calibrate", {"--from"}, {{"--min-sqnr"}, {"--max-drop"}},
             "layers are judged on samples, and what was observed does not hold them"),
    excludes("calibrate", {"--from"}, {{"--params"}}, "what was observed gives every scale"),
    needs("calibrate", {"--question"}, {{"--from"}}, "it is about samples that were observed elsewhere"),
    needs("calibrate", {"--labels"}, {{"--max-drop"}}, "nothing else reads labels here"),
    needs("calibrate", {"--max-drop"}, {{"--labels"}}, "top1 cannot be counted without the right classes"),
    needs("calibrate", {"--no-fpu"}, {{"--min-sqnr"}, {"--max-drop"}}, "it says what these choose from"),
    needs("calibrate", {"--names"}, {{"--labels"}}, "it says how labels name the classes"),
    needs("compare", {"--names"}, {{"--labels"}, {"--decoder"}},
          "it says how labels name the classes, and how many a detector has"),
    // calibrate with --params alone
    needs("calibrate", {"--recover", "!default|none"}, {{"--images"}, {"--input"}, {"--from"}},
          "it needs samples"),
    needs("calibrate", {"--method", "!auto"}, {{"--images"}, {"--input"}, {"--from"}}, "it needs samples"),
    needs("calibrate", {"--min-sqnr"}, {{"--images"}, {"--input"}}, "it needs samples"),
    needs("calibrate", {"--max-drop"}, {{"--images"}, {"--input"}}, "it needs samples"),
    needs("calibrate", {"--report"}, {{"--images"}, {"--input"}}, "it needs samples"),
    needs("calibrate|observe|simulate|eval|compare", {"--only"}, {{"--images"}, {"--input"}},
          "it names samples"),
    needs("calibrate|observe|simulate|eval|compare", {"--limit"}, {{"--images"}, {"--input"}},
          "it counts samples"),
    needs("calibrate|observe|simulate|eval|compare", {"--skip-bad"}, {{"--images"}, {"--input"}},
          "it leaves out samples"),
    one_of(
        "calibrate", {{"--images"}, {"--input"}, {"--params"}, {"--from"}},
        "no samples are given (of a model with several inputs each takes its own, --input NAME=DIR|X.npy)"),
    one_of(
        "observe|simulate|eval|compare", {{"--images"}, {"--input"}},
        "no samples are given (of a model with several inputs each takes its own, --input NAME=DIR|X.npy)"),
    // run
    excludes("run", {"--input"}, {{"samples"}}, "both name the samples"),
    one_of("run", {{"samples"}, {"--input"}}, "name a picture, a folder of pictures, or an .npy array"),
    needs("run", {"--raw"}, {{"--output"}}, "it says how that file is written"),
    // bench
    notes("bench", {"--per-layer"}, {{"--json"}}, "the object holds the layers always"),
    // inspect
    excludes("inspect", {"--isa"}, {{"--target"}}, "a target says its instruction sets"),
    excludes("inspect", {"--clock"}, {{"--threads"}}, "an estimate is of one thread"),
    needs("inspect", {"--clock"}, {{"--target"}}, "it is a microcontroller's"),
    needs("inspect", {"--chip"}, {{"--clock"}}, "it says how long its flash lets a run wait"),
    excludes("inspect", {"--dot"},
             {{"--json"}, {"--ops"}, {"--plan"}, {"--quant"}, {"--target"}, {"--isa"}, {"--threads"}},
             "it is the graph alone"),
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
