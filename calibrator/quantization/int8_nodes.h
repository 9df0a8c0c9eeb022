// Which nodes of an FP32 model become int8 ones.
#pragma once

#include "intaglio/calibrator.h"
#include "runtime/op.h"

namespace intaglio {

// The operator of a node's int8 version, whose FP32 version has this rule.
Op int8_op(const NodeInfo& node, const QuantRule& rule);

// The same in codes of 16 bits: Op::kNone where there is no such version.
Op int16_op(const NodeInfo& node, const QuantRule& rule);

// Whether a setting holds for a slot of a node: its output, an input, or its weights. node: -1 for what no node writes.
bool applies(const SlotSetting& setting, int32_t node, SlotRole role, int32_t input);

// The search for nodes before or behind a node ends after so many of them: a model may have thousands in a row.
inline constexpr int32_t kMostNodesBetween = 64;

// Whether a node adds a mask or a bias to the scores of an attention: a Softmax alone reads its sum, through nothing but further
// sums and operators that keep codes. The sum has 16 bits unless the options say otherwise: what is rounded there is a factor
// of what the Softmax gives.
bool adds_to_scores(const Model& model, int32_t node);

// Whether a tensor is such a mask or bias: it is added to scores alone, and no int8 node writes it. It has 16 bits, too.
bool is_mask(const Model& model, int32_t tensor, const CalibratorOptions& options);

// Whether a node has codes of 16 bits at an operand or its output, as the options ask for or as a sum of scores needs.
bool is_wide(const Model& model, int32_t node, const CalibratorOptions& options);

inline constexpr int32_t kWideBits = 16;

// The bits of an activation's known parameters, 8 or 16; 0: it has none. node, input: what a node reads as its own; -1:
// the tensor itself.
int32_t known_bits(const CalibratorOptions& options, int32_t tensor, int32_t node, int32_t input);

// Whether a reader of a tensor may have other parameters than what wrote it: the options say something of single slots.
bool sets_slots(const CalibratorOptions& options);

// Whether a node of the FP32 model becomes an int8 one: it has an int8 version, the options do not keep it in FP32,
// and it does not follow an answer (int8_nodes.h). One with codes of 16 bits needs a version for these. What stands
// behind an operator that has none stays in FP32, too, as long as it has one input and no weights. What becomes an index stays
// in FP32 as well, from the last layer with weights on, and so does what makes a mask of an input, or normalizes the inputs in front of
// the first layer with weights. With another tool's rules (compat) sums of scores stay in FP32.
bool becomes_int8(const Model& model, int32_t node, const CalibratorOptions& options);

// Which nodes of an FP32 model give its answer. In the int8 model they read codes and write FP32: what their
// int32 sums say is not rounded to 8 bits at the end, where a tie between two classes is a wrong one half of
// the time. What stands behind them runs in FP32, too.

// The operator of the int8 model for a node that gives an answer, whose int8 version writes FP32; Op::kNone for
// every other node. That is
//   - a layer of one place (no axis but the first and the last is longer than 1) without a finite clamp:
//     FullyConnected; a Conv2d of one tap on a map of one place, which is one; Mean; an AvgPool2d over the
//     whole map, which is one
//   - whose values reach one output of the model, each tensor on the way being read once, through nothing but
//     operators that have an FP32 version for int8 models (the kind `both` of runtime/op_list.inc): what moves elements,
//     Softmax, Sigmoid, Tanh, Exp, Log, L2 normalization, and sums and products with constants.
// No state's next value is an answer. A node with codes of 16 bits writes such codes instead, which do not tie.
// With CalibratorOptions::int8_answers, and as other tools do it, no node is. Those of CalibratorOptions::float_results are
// always; what stands behind them is not bound to FP32.
Op answer_op(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node computes in codes and writes them.
bool writes_codes(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node with codes of 16 bits would give an answer, had it 8: its output has 16, too.
bool gives_wide_answer(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node joins tensors to one: a Concat.
bool joins(const Model& model, int32_t node);

// Whether a node joins parts of what the caller reads, or stands between such a node and the caller. Boxes and scores then keep a
// scale each: they leave codes in front of it, and it runs in FP32. Between it and the output stand nothing but such nodes and
// those that follow answers, and each tensor is read once. Not where the model's inputs are among the parts, where a setting
// names the node, with known parameters, int8_answers and as other tools do it.
bool joins_answers(const Model& model, int32_t node, const CalibratorOptions& options);

// Whether a node stands between an answer and the model's output.
bool follows_answer(const Model& model, int32_t node, const CalibratorOptions& options);

}  // namespace intaglio
