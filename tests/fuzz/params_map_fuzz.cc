// Any text is a map of names or is refused. What is accepted renames a table: no entry is lost, and a name that the map
// does not have stays.
#include "importers/params/params_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intaglio;
  const auto names = read_name_map("f", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!names) {
    if (names.message().compare(0, 7, "f line ") != 0) __builtin_trap();
    return 0;
  }
  const char* const own[] = {"conv1", "layer 2", "fc", ""};
  ParamsTable table;
  for (const char* const name : own)
    table.entries.push_back({ParamsOf::kLayerInput, name, {0.5f}, 0, {}, {}, false});
  rename_entries(table, *names, "f");
  if (table.entries.size() != std::size(own)) __builtin_trap();
  size_t used = 0;
  for (size_t i = 0; i < std::size(own); ++i) {
    const auto found = names->find(own[i]);
    used += found != names->end();
    if (table.entries[i].name != (found == names->end() ? own[i] : found->second)) __builtin_trap();
  }
  if (table.notes.size() != names->size() - used) __builtin_trap();
  for (const auto& [from, to] : *names)
    if (from.empty() || to.empty()) __builtin_trap();
  return 0;
}
