#include "calibrator/host/system/wording.h"

#include <algorithm>

namespace intaglio {
namespace {

thread_local Wording here = Wording::kCommand;

std::string keyword(std::string option) {
  if (option == "images") return "batches=";
  if (option == "from") return "observed=";
  std::replace(option.begin(), option.end(), '-', '_');
  return option + "=";
}

// Functions of Python that are called otherwise than the command's subcommand.
std::string function_of(const std::string& tool) {
  if (tool == "import") return "intaglio.import_onnx";
  if (tool == "eval") return "intaglio.evaluate";
  if (tool == "inspect") return "Network.inspect";
  if (tool.rfind("export-", 0) == 0) return "intaglio.export_" + tool.substr(7);
  for (const char* const same : {"calibrate", "observe", "compare", "simulate", "plan"})
    if (tool == same) return "intaglio." + tool;
  return "intaglio.command('" + tool + "', ...)";
}

}  // namespace

WordedFor::WordedFor(Wording wording) : before_(here) { here = wording; }
WordedFor::~WordedFor() { here = before_; }

Wording wording_here() { return here; }

std::string option_word(const char* option) {
  return here == Wording::kPython ? keyword(option) : std::string("--") + option;
}

std::string option_word(const char* option, const std::string& value) {
  return option_word(option) + (here == Wording::kPython ? "" : " ") + value;
}

std::string tool_word(const char* tool) {
  return here == Wording::kPython ? function_of(tool) : std::string("'intaglio ") + tool + "'";
}

std::string tool_word(const char* tool, const char* option) {
  return here == Wording::kPython ? function_of(tool) + "(" + keyword(option) + ")"
                                  : std::string("'intaglio ") + tool + " --" + option + "'";
}

}  // namespace intaglio
