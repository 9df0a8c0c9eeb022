#include "cli/html_text.h"

#include <algorithm>
#include <cmath>

#include "calibrator/host/system/real_text.h"
#include "cli/output.h"

namespace intaglio::cli {
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

std::string pasted_word(std::string_view word) {
  if (word.empty()) return "";
  bool plain = true;
  for (const char c : word) {
    if (c < 0x20 || c > 0x7e) return "";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain = plain && (letter || std::string_view("_-./:,=+@%").find(c) != std::string_view::npos);
  }
  if (plain) return std::string(word);
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
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

}  // namespace intaglio::cli
