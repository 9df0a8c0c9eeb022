#include "tools/html_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

constexpr int kBarWidth = 320, kBarHeight = 72;  // of a histogram, its own units

std::string svg_number(double value) { return fixed_text(value, 1); }

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : safe(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string tag(const char* name, const std::string& content, const char* css_class) {
  const std::string attribute = css_class == nullptr ? "" : std::string(" class=\"") + css_class + "\"";
  return "<" + std::string(name) + attribute + ">" + content + "</" + name + ">";
}

std::string histogram_svg(const HistogramPicture& picture) {
  const double most = picture.bars.empty() ? 0 : *std::max_element(picture.bars.begin(), picture.bars.end());
  if (!(most > 0) || !(picture.first < picture.last)) return "";
  const auto x_of = [&](double value) {
    const double share = (value - picture.first) / (picture.last - picture.first);
    return std::clamp(share, 0.0, 1.0) * kBarWidth;
  };
  const double low = x_of(picture.low), high = x_of(picture.high);
  std::string path;
  const double step = static_cast<double>(kBarWidth) / static_cast<double>(picture.bars.size());
  for (size_t i = 0; i < picture.bars.size(); ++i) {
    if (!(picture.bars[i] > 0)) continue;
    // The smallest count is still seen.
    const double height = 2 + (kBarHeight - 4) * std::log1p(picture.bars[i]) / std::log1p(most);
    path += "M" + svg_number(static_cast<double>(i) * step) + " " + std::to_string(kBarHeight) + "v-" +
            svg_number(height) + "h" + svg_number(step) + "v" + svg_number(height) + "z";
  }
  const std::string height = std::to_string(kBarHeight), width = std::to_string(kBarWidth);
  std::string svg =
      "<svg class=\"histogram\" viewBox=\"0 0 " + width + " " + height +
      "\" preserveAspectRatio=\"none\" role=\"img\"><title>values seen, chosen range marked</title>";
  svg += "<rect class=\"range\" x=\"" + svg_number(low) + "\" y=\"0\" width=\"" +
         svg_number(std::max(high - low, 0.5)) + "\" height=\"" + height + "\"/>";
  svg += "<path class=\"bars\" d=\"" + path + "\"/>";
  for (const double x : {low, high})
    svg += "<path class=\"edge\" d=\"M" + svg_number(x) + " 0v" + height + "\"/>";
  return svg + "</svg>";
}

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
    for (int32_t line = 0; line * kDbStep <= top_; ++line) {
      const double db = line * kDbStep;
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

}  // namespace intaglio::tools
