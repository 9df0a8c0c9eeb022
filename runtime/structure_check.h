// Whether the tables of a model file hold together: FlatBuffers' own check, from a description of the schema
// instead of code for each table, which would be most of a small board's flash.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

// What stands in a field. From kFieldTable on: an offset to the table kStructures[kind - kFieldTable]; from kFieldTables on:
// to a vector of offsets to such tables. A union's type, 8 bits, is the field before it.
enum FieldKind : uint8_t {
  kField8,
  kField16,
  kField32,
  kFieldString,
  kFieldBytes,  // a vector of 8-bit elements
  kFieldWords,  // a vector of 32-bit elements
  kFieldUnion,  // an offset to the table kStructures[kFirstOfUnion + type - 1]
  kFieldTable,
  kFieldTables = 0x40,
};

// The fields of one table, by id.
struct TableStructure {
  const uint8_t* fields;
  uint8_t count;
};

// Every table of the schema; the first is the file's root. Held to the schema by tests/structure_test.cc.
extern const TableStructure kStructures[];
extern const int32_t kStructureCount;
extern const uint8_t kFirstOfUnion, kUnionTypes;

// `bytes`: at least 8, at a multiple of 4. Every offset leads inside, every vector and string ends inside,
// all of it aligned, at most `max_tables` tables. As flatbuffers::Verifier, which the test and the fuzzer
// compare.
bool check_structure(Span<const uint8_t> bytes, uint32_t max_tables);

}  // namespace intaglio
