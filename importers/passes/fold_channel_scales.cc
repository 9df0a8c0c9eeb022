// Factors of channels at the border of codes, as activations with a scale for each channel have them: x * f -> Quantize
// and Dequantize -> x / f. They go into the weights of the layer before and of the depthwise ones behind, whose codes
// stay as they are while their scales change.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// The operands of a product of an activation and a factor for each of its channels.
struct ChannelProduct {
  int32_t x = -1;  // -1: it is none
  std::vector<double> factors;
};

ChannelProduct channel_product(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kMul) return {};
  const size_t constant = draft.tensor(node.inputs[0]).constant ? 0 : 1;
  const int32_t x = node.inputs[1 - constant];
  const DraftTensor& factors = draft.tensor(node.inputs[constant]);
  const Shape& shape = draft.tensor(x).shape;
  if (draft.tensor(x).constant || shape != draft.tensor(node.output()).shape ||
      !is_per_channel(factors, shape.back()))
    return {};
  const auto values = values_of<float>(factors);
  ChannelProduct product{x, {}};
  for (size_t c = 0; c < static_cast<size_t>(shape.back()); ++c)
    product.factors.push_back(values[values.size() == 1 ? 0 : c]);
  return product;
}

// A layer's bounds before the factors as bounds behind them. Zero and infinity stay; another bound is no loss where
// each channel's codes saturate before they reach it. False: it would be lost.
bool stretch(Clamp& clamp, const std::vector<double>& factors, const DraftTensor& codes) {
  const auto saturates = [&](float bound, int32_t code) {
    return std::all_of(factors.begin(), factors.end(), [&](double factor) {
      return quantize(static_cast<float>(bound * factor), codes) == code;
    });
  };
  if (clamp.min != 0.0f && clamp.min != -INFINITY) {
    if (!saturates(clamp.min, least_code(codes))) return false;
    clamp.min = -INFINITY;
  }
  if (clamp.max != 0.0f && clamp.max != INFINITY) {
    if (!saturates(clamp.max, greatest_code(codes))) return false;
    clamp.max = INFINITY;
  }
  return true;
}

class Folding {
 public:
  explicit Folding(Draft& draft) : draft_(draft), links_(draft) {}

  bool run() {
    for (DraftNode& node : draft_.nodes) {
      const ChannelProduct product = channel_product(draft_, node);
      if (product.x < 0) continue;
      if (into_layer_before(node, product))
        node.outputs.clear();  // dead
      else
        into_layers_behind(node, product);
    }
    return changed_;
  }

 private:
  bool into_layer_before(const DraftNode& product, const ChannelProduct& of) {
    if (!links_.single_use(of.x) || !links_.single_use(product.output())) return false;
    const auto reader = static_cast<size_t>(links_.consumers_of(product.output())[0]);
    const int32_t writer = links_.producer_of(of.x);
    if (writer < 0 || draft_.nodes[reader].op != Op::kQuantize) return false;
    DraftNode& layer = draft_.nodes[static_cast<size_t>(writer)];
    const auto is_positive = [](double factor) { return factor > 0 && std::isfinite(factor); };
    if (!has_float_weights(draft_, layer) || !std::all_of(of.factors.begin(), of.factors.end(), is_positive))
      return false;
    auto clamp = layer.options.value<Clamp>();
    if (!stretch(clamp, of.factors, draft_.tensor(draft_.nodes[reader].output()))) return false;
    join_clamps(clamp, product.options.as<Clamp>());
    auto bias = values_of<float>(draft_.tensor(layer.inputs[2]));
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = static_cast<float>(bias[c] * of.factors[c]);
    set_channels(draft_, layer, of.factors, bias);
    layer.options.as<Clamp>() = clamp;
    take_over_output(draft_, layer, product.output());
    links_.producer[static_cast<size_t>(product.output())] = writer;
    changed_ = true;
    return true;
  }

  void into_layers_behind(const DraftNode& product, const ChannelProduct& of) {
    const int32_t border = links_.producer_of(of.x);
    if (border < 0 || draft_.nodes[static_cast<size_t>(border)].op != Op::kDequantize || has_clamp(product))
      return;
    for (const int32_t index : links_.consumers_of(product.output())) {
      DraftNode& layer = draft_.nodes[static_cast<size_t>(index)];
      if (layer.op != Op::kDepthwiseConv2d || layer.inputs[0] != product.output() ||
          !has_float_weights(draft_, layer) ||
          output_channels(draft_, layer) != static_cast<int32_t>(of.factors.size()))
        continue;
      set_channels(draft_, layer, of.factors, values_of<float>(draft_.tensor(layer.inputs[2])));
      layer.inputs[0] = of.x;
      changed_ = true;
    }
  }

  Draft& draft_;
  Links links_;
  bool changed_ = false;
};

}  // namespace

bool fold_channel_scales(Draft& draft) { return Folding(draft).run(); }

}  // namespace intaglio::importers
