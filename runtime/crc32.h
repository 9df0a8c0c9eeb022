// CRC-32 (IEEE 802.3, reflected, as zlib's), over pieces: start with 0, feed each piece.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size);

}  // namespace intaglio
