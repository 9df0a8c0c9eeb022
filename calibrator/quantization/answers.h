// Which nodes of an FP32 model give its answer. In the int8 model they read codes and write FP32: what their
// int32 sums say is not rounded to 8 bits at the end, where a tie between two classes is a wrong one half of
// the time. What stands behind them runs in FP32, too.
#pragma once

#include "intaglio/calibrator.h"

namespace intaglio {

// The operator of the int8 model for a node that gives an answer, whose int8 version writes FP32; Op::kNone for
// every other node. That is
//   - a layer of one place (no axis but the first and the last is longer than 1) without a finite clamp:
//     FullyConnected; a Conv2d of one tap on a map of one place, which is one; Mean; an AvgPool2d over the
//     whole map, which is one
//   - whose values reach one output of the model, each tensor on the way being read once, through nothing but
//     operators that have an FP32 version for int8 models: Reshape and Softmax.
// No state's next value is an answer. A node with codes of 16 bits writes such codes instead, which do not tie.
// With CalibratorOptions::int8_answers, and as other tools do it, no node is.
Op answer_op(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node with codes of 16 bits would give an answer, had it 8: its output has 16, too.
bool gives_wide_answer(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node stands between an answer and the model's output.
bool follows_answer(const Model& model, int32_t node, const CalibratorOptions& options);

}  // namespace intaglio
