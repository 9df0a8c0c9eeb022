#include "cli/depth_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include "calibrator/host/system/real_text.h"

namespace intaglio::cli {
namespace {

// In the chart's own units: the frame, and room for numbers at its left and below.
constexpr double kLeft = 34, kTopMargin = 8, kChartWidth = 600, kChartHeight = 180, kBelow = 24;
constexpr double kMostDb = 80, kDbStep = 10;  // dB

std::string chart_number(double value) { return fixed_text(value, 1); }

class Chart {
 public:
  explicit Chart(const std::vector<ChartPoint>& points) : points_(points) {
    for (const ChartPoint& point : points)
      for (const double value : {point.sqnr, point.sqnr_alone})
        if (!std::isnan(value))
          top_ = std::max(top_, std::min(std::ceil(value / kDbStep) * kDbStep, kMostDb));
  }

  std::string make() const {
    std::string svg = "<svg class=\"depth\" viewBox=\"0 0 " + chart_number(kLeft + kChartWidth + 8) + " " +
                      chart_number(kTopMargin + kChartHeight + kBelow) +
                      "\" role=\"img\"><title>SQNR in dB of each layer, first to last</title>";
    svg += grid() + line();
    for (size_t i = 0; i < points_.size(); ++i) {
      svg += dot(i, points_[i].sqnr_alone, "alone", ", alone ");
      svg += dot(i, points_[i].sqnr, "all", ", with all before it ");
    }
    return svg + "</svg>";
  }

 private:
  double x_of(size_t i) const {
    return kLeft + kChartWidth * static_cast<double>(i) / static_cast<double>(points_.size() - 1);
  }
  double y_of(double db) const { return kTopMargin + kChartHeight * (1 - std::clamp(db, 0.0, top_) / top_); }

  static std::string label(double x, double y, const char* anchor, const std::string& text) {
    return "<text x=\"" + chart_number(x) + "\" y=\"" + chart_number(y) + "\" text-anchor=\"" + anchor +
           "\">" + text + "</text>";
  }

  std::string grid() const {
    std::string svg;
    for (double db = 0; db <= top_; db += kDbStep) {
      svg += "<path class=\"grid\" d=\"M" + chart_number(kLeft) + " " + chart_number(y_of(db)) + "h" +
             chart_number(kChartWidth) + "\"/>";
      svg += label(kLeft - 6, y_of(db) + 4, "end", std::to_string(static_cast<int>(db)));
    }
    const double below = kTopMargin + kChartHeight + kBelow - 6;
    return svg + label(kLeft, below, "start", "first layer") +
           label(kLeft + kChartWidth, below, "end", "last");
  }

  std::string line() const {
    std::string path;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (std::isnan(points_[i].sqnr)) continue;
      path += (path.empty() ? "M" : "L") + chart_number(x_of(i)) + " " + chart_number(y_of(points_[i].sqnr));
    }
    return "<path class=\"line\" d=\"" + path + "\"/>";
  }

  std::string dot(size_t i, double db, const char* css, const char* what) const {
    if (std::isnan(db)) return "";
    const std::string value = std::isinf(db) ? "exact" : chart_number(db) + " dB";
    return "<circle class=\"" + std::string(css) + "\" cx=\"" + chart_number(x_of(i)) + "\" cy=\"" +
           chart_number(y_of(db)) + "\" r=\"3\"><title>" + points_[i].name + what + value +
           "</title></circle>";
  }

  const std::vector<ChartPoint>& points_;
  double top_ = 2 * kDbStep;
};

}  // namespace

std::string depth_chart_svg(const std::vector<ChartPoint>& points) {
  return points.size() < 2 ? "" : Chart(points).make();
}

}  // namespace intaglio::cli
