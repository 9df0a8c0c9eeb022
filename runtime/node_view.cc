#include "runtime/op.h"

namespace intaglio {

TensorInfo NodeView::whole_or_band_input(int32_t i) const {
  return band != nullptr ? band->input(*this, i) : model->tensor(input_index(i));
}

TensorInfo NodeView::whole_or_band_output(int32_t i) const {
  return band != nullptr ? band->output(*this) : model->tensor(output_index(i));
}

const void* NodeRun::whole_or_band_address(const NodeView& node, int32_t input) const {
  return node.band != nullptr ? node.band->address(node, *this, input) : address(node.input_index(input));
}

}  // namespace intaglio
