#include "runtime/crc32.h"

namespace intaglio {
namespace {

// On a Cortex-M half a byte a step: 64 bytes of flash instead of 1024.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
constexpr uint32_t kBits = 4;
#else
constexpr uint32_t kBits = 8;
#endif
constexpr uint32_t kEntries = 1u << kBits;

struct Table {
  uint32_t entry[kEntries];
};

constexpr Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < kEntries; ++i) {
    uint32_t c = i;
    for (uint32_t bit = 0; bit < kBits; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0u);
    table.entry[i] = c;
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (uint32_t bit = 0; bit < 8; bit += kBits) crc = (crc >> kBits) ^ kTable.entry[crc % kEntries];
  }
  return ~crc;
}

}  // namespace intaglio
