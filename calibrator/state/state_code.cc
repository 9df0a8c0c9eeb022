#include "calibrator/state/state_code.h"

#include "runtime/crc32.h"

namespace intaglio {
namespace {

// Ones before a number that is far larger than those before it, which then stands by itself.
constexpr uint32_t kFarLarger = 24;

uint32_t low_half(uint64_t x) { return static_cast<uint32_t>(x & 0xffffffffu); }

}  // namespace

void RunningCode::saw(uint64_t number) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  sum_ += (number < kMost ? number : kMost) - (sum_ >> kMemory);
  const uint64_t mean = sum_ >> kMemory;
  while (mean >> low_bits_ > 1) ++low_bits_;
  while (low_bits_ > 0 && mean >> low_bits_ == 0) --low_bits_;
}

void StateWriter::bits(uint32_t value, uint32_t count) {
  waiting_ |= uint64_t{value} << waiting_bits_;
  for (waiting_bits_ += count; waiting_bits_ >= 8; waiting_bits_ -= 8) {
    piece_[size_++] = static_cast<uint8_t>(waiting_ & 0xff);
    waiting_ >>= 8;
    if (size_ == sizeof piece_) flush();
  }
}

void StateWriter::number(uint64_t value) {
  uint32_t length = 0;
  while (length < 64 && value >> length != 0) ++length;
  bits(length, kLengthBits);
  if (length < 2) return;
  const uint64_t low = value ^ uint64_t { 1 } << (length - 1);  // the first one is known
  const uint32_t first = length - 1 < 32 ? length - 1 : 32;
  bits(low_half(low), first);
  bits(low_half(low >> 32), length - 1 - first);
}

void StateWriter::put(RunningCode& code, uint64_t number) {
  const uint32_t low = code.low_bits();
  const uint64_t times = number >> low;
  if (times < kFarLarger) {
    const auto ones = static_cast<uint32_t>(times), first = low < 32 ? low : 32;
    bits((1u << ones) - 1, ones + 1);
    const uint64_t rest = number - (times << low);
    bits(low_half(rest), first);
    bits(low_half(rest >> 32), low - first);
  } else {
    bits((1u << kFarLarger) - 1, kFarLarger);
    this->number(number);
  }
  code.saw(number);
}

void StateWriter::bytes(const void* data, size_t size) {
  if (waiting_bits_ > 0) bits(0, 8 - waiting_bits_);
  for (size_t i = 0; i < size; ++i) bits(static_cast<const uint8_t*>(data)[i], 8);
}

void StateWriter::flush() {
  crc_ = crc32(crc_, piece_, size_);
  if (is_taken_) is_taken_ = sink_.write(sink_.context, {piece_, size_});
  written_ += size_;
  size_ = 0;
}

bool StateWriter::finish() {
  bytes(nullptr, 0);
  const uint32_t crc = crc32(crc_, piece_, size_);
  bytes(&crc, sizeof crc);
  if (size_ > 0) flush();
  return is_taken_;
}

void StateReader::fill(uint32_t count) {
  while (waiting_bits_ < count) {
    if (next_ == size_) {
      size_ = end_ - at_ < sizeof piece_ ? end_ - at_ : sizeof piece_;
      next_ = 0;
      is_good_ = is_good_ && size_ > 0 && source_.read(source_.context, at_, {piece_, size_});
      if (!is_good_) {  // zeros, as many as are asked for
        size_ = 0;
        waiting_bits_ = count;
        return;
      }
      at_ += size_;
    }
    waiting_ |= uint64_t{piece_[next_++]} << waiting_bits_;
    waiting_bits_ += 8;
  }
}

uint32_t StateReader::bits(uint32_t count) {
  fill(count);
  const uint32_t value = low_half(waiting_ & ((uint64_t{1} << count) - 1));
  waiting_ >>= count;
  waiting_bits_ -= count;
  return value;
}

uint64_t StateReader::number() {
  const uint32_t length = bits(StateWriter::kLengthBits);
  if (length < 2) return length;
  if (length > 64) is_good_ = false;
  const uint32_t more = length > 64 ? 0 : length - 1, first = more < 32 ? more : 32;
  const uint64_t low = bits(first);
  return (low | uint64_t{bits(more - first)} << 32) | uint64_t{1} << more;
}

uint64_t StateReader::get(RunningCode& code) {
  const uint32_t low = code.low_bits(), first = low < 32 ? low : 32;
  uint32_t ones = 0;
  while (ones < kFarLarger && bits(1) != 0) ++ones;
  uint64_t number = uint64_t{ones} << low;
  if (ones == kFarLarger) {
    number = this->number();
  } else {
    number |= bits(first);
    number |= uint64_t{bits(low - first)} << 32;
  }
  code.saw(number);
  return number;
}

void StateReader::bytes(void* data, size_t size) {
  bits(waiting_bits_ % 8);
  for (size_t i = 0; i < size; ++i) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(bits(8));
}

}  // namespace intaglio
