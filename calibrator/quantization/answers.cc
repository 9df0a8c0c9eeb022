#include "calibrator/quantization/answers.h"

#include <limits>

#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/quantization/slot_map.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool is_one_place(const Shape& shape) { return shape.elements(1, shape.rank - 1) == 1; }

bool has_clamp(const NodeOptions& options) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto clamp = options.value<Clamp>();
  return clamp.min != -kInfinity || clamp.max != kInfinity;
}

// The window is the whole input, and nothing but it.
bool is_whole_map(const Window2d& window, const Shape& in) {
  return window.kernel_h == in[1] && window.kernel_w == in[2] && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0;
}

// The same arithmetic by an operator that may have an int8 version with FP32 sums.
Op op_of_sums(const Model& model, const NodeInfo& node) {
  if (node.op != Op::kConv2d && node.op != Op::kAvgPool2d) return node.op;
  const Shape in = model.tensor(node.inputs[0]).shape;
  const Window2d& window = node.options.as<Window2d>();
  if (in.rank != 4 || !is_whole_map(window, in)) return Op::kNone;
  if (node.op == Op::kAvgPool2d) return Op::kMean;
  const bool is_product =
      is_one_place(in) && node.options.as<Conv2dOptions>().groups <= 1 && node.inputs.size <= 3;
  return is_product ? Op::kFullyConnected : Op::kNone;
}

bool runs_behind(const Model& model, int32_t node) {
  const NodeInfo info = model.node(node);
  if (info.inputs[0] < 0) return false;
  const OpSignature own{info.op, model.tensor(info.inputs[0]).dtype, model.tensor(info.outputs[0]).dtype};
  return find_op_index(int8_ops(), own) != kNoOp;
}

// Whether the caller gets these values and nothing else reads them, reshaped or not.
bool reaches_output(const Model& model, int32_t node, const CalibratorOptions& options) {
  while (true) {
    const int32_t tensor = model.node_outputs(node)[0];
    if (state_of(options, tensor, true) >= 0) return false;
    int32_t readers = 0, caller = 0, reader = -1;
    for (const int32_t output : model.outputs()) caller += output == tensor ? 1 : 0;
    for (int32_t n = node + 1; n < model.node_count(); ++n)
      for (const int32_t input : model.node_inputs(n))
        if (input == tensor) {
          ++readers;
          reader = n;
        }
    if (readers + caller != 1) return false;
    if (caller == 1) return true;
    if (!runs_behind(model, reader)) return false;
    node = reader;
  }
}

// As answer_op(), whatever the bits of its codes.
Op op_of_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  if (options.int8_answers || options.compat != Compat::kNone) return Op::kNone;
  const NodeInfo info = model.node(node);
  if (info.outputs.size != 1 || info.inputs.empty() || info.inputs[0] < 0 || has_clamp(info.options))
    return Op::kNone;
  if (!is_one_place(model.tensor(info.outputs[0]).shape)) return Op::kNone;
  const Op op = op_of_sums(model, info);
  if (find_op_index(int8_ops(), {op, DType::kS8, DType::kF32}) == kNoOp) return Op::kNone;
  return reaches_output(model, node, options) ? op : Op::kNone;
}

}  // namespace

Op answer_op(const Model& model, int32_t node, const CalibratorOptions& options) {
  return is_wide(model, node, options) ? Op::kNone : op_of_answer(model, node, options);
}

bool gives_wide_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  // In this order: is_wide() asks this of what wrote each operand, and only few nodes may give an answer. The other way
  // round its time would double with each residual sum.
  return op_of_answer(model, node, options) != Op::kNone && is_wide(model, node, options);
}

bool follows_answer(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (bool is_first = true; node >= 0; is_first = false) {
    if (!is_first && answer_op(model, node, options) != Op::kNone) return true;
    if (!runs_behind(model, node)) return false;
    node = writer_of(model, model.node_inputs(node)[0]);
  }
  return false;
}

}  // namespace intaglio
