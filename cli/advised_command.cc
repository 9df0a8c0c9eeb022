#include "cli/advised_command.h"

#include <filesystem>

#include "tools/html_text.h"

namespace intaglio::cli {
namespace {

constexpr const char* kKeepFloat = "--keep-float";

// The command's words with --keep-float=NODES as two.
std::vector<std::string> apart(const std::vector<std::string>& words) {
  std::vector<std::string> list;
  for (const std::string& word : words) {
    const size_t end = word.find('=');
    const std::string option = word.substr(0, end);
    const bool joins = end != std::string::npos && option == kKeepFloat;
    list.push_back(joins ? option : word);
    if (joins) list.push_back(word.substr(end + 1));
  }
  return list;
}

// "intaglio SUBCOMMAND" with these words; empty where one of them cannot be pasted.
std::string pasted(const std::string& subcommand, const std::vector<std::string>& words) {
  std::string line = "intaglio " + subcommand;
  for (const std::string& word : words) {
    const std::string safe_word = pasted_word(word);
    if (safe_word.empty()) return "";
    line += " " + safe_word;
  }
  return line;
}

// The FP32 model that other commands take: the one that was given, or what the first of these two commands makes of a
// network's file.
std::string with_model(const CalibrateArguments& arguments, bool is_imported, const std::string& subcommand,
                       std::vector<std::string> words) {
  std::string model = arguments.model, before;
  if (is_imported) {
    model =
        std::filesystem::path(arguments.output).replace_extension().replace_extension(".fp32.itg").string();
    std::vector<std::string> import_words{arguments.model, "-o", model};
    import_words.insert(import_words.end(), arguments.words.below.begin(), arguments.words.below.end());
    before = pasted("import", import_words);
    if (before.empty()) return "";
    before += " && ";
  }
  words.insert(words.begin(), model);
  const std::string line = pasted(subcommand, words);
  return line.empty() ? "" : before + line;
}

std::vector<std::string> words_of_samples(const SampleArguments& samples) {
  std::vector<std::string> words;
  if (!samples.images.empty()) words.insert(words.end(), {"--images", samples.images});
  for (const std::string& input : samples.inputs) words.insert(words.end(), {"--input", input});
  if (!samples.only.empty()) words.insert(words.end(), {"--only", samples.only});
  if (samples.limit > 0) words.insert(words.end(), {"--limit", std::to_string(samples.limit)});
  if (samples.skip_bad) words.emplace_back("--skip-bad");
  return words;
}

}  // namespace

std::string advised_command(const CalibrateArguments& arguments, bool is_imported, const Verdict& verdict) {
  if (arguments.words.all.empty()) return "";
  if (verdict.kind == Remedy::kLabels) {
    std::vector<std::string> words{arguments.output};
    const std::vector<std::string> samples = words_of_samples(arguments.samples);
    words.insert(words.end(), samples.begin(), samples.end());
    words.insert(words.end(), {"--labels", "LABELS.txt"});
    return with_model(arguments, is_imported, "compare", words);
  }
  // With --from layers cannot be judged (option_rules.h).
  if (verdict.kind != Remedy::kWiderLayers || arguments.float_search.asked() || !arguments.from.empty())
    return "";
  std::vector<std::string> words = arguments.words.all;
  words.insert(words.end(), {"--min-sqnr", "20"});
  return pasted("calibrate", words);
}

std::string command_keeping(const CalibrateArguments& arguments, const std::string& more) {
  const std::vector<std::string>& given = arguments.words.all;
  std::string nodes = more;
  if (given.empty() || !arguments.from.empty()) return "";
  const std::vector<std::string> words = apart(given);
  std::string line = "intaglio calibrate";
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    const std::string word = pasted_word(words[i]);
    if (word.empty()) return "";
    if (words[i] != kKeepFloat || !has_value) {
      line += " " + word;
      continue;
    }
    const std::string& kept = words[++i];
    if (pasted_word(kept).empty()) return "";
    nodes = pasted_word(kept + "," + nodes);
  }
  return line + " " + kKeepFloat + " " + nodes;
}

}  // namespace intaglio::cli
