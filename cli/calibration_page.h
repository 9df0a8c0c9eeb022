// What `calibrate --report` writes: one HTML page that needs nothing beside it, no script and no network.
#pragma once

#include <string>
#include <vector>

#include "cli/calibration_figures.h"
#include "cli/calibration_run.h"
#include "cli/float_search.h"
#include "cli/loaded_model.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

struct CalibrationPage {
  const LoadedModel& fp32;
  const Model& int8;
  const Calibrator& calibrator;  // finished: its report and what it has seen
  Span<const LayerReport> layers;
  std::string output;
  const CalibrateArguments& arguments;
  bool from_state = false;  // the figures are of these samples, the ranges of more
  CalibrationFigures figures;
  std::vector<std::string> warnings = {};        // what was warned of on the way here
  std::optional<FloatAdvice> float_advice = {};  // where it gains something
  bool float_was_tried = false;
};

std::string calibration_page(const CalibrationPage& page);

// As check_output_path() (cli/loaded_model.h). What stands there already, and is neither such a page nor empty, is somebody's.
Outcome<Done> check_page_output(const std::string& output, const std::string& input,
                                const std::string& option);

}  // namespace intaglio::cli
