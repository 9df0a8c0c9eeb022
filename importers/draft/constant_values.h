// Arithmetic on constants: what exporters write around shapes, and weights that a file reshapes. The readers
// of both formats compute with it what leaves no node. What does not fit is thrown.
//
// It stands beside constant_evaluation.h, which runs any operator's own nodes by the runtime. Arithmetic of shapes needs what a
// runtime's tensor has not: 64-bit integers (exporters write INT64_MAX for "to the end"), single numbers of rank 0, and lists
// without elements. So moves, arithmetic and reductions of constants are done here, and functions of one number by the rule that the
// runtime's operator has. All other operators are run there. Each operator goes one way, which the tables of onnx_fold.cc and
// tflite_fold.cc decide.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// A constant of integers or of reals.
struct Values {
  Shape shape;  // empty: one value
  bool is_real = false;
  std::vector<int64_t> integers;
  std::vector<float> reals;
};

// Throws where a result would have more elements than any shape arithmetic needs.
void check_folded_size(const Shape& shape);
std::vector<size_t> row_major_strides(const Shape& shape);

enum class Arithmetic {
  kAdd,
  kSub,
  kMul,
  kDiv,  // integers: towards 0
  kFloorDiv,
  kMod,  // the divisor's sign
  kMax,
  kMin,
  kPow,
  kBitAnd,  // of integers, in two's complement
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kEqual,  // comparisons give integers 0 and 1
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
};
// Each operand is repeated where it is smaller; both are integers or both reals.
Values combined(Arithmetic operation, const Values& a, const Values& b);

Values combined(Arithmetic operation, const Values& a, int8_t number);
// A function of one variable: of reals as the operator's rule has it, which is the same on every machine; of integers kAbs, kFloor
// and kCeil.
Values mapped(Op function, Values x);

enum class Reduction { kSum, kMean, kProduct, kMax, kMin };
// `axes` ascending; none: all.
Values reduced(Reduction reduction, const Values& x, const std::vector<int32_t>& axes, bool keep);

Values gathered(const Values& x, size_t axis, const Values& indices);
// `begin` on and each step from it, as many as `shape` has.
Values sliced(const Values& x, const std::vector<int32_t>& begin, const std::vector<int32_t>& strides,
              const Shape& shape);
Values concatenated(const std::vector<Values>& parts, size_t axis);
Values transposed(const Values& x, const Permutation& permutation);
Values expanded(const Values& x, const Shape& shape);                // as ONNX's Expand
Values tiled(const Values& x, const std::vector<int64_t>& repeats);  // one an axis
Values chosen(const Values& condition, const Values& yes, const Values& no);
// From `start` on by each step, as long as they lie in front of `limit`: single numbers of one type.
Values progression(const Values& start, const Values& limit, const Values& step);
// Where x is not 0: a row of indices for each axis, in the order of the elements.
Values places_of_nonzero(const Values& x);
Values as_real(Values x);
Values as_integers(Values x);  // towards 0

}  // namespace intaglio::importers
