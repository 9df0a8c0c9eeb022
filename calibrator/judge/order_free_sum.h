// A sum of non-negative reals that does not depend on their order, as a fixed-point number so wide that no
// size of values is lost: squares of FP32 numbers reach from 2^-298 to 2^256.
#pragma once

#include <cstdint>
#include <cstring>

namespace intaglio {

class OrderFreeSum {
 public:
  // Rounds `x` down to a multiple of 2^-320, exactly the same everywhere. Values past 2^300, and what is no
  // number, count as 2^300. Exact up to 2^20 values.
  void add(double x) {
    constexpr double kMost = 0x1p300;
    if (!(x < kMost)) x = kMost;
    if (!(x > 0.0)) return;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    // x = mantissa * 2^(place - 320)
    const auto place = static_cast<int32_t>(bits >> 52) - 1075 + kFractionBits;
    const uint64_t mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    if (place <= -53) return;
    if (place < 0) return add_word(0, mantissa >> -place);
    const int32_t word = place / 64, shift = place % 64;
    add_word(word, mantissa << shift);
    if (shift > 11) add_word(word + 1, mantissa >> (64 - shift));
  }
  // The 64 leading bits, rounded to a double: a sum of values that are all times 2^k is exactly times 2^k.
  double value() const {
    int32_t word = kWords - 1;
    while (word >= 0 && words_[word] == 0) --word;
    if (word < 0) return 0.0;
    uint64_t leading = words_[word];
    int32_t exponent = 64 * word - kFractionBits;
    for (int32_t below = 63; (leading >> 63) == 0; --exponent, --below) {
      const uint64_t next = word == 0 ? 0 : words_[word - 1] >> below & 1;
      leading = leading << 1 | next;
    }
    const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;  // of 2^exponent
    double unit;
    memcpy(&unit, &bits, sizeof unit);
    return static_cast<double>(leading) * unit;
  }
  // A sum of other values.
  void add(const OrderFreeSum& other) {
    for (int32_t word = 0; word < kWords; ++word) add_word(word, other.words_[word]);
  }
  bool operator<(const OrderFreeSum& other) const {
    for (int32_t word = kWords - 1; word >= 0; --word)
      if (words_[word] != other.words_[word]) return words_[word] < other.words_[word];
    return false;
  }

 private:
  static constexpr int32_t kWords = 10, kFractionBits = 320;

  void add_word(int32_t word, uint64_t bits) {
    words_[word] += bits;
    for (bool carry = words_[word] < bits; carry && ++word < kWords;) carry = ++words_[word] == 0;
  }

  uint64_t words_[kWords] = {};  // the least significant one first
};

}  // namespace intaglio
