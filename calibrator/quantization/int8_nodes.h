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

// Whether a node of the FP32 model becomes an int8 one: it has an int8 version, the options do not keep it in FP32,
// and it does not follow an answer (answers.h). One with codes of 16 bits needs a version for these. What stands
// behind an operator that has none stays in FP32, too, as long as it has one input and no weights. What becomes an index stays
// in FP32 as well, from the last layer with weights on, and so does what makes a mask of an input. With another tool's rules (compat) sums of scores stay in FP32.
bool becomes_int8(const Model& model, int32_t node, const CalibratorOptions& options);

}  // namespace intaglio
