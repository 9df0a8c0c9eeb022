// Which schedule cores want, by the numbers that they carry.
#include "platforms/in_order_cores.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace intaglio::test::in_order_cores_test {
namespace {

constexpr uint64_t kA53 = 0x410fd034, kA55 = 0x412fd050, kA72 = 0x410fd083, kA76 = 0x414fd0b1,
                   kA510 = 0x411fd461;
constexpr IsaMask kPlain = isa::kNeon, kDots = isa::kNeon | isa::kNeonDot;

IsaMask shared(std::initializer_list<uint64_t> cores, IsaMask found) {
  SharedSchedule schedule(found);
  for (const uint64_t midr : cores) schedule.add(midr);
  return schedule.shared();
}

}  // namespace

TEST_CASE("a core's schedule") {
  CHECK(in_order_schedule(kA53, kPlain) == isa::kNeonA53);
  CHECK(in_order_schedule(kA55, kDots) == isa::kNeonA55);
  // Revision and variant do not matter; whether the system lets programs use dot products does.
  CHECK(in_order_schedule(0x410fd030, kPlain) == isa::kNeonA53);
  CHECK(in_order_schedule(0x411fd051, kDots) == isa::kNeonA55);
  CHECK(in_order_schedule(kA55, kPlain) == isa::kNeonA53);
  for (const uint64_t midr : {kA72, kA76, kA510, uint64_t{0}, uint64_t{0x420fd034}, uint64_t{0x410f0034}})
    CHECK(in_order_schedule(midr, kDots) == isa::kScalar);
  CHECK(in_order_schedule(0x518f8014, kPlain) == isa::kNeonA53);
}

TEST_CASE("cores of one kind, and of two") {
  CHECK(shared({}, kDots) == isa::kScalar);
  CHECK(shared({kA53, kA53, kA53, kA53}, kPlain) == isa::kNeonA53);
  CHECK(shared({kA55, kA55}, kDots) == isa::kNeonA55);
  CHECK(shared({kA53, kA72}, kPlain) == isa::kScalar);
  CHECK(shared({kA76, kA55, kA55}, kDots) == isa::kScalar);
  CHECK(shared({kA55, kA55, kA76}, kDots) == isa::kScalar);
}

TEST_CASE("a core that settles the answer is said to") {
  SharedSchedule schedule(kDots);
  CHECK(!schedule.any());
  CHECK(schedule.add(kA55));
  CHECK(!schedule.add(kA76));
  CHECK(schedule.any());
}

}  // namespace intaglio::test::in_order_cores_test
