#include "importers/draft/op_traits.h"

#include <iterator>
#include <tuple>

#include "intaglio/describe.h"

namespace intaglio::importers {
namespace {

// In the order of the enumerators, so that an operator without a row does not compile.
constexpr OpTraits kTraits[] = {
    {Op::kNone},
    {Op::kConv2d, Axes::kFixed, Int8Form::kWeighted, kTakesClamp},
    {Op::kDepthwiseConv2d, Axes::kFixed, Int8Form::kWeighted, kTakesClamp},
    {Op::kFullyConnected, Axes::kFixed, Int8Form::kWeighted, kTakesClamp},
    {Op::kAdd, Axes::kSame, Int8Form::kArithmetic, kTakesClamp | kBroadcasts | kCommutes | kPreprocesses},
    {Op::kAvgPool2d, Axes::kFixed, Int8Form::kRescales, kTakesClamp},
    {Op::kMaxPool2d, Axes::kFixed, Int8Form::kSelects, kTakesClamp},
    {Op::kMean, Axes::kReduced, Int8Form::kRescales, kTakesClamp},
    {Op::kSoftmax, Axes::kLast},
    {Op::kReshape, Axes::kReshaped, Int8Form::kMoves},
    {Op::kTranspose, Axes::kFixed, Int8Form::kMoves},
    {Op::kQuantize, Axes::kAny, Int8Form::kNone, kPreprocesses},
    {Op::kDequantize, Axes::kAny, Int8Form::kNone, kPreprocesses},
    {Op::kLookup, Axes::kAny, Int8Form::kNone, kPreprocesses},
    {Op::kClamp, Axes::kAny, Int8Form::kRescales, kTakesClamp | kPreprocesses},
    {Op::kMul, Axes::kSame, Int8Form::kArithmetic, kTakesClamp | kBroadcasts | kCommutes | kPreprocesses},
    {Op::kSub, Axes::kSame, Int8Form::kArithmetic, kTakesClamp | kBroadcasts | kPreprocesses},
    {Op::kConcat, Axes::kSame, Int8Form::kJoins, kPreprocesses},
    {Op::kPad, Axes::kAny, Int8Form::kSelects, kPreprocesses},
    {Op::kStridedSlice, Axes::kAny, Int8Form::kMoves, kPreprocesses},
    {Op::kGather, Axes::kAny, Int8Form::kMoves},
    {Op::kResize, Axes::kFixed, Int8Form::kInterpolates},
    {Op::kPRelu, Axes::kFixed, Int8Form::kRescales},
    {Op::kLeakyRelu, Axes::kAny, Int8Form::kRescales},
    {Op::kSigmoid, Axes::kAny, Int8Form::kRescales},
    {Op::kTanh, Axes::kAny, Int8Form::kRescales},
    {Op::kHardSwish, Axes::kAny, Int8Form::kRescales},
    {Op::kHardSigmoid, Axes::kAny, Int8Form::kRescales},
    {Op::kSwish, Axes::kAny, Int8Form::kRescales},
    {Op::kGelu, Axes::kAny, Int8Form::kRescales},
    {Op::kExp, Axes::kAny, Int8Form::kRescales},
    {Op::kAbs, Axes::kAny, Int8Form::kRescales},
    {Op::kSqrt, Axes::kAny, Int8Form::kRescales},
    {Op::kRsqrt, Axes::kAny, Int8Form::kRescales},
    {Op::kReciprocal, Axes::kAny, Int8Form::kRescales},
    {Op::kLog, Axes::kAny, Int8Form::kRescales},
    {Op::kErf, Axes::kAny, Int8Form::kRescales},
    {Op::kElu, Axes::kAny, Int8Form::kRescales},
    {Op::kSoftplus, Axes::kAny, Int8Form::kRescales},
    {Op::kMish, Axes::kAny, Int8Form::kRescales},
    {Op::kGeluTanh, Axes::kAny, Int8Form::kRescales},
    {Op::kDiv, Axes::kSame, Int8Form::kArithmetic, kTakesClamp | kBroadcasts | kPreprocesses},
    {Op::kMaximum, Axes::kSame, Int8Form::kCompares, kTakesClamp | kBroadcasts | kCommutes | kPreprocesses},
    {Op::kMinimum, Axes::kSame, Int8Form::kCompares, kTakesClamp | kBroadcasts | kCommutes | kPreprocesses},
    {Op::kL2Normalize, Axes::kLast, Int8Form::kRescales},
    {Op::kBatchMatMul, Axes::kFixed, Int8Form::kMultiplies},
    {Op::kFloor, Axes::kAny, Int8Form::kRescales},
    {Op::kCeil, Axes::kAny, Int8Form::kRescales},
    {Op::kRound, Axes::kAny, Int8Form::kRescales},
    {Op::kSign, Axes::kAny, Int8Form::kRescales},
    {Op::kSin, Axes::kAny, Int8Form::kRescales},
    {Op::kCos, Axes::kAny, Int8Form::kRescales},
    {Op::kPow, Axes::kAny, Int8Form::kRescales},
    {Op::kSelu, Axes::kAny, Int8Form::kRescales},
    {Op::kCelu, Axes::kAny, Int8Form::kRescales},
    {Op::kThresholdedRelu, Axes::kAny, Int8Form::kRescales},
    {Op::kShrink, Axes::kAny, Int8Form::kRescales},
    {Op::kSoftsign, Axes::kAny, Int8Form::kRescales},
    {Op::kEqual, Axes::kSame, Int8Form::kNone, kBroadcasts | kCommutes},
    {Op::kLess, Axes::kSame, Int8Form::kNone, kBroadcasts},
    {Op::kLessOrEqual, Axes::kSame, Int8Form::kNone, kBroadcasts},
    {Op::kWhere, Axes::kSame, Int8Form::kNone},
    {Op::kCast},
    {Op::kTopK, Axes::kAny},
    {Op::kGatherElements, Axes::kFixed, Int8Form::kMoves},
    {Op::kOneHot},
    {Op::kNormalize, Axes::kLast, Int8Form::kRescales},
    {Op::kGroupedLookup, Axes::kFixed},
    {Op::kMaxUnpool2d, Axes::kFixed, Int8Form::kSelects},
};

constexpr struct {
  OpTraits traits;
  const char* name;
} kOfDraftsAlone[] = {
    {{kBatchNorm}, "BatchNorm"},
    {{kSpaceToBatch}, "SpaceToBatch"},
    {{kBatchToSpace}, "BatchToSpace"},
};

constexpr bool is_complete() {
  if (std::size(kTraits) != static_cast<size_t>(kOpCount)) return false;
  for (size_t i = 0; i < std::size(kTraits); ++i)
    if (kTraits[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(is_complete(), "every operator has its row in kTraits");

}  // namespace

const OpTraits& traits(Op op) {
  for (const auto& row : kOfDraftsAlone)
    if (row.traits.op == op) return row.traits;
  const auto index = static_cast<size_t>(op);
  return kTraits[index < std::size(kTraits) ? index : 0];
}

const char* draft_op_name(Op op) {
  for (const auto& row : kOfDraftsAlone)
    if (row.traits.op == op) return row.name;
  return op_name(op);
}

void add_folded(std::vector<ImportedOperator>& list, const std::string& name, int32_t code) {
  for (ImportedOperator& known : list) {
    if (known.name != name || !known.domain.empty()) continue;
    known.is_folded = true;
    return;
  }
  ImportedOperator constants_alone;
  constants_alone.name = name;
  constants_alone.code = code;
  constants_alone.limits = "All inputs are constants.";
  constants_alone.is_float = false;
  constants_alone.is_folded = true;
  list.push_back(constants_alone);
}

bool by_name(const ImportedOperator& a, const ImportedOperator& b) {
  return std::tie(a.name, a.domain) < std::tie(b.name, b.domain);
}

}  // namespace intaglio::importers
