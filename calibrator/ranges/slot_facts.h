// Facts about the slots from the graph and the caller, before anything is observed.
#pragma once

#include "calibrator/quantization/scales.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/ranges/ranges.h"
#include "runtime/op.h"

namespace intaglio {

class SlotFacts {
 public:
  // Lists are made in `arena`. `map` may get parameters and dominations afterwards.
  SlotFacts(const Model& model, const CalibratorOptions& options, const SlotMap& map, Arena& arena);

  // A slot that gets parameters of its own, neither by another slot nor as weights or a bias.
  bool is_root(int32_t slot) const;
  // The caller's parameters for it; nullptr: none.
  const KnownParams* known_at(int32_t slot) const;

  int32_t writer(int32_t tensor) const { return writers_[static_cast<size_t>(tensor)]; }  // -1: none
  bool is_in_head(int32_t tensor) const { return in_head_[static_cast<size_t>(tensor)]; }
  // Whether Sigmoid, Softmax or Tanh makes of it what the caller reads: scores, of which the rare large ones are the answer.
  bool is_score(int32_t tensor) const { return scores_[static_cast<size_t>(tensor)] == Reach::kScore; }
  // Tengine's zero points are 0 throughout: nothing counts as non-negative there.
  bool is_non_negative(int32_t tensor) const;
  Bounds bounds(int32_t tensor) const;
  // Which of the model's inputs it is; -1: none.
  int32_t input_at(int32_t tensor) const;

  const QuantRule* rule(int32_t node) const;  // nullptr: no such node or operator
  // The parameters of an operator whose output always has the same ones; else nullptr.
  const QuantRule* fixing_rule(int32_t tensor) const;
  // The range and the numbers that Pads write into the root's tensors, which no observer sees: zero is in each range.
  Range with_fills(int32_t root, Range range) const;
  // The function of one variable that alone reads the tensor's codes and whose values no other one reads; -1: none. Of a
  // function of a function, 1 / sigmoid(x), the first one's slope says little.
  int32_t function_reader(int32_t tensor) const;

 private:
  enum class Reach : uint8_t { kNowhere, kAnswer, kScore, kElsewhere };

  void find_known();
  void find_readers();
  void find_scores();
  bool is_behind_answer(int32_t node) const;
  int32_t reader(int32_t tensor) const { return readers_[static_cast<size_t>(map_.slots.root(tensor))]; }
  bool is_function(int32_t node) const;

  const Model& model_;
  const CalibratorOptions& options_;
  const SlotMap& map_;
  Span<int32_t> writers_;  // of each tensor
  Span<int32_t> known_;    // of each root: which of the known parameters hold for it; -1: none
  Span<int32_t> readers_;  // of each root: the only node that reads any of its tensors, or a negative number
  Span<bool> in_head_;     // of each tensor
  Span<Reach> scores_;     // of each tensor
  Span<const bool> non_negative_;
  bool has_fills_ = false;
};

// Which tensors can hold no negative value, whatever the samples were.

// One flag a tensor of an FP32 model. Proved from what the operators say of themselves (ReLU, ReLU6, sigmoid,
// softmax, abs, ...), through those that keep the sign (pooling, resizing, Add, Concat, ...), from constants'
// values and from the pixels of an image input; another input of the model may hold anything, and so may a
// difference.
Span<const bool> non_negative_tensors(const Model& model, Arena& arena);

}  // namespace intaglio
