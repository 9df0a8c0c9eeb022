// CRC-32 by carry-less multiplication, where the CPU has it: most of a long run of bytes becomes sixteen that
// the table of runtime/crc32.h finishes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

inline constexpr size_t kCrc32FoldBytes = 64;

// The CRC of `data`, a positive multiple of kCrc32FoldBytes, with the register `state` before it (that of a table's
// loop: neither inverted on the way in nor out), makes sixteen bytes that give the same register when the
// loop starts at 0.
void crc32_fold_avx2(uint32_t state, const uint8_t* data, size_t size, uint8_t folded[16]);

}  // namespace intaglio
