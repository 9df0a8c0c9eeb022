#include "tools/next_step.h"

#include <cctype>

#include "calibrator/host/system/wording.h"
#include "tools/html_text.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

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
    text = "Judge it on labelled pictures (" +
           tag("code", wording_here() == Wording::kPython ? "intaglio.evaluate" : "intaglio eval") +
           "), and deploy it.";
  } else if (page.float_advice) {
    std::string nodes;
    for (const int32_t n : page.float_advice->nodes)
      nodes += (nodes.empty() ? "@" : ",@") + std::to_string(n);
    if (page.figures.verdict.by_agreement)
      text = sentence(page.figures.verdict.remedy) + " More decibels may help as well. ";
    text += float_text(*page.float_advice, page.figures.calibrating_seconds);
    if (page.command_keeping) command = page.command_keeping(nodes);
    if (command.empty())
      text += " The layers, for " + tag("code", option_word("keep-float")) + ": " +
              tag("code", html_text(nodes), "long") + ".";
  } else {
    text = sentence(page.figures.verdict.remedy);
    command = page.figures.command;
    if (page.float_was_tried && !page.figures.verdict.by_agreement) {
      text = "To keep the layers in FP32 that lose most gains less than 0.5 dB here. Try more samples.";
      command.clear();
    }
  }
  return tag("section", tag("h2", "What to do") + tag("p", text) +
                            (command.empty() ? "" : tag("pre", html_text(command)))) +
         "\n";
}

}  // namespace intaglio::tools
