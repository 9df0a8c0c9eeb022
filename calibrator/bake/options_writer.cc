#include "calibrator/bake/options_writer.h"

#include <cstring>

#include "runtime/option_fields.h"

namespace intaglio {
namespace {

using flatbuffers::uoffset_t;

constexpr uint32_t kMaxFields = 16;

flatbuffers::voffset_t entry_of(uint32_t id) { return static_cast<flatbuffers::voffset_t>(4 + 2 * id); }

template <typename T>
T load(const uint8_t* at) {
  T v;
  memcpy(&v, at, sizeof v);
  return v;
}

// Struct `number` of options; 0 where all of its fields have their defaults, and nothing is written.
uoffset_t write_struct(flatbuffers::FlatBufferBuilder& builder, uint32_t number, const uint8_t* from) {
  const uint32_t first = kFirstOptionField[number], count = kFirstOptionField[number + 1] - first;
  // A table stands behind everything that it points to.
  uoffset_t offsets[kMaxFields] = {};
  bool any = false;
  for (uint32_t id = 0; id < count; ++id) {
    const OptionField& field = kOptionFields[first + id];
    const uint8_t* const place = from + field.place;
    if (field.kind == kOptionList) {
      const auto list = load<Span<const uint32_t>>(place);
      if (!list.empty()) offsets[id] = builder.CreateVector(list.data, list.size).o;
    } else if (field.kind == kOptionPart) {
      offsets[id] = write_struct(builder, field.what, place);
    } else if (field.kind == kOption32) {
      any = any || load<uint32_t>(place) != kOptionDefaults[field.what];
    } else {
      any = any || *place != default_of(field);
    }
    any = any || offsets[id] != 0;
  }
  if (!any) return 0;
  // As flatc's code does it: the larger fields first, from the last one on.
  const uoffset_t start = builder.StartTable();
  for (uint32_t id = count; id-- > 0;) {
    const OptionField& field = kOptionFields[first + id];
    if (field.kind == kOption32) {
      const auto word = load<uint32_t>(from + field.place);
      builder.AddElement<uint32_t>(entry_of(id), word, kOptionDefaults[field.what]);
    } else if (offsets[id] != 0) {
      builder.AddOffset(entry_of(id), flatbuffers::Offset<void>(offsets[id]));
    }
  }
  for (uint32_t id = count; id-- > 0;) {
    const OptionField& field = kOptionFields[first + id];
    if (is_8_bits(field)) builder.AddElement<uint8_t>(entry_of(id), from[field.place], default_of(field));
  }
  return builder.EndTable(start);
}

}  // namespace

WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const NodeOptions& options) {
  if (options.kind() == OptionsKind::kNone) return {};
  const uoffset_t table = write_struct(builder, OptionBytes::number(options), OptionBytes::of(options));
  if (table == 0) return {};
  return {static_cast<schema::Options>(options.kind()), flatbuffers::Offset<void>(table)};
}

}  // namespace intaglio
