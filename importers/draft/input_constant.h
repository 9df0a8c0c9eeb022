// An input of a file that is the same in each run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace intaglio {

// One value for all of its elements, or one for each, in the network's own layout.
struct InputConstant {
  std::string input;
  std::vector<int32_t> dims;  // those of the values; empty: they are a list, or one number
  std::vector<float> values;
};

}  // namespace intaglio
