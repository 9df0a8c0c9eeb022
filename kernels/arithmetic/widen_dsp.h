// Four bytes as two words of two int16 each.
#pragma once

#include <arm_acle.h>

#include <cstdint>
#include <cstring>

namespace intaglio {

static inline uint32_t load_word_dsp(const void* from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

// Bytes 0 and 2.
static inline uint32_t even_dsp(uint32_t codes) { return __sxtb16(codes); }

// Bytes 1 and 3; compilers make two instructions of it.
static inline uint32_t odd_dsp(uint32_t codes) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(codes));
  return pair;
}

}  // namespace intaglio
