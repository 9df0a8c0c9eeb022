// Which schedule of the kernels suits cores that issue in order, by their part numbers.
#pragma once

#include "intaglio/isa.h"

namespace intaglio {

// The schedules that cores with this MIDR_EL1 and these instruction sets want: isa::kNeonA53 or isa::kNeonA55 for a core of
// in_order_cores.inc, else none.
IsaMask in_order_schedule(uint64_t midr, IsaMask found);

// The schedule that the cores of a machine share. Cores of both kinds (big.LITTLE) share none, since the program may run on
// either, and the larger ones do most of the work.
class SharedSchedule {
 public:
  explicit SharedSchedule(IsaMask found) : found_(found) {}
  // Returns whether another core can still change the answer.
  bool add(uint64_t midr) {
    const IsaMask schedule = in_order_schedule(midr, found_);
    shared_ = any_ ? shared_ & schedule : schedule;
    any_ = true;
    return shared_ != isa::kScalar;
  }
  bool any() const { return any_; }
  IsaMask shared() const { return shared_; }

 private:
  IsaMask found_, shared_ = isa::kScalar;
  bool any_ = false;
};

}  // namespace intaglio
