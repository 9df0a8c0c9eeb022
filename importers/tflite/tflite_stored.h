// Numbers that a TFLite file stores in another form than the draft has them.
#pragma once

#include "importers/draft/draft.h"
#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

// Element types as the file numbers them.
inline constexpr int8_t kTfliteFloat32 = 0, kTfliteFloat16 = 1, kTfliteInt32 = 2, kTfliteUint8 = 3,
                        kTfliteInt64 = 4, kTfliteBool = 6, kTfliteInt16 = 7, kTfliteComplex = 8,
                        kTfliteInt8 = 9, kTfliteInt4 = 17;

// Bytes of so many elements in the file.
uint64_t tflite_stored_bytes(int8_t type, int64_t elements);
// `data` holds the file's bytes, as many as that; they become those of the draft's type. Integers of 16 bits, and those
// of 64 bits with a scale, become the reals that they stand for; other integers of 64 bits must fit 32.
void convert_stored(int8_t type, DraftTensor& constant);

// TFLite's sparse tensors.

// All elements of a constant, of which the file has `stored`. Of a sparse one those are a part; the others are bytes of 0. Its
// sparsity is a tree, which has a level an axis, in the file's order, and one for the inside of each axis that has blocks. A level
// has all indices, or lists those that are there: branch p of the level before it has indices[segments[p]] up to
// indices[segments[p + 1]]. Throws where the lists do not fit the shape, or do not tell of as many elements as are stored.
std::vector<uint8_t> tflite_bytes(const tflite::Tensor& tensor, const Shape& shape,
                                  Span<const uint8_t> stored);

}  // namespace intaglio::importers
