#include "runtime/structure_check.h"

#include <cstring>

namespace intaglio {
namespace {

constexpr int32_t kMaxDepth = 4;

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, uint32_t max_tables)
      : bytes_(bytes.data), size_(static_cast<uint32_t>(bytes.size)), tables_left_(max_tables) {}

  // Tables are visited depth first; what is left of each one above stands in frames_.
  bool check() {
    uint32_t root;
    if (!follow(0, &root) || !enter(root, 0)) return false;
    while (depth_ > 0) {
      Frame& f = frames_[depth_ - 1];
      uint32_t to;
      if (f.left > 0) {
        --f.left;
        if (!follow(f.element, &to)) return false;
        f.element += kOffset;
        if (!enter(to, f.element_table)) return false;
      } else if (f.field == kFirstField[f.table + 1] - kFirstField[f.table]) {
        --depth_;
      } else if (!check_field(f)) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Frame {
    uint32_t start, vtable;
    uint32_t element, left;  // offsets of a vector of tables that are still to be followed
    uint8_t element_table, table, field;
  };

  static constexpr uint32_t kOffset = 4;

  bool inside(uint32_t at, uint32_t bytes) const { return bytes < size_ && at <= size_ - bytes; }
  bool aligned(uint32_t at, uint32_t bytes) const { return at % bytes == 0 && inside(at, bytes); }
  uint32_t word(uint32_t at) const {
    uint32_t v;
    memcpy(&v, bytes_ + at, sizeof v);
    return v;
  }
  uint32_t half(uint32_t at) const {
    uint16_t v;
    memcpy(&v, bytes_ + at, sizeof v);
    return v;
  }

  // Where the offset at `at` leads: forward, and not to itself.
  bool follow(uint32_t at, uint32_t* to) const {
    const uint32_t offset = word(at);
    *to = at + offset;
    return offset != 0 && offset <= INT32_MAX && inside(*to, 1);
  }

  bool enter(uint32_t start, uint32_t table) {
    if (depth_ == kMaxDepth || tables_left_-- == 0 || !aligned(start, kOffset)) return false;
    const uint32_t vtable = start - word(start);  // a signed distance: wraps
    if (!aligned(vtable, 2)) return false;
    const uint32_t bytes = half(vtable);
    if (bytes % 2 != 0 || !inside(vtable, bytes)) return false;
    frames_[depth_++] = {start, vtable, 0, 0, 0, static_cast<uint8_t>(table), 0};
    return true;
  }

  // A vector at `at`; its elements start behind the count.
  bool check_vector(uint32_t at, uint32_t element_bytes, uint32_t* count) const {
    if (!aligned(at, kOffset)) return false;
    *count = word(at);
    return *count <= (size_ - at - kOffset) / element_bytes;
  }

  // The offset of a field from its table's start; 0 where it is absent.
  uint32_t offset_of(const Frame& f, uint32_t field) const {
    const uint32_t entry = 4u + 2u * field;
    return entry < half(f.vtable) ? half(f.vtable + entry) : 0;
  }

  // Which table the union that was looked at last is.
  uint32_t union_type(const Frame& f) const {
    const uint32_t offset = offset_of(f, f.field - 2u);
    return offset == 0 ? 0 : bytes_[f.start + offset];
  }

  bool check_field(Frame& f) {
    const uint32_t kind = kFields[kFirstField[f.table] + f.field], offset = offset_of(f, f.field);
    ++f.field;
    if (offset == 0) return true;  // absent
    const uint32_t at = f.start + offset;
    if (kind <= kField32) return aligned(at, 1u << kind);
    uint32_t to, count;
    if (!aligned(at, kOffset) || !follow(at, &to)) return false;
    if (kind >= kFieldTables) {
      if (!check_vector(to, kOffset, &count)) return false;
      f.element = to + kOffset;
      f.left = count;
      f.element_table = static_cast<uint8_t>(kind - kFieldTables);
      return true;
    }
    if (kind >= kFieldTable) return enter(to, kind - kFieldTable);
    if (kind == kFieldUnion) {
      const uint32_t type = union_type(f);
      return type != 0 && type <= kUnionTypes && enter(to, kFirstOfUnion + type - 1);
    }
    if (!check_vector(to, kind == kFieldWords ? 4 : 1, &count)) return false;
    const uint32_t end = to + kOffset + count;
    return kind != kFieldString || (inside(end, 1) && bytes_[end] == 0);
  }

  const uint8_t* bytes_;
  uint32_t size_, tables_left_;
  int32_t depth_ = 0;
  Frame frames_[kMaxDepth];
};

}  // namespace

bool check_structure(Span<const uint8_t> bytes, uint32_t max_tables) {
  return Reader(bytes, max_tables).check();
}

}  // namespace intaglio
