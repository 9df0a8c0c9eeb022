// Machines that a session can be sized for on any other one.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/plan_model.h"

namespace intaglio::cli {

struct Target {
  std::string name;
  IsaMask isa = isa::kScalar;  // the kernels that a build for it has
  bool cortex_m = false;

  PlanTarget plan_target() const { return {isa, cortex_m}; }
};

std::vector<Target> targets();
std::string target_names();  // "scalar, x86-avx2, ..."
Outcome<Target> find_target(const std::string& name);

}  // namespace intaglio::cli
