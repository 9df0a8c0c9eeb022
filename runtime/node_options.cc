#include "intaglio/node_options.h"

#include <cstring>
#include <new>

#include "runtime/option_fields.h"

namespace intaglio {
namespace {

template <typename T>
T load(const uint8_t* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

// Where an offset of the file leads.
const uint8_t* follow(const uint8_t* offset) { return offset + load<uint32_t>(offset); }

// A table that runtime/structure_check.h has accepted, or none.
struct Table {
  explicit Table(const uint8_t* at) : start(at) {
    if (at == nullptr) return;
    vtable = at - load<int32_t>(at);
    vtable_bytes = load<uint16_t>(vtable);
  }

  // nullptr where there is no field `id`.
  const uint8_t* find(uint32_t id) const {
    const uint32_t entry = 4 + 2 * id;
    const uint32_t offset = entry < vtable_bytes ? load<uint16_t>(vtable + entry) : 0;
    return offset == 0 ? nullptr : start + offset;
  }

  const uint8_t* start;
  // 16 bits each: its bytes, the table's, then each field's offset in the table, 0 where it is absent.
  const uint8_t* vtable = nullptr;
  uint32_t vtable_bytes = 0;
};

using List = Span<const uint32_t>;
List list_at(const uint8_t* offset) {
  const uint8_t* const vector = follow(offset);
  return {reinterpret_cast<const uint32_t*>(vector + 4), load<uint32_t>(vector)};
}

#if defined(__OPTIMIZE_SIZE__)

// Struct `number` at `to`, from the table at `at`. Parts hold no parts.
void read_struct(uint32_t number, const uint8_t* at, uint8_t* to) {
  const Table table(at);
  uint32_t id = 0;
  for (uint32_t i = kFirstOptionField[number]; i < kFirstOptionField[number + 1]; ++i, ++id) {
    const OptionField& field = kOptionFields[i];
    const uint8_t* const from = table.find(id);
    uint8_t* const place = to + field.place;
    if (field.kind == kOptionPart) {
      read_struct(field.what, from == nullptr ? nullptr : follow(from), place);
    } else if (field.kind == kOption32) {
      const auto* const word = reinterpret_cast<const uint8_t*>(&kOptionDefaults[field.what]);
      memcpy(place, from != nullptr ? from : word, 4);
    } else if (field.kind == kOptionList) {
      const List list = from == nullptr ? List() : list_at(from);
      memcpy(place, &list, sizeof list);
    } else {
      const uint8_t value = from == nullptr ? default_of(field) : *from;
      *place = field.kind == kOptionBool ? value != 0 : value;
    }
  }
}

#else

// Three times as fast, for twice the text: a node's options are read in each run.

void set_defaults(uint32_t number, uint8_t* to) {
  switch (static_cast<OptionsKind>(number + 1)) {
#define ITG_OPTIONS(Options)                \
  case OptionsKind::k##Options:             \
    new (static_cast<void*>(to)) Options(); \
    break;
#include "runtime/option_structs.inc"
#undef ITG_OPTIONS
    case OptionsKind::kNone:
      break;
  }
}

// The fields that the table has. Parts hold no parts.
template <bool kParts>
void read_present(uint32_t number, const Table& table, uint8_t* to) {
  const uint32_t first = kFirstOptionField[number], count = kFirstOptionField[number + 1] - first;
  for (uint32_t i = 0; i < count && 4 + 2 * i < table.vtable_bytes; ++i) {
    const uint8_t* const from = table.find(i);
    if (from == nullptr) continue;
    const OptionField field = kOptionFields[first + i];
    uint8_t* const place = to + field.place;
    if (kParts && field.kind == kOptionPart)
      read_present<false>(field.what, Table(follow(from)), place);
    else if (field.kind == kOption32)
      memcpy(place, from, 4);
    else if (field.kind == kOptionList)
      new (static_cast<void*>(place)) List(list_at(from));
    else
      *place = field.kind == kOptionBool ? *from != 0 : *from;
  }
}

void read_struct(uint32_t number, const uint8_t* at, uint8_t* to) {
  set_defaults(number, to);
  read_present<true>(number, Table(at), to);
}

#endif

}  // namespace

NodeOptions::NodeOptions(Op op) : NodeOptions(op, nullptr) {}

NodeOptions::NodeOptions(Op op, const uint8_t* table) : kind_(options_kind(op)) {
  if (kind_ != OptionsKind::kNone) read_struct(OptionBytes::number(*this), table, OptionBytes::of(*this));
}

}  // namespace intaglio
