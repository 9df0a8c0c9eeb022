#include "cli/target.h"

#include "cli/loaded_model.h"

namespace intaglio::cli {

std::vector<Target> targets() {
  std::vector<Target> list;
  for (const IsaName& isa : kIsaNames) {
    const std::string name = isa.name;
    const std::string family = isa.bit == isa::kScalar      ? ""
                               : name.rfind("avx", 0) == 0  ? "x86-"
                               : name.rfind("neon", 0) == 0 ? "arm-"
                                                            : "cortex-m-";
    const auto mask = isa_up_to(name);
    if (mask) list.push_back({family + name, *mask, family == "cortex-m-"});
  }
  // By core: the kernels that ItgIsa.cmake compiles for it.
  for (const char* const core : {"cortex-m0plus", "cortex-m3"}) list.push_back({core, isa::kScalar, true});
  for (const char* const core : {"cortex-m4", "cortex-m7", "cortex-m33"})
    list.push_back({core, isa::kDsp, true});
  for (const char* const core : {"cortex-m55", "cortex-m85"}) list.push_back({core, isa::kHelium, true});
  return list;
}

std::string target_names() {
  std::string names;
  for (const Target& target : targets()) names += (names.empty() ? "" : ", ") + target.name;
  return names;
}

Outcome<Target> find_target(const std::string& name) {
  for (const Target& target : targets())
    if (target.name == name) return target;
  return Failure{"--target " + name + ": is not known; there are " + target_names()};
}

}  // namespace intaglio::cli
