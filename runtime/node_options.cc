#include "intaglio/node_options.h"

#include <cstring>

#include "runtime/option_fields.h"

namespace intaglio {
namespace {

// Several times a node and run: in line where a program need not be small.
#if defined(__OPTIMIZE_SIZE__)
#define ITG_SHORT [[gnu::noinline]]
#else
#define ITG_SHORT inline
#endif

template <typename T>
T load(const uint8_t* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

// Where an offset of the file leads.
const uint8_t* follow(const uint8_t* offset) { return offset + load<uint32_t>(offset); }

// A field of a FlatBuffers table that runtime/structure_check.h has accepted; nullptr where it is absent.
ITG_SHORT const uint8_t* find_field(const uint8_t* table, uint32_t id) {
  if (table == nullptr) return nullptr;
  const uint8_t* const vtable = table - load<int32_t>(table);
  const uint32_t entry = 4 + 2 * id;
  const uint32_t offset = entry < load<uint16_t>(vtable) ? load<uint16_t>(vtable + entry) : 0;
  return offset == 0 ? nullptr : table + offset;
}

// Field `id`, which is no part, from a struct's table in the file to its place in the struct.
ITG_SHORT void read_field(const OptionField& field, const uint8_t* table, uint32_t id, uint8_t* to) {
  const uint8_t* const found = find_field(table, id);
  uint8_t* const place = to + field.place;
  if (field.kind == kOption32) {
    const uint32_t word = found == nullptr ? kOptionDefaults[field.what] : load<uint32_t>(found);
    memcpy(place, &word, sizeof word);
  } else if (field.kind == kOptionList) {
    Span<const uint32_t> list;
    if (found != nullptr) {
      const uint8_t* const vector = follow(found);
      list = {reinterpret_cast<const uint32_t*>(vector + 4), load<uint32_t>(vector)};
    }
    memcpy(place, &list, sizeof list);
  } else {
    const uint8_t value = found == nullptr ? default_of(field) : *found;
    *place = field.kind == kOptionBool ? value != 0 : value;
  }
}

// Struct `number` at `to`, from its table in the file; nullptr: all defaults. Parts hold no parts.
void read_struct(uint32_t number, const uint8_t* table, uint8_t* to) {
  const uint32_t first = kFirstOptionField[number];
  for (uint32_t i = first; i < kFirstOptionField[number + 1]; ++i) {
    const OptionField& field = kOptionFields[i];
    if (field.kind != kOptionPart) {
      read_field(field, table, i - first, to);
      continue;
    }
    const uint8_t* const found = find_field(table, i - first);
    const uint8_t* const part = found == nullptr ? nullptr : follow(found);
    const uint32_t begin = kFirstOptionField[field.what];
    for (uint32_t j = begin; j < kFirstOptionField[field.what + 1]; ++j)
      read_field(kOptionFields[j], part, j - begin, to + field.place);
  }
}

#undef ITG_SHORT

}  // namespace

NodeOptions::NodeOptions(Op op) : NodeOptions(op, nullptr) {}

NodeOptions::NodeOptions(Op op, const uint8_t* table) : kind_(options_kind(op)) {
  if (kind_ != OptionsKind::kNone) read_struct(OptionBytes::number(*this), table, OptionBytes::of(*this));
}

}  // namespace intaglio
