#include "cli/next_step.h"

#include <cctype>

#include "cli/html_text.h"
#include "cli/output.h"

namespace intaglio::cli {
namespace {

constexpr const char* kKeepFloat = "--keep-float";
constexpr const char* kState = "--state";

// The command's words with each `--option=value` as two, for these options.
std::vector<std::string> apart(const std::vector<std::string>& words) {
  std::vector<std::string> list;
  for (const std::string& word : words) {
    const size_t end = word.find('=');
    const std::string option = word.substr(0, end);
    const bool joins = end != std::string::npos && (option == kKeepFloat || option == kState);
    list.push_back(joins ? option : word);
    if (joins) list.push_back(word.substr(end + 1));
  }
  return list;
}

// The command that was given, with these nodes in FP32, too; empty where there was none, or where some word cannot be pasted
// safely. Without --state: by now that file holds the samples, and they would be added once more.
std::string command_keeping(const std::vector<std::string>& given, std::string nodes) {
  if (given.empty()) return "";
  const std::vector<std::string> words = apart(given);
  std::string line = "intaglio calibrate";
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == kState && has_value) {
      ++i;
      continue;
    }
    const std::string word = pasted_word(words[i]);
    if (word.empty()) return "";
    if (words[i] != kKeepFloat || !has_value) {
      line += " " + word;
      continue;
    }
    const std::string kept = words[++i];
    if (pasted_word(kept).empty()) return "";
    nodes = pasted_word(kept + "," + nodes);
  }
  return line + " " + kKeepFloat + " " + nodes;
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return html_text(text) + ".";
}

std::string float_text(const FloatAdvice& advice, double seconds) {
  return "Keep " + std::to_string(advice.layers) + (advice.layers == 1 ? " layer" : " layers") +
         " in FP32. Expected: " + tag("b", "+" + decimal(advice.sqnr_gain, 1) + " dB") + " at the output, " +
         tag("b", decimal(advice.time, 2) + " times") + " the time of a run on this machine, " +
         tag("b", decimal(advice.bytes, 2) + " times") +
         " the bytes. This network was calibrated so, and its layers were timed in both forms. To calibrate it again takes "
         "about " +
         decimal(seconds, 1) + " s.";
}

}  // namespace

std::string next_step_html(const CalibrationPage& page) {
  std::string text, command;
  if (page.figures.verdict.grade == Grade::kGood) {
    text = "Judge it on labelled pictures (<code>intaglio eval</code>), and deploy it.";
  } else if (page.float_advice) {
    std::string nodes;
    for (const int32_t n : page.float_advice->nodes)
      nodes += (nodes.empty() ? "@" : ",@") + std::to_string(n);
    if (page.figures.verdict.by_agreement)
      text = sentence(page.figures.verdict.remedy) + " More decibels may help as well. ";
    text += float_text(*page.float_advice, page.figures.seconds);
    command = command_keeping(page.command, nodes);
    if (command.empty())
      text += " The layers, for " + tag("code", kKeepFloat) + ": " + tag("code", html_text(nodes)) + ".";
  } else {
    text = sentence(page.figures.verdict.remedy);
    if (page.float_was_tried && !page.figures.verdict.by_agreement)
      text = "To keep the layers in FP32 that lose most gains less than 0.5 dB here. Try more samples.";
  }
  return tag("section", tag("h2", "What to do") + tag("p", text) +
                            (command.empty() ? "" : tag("pre", html_text(command)))) +
         "\n";
}

}  // namespace intaglio::cli
