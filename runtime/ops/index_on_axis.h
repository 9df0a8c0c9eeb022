// Indices that a run computes. A run cannot fail, and reads no memory but its tensors'.
#pragma once

#include <cstdint>

namespace intaglio {

// The place in an axis of `dim` that an index means: below 0 it counts from the end, as ONNX has it, and one that does
// not exist is the nearest that does. onnxruntime and TFLite end the run there.
constexpr int32_t index_on_axis(int32_t index, int32_t dim) {
  if (index < 0) index += dim;
  return index < 0 ? 0 : index < dim ? index : dim - 1;
}

}  // namespace intaglio
