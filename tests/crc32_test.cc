// CRC-32 against the definition, bit by bit: long runs take another way than short ones.
#include "runtime/crc32.h"

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace intaglio::test::crc32_test {

using intaglio::test::Exact;
using intaglio::test::Random;

namespace {

uint32_t by_bits(uint32_t crc, const std::vector<uint8_t>& bytes) {
  crc = ~crc;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("the check value of the standard") {
  CHECK(crc32(0, reinterpret_cast<const uint8_t*>("123456789"), 9) == 0xcbf43926u);
}

TEST_CASE("every length has the definition's value, from any value before it") {
  Random random(1);
  const auto check = [&random](size_t size) {
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
    const uint32_t before = random.one_in(2) ? 0 : random.bits();
    const Exact<uint8_t> guarded(bytes);
    CAPTURE(size);
    REQUIRE(crc32(before, guarded.data(), size) == by_bits(before, bytes));
  };
  for (size_t size = 0; size < 150; ++size) check(size);
  for (size_t size = 4000; size < 4400; ++size) check(size);
  for (int i = 0; i < 20; ++i) check(static_cast<size_t>(random.between(0, 200000)));
}

}  // namespace intaglio::test::crc32_test
