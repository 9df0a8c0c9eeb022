#include "platforms/in_order_cores.h"

namespace intaglio {

IsaMask in_order_schedule(uint64_t midr, IsaMask found) {
  struct Core {
    uint16_t part;
    uint8_t implementer;
    IsaMask schedule;
  };
  static constexpr Core kCores[] = {
#define ITG_IN_ORDER_CORE(implementer, part, schedule, name) {part, implementer, isa::schedule},
#include "platforms/in_order_cores.inc"
#undef ITG_IN_ORDER_CORE
  };
  for (const Core& core : kCores) {
    if (((midr >> 24) & 0xff) != core.implementer || ((midr >> 4) & 0xfff) != core.part) continue;
    const bool dots = (found & isa::kNeonDot) != 0;
    return core.schedule == isa::kNeonA55 && !dots ? isa::kNeonA53 : core.schedule;
  }
  return isa::kScalar;
}

}  // namespace intaglio
