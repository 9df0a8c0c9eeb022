#pragma once

#include <cstdint>
#include <vector>

namespace intaglio::test {

// The seeds that a target's inputs are made from, by hostile_seeds_<name>.cc; none: any bytes.
std::vector<std::vector<uint8_t>> hostile_seeds();

}  // namespace intaglio::test
