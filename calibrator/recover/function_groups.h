// Channels before and behind functions of one variable in a few groups: an int8 model needs a table for each.
//
// Sets of channels that functions join share their groups. A factor becomes the largest of its group, so that no value leaves
// its range. Channels stand in the order of the product of their factors. The groups are those cuts of that order whose
//
//   sum over groups, sets   n s^2     n: channels of the group, s: their factor in the set
//
// is least, which is the noise of rounding. Fewer groups are taken where they leave a tenth more at most.
#pragma once

#include "calibrator/recover/channel_scaling.h"

namespace intaglio {

class FunctionGroups {
 public:
  FunctionGroups() = default;
  FunctionGroups(const Model& fp32, const CalibratorOptions& options, Arena& arena);
  static uint64_t bytes(const Model& fp32);

  // Whether each node takes_factors().
  Span<const bool> nodes() const { return is_function_; }
  // Calls visit(n, node) for each of these.
  template <typename Visit>
  void for_each(const Model& model, Visit&& visit) const {
    for (int32_t n = 0; n < model.node_count(); ++n)
      if (is_function_[static_cast<size_t>(n)]) visit(n, model.node(n));
  }

  // Brings the factors of sets around functions into groups.
  void apply(const Model& fp32, const ChannelScaling& scaling) const;
  // The factors of what each node reads and writes.
  Span<const FunctionFactors> factors_of(const Model& fp32, const ChannelScaling& scaling) const;

 private:
  Span<bool> is_function_;         // of each node
  Span<FunctionFactors> factors_;  // of each node
  Arena scratch_;
};

}  // namespace intaglio
