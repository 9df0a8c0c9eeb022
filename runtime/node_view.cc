#include "runtime/op.h"

namespace intaglio {

TensorInfo NodeView::input(int32_t i) const {
  return band != nullptr ? band->input(*this, i) : model->tensor(input_index(i));
}

TensorInfo NodeView::output(int32_t i) const {
  return band != nullptr ? band->output(*this) : model->tensor(output_index(i));
}

const void* NodeRun::address(int32_t tensor) const {
  const uint32_t offset = model->activation_offset(tensor);
  return offset == Model::kNoOffset ? static_cast<const void*>(model->tensor(tensor).constant.data)
                                    : activations + offset;
}

const void* NodeRun::input_address(const NodeView& node, int32_t i) const {
  return node.band != nullptr ? node.band->address(node, *this, i) : address(node.input_index(i));
}

const void* NodeRun::output_address(const NodeView& node, int32_t i) const {
  return node.band != nullptr ? node.band->address(node, *this, -1) : address(node.output_index(i));
}

}  // namespace intaglio
