// Any text is a table of parameters or is refused. What is accepted and written again is the same table.
#pragma once

#include "importers/params/params_table.h"

namespace intaglio {

template <typename Read, typename Write>
int fuzz_params(const uint8_t* data, size_t size, Read read, Write write) {
  const auto table = read(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!table) {
    if (table.message().empty()) __builtin_trap();
    return 0;
  }
  const auto text = write(*table);
  if (!text) return 0;
  const auto again = read(std::string_view(*text));
  if (!again) __builtin_trap();
  for (const ParamsEntry& entry : again->entries) {
    const ParamsEntry* const before = table->find_same(entry);
    if (before == nullptr || before->scales != entry.scales || before->zero_point != entry.zero_point)
      __builtin_trap();
  }
  return 0;
}

}  // namespace intaglio
