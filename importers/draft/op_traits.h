// The effect of each operator on data, as the passes ask for it: one row an operator.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// How an operator depends on the order of axes: whether a Transpose before it may stand behind it.
enum class Axes : uint8_t {
  kFixed,    // each axis has a meaning of its own
  kAny,      // none has; options with an element an axis, or with an axis, are renumbered
  kSame,     // none has, as long as all operands have the same order
  kReduced,  // those of ReduceOptions are reduced
  kLast,     // the last one has a meaning
  kReshaped,
};

// The int8 form of an FP32 node between Dequantize and Quantize.
enum class Int8Form : uint8_t {
  kNone,      // it stays in FP32
  kMoves,     // on codes: each element of the result is one of the input's
  kSelects,   // on codes in the output's scale: elements of the first input, zeros, and what its options add
  kJoins,     // on codes in the output's scale: elements of all inputs
  kCompares,  // on codes in the output's scale: of each place, one input's element
  kInterpolates,  // on codes in the output's scale, where its weights are exact
  kArithmetic,    // on codes, each input in its own scale; a constant becomes codes, or the node a table
  kWeighted,      // on codes, with int8 weights and an int32 bias
  kMultiplies,    // on codes, each input in its own scale; a constant becomes codes where it is of them
  kRescales,      // on codes in its own scales, or a table
};

// Further properties of some operators; bits.
enum OpTrait : uint8_t {
  kTakesClamp = 1,   // its options bound the result: a Relu behind it goes into it
  kBroadcasts = 2,   // it repeats an operand along axes of size 1
  kCommutes = 4,     // its two operands may change places
  kPreprocesses = 8  // exporters write it between a picture and the network
};

struct OpTraits {
  Op op = Op::kNone;
  Axes axes = Axes::kFixed;
  Int8Form int8 = Int8Form::kNone;
  uint8_t bits = 0;  // OpTrait

  bool is(OpTrait trait) const { return (bits & trait) != 0; }
};

// Rows for every operator of the runtime, and for those of the draft alone.
const OpTraits& traits(Op op);
const char* draft_op_name(Op op);  // "Conv2D", "BatchNorm"

// One operator of a foreign format, as documents and tests list it.

struct ImportedOperator {
  std::string domain;       // of ONNX; "": its own
  std::string name;         // "Conv", "CONV_2D"
  int32_t code = -1;        // TFLite's number
  std::vector<Op> becomes;  // the runtime's operators that it is made of; none: it leaves no node
  std::string limits;       // a sentence, or nothing
  bool is_float = true;     // FP32 activations: not where kDequantize comes first
  bool is_int8 = false;     // int8 ones
  bool is_folded = false;   // it is computed where all inputs are constants
};

template <size_t N>
ImportedOperator imported_operator(const std::string& domain, const std::string& name, const Op (&becomes)[N],
                                   const std::string& limits, bool is_int8) {
  ImportedOperator made;
  made.domain = domain;
  made.name = name;
  for (const Op op : becomes)
    if (op != Op::kNone) made.becomes.push_back(op);
  made.limits = limits;
  made.is_float = made.becomes.empty() || made.becomes.front() != Op::kDequantize;
  made.is_int8 = is_int8;
  return made;
}

// Marks the operator of the format's own domain as folded; one that stands nowhere is known of constants alone.
void add_folded(std::vector<ImportedOperator>& list, const std::string& name, int32_t code = -1);
bool by_name(const ImportedOperator& a, const ImportedOperator& b);

}  // namespace intaglio::importers
