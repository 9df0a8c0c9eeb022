// ONNX operators that give what they say of a shape as a constant.
#include <algorithm>

#include "importers/onnx/onnx_fold.h"

namespace intaglio::importers {
namespace {

Shape shape_of(OnnxOp& op) {
  op.check_inputs(1, 1);
  return op.is_constant(0) ? folded_input(op, 0).shape : op.draft().tensor(op.any_activation(0)).shape;
}

void import_shape_values(OnnxOp& op) {
  const Shape shape = shape_of(op);
  const auto rank = static_cast<int64_t>(shape.size());
  const auto place = [&](const char* name, int64_t otherwise) {
    const int64_t at = op.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  OnnxConstant<int64_t> dims;
  for (int64_t i = place("start", 0); i < place("end", rank); ++i)
    dims.values.push_back(shape[static_cast<size_t>(i)]);
  dims.shape = {static_cast<int32_t>(dims.values.size())};
  op.set_integers(dims);
}

void import_size(OnnxOp& op) { op.set_integers({{}, {elements(shape_of(op))}}); }

void import_eye_like(OnnxOp& op) {
  const Shape shape = shape_of(op);
  if (shape.size() != 2) fail("its input has the shape ", shape_text(shape), "; rank 2 is expected");
  check_folded_size(shape);
  const int64_t k = op.integer("k", 0);
  const bool takes_reals = op.is_constant(0) ? op.is_constant_of_reals(0) : !op.is_integer(0);
  const int64_t type = op.integer("dtype", 0);
  Values y{shape, type == 0 ? takes_reals : is_onnx_real(type), {}, {}};
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) y.integers.push_back(j - i == k ? 1 : 0);
  if (y.is_real) {
    y.reals.assign(y.integers.begin(), y.integers.end());
    y.integers.clear();
  }
  set_folded(op, y);
}

constexpr OnnxOperator kOnnxShapeValueOperators[] = {
    {"EyeLike", import_eye_like, {}, "It becomes a constant."},
    {"Shape", import_shape_values, {}, "It becomes a constant."},
    {"Size", import_size, {}, "It becomes a constant."},
};

}  // namespace

Span<const OnnxOperator> onnx_shape_value_operators() { return kOnnxShapeValueOperators; }

}  // namespace intaglio::importers
