#include "calibrator/host/system/real_text.h"

#include <charconv>
#include <cmath>

namespace intaglio {
namespace {

// The largest double has 309 digits before the point.
constexpr size_t kMostCharacters = 512;

template <typename... Form>
std::string text_of(Form... form) {
  char text[kMostCharacters];
  const auto [end, error] = std::to_chars(text, text + sizeof text, form...);
  return error == std::errc() ? std::string(text, end) : "";
}

}  // namespace

std::string general_text(double value, int digits) {
  return text_of(value, std::chars_format::general, digits);
}
std::string fixed_text(double value, int digits) { return text_of(value, std::chars_format::fixed, digits); }
std::string scientific_text(double value, int digits) {
  return text_of(value, std::chars_format::scientific, digits);
}
std::string shortest_text(double value) { return text_of(value); }
std::string shortest_text(float value) { return text_of(value); }

std::optional<double> read_real(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace intaglio
