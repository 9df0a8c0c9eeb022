#include "tests/support/vector_file.h"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace intaglio::test {

VectorFile::VectorFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path);
  bytes_.assign(std::istreambuf_iterator<char>(file), {});
  REQUIRE(bytes_.size() >= 12);
  REQUIRE(memcmp(bytes_.data(), "ITGV", 4) == 0);
  at_ = 4;
  arrays_ = word();
  cases_ = word();
  REQUIRE(cases_ > 0);
}

uint32_t VectorFile::word() {
  REQUIRE(bytes_.size() - at_ >= 4);
  uint32_t value;
  memcpy(&value, bytes_.data() + at_, 4);
  at_ += 4;
  return value;
}

template <typename T>
std::vector<T> VectorFile::array(uint32_t type) {
  REQUIRE(word() == type);
  std::vector<T> values(word());
  const size_t bytes = values.size() * sizeof(T), padded = (bytes + 3) / 4 * 4;
  REQUIRE(bytes_.size() - at_ >= padded);
  if (bytes > 0) memcpy(values.data(), bytes_.data() + at_, bytes);
  at_ += padded;
  return values;
}

std::vector<int8_t> VectorFile::s8() { return array<int8_t>(1); }
std::vector<int32_t> VectorFile::s32() { return array<int32_t>(2); }
std::vector<float> VectorFile::f32() { return array<float>(3); }

}  // namespace intaglio::test
