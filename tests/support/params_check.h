// Results and refusals of the readers of parameter files.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "importers/params/params_table.h"

namespace intaglio::test {

using Scales = std::vector<float>;

inline ParamsTable table_of(std::vector<ParamsEntry> entries) {
  ParamsTable table;
  table.entries = std::move(entries);
  return table;
}

struct Expected {
  ParamsOf of;
  const char* name;
  Scales scales;
  int32_t zero_point;
  const char *node, *place;
};

inline void check_table(const Outcome<ParamsTable>& table, const std::vector<Expected>& expected,
                        size_t notes = 0) {
  REQUIRE_MESSAGE(table, table.message());
  REQUIRE(table->entries.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const ParamsEntry& entry = table->entries[i];
    CAPTURE(i);
    CHECK(entry.of == expected[i].of);
    CHECK(entry.name == expected[i].name);
    CHECK(entry.scales == expected[i].scales);
    CHECK(entry.zero_point == expected[i].zero_point);
    CHECK(entry.node == expected[i].node);
    CHECK(entry.place == expected[i].place);
  }
  CHECK(table->notes.size() == notes);
}

template <typename T>
void refused(const Outcome<T>& outcome, const std::string& message) {
  CHECK(!outcome);
  CHECK(outcome.message() == message);
}

}  // namespace intaglio::test
