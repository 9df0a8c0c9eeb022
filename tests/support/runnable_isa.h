// Kernels that run on this machine, one by one: also schedules for cores of another kind, which are the same instructions
// in another order.
#pragma once

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"

namespace intaglio::test {

inline IsaMask runnable_isa() {
  IsaMask isa = cpu_isa();
  if ((isa & isa::kNeon) != 0) isa |= isa::kNeonA53;
  if ((isa & isa::kNeonDot) != 0) isa |= isa::kNeonA55;
  return isa & kCompiledIsa;
}

}  // namespace intaglio::test
