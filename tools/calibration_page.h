// The report of `calibrate --report`: one HTML page that needs nothing beside it, no script and no network.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "intaglio/calibrator.h"
#include "tools/calibration_figures.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct CalibrationPage {
  const LoadedModel& fp32;
  const Model& int8;
  const Calibrator& calibrator;  // finished: its report and what it has seen
  Span<const LayerReport> layers;
  std::string output;  // what the page calls the int8 model
  CalibrationFigures figures;
  std::vector<std::string> warnings;  // what was warned of on the way here
};

std::string calibration_page(const CalibrationPage& page);

// As check_output_path() (tools/loaded_model.h). What stands there already, and is neither such a page nor empty, is somebody's.
Outcome<Done> check_page_output(const std::string& output, const std::string& input,
                                const std::string& option);

}  // namespace intaglio::tools
