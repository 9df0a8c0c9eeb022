#include "calibrator/ranges/score_ranges.h"

#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/ranges/range_models.h"

namespace intaglio {
namespace {

// No scores differ by this much: an operand that reaches as far is a mask.
constexpr double kLeastOfMasks = 1024.0;
// e^-24 is 0 in codes of 16 bits. So is the sum of a thousand of them.
constexpr double kBelow = 24.0;

bool masks(const Range& range) { return range.hi - range.lo > kLeastOfMasks; }

Range negated(const Range& range) { return {-range.hi, -range.lo}; }

class ScoreSum {
 public:
  ScoreSum(const ParamSource& source, const SlotFacts& facts, SlotMap& map, int32_t node)
      : source_(source), facts_(facts), map_(map), node_(node), info_(source.fp32.model.node(node)) {}

  // Before any mask is set: none reaches anywhere.
  Error clear_masks() {
    for (size_t i = 0; i < 2; ++i)
      if (is_mask(model(), info_.inputs[i], source_.options))
        ITG_TRY(set_range(map_.input_slot(node_, i), Range()));
    return kNoError;
  }

  Error set() {
    const Range terms[] = {term(0), term(1)};
    Range scores;           // of the operands that mask nothing
    double unmasked = 0.0;  // what the others add where they mask nothing
    for (const Range& term : terms) {
      if (masks(term))
        unmasked += term.hi;
      else
        scores = {scores.lo + term.lo, scores.hi + term.hi};
    }
    const double below = masks(terms[0]) || masks(terms[1]) ? kBelow : 0.0;
    for (size_t i = 0; i < 2; ++i) {
      if (!is_mask(model(), info_.inputs[i], source_.options)) continue;
      Range own = terms[i];
      if (masks(own)) own.lo = own.hi - (scores.hi - scores.lo) - below;
      if (is_subtracted(i)) own = negated(own);
      const int32_t slot = map_.input_slot(node_, i);
      const Range held = range_of(map_.slots.config(slot));  // other sums may need more of it
      ITG_TRY(set_range(slot, {own.lo < held.lo ? own.lo : held.lo, own.hi > held.hi ? own.hi : held.hi}));
    }
    return set_range(info_.outputs[0], {scores.lo + unmasked - below, scores.hi + unmasked});
  }

 private:
  const Model& model() const { return source_.fp32.model; }
  bool is_subtracted(size_t input) const { return info_.op == Op::kSub && input == 1; }

  // What an operand adds: lo <= 0 <= hi.
  Range term(size_t input) const {
    const int32_t tensor = info_.inputs[input];
    const int32_t observer = source_.observing.observer_of[static_cast<size_t>(tensor)];
    Range range = range_of(map_.slots.config(map_.input_slot(node_, input)));
    if (is_mask(model(), tensor, source_.options)) {  // its slot does not say it
      if (model().tensor(tensor).is_constant())
        range = range_of_constant(model().tensor(tensor));
      else if (observer >= 0)
        range = seen_range(source_.seen.observers[static_cast<size_t>(observer)]);
    }
    return is_subtracted(input) ? negated(range) : range;
  }

  // Known parameters stay as they are.
  Error set_range(int32_t slot, Range range) {
    const int32_t root = map_.slots.root(slot);
    const QuantConfig& config = map_.slots.own(root);
    if (config.state != QuantState::kActivated || facts_.known_at(root) != nullptr) return kNoError;
    range = {range.lo < 0.0 ? range.lo : 0.0, range.hi > 0.0 ? range.hi : 0.0};
    const Error error = map_.slots.set_params(root, params_of(range, config));
    return error.ok() ? error : at_slot(model(), map_, root, error);
  }

  const ParamSource& source_;
  const SlotFacts& facts_;
  SlotMap& map_;
  int32_t node_;
  NodeInfo info_;
};

}  // namespace

Error set_score_ranges(const ParamSource& source, const SlotFacts& facts, SlotMap& map) {
  const Model& model = source.fp32.model;
  for (const bool clears : {true, false})
    for (int32_t n = 0; n < model.node_count(); ++n) {
      if (!adds_to_scores(model, n) || !becomes_int8(model, n, source.options)) continue;
      ScoreSum sum(source, facts, map, n);
      ITG_TRY(clears ? sum.clear_masks() : sum.set());
    }
  return kNoError;
}

}  // namespace intaglio
