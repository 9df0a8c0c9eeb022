// Reads the files that tests/spec/make_vectors.py writes:
//
//   "ITGV", u32 arrays in a case, u32 cases, then the cases' arrays one after another
//   array: u32 element type (1 s8, 2 s32, 3 f32), u32 elements, the elements, zeros up to a multiple of 4
//   bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace intaglio::test {

class VectorFile {
 public:
  // Fails the test where the file is missing or ends early.
  explicit VectorFile(const std::string& path);

  uint32_t cases() const { return cases_; }
  uint32_t arrays() const { return arrays_; }
  // The next array, whatever its case; its type must be the one asked for.
  std::vector<int8_t> s8();
  std::vector<int32_t> s32();
  std::vector<float> f32();
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  uint32_t word();
  template <typename T>
  std::vector<T> array(uint32_t type);

  std::vector<char> bytes_;
  size_t at_ = 0;
  uint32_t arrays_ = 0, cases_ = 0;
};

}  // namespace intaglio::test
