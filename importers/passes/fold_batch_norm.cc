// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with x from a convolution: into its weights and
// bias, in double, rounded once. Weights that lay on a grid lie on one a channel. What the layer knew of each channel is kept as statistics.
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

void fold_into(Draft& draft, DraftNode& node, const DraftNode& norm) {
  const auto gamma = values_of<float>(draft.tensor(norm.inputs[1]));
  const auto beta = values_of<float>(draft.tensor(norm.inputs[2]));
  const auto mean = values_of<float>(draft.tensor(norm.inputs[3]));
  const auto variance = values_of<float>(draft.tensor(norm.inputs[4]));
  auto bias = values_of<float>(draft.tensor(node.inputs[2]));
  std::vector<double> factors;
  DraftNormStatistics statistics;
  statistics.tensor = norm.output();
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double deviation = std::sqrt(double{variance[c]} + double{norm.epsilon});
    const double factor = gamma[c] / deviation;
    factors.push_back(factor);
    bias[c] = static_cast<float>((double{bias[c]} - mean[c]) * factor + beta[c]);
    statistics.mean.push_back(beta[c]);
    statistics.deviation.push_back(static_cast<float>(std::fabs(factor) * std::sqrt(double{variance[c]})));
  }
  set_channels(draft, node, factors, bias);
  draft.norm_statistics.push_back(std::move(statistics));
  take_over_output(draft, node, norm.output());
}

}  // namespace

bool fold_batch_norm(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode norm = draft.nodes[n];
    if (norm.op != kBatchNorm || !links.single_use(norm.input())) continue;
    const int32_t index = links.producer_of(norm.input());
    if (index < 0) continue;
    DraftNode& node = draft.nodes[static_cast<size_t>(index)];
    if (!has_float_weights(draft, node) || has_clamp(node)) continue;
    fold_into(draft, node, norm);
    links.producer[static_cast<size_t>(norm.output())] = index;  // a second norm may follow
    draft.nodes[n].outputs.clear();                              // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
