#include "runtime/crc32.h"

namespace intaglio {
namespace {

struct Table {
  uint32_t entry[256];
};

constexpr Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0u);
    table.entry[i] = c;
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ kTable.entry[(crc ^ data[i]) & 0xffu];
  return ~crc;
}

}  // namespace intaglio
