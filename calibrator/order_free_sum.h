// A sum of non-negative reals that does not depend on their order: 64.64 fixed point.
#pragma once

#include <cstdint>

namespace intaglio {

class OrderFreeSum {
 public:
  // Rounds `x` down to a multiple of 2^-64, exactly the same everywhere. Values past 2^62 count as that.
  void add(double x) {
    constexpr double kMost = 0x1p62;
    x = x < kMost ? x : kMost;
    const auto whole = static_cast<uint64_t>(x);
    const auto fraction = static_cast<uint64_t>((x - static_cast<double>(whole)) * 0x1p64);
    fraction_ += fraction;
    whole_ += whole + (fraction_ < fraction ? 1 : 0);
  }
  double value() const { return static_cast<double>(whole_) + static_cast<double>(fraction_) * 0x1p-64; }
  bool operator<(const OrderFreeSum& other) const {
    return whole_ != other.whole_ ? whole_ < other.whole_ : fraction_ < other.fraction_;
  }

 private:
  uint64_t whole_ = 0, fraction_ = 0;
};

}  // namespace intaglio
