// TFLite's sparse tensors.
#pragma once

#include "importers/draft/draft.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

// All elements of a constant, of which the file has `stored`. Of a sparse one those are a part; the others are bytes of 0. Its
// sparsity is a tree, which has a level an axis, in the file's order, and one for the inside of each axis that has blocks. A level
// has all indices, or lists those that are there: branch p of the level before it has indices[segments[p]] up to
// indices[segments[p + 1]]. Throws where the lists do not fit the shape, or do not tell of as many elements as are stored.
std::vector<uint8_t> tflite_bytes(const tflite::Tensor& tensor, const Shape& shape,
                                  Span<const uint8_t> stored);

}  // namespace intaglio::importers
