#include "runtime/op.h"

namespace intaglio {

TensorInfo NodeView::whole_or_band_input(int32_t i) const {
  return band != nullptr ? band->input(*this, i) : model->tensor(input_index(i));
}

TensorInfo NodeView::whole_or_band_output(int32_t i) const {
  return band != nullptr ? band->output(*this) : model->tensor(output_index(i));
}

Shape NodeView::whole_or_band_input_shape(int32_t i) const {
  return band != nullptr ? band->input(*this, i).shape : model->tensor_shape(input_index(i));
}

Shape NodeView::whole_or_band_output_shape() const {
  return band != nullptr ? band->output(*this).shape : model->tensor_shape(output_index(0));
}

const void* NodeRun::whole_or_band_address(const NodeView& node, int32_t input) const {
  return node.band != nullptr ? node.band->address(node, *this, input) : address(node.input_index(input));
}

}  // namespace intaglio
