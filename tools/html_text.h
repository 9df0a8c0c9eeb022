// Pieces of an HTML page. Whatever comes from a file or a command line goes through text().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace intaglio::tools {

// Text as it stands in an element or a quoted attribute: unsafe characters as \x1b and the like (safe() of
// text.h), markup as character references. Long words may break at any place.
std::string html_text(std::string_view text);
// An element around markup.
std::string tag(const char* name, const std::string& content, const char* css_class = nullptr);

// Counts over a line of values as a picture: bars on a logarithmic scale, and what lies within [low, high]
// marked.
struct HistogramPicture {
  double first = 0, last = 0;  // what the picture spans, first < last
  double low = 0, high = 0;    // the chosen range
  std::vector<double> bars;    // counts of equal parts of [first, last]
};
// An <svg> element; nothing where there are no bars.
std::string histogram_svg(const HistogramPicture& picture);

// A chart of the SQNR of each layer, from the first to the last, as SVG within a page.
struct ChartPoint {
  std::string name;         // of the layer, as a page shows it (escaped)
  double sqnr = 0.0;        // dB, with all layers before it; NaN: none
  double sqnr_alone = 0.0;  // dB, given exact inputs; NaN: none
};

// Empty with fewer than two points. Numbers beyond 0 to 80 dB stand at the chart's edges.
std::string depth_chart_svg(const std::vector<ChartPoint>& points);

}  // namespace intaglio::tools
