#include "tools/output_errors.h"

#include <algorithm>
#include <cmath>

#include "calibrator/host/system/real_text.h"
#include "tools/class_scores.h"

namespace intaglio::tools {

void OutputErrors::keep(const Session& fp32) {
  const size_t outputs = fp32.model().outputs().size;
  kept_.clear();
  for (size_t o = 0; o < outputs; ++o)
    kept_.push_back(is_class(o) ? std::vector<float>() : real_values(fp32.output(static_cast<int32_t>(o))));
}

void OutputErrors::add(const Session& test) {
  const Span<const int32_t> outputs = test.model().outputs();
  sums_.resize(std::min(kept_.size(), outputs.size));
  for (size_t o = 0; o < sums_.size(); ++o) {
    if (is_class(o)) continue;
    Sums& sums = sums_[o];
    const TensorView view = test.output(static_cast<int32_t>(o));
    const std::vector<float> found = real_values(view);
    if (sums.name.empty()) sums.name = view.info.name;
    sums.is_finite = sums.is_finite && found.size() == kept_[o].size();
    for (size_t i = 0; i < found.size() && sums.is_finite; ++i) {
      const auto exact = static_cast<double>(kept_[o][i]);
      const double difference = std::abs(static_cast<double>(found[i]) - exact);
      sums.is_finite = std::isfinite(difference);
      if (!sums.is_finite) break;
      sums.low = sums.count == 0 ? exact : std::min(sums.low, exact);
      sums.high = sums.count == 0 ? exact : std::max(sums.high, exact);
      sums.largest = std::max(sums.largest, difference);
      sums.differences.add(difference);
      ++sums.count;
    }
  }
}

std::vector<OutputError> OutputErrors::errors() const {
  std::vector<OutputError> list;
  for (const Sums& sums : sums_)
    if (sums.is_finite && sums.count > 0)
      list.push_back({sums.name, sums.differences.value() / sums.count, sums.largest, sums.low, sums.high});
  return list;
}

Json json_of(const std::vector<OutputError>& errors) {
  Json list = Json::array();
  for (const OutputError& error : errors)
    list.push_back({{"name", error.name},
                    {"mean", error.mean},
                    {"largest", error.largest},
                    {"low", error.low},
                    {"high", error.high}});
  return list;
}

std::string error_words(const OutputError& error) {
  constexpr int kDigits = 4;
  const auto number = [](double value) { return general_text(value, kDigits); };
  return "off by " + number(error.mean) + " on average and " + number(error.largest) +
         " at most, in values from " + number(error.low) + " to " + number(error.high);
}

}  // namespace intaglio::tools
