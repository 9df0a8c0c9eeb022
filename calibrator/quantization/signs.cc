#include "calibrator/quantization/signs.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool constant_is_non_negative(const TensorInfo& info) {
  if (info.dtype != DType::kF32) return true;  // an index is no quantity
  const auto* values = reinterpret_cast<const float*>(info.constant.data);
  for (size_t i = 0; i < info.constant.size / sizeof(float); ++i)
    if (!(values[i] >= 0.0f)) return false;
  return true;
}

bool pixels_are_non_negative(const ImageInput& image) {
  for (int32_t c = 0; c < image.channels; ++c)
    for (const float pixel : {0.0f, 255.0f})
      if (!((pixel - image.mean[c]) * image.norm[c] >= 0.0f)) return false;
  return true;
}

bool is_non_negative(const Model& model, const NodeInfo& node, Span<const bool> known) {
  const auto clamp = node.options.value<Clamp>();
  if (clamp.min >= 0.0f) return true;
  if (clamp.max < 0.0f || node.options.value<PadOptions>().value < 0.0f) return false;
  const OpDef* const def = find_op(float_ops(), model, node);
  if (def == nullptr || def->quant.sign == SignRule::kAny) return false;
  if (def->quant.sign == SignRule::kNonNegative) return true;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const bool is_operand = node.inputs[i] >= 0 && static_cast<int8_t>(i) != def->quant.parameter_input;
    if (is_operand && !known[static_cast<size_t>(node.inputs[i])]) return false;
  }
  return true;
}

}  // namespace

Span<const bool> non_negative_tensors(const Model& model, Arena& arena) {
  const Span<bool> known = arena.make<bool>(static_cast<size_t>(model.tensor_count()));
  if (known.empty()) return known;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.is_constant()) known[static_cast<size_t>(t)] = constant_is_non_negative(info);
  }
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    known[static_cast<size_t>(model.inputs()[static_cast<size_t>(image.input)])] =
        pixels_are_non_negative(image);
  }
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const bool proved = is_non_negative(model, node, known);
    for (const int32_t output : node.outputs) known[static_cast<size_t>(output)] = proved;
  }
  return known;
}

}  // namespace intaglio
