// A chart of the SQNR of each layer, from the first to the last, as SVG within a page.
#pragma once

#include <string>
#include <vector>

namespace intaglio::cli {

struct ChartPoint {
  std::string name;         // of the layer, as a page shows it (escaped)
  double sqnr = 0.0;        // dB, with all layers before it; NaN: none
  double sqnr_alone = 0.0;  // dB, given exact inputs; NaN: none
};

// Empty with fewer than two points. Numbers beyond 0 to 80 dB stand at the chart's edges.
std::string depth_chart_svg(const std::vector<ChartPoint>& points);

}  // namespace intaglio::cli
