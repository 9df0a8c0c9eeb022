// The numbers of a state as bits: what is written is read, at the ends of what numbers can be, too.
#include "calibrator/state/state_code.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/crc32.h"
#include "tests/support/random.h"

namespace intaglio::test::state_code_test {
namespace {

using Bytes = std::vector<uint8_t>;

StateSink into(Bytes& bytes) {
  return {[](void* context, Span<const uint8_t> piece) {
            auto& all = *static_cast<Bytes*>(context);
            all.insert(all.end(), piece.begin(), piece.end());
            return true;
          },
          &bytes};
}

StateSource from(Bytes& bytes) {
  return {[](void* context, size_t at, Span<uint8_t> piece) {
            memcpy(piece.data, static_cast<Bytes*>(context)->data() + at, piece.size);
            return true;
          },
          &bytes, bytes.size()};
}

// Without the checksum.
StateReader reader_of(Bytes& bytes) { return StateReader(from(bytes), 0, bytes.size() - 4); }

}  // namespace

TEST_CASE("numbers of every size, bits, bytes and differences come back, and nothing is left") {
  std::vector<uint64_t> numbers{0, 1, UINT64_MAX, uint64_t{1} << 63, 1000};
  for (uint32_t bit = 1; bit < 64; ++bit)
    for (const uint64_t number : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1}) numbers.push_back(number);
  Bytes bytes;
  StateWriter out(into(bytes));
  out.bits(5, 3);
  for (const uint64_t number : numbers) out.number(number);
  out.bytes("abc", 3);
  out.bits(0xffffffffu, 32);
  for (const uint64_t number : numbers) out.value(number, numbers[2]);
  out.value(-0.0f, 3.5f);
  out.value(INT32_MIN, INT32_MAX);
  CHECK(out.finish());
  CHECK(out.written() == bytes.size());
  uint32_t crc;
  memcpy(&crc, bytes.data() + bytes.size() - 4, 4);
  CHECK(crc == crc32(0, bytes.data(), bytes.size() - 4));

  StateReader in = reader_of(bytes);
  CHECK(in.bits(3) == 5);
  for (const uint64_t number : numbers) CHECK(in.number() == number);
  char abc[3];
  in.bytes(abc, sizeof abc);
  CHECK(memcmp(abc, "abc", sizeof abc) == 0);
  CHECK(in.bits(32) == 0xffffffffu);
  for (const uint64_t number : numbers) {
    uint64_t read = 7;
    in.value(read, numbers[2]);
    CHECK(read == number);
  }
  float zero = 1.0f;
  in.value(zero, 3.5f);
  CHECK(std::signbit(zero));
  CHECK(zero == 0.0f);
  int32_t least = 0;
  in.value(least, INT32_MAX);
  CHECK(least == INT32_MIN);
  CHECK(in.is_at_end());
}

TEST_CASE("running codes give back what they were given, near and far, and small numbers take few bits") {
  Random random(5);
  std::vector<int64_t> values;
  for (int i = 0; i < 3000; ++i) values.push_back(static_cast<int64_t>(random.bits() % 64) - 32);
  for (const int64_t far : {INT64_MAX, INT64_MIN, int64_t{0}, int64_t{-1}})
    values.insert(values.end(), 3, far);
  for (int i = 0; i < 3000; ++i) values.push_back(0);
  Bytes bytes;
  StateWriter out(into(bytes));
  RunningCode code;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 3000) CHECK(out.written() < 3000 * 8 / 8);
    out.next(code, values[i], int64_t{0});
  }
  CHECK(out.finish());
  StateReader in = reader_of(bytes);
  RunningCode same;
  for (const int64_t value : values) {
    int64_t read = 1;
    in.next(same, read, int64_t{0});
    CHECK(read == value);
  }
  CHECK(in.is_at_end());
  CHECK(same.low_bits() == 0);
}

TEST_CASE("bits that are not there are zeros, and are told; a number that is too long is, too") {
  Bytes bytes(4 + 2, 0);
  bytes[0] = 0x80;
  StateReader in = reader_of(bytes);
  CHECK(in.bits(8) == 0x80);
  CHECK_FALSE(in.is_at_end());
  CHECK(in.bits(8) == 0);
  CHECK(in.is_at_end());
  CHECK(in.place() == 2);
  CHECK(in.bits(1) == 0);
  CHECK_FALSE(in.is_good());
  CHECK_FALSE(in.is_at_end());

  Bytes longest(4 + 12, 0xff);
  StateReader too_long = reader_of(longest);
  too_long.number();  // of 127 bits
  CHECK_FALSE(too_long.is_good());

  StateSource broken = from(bytes);
  broken.read = [](void*, size_t, Span<uint8_t>) { return false; };
  StateReader none(broken, 0, 2);
  CHECK(none.bits(8) == 0);
  CHECK_FALSE(none.is_good());
}

}  // namespace intaglio::test::state_code_test
