// Rows of functions of one tensor: log(x * x + epsilon) is three nodes in FP32, and one table in int8.
#pragma once

#include "calibrator/quantization/slot_map.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// A step is a function of one variable, or a sum, difference, product or quotient of one computed tensor (twice, perhaps) and constants
// of one number. It is int8, of 8 bits, without factors a channel. A row is steps of which each but the last is read by the next
// one alone, and the last is a function with a table. Codes between them would round what the next one stretches. Other tools round there:
// no rows with CalibratorOptions::compat or known parameters, and none over a slot that the options have a setting for.
class FunctionRows {
 public:
  FunctionRows(const Model& model, const CalibratorOptions& options, const SlotMap& slots,
               Span<const FunctionFactors> functions)
      : model_(model), options_(options), slots_(slots), functions_(functions) {}

  // Whether a row goes on behind the node: nothing is left of it in int8.
  bool goes_on_behind(int32_t node) const;
  // The first step of the row that ends with `node`, which does not go on; `node` itself where there is no other.
  int32_t first_step(int32_t node) const;
  // The steps from `first` to `last`, in memory of the arena.
  Span<const int32_t> steps(int32_t first, int32_t last, Arena& arena) const;
  // The value that steps make of x.
  double value(Span<const int32_t> steps, double x) const;

 private:
  bool is_step(int32_t node) const;
  bool has_table(int32_t node) const;
  bool has_setting(int32_t writer, int32_t reader) const;  // for the codes between two nodes
  int32_t next_step(int32_t node) const;                   // -1: none
  int32_t previous_step(int32_t node) const;               // likewise

  const Model& model_;
  const CalibratorOptions& options_;
  const SlotMap& slots_;
  Span<const FunctionFactors> functions_;
};

}  // namespace intaglio
