// Decisions by a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio::test {

class Decisions {
 public:
  Decisions(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  uint32_t byte() { return at_ == end_ ? 0 : *at_++; }
  uint32_t word() {
    uint32_t v = 0;
    for (int32_t i = 0; i < 4; ++i) v = v << 8 | byte();
    return v;
  }
  size_t below(size_t count) { return count == 0 ? 0 : (count > 256 ? word() : byte()) % count; }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace intaglio::test
