// Numbers that a TFLite file stores in another form than the draft has them.
#pragma once

#include "importers/draft/draft.h"

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

}  // namespace intaglio::importers
