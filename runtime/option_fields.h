// The fields of operators' options as data (runtime/schema_tables.cc): what reads, checks, copies and writes options
// goes through them, and names no operator.
#pragma once

#include "intaglio/node_options.h"

namespace intaglio {

enum OptionFieldKind : uint8_t {
  kOption8,     // `what`: its default
  kOptionBool,  // `what`: its default
  kOptionEnum,  // 8 bits; `what`: the greatest enumerator. The default is 0
  kOption32,    // `what`: the default is kOptionDefaults[what]
  kOptionList,  // a Span of 32-bit elements; the default is empty
  kOptionPart,  // a struct of its own; `what`: its number
};

struct OptionField {
  uint8_t kind;
  uint8_t place;  // bytes from the struct's start
  uint8_t what;
};

inline bool is_8_bits(const OptionField& field) { return field.kind <= kOptionEnum; }
inline uint8_t default_of(const OptionField& field) {  // of one of 8 bits
  return field.kind == kOptionEnum ? uint8_t{0} : field.what;
}

// The fields of struct i, by id: kOptionFields[kFirstOptionField[i]] up to kFirstOptionField[i + 1]. The options of
// kind k are struct k - 1; parts of options follow.
extern const OptionField kOptionFields[];
extern const uint8_t kFirstOptionField[];
extern const uint32_t kOptionDefaults[];

// The struct of a node's options; not for kind kNone.
struct OptionBytes {
  static const uint8_t* of(const NodeOptions& options) { return options.bytes(); }
  static uint8_t* of(NodeOptions& options) { return const_cast<uint8_t*>(options.bytes()); }
  static uint32_t number(const NodeOptions& options) { return static_cast<uint32_t>(options.kind()) - 1; }
};

}  // namespace intaglio
