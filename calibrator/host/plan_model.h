// A session of a model on another machine, planned here: what `intaglio export-c --planned` writes as
// constants.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/files.h"
#include "intaglio/planned_model.h"

namespace intaglio {

// The kernels of the machine that is planned for.
struct PlanTarget {
  IsaMask isa = isa::kScalar;
  bool cortex_m = false;  // its build lists and numbers its own kernels alone
  bool streamed = true;   // by the model's streamed plan, where it has one

  // Those that plans name: a build for a Cortex-M has the best alone, beside the scalar ones.
  IsaMask kernels() const;
};

// Owns what a PlannedModel points to; the model's bytes outlive it.
struct ModelPlan {
  std::vector<const OpDef*> ops;  // each once, in the order of all_ops()
  std::vector<PlannedNode> nodes;
  FileBytes prepared;  // every piece at a multiple of kMemoryAlignment
  SessionNeeds needs;
  IsaMask isa = isa::kScalar, listed = isa::kAll;
  uint32_t crc32 = 0;  // of the model's bytes
  bool streamed = false;
  bool rows_alone = false;  // likewise, and kRowsAlone runs it

  // For a session on this machine. `runs` is filled, and outlives what is returned, as this plan does.
  PlannedModel planned(const Model& model, std::vector<const OpRun*>& runs) const;
};

// Checks the model with all operators, as Session::create does, and plans every node for the target with one
// thread.
Result<ModelPlan> plan_model(const Model& model, const PlanTarget& target);
// The memory alone.
Result<SessionNeeds> measure_planned(const Model& model, const PlanTarget& target);

}  // namespace intaglio
