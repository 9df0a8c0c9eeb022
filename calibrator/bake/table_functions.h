// Functions of one tensor that are made of several operators: x * sigmoid(1.7 * x) is three nodes in FP32, and one table in int8.
#pragma once

#include "calibrator/quantization/slot_map.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// Nodes that compute one tensor, element by element, from one other tensor and constants of one number. But for the last one's output,
// what they write is read by themselves alone.
struct TableFunction {
  static constexpr int32_t kMost = 16;
  int32_t nodes[kMost];  // ascending
  int32_t count = 0;     // 0: there are none
  int32_t x = -1;        // the tensor that they read

  bool has(int32_t node) const;
};

// A step is a function of one variable, without factors a channel; a sum, difference, product, quotient, maximum or minimum; or a
// comparison or a choice, which int8 does not have by itself. Its codes have 8 bits. Codes between steps would round what the next
// one stretches, and hold what a choice leaves out. Other tools round there: no such functions with CalibratorOptions::compat or
// known parameters, and none over a slot that the options have a setting for.
class TableFunctions {
 public:
  TableFunctions(const Model& model, const CalibratorOptions& options, Span<const FunctionFactors> functions)
      : model_(model), options_(options), functions_(functions) {}

  // As many nodes as can be, two at least, of which `last` is the last. None where not each reader of its output has codes.
  TableFunction ending_with(int32_t last) const;
  // The value that they make of x.
  double value(const TableFunction& function, double x) const;

 private:
  bool is_step(int32_t node) const;
  bool has_setting(int32_t node, bool is_last) const;
  bool is_read_within(const TableFunction& function, int32_t tensor) const;
  bool is_read_as_codes(int32_t tensor) const;

  const Model& model_;
  const CalibratorOptions& options_;
  Span<const FunctionFactors> functions_;
};

}  // namespace intaglio
