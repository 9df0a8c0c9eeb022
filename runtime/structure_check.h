// Whether the tables of a model file hold together: FlatBuffers' own check, from a description of the schema
// instead of code for each table, which would be most of a small board's flash.
#pragma once

#include "intaglio/span.h"

namespace intaglio {

// The kind of a field. From kFieldTable on: an offset to the table kind - kFieldTable; from kFieldTables on:
// to a vector of offsets to such tables. A union's type, 8 bits, is the field before it.
enum FieldKind : uint8_t {
  kField8,
  kField16,
  kField32,
  kFieldString,
  kFieldBytes,  // a vector of 8-bit elements
  kFieldWords,  // a vector of 32-bit elements
  kFieldUnion,  // an offset to the table kFirstOfUnion + type - 1
  kFieldTable,
  kFieldTables = 0x40,
};

// Every table of the schema; table 0 is the file's root. The kinds of table t's fields, by id, are kFields[kFirstField[t]] up to
// kFirstField[t + 1]. Made by scripts/make_schema_tables, and held to what flatc
// says of the schema by tests/structure_test.cc.
extern const uint8_t kFields[], kFirstField[];
extern const int32_t kTableCount;
extern const uint8_t kFirstOfUnion, kUnionTypes;

// `bytes`: at least 8, at a multiple of 4. Every offset leads inside, every vector and string ends inside,
// all of it aligned, at most `max_tables` tables. As flatbuffers::Verifier, which the test and the fuzzer
// compare.
bool check_structure(Span<const uint8_t> bytes, uint32_t max_tables);

}  // namespace intaglio
