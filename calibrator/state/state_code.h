// Numbers of a calibration's state as bits, in pieces: what is likely takes few of them. No table, no look ahead, and each
// number takes a bit at least, so that memory and time are bounded by the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "intaglio/calibrator.h"

namespace intaglio {

// Numbers of one kind, one behind the other: Rice codes whose parameter follows from those before.
class RunningCode {
 public:
  uint32_t low_bits() const { return low_bits_; }
  void saw(uint64_t number);

 private:
  static constexpr uint32_t kMemory = 3;  // a mean over some 2^kMemory numbers

  uint64_t sum_ = 1 << kMemory;
  uint32_t low_bits_ = 0;  // of the mean, without its first one
};

// Small numbers for small differences of either sign.
constexpr uint64_t zigzag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
constexpr uint64_t unzigzag(uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

// A value of 32 or 64 bits by its difference from a likely one, modulo 2^32 or 2^64.
template <typename T>
uint64_t differing(const T& value, const T& likely) {
  if constexpr (sizeof(T) == 8) {
    uint64_t a, b;
    memcpy(&a, &value, sizeof a);
    memcpy(&b, &likely, sizeof b);
    return zigzag(a - b);
  } else {
    uint32_t a, b;
    memcpy(&a, &value, sizeof a);
    memcpy(&b, &likely, sizeof b);
    return zigzag(static_cast<uint64_t>(int64_t{static_cast<int32_t>(a - b)}));
  }
}
template <typename T>
T value_at(uint64_t number, const T& likely) {
  T value;
  if constexpr (sizeof(T) == 8) {
    uint64_t bits;
    memcpy(&bits, &likely, sizeof bits);
    bits += unzigzag(number);
    memcpy(&value, &bits, sizeof value);
  } else {
    uint32_t bits;
    memcpy(&bits, &likely, sizeof bits);
    bits += static_cast<uint32_t>(unzigzag(number));
    memcpy(&value, &bits, sizeof value);
  }
  return value;
}

// A parameter that does not say what T is: numbers of the language have other types on other machines.
template <typename T>
struct SameAs {
  using Type = T;
};

// Writer and reader have the same functions, so that a format is one function of a template.
class StateWriter {
 public:
  static constexpr uint32_t kLengthBits = 7;  // the least that a number takes

  explicit StateWriter(const StateSink& sink) : sink_(sink) {}

  void bits(uint32_t value, uint32_t count);  // `value` has no more of them; count at most 32
  void number(uint64_t value);
  template <typename T>
  void value(const T& x, const typename SameAs<T>::Type& likely) {
    number(differing<T>(x, likely));
  }
  template <typename T>
  void next(RunningCode& code, const T& x, const typename SameAs<T>::Type& likely) {
    put(code, differing<T>(x, likely));
  }
  // Bytes from here on are whole ones.
  void bytes(const void* data, size_t size);
  // The CRC-32 of all before it, and the last piece. False: the sink has refused one.
  bool finish();
  size_t written() const { return written_; }

 private:
  void put(RunningCode& code, uint64_t number);
  void flush();

  StateSink sink_;
  uint64_t waiting_ = 0;
  uint32_t waiting_bits_ = 0, crc_ = 0;
  size_t size_ = 0, written_ = 0;
  bool is_taken_ = true;
  uint8_t piece_[64];
};

class StateReader {
 public:
  // Bytes [at, end) of the source.
  StateReader(const StateSource& source, size_t at, size_t end) : source_(source), at_(at), end_(end) {}

  uint32_t bits(uint32_t count);
  uint64_t number();
  template <typename T>
  void value(T& x, const typename SameAs<T>::Type& likely) {
    x = value_at<T>(number(), likely);
  }
  template <typename T>
  void next(RunningCode& code, T& x, const typename SameAs<T>::Type& likely) {
    x = value_at<T>(get(code), likely);
  }
  // Values as they stand in memory, from whole bytes on.
  template <typename T>
  void get(T* values, size_t count) {
    bytes(values, count * sizeof(T));
  }
  void bytes(void* data, size_t size);
  // Where the byte of the next bit stands.
  size_t place() const { return at_ - (size_ - next_) - waiting_bits_ / 8; }
  // Whether there was a byte for every bit, and the source gave it.
  bool is_good() const { return is_good_; }
  // Whether nothing is left but bits of the last byte, which are zeros.
  bool is_at_end() const {
    return is_good_ && at_ == end_ && next_ == size_ && waiting_bits_ < 8 && waiting_ == 0;
  }

 private:
  uint64_t get(RunningCode& code);
  void fill(uint32_t count);

  StateSource source_;
  size_t at_, end_;
  uint64_t waiting_ = 0;
  uint32_t waiting_bits_ = 0;
  size_t size_ = 0, next_ = 0;
  bool is_good_ = true;
  uint8_t piece_[64];
};

}  // namespace intaglio
