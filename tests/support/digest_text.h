// A digest as the field writes it.
#pragma once

#include <string>
#include <vector>

#include "calibrator/observe/digest.h"

namespace intaglio::test {

inline std::string hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest.bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

inline std::string sha256_of(const std::vector<uint8_t>& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hex(hash.finish());
}

}  // namespace intaglio::test
