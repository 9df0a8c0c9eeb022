// Operators of constants: their nodes are run here, by the runtime, and leave constants. Those of shape
// arithmetic are not; constant_values.h says why.
#pragma once

#include <unordered_map>

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Casts between FP32 and s32: of a tensor once, for all who ask. `source` is the operator of the file that asks first.
class IntegerCasts {
 public:
  int32_t as_real(Draft& draft, const std::string& source, int32_t tensor);   // of s32; others stay
  int32_t as_index(Draft& draft, const std::string& source, int32_t tensor);  // of FP32; others stay

 private:
  std::unordered_map<int32_t, int32_t> reals_, indices_;  // of tensors that were cast
};

// An operator whose inputs are constants, on its way through its own handler. The handler takes constants as inputs of a
// network, and adds nodes to the draft as always. finish() runs them and takes them out of the draft again.
class Evaluation {
 public:
  explicit Evaluation(Draft& draft)
      : draft_(draft), first_node_(draft.nodes.size()), first_tensor_(draft.tensors.size()) {}

  // A tensor of the draft that the run starts with: with the values of `constant`.
  int32_t input(DraftTensor constant);
  // Whether the handler has made this tensor. A hostile file may name others as the operator's further outputs.
  bool has_made(int32_t tensor) const { return tensor >= static_cast<int32_t>(first_tensor_); }
  // The values of these tensors, as constants, in this order. Throws where they cannot be run, or where that
  // would take long.
  std::vector<DraftTensor> finish(const std::vector<int32_t>& outputs);
  // Takes back what the handler has added.
  void discard();

 private:
  Draft part(const std::vector<int32_t>& outputs) const;

  Draft& draft_;
  size_t first_node_, first_tensor_;
  std::vector<int32_t> inputs_;
  std::vector<std::vector<uint8_t>> values_;  // of the inputs
};

// While it lives, handlers of a foreign file see an evaluation, and no tensor that was cast for others. `File` is an
// importer's view of such a file: it has `draft`, `casts`, `evaluation` and `evaluated`.
template <typename File>
class EvaluationScope {
 public:
  explicit EvaluationScope(File& file) : file_(file), evaluation_(*file.draft) {
    std::swap(file_.casts, casts_);
    file_.evaluation = &evaluation_;
  }
  ~EvaluationScope() {
    evaluation_.discard();
    file_.evaluation = nullptr;
    file_.evaluated.clear();
    std::swap(file_.casts, casts_);
  }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  File& file_;
  Evaluation evaluation_;
  IntegerCasts casts_;
};

}  // namespace intaglio::importers
