#include "calibrator/host/accuracy/float_layers.h"

#include <algorithm>
#include <limits>

namespace intaglio {
namespace {

// Beside an int8 multiply-and-add: one in FP32, an element that is read and written, and one that changes its
// type at a border. Rounded from the times of FP32 and int8 models on one machine (AVX-512): good for ranking
// layers, not for foreseeing milliseconds.
constexpr double kFloatMac = 4.0, kElement = 4.0, kFloatElement = 12.0, kBorderElement = 16.0;
constexpr double kFloatBytes = 3.0;  // more a weight
// Longer stretches than this are made of shorter ones.
constexpr size_t kLongest = 16;
constexpr double kLeastCost = 1e-6;

}  // namespace

FloatLayers::FloatLayers(std::vector<LayerSensitivity> layers, double input_error)
    : layers_(std::move(layers)), input_error_(input_error), readers_(layers_.size()) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerSensitivity& layer = layers_[i];
    total_time_ += static_cast<double>(layer.macs) + kElement * static_cast<double>(layer.output_elements);
    total_bytes_ += static_cast<double>(layer.weight_bytes);
    for (const int32_t source : layer.reads)
      (source < 0 ? input_readers_ : readers_[static_cast<size_t>(source)])
          .push_back(static_cast<int32_t>(i));
  }
}

std::vector<bool> FloatLayers::floats_at_first() const {
  std::vector<bool> is_float;
  for (const LayerSensitivity& layer : layers_) is_float.push_back(layer.is_float);
  return is_float;
}

double FloatLayers::error(const std::vector<bool>& is_float) const {
  const auto is_int8 = [&](int32_t reader) { return !is_float[static_cast<size_t>(reader)]; };
  double sum = std::any_of(input_readers_.begin(), input_readers_.end(), is_int8) ? input_error_ : 0.0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!is_float[i]) sum += layers_[i].own_error;
    if (!is_float[i] || std::any_of(readers_[i].begin(), readers_[i].end(), is_int8))
      sum += layers_[i].output_error;
  }
  return sum;
}

FloatLayers::Cost FloatLayers::cost(const std::vector<bool>& is_float) const {
  double time = 0.0, bytes = 0.0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerSensitivity& layer = layers_[i];
    const auto elements = static_cast<double>(layer.output_elements);
    const bool border = std::any_of(readers_[i].begin(), readers_[i].end(), [&](int32_t reader) {
      return is_float[static_cast<size_t>(reader)] != (is_float[i] || layer.writes_float);
    });
    if (border) time += kBorderElement * elements;
    if (!is_float[i]) continue;
    time += (kFloatMac - 1.0) * static_cast<double>(layer.macs) + (kFloatElement - kElement) * elements;
    bytes += kFloatBytes * static_cast<double>(layer.weight_bytes);
  }
  return {total_time_ > 0.0 ? time / total_time_ : 0.0, total_bytes_ > 0.0 ? bytes / total_bytes_ : 0.0};
}

std::vector<std::vector<bool>> FloatLayers::all_but_one() const {
  std::vector<std::vector<bool>> found;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].is_float || layers_[i].macs == 0) continue;
    found.emplace_back(layers_.size(), true);
    found.back()[i] = false;
  }
  std::stable_sort(found.begin(), found.end(),
                   [this](const auto& a, const auto& b) { return error(a) < error(b); });
  return found;
}

std::vector<bool> FloatLayers::choose(double wanted) const {
  std::vector<bool> now = floats_at_first();
  while (error(now) > wanted) {
    const double error_now = error(now), cost_now = cost(now).total();
    double best = -1.0, cheapest = std::numeric_limits<double>::infinity();
    std::vector<bool> chosen, last_one;
    for (size_t first = 0; first < now.size(); ++first) {
      std::vector<bool> with = now;
      size_t added = 0;
      for (size_t last = first; last < now.size() && added < kLongest; ++last) {
        if (now[last]) continue;
        with[last] = true;
        ++added;
        const double error_then = error(with), more = std::max(cost(with).total() - cost_now, kLeastCost);
        if (error_then <= wanted && more < cheapest) {
          cheapest = more;
          last_one = with;
        }
        if (const double value = std::max(error_now - error_then, 0.0) / more; value > best) {
          best = value;
          chosen = with;
        }
      }
    }
    if (chosen.empty()) break;  // all are in FP32
    now = last_one.empty() ? chosen : last_one;
  }
  drop_needless(now, wanted);
  for (size_t i = 0; i < now.size(); ++i)
    if (!now[i] && layers_[i].macs > 0) return now;
  const auto most = all_but_one();
  return most.empty() ? now : most[0];
}

void FloatLayers::drop_needless(std::vector<bool>& is_float, double wanted) const {
  for (;;) {
    double cheapest = cost(is_float).total();
    size_t dropped = layers_.size();
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (!is_float[i] || layers_[i].is_float) continue;
      is_float[i] = false;
      if (error(is_float) <= wanted && cost(is_float).total() < cheapest) {
        cheapest = cost(is_float).total();
        dropped = i;
      }
      is_float[i] = true;
    }
    if (dropped == layers_.size()) return;
    is_float[dropped] = false;
  }
}

}  // namespace intaglio
