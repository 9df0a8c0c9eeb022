#include "runtime/crc32.h"

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/digest/crc32_fold.h"

namespace intaglio {
namespace {

// On a Cortex-M half a byte a step: 64 bytes of flash. Where CPUs have carry-less products, one byte: little
// is left to do. Elsewhere eight bytes a step, through a table for each.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
constexpr uint32_t kBits = 4, kSlices = 1;
#elif ITG_HAVE(avx2)
constexpr uint32_t kBits = 8, kSlices = 1;
#else
constexpr uint32_t kBits = 8, kSlices = 8;
#endif
constexpr uint32_t kEntries = 1u << kBits;

// entry[0] takes kBits through the polynomial, entry[i] the same and then i steps of zeros.
struct Table {
  uint32_t entry[kSlices][kEntries];
};

constexpr Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < kEntries; ++i) {
    uint32_t c = i;
    for (uint32_t bit = 0; bit < kBits; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0u);
    table.entry[0][i] = c;
  }
  for (uint32_t slice = 1; slice < kSlices; ++slice)
    for (uint32_t i = 0; i < kEntries; ++i) {
      const uint32_t before = table.entry[slice - 1][i];
      table.entry[slice][i] = (before >> kBits) ^ table.entry[0][before % kEntries];
    }
  return table;
}

constexpr Table kTable = make_table();

// The register after `data`.
uint32_t advance(uint32_t crc, const uint8_t* data, size_t size) {
  for (; kSlices == 8 && size >= kSlices; data += kSlices, size -= kSlices) {
    uint32_t next = 0;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < kSlices; ++i) {
      const uint32_t byte = data[i] ^ (i < 4 ? crc >> (8 * i) & 0xffu : 0u);
      next ^= kTable.entry[kSlices - 1 - i][byte % kEntries];
    }
    crc = next;
  }
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (uint32_t bit = 0; bit < 8; bit += kBits) crc = (crc >> kBits) ^ kTable.entry[0][crc % kEntries];
  }
  return crc;
}

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
#if ITG_HAVE(avx2)
  constexpr size_t kWorthAsking = 4096;  // what the CPU has takes a virtual machine microseconds to say
  if (size >= kWorthAsking && (cpu_isa() & isa::kAvx2) != 0) {
    const size_t whole = size / kCrc32FoldBytes * kCrc32FoldBytes;
    uint8_t folded[16];
    crc32_fold_avx2(crc, data, whole, folded);
    crc = advance(0, folded, sizeof folded);
    data += whole;
    size -= whole;
  }
#endif
  return ~advance(crc, data, size);
}

}  // namespace intaglio
