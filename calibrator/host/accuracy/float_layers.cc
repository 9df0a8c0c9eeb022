#include "calibrator/host/accuracy/float_layers.h"

#include <algorithm>
#include <limits>

namespace intaglio {
namespace {

// Beside an int8 multiply-and-add: one of other codes, an element that is read and written, and one that changes its
// type at a border. Rounded from the times of models on one machine (AVX-512): good for ranking layers, not for
// foreseeing milliseconds.
constexpr double kFloatMac = 4.0, kElement = 4.0, kFloatElement = 12.0, kBorderElement = 16.0;
constexpr double kInt16Mac = 2.5, kInt16Element = 8.0, kInt16Border = 6.0;
// Without an FPU each operation of FP32 is a call of some fifty instructions.
constexpr double kSoftFloatMac = 100.0, kSoftFloatElement = 200.0;
constexpr double kFloatBytes = 3.0;  // more a weight
// Longer stretches than this are made of shorter ones.
constexpr size_t kLongest = 16;
constexpr double kLeastCost = 1e-6;

}  // namespace

FloatLayers::FloatLayers(std::vector<LayerSensitivity> layers, double input_error, bool has_fpu)
    : layers_(std::move(layers)),
      input_error_(input_error),
      readers_(layers_.size()),
      float_mac_(has_fpu ? kFloatMac : kSoftFloatMac),
      float_element_(has_fpu ? kFloatElement : kSoftFloatElement) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerSensitivity& layer = layers_[i];
    total_time_ += static_cast<double>(layer.macs) + kElement * static_cast<double>(layer.output_elements);
    total_bytes_ += static_cast<double>(layer.weight_bytes);
    for (const int32_t source : layer.reads)
      (source < 0 ? input_readers_ : readers_[static_cast<size_t>(source)])
          .push_back(static_cast<int32_t>(i));
  }
}

LayerTypes FloatLayers::widest() const {
  LayerTypes types = types_at_first();
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i] == LayerType::kInt8 && layers_[i].can_be_wide) types[i] = LayerType::kInt16;
  return types;
}

void FloatLayers::fit(double first, double wide) {
  constexpr double kLeast = 0.01;  // of the first model's error, whatever was measured
  double own = 0.0;
  for (const LayerSensitivity& layer : layers_)
    if (!layer.is_float) own += layer.own_error;
  const double rounding = error(types_at_first()) - own, left = error(widest()) - own;
  if (!(first > 0.0 && own > 0.0 && rounding > left)) return;
  const double of_rounding = std::max((first - wide) / (rounding - left), kLeast * first / rounding);
  const double of_own = std::max(first - of_rounding * rounding, kLeast * first) / own;
  input_error_ *= of_rounding;
  for (LayerSensitivity& layer : layers_) {
    layer.own_error *= of_own;
    layer.output_error *= of_rounding;
  }
}

LayerTypes FloatLayers::types_at_first() const {
  LayerTypes types;
  for (const LayerSensitivity& layer : layers_)
    types.push_back(layer.is_float  ? LayerType::kFloat
                    : layer.is_wide ? LayerType::kInt16
                                    : LayerType::kInt8);
  return types;
}

double FloatLayers::error(const LayerTypes& types) const {
  const auto is_codes = [&](int32_t reader) {
    return types[static_cast<size_t>(reader)] != LayerType::kFloat;
  };
  double sum = std::any_of(input_readers_.begin(), input_readers_.end(), is_codes) ? input_error_ : 0.0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (types[i] != LayerType::kFloat) sum += layers_[i].own_error;
    const bool is_rounded =
        types[i] != LayerType::kFloat || std::any_of(readers_[i].begin(), readers_[i].end(), is_codes);
    if (is_rounded && types[i] != LayerType::kInt16) sum += layers_[i].output_error;
  }
  return sum;
}

// Whether a layer's output has codes of 16 bits: what follows its input has as many as that.
bool FloatLayers::gives_wide(const LayerTypes& types, int32_t layer) const {
  while (layer >= 0 && types[static_cast<size_t>(layer)] == LayerType::kInt8) {
    const LayerSensitivity& now = layers_[static_cast<size_t>(layer)];
    if (!now.follows || now.reads.empty()) return false;
    layer = now.reads[0];
  }
  return layer >= 0 && types[static_cast<size_t>(layer)] == LayerType::kInt16;
}

// The cost of a layer beyond int8. One of codes computes in 16 bits where it reads or writes such.
double FloatLayers::time_of(const LayerTypes& types, size_t i) const {
  const LayerSensitivity& layer = layers_[i];
  const auto elements = static_cast<double>(layer.output_elements), macs = static_cast<double>(layer.macs);
  if (types[i] == LayerType::kFloat)
    return (float_mac_ - 1.0) * macs + (float_element_ - kElement) * elements;
  const bool writes_wide = gives_wide(types, static_cast<int32_t>(i));
  const bool reads_wide = std::any_of(layer.reads.begin(), layer.reads.end(),
                                      [&](int32_t source) { return gives_wide(types, source); });
  if (!writes_wide && !reads_wide) return 0.0;
  const double narrowed = writes_wide ? 0.0 : kInt16Border * elements;
  return (kInt16Mac - 1.0) * macs + (kInt16Element - kElement) * elements + narrowed;
}

FloatLayers::Cost FloatLayers::cost(const LayerTypes& types) const {
  double time = 0.0, bytes = 0.0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerSensitivity& layer = layers_[i];
    const auto elements = static_cast<double>(layer.output_elements);
    const bool writes_float = types[i] == LayerType::kFloat || layer.writes_float;
    bool border = false, widened = false;
    for (const int32_t reader : readers_[i]) {
      const LayerType type = types[static_cast<size_t>(reader)];
      border = border || (type == LayerType::kFloat) != writes_float;
      widened = widened || (type == LayerType::kInt16 && types[i] == LayerType::kInt8 &&
                            !gives_wide(types, static_cast<int32_t>(i)));
    }
    if (border) time += kBorderElement * elements;
    if (widened) time += kInt16Border * elements;
    time += time_of(types, i);
    if (types[i] == LayerType::kFloat) bytes += kFloatBytes * static_cast<double>(layer.weight_bytes);
  }
  return {total_time_ > 0.0 ? time / total_time_ : 0.0, total_bytes_ > 0.0 ? bytes / total_bytes_ : 0.0};
}

std::vector<LayerTypes> FloatLayers::all_but_one() const {
  std::vector<LayerTypes> found;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].is_float || layers_[i].macs == 0) continue;
    for (const LayerType type : {LayerType::kInt8, LayerType::kInt16}) {
      if (type == LayerType::kInt16 && !layers_[i].can_be_wide) continue;
      found.emplace_back(layers_.size(), LayerType::kFloat);
      found.back()[i] = type;
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [this](const auto& a, const auto& b) { return error(a) < error(b); });
  return found;
}

// With one stretch more of 16 bits or in FP32; empty where nothing is left.
LayerTypes FloatLayers::stretched(const LayerTypes& now, double wanted) const {
  const double error_now = error(now), cost_now = cost(now).total();
  double best = -1.0, cheapest = std::numeric_limits<double>::infinity();
  LayerTypes chosen, last_one;
  for (const LayerType type : {LayerType::kInt16, LayerType::kFloat})
    for (size_t first = 0; first < now.size(); ++first) {
      LayerTypes with = now;
      size_t added = 0;
      for (size_t last = first; last < now.size() && added < kLongest; ++last) {
        if (now[last] >= type || (type == LayerType::kInt16 && !layers_[last].can_be_wide)) continue;
        with[last] = type;
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
  return last_one.empty() ? chosen : last_one;
}

LayerTypes FloatLayers::chosen_from(LayerTypes now, double wanted) const {
  while (error(now) > wanted) {
    LayerTypes next = stretched(now, wanted);
    if (next.empty()) break;  // all are in FP32
    now = std::move(next);
  }
  drop_needless(now, wanted);
  return now;
}

// As little of the network's end in FP32 as the error allows, and 16 bits before: nothing is rounded between.
LayerTypes FloatLayers::float_from_end(double wanted) const {
  LayerTypes types = widest();
  for (size_t i = types.size(); i-- > 0 && error(types) > wanted;) types[i] = LayerType::kFloat;
  drop_needless(types, wanted);
  return types;
}

LayerTypes FloatLayers::choose(double wanted) const {
  const LayerTypes first = types_at_first();
  const LayerTypes ways[] = {chosen_from(first, wanted), chosen_from(widest(), wanted),
                             float_from_end(wanted)};
  const LayerTypes* best = nullptr;
  for (const LayerTypes& types : ways) {
    bool has_codes = false;
    for (size_t i = 0; i < types.size(); ++i)
      has_codes = has_codes || (types[i] != LayerType::kFloat && layers_[i].macs > 0);
    if (!has_codes || error(types) > wanted) continue;
    if (best == nullptr || cost(types).total() < cost(*best).total()) best = &types;
  }
  if (best != nullptr) return *best;
  const std::vector<LayerTypes> last = all_but_one();
  return last.empty() ? first : last[0];
}

void FloatLayers::drop_needless(LayerTypes& types, double wanted) const {
  const LayerTypes first = types_at_first();
  for (;;) {
    double cheapest = cost(types).total();
    LayerTypes best;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerType now = types[i];
      for (const LayerType less : {first[i], LayerType::kInt16}) {
        if (less >= now || less < first[i] || (less != first[i] && !layers_[i].can_be_wide)) continue;
        types[i] = less;
        if (error(types) <= wanted && cost(types).total() < cheapest) {
          cheapest = cost(types).total();
          best = types;
        }
      }
      types[i] = now;
    }
    if (best.empty()) return;
    types = std::move(best);
  }
}

}  // namespace intaglio
