#include "cli/target.h"

#include <sstream>

#include "cli/loaded_model.h"
#include "importers/params/params_names.h"

namespace intaglio::cli {
namespace {

// The cores whose builds compile the kernels of an instruction set, with | between them.
struct Cores {
  IsaMask isa;
  std::string family;
  const char* names;
};

const Cores kCores[] = {
    {isa::kScalar, "cortex-m", "cortex-m0plus|cortex-m3"},
#define ITG_ISA(name, constant, bit, family, cores, ...) {isa::constant, family, cores},
#define ITG_DIGEST_ISA(...)
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
};

}  // namespace

std::vector<Target> targets() {
  std::vector<Target> list;
  for (const IsaName& isa : kIsaNames) {
    const std::string name = isa.name, family = isa.family;
    const auto mask = isa_up_to(name);
    if (mask) list.push_back({family.empty() ? name : family + "-" + name, *mask, family == "cortex-m"});
  }
  for (const Cores& cores : kCores) {
    if (cores.family != "cortex-m") continue;
    std::istringstream names(cores.names);
    for (std::string core; std::getline(names, core, '|');) list.push_back({core, cores.isa, true});
  }
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
  std::vector<std::string> known;
  for (const Target& target : targets()) known.push_back(target.name);
  return Failure{"--target " + name + ": is not known; the nearest is " +
                 nearest_names(name, known, 1).front() + "; there are " + target_names()};
}

}  // namespace intaglio::cli
