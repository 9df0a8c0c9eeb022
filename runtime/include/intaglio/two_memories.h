// Activations in two memories: a small fast one (tightly coupled memory, a core's own SRAM), and a large one (SRAM behind a bus, PSRAM).
//
// `intaglio plan --memory fast=64K,slow=2M` makes such a plan: offsets below Model::fast_bytes() are in the fast memory, the others in
// the large one, and what is read most lies in the fast one. Results are the same bytes. It is still a plan for one memory as well:
// Session::create() runs it so. A program that does not name TwoMemories links none of this.
//
//   const SessionNeeds needs = *TwoMemories::measure(model, ops);
//   alignas(64) uint8_t fast[...];   // model.fast_bytes()
//   TwoMemories::create(model, ops, Session::split({large, needs.total()}, needs), fast)
#pragma once

#include "intaglio/session.h"

namespace intaglio {

struct PlannedModel;  // intaglio/planned_model.h

// Measures and makes sessions whose activations lie in two memories.
struct TwoMemories {
  // As Session::measure() and measure_anywhere(), but for the fast memory, which takes Model::fast_bytes(): activation_bytes is what the
  // large one takes, and persistent_bytes hold an offset for each tensor besides. A ceiling of the model counts both. A file whose packed
  // weights this machine would use in place is refused (kBadPack).
  static Result<SessionNeeds> measure(const Model& model, OpList ops, const SessionOptions& options = {},
                                      bool for_this_cpu = true);
  static Result<SessionNeeds> measure_anywhere(const Model& model, OpList ops,
                                               const SessionOptions& options = {}, bool for_this_cpu = true);
  static SessionNeeds measure(const PlannedModel& planned);

  // As Session::create(), with memory.activations in the large memory. `fast` starts at a multiple of kMemoryAlignment, and overlaps
  // none of the others. Errors: those of Session::create(), of the fast memory likewise; a plan with a tensor that crosses the end
  // of the fast memory (kPlanCrosses); on a 64-bit machine memories that lie 4 GB apart or more (kMemoryApart).
  static Result<Session> create(const Model& model, OpList ops, const SessionMemory& memory,
                                Span<uint8_t> fast, const SessionOptions& options = {});
  // As Session::start(). The plan was checked on the build machine.
  static Result<Session> start(const PlannedModel& planned, const SessionMemory& memory, Span<uint8_t> fast,
                               const SessionOptions& options = {});

  // Whether no tensor of the plan crosses the end of the fast memory (kPlanCrosses). create() looks itself.
  static Error check(const Model& model);

 private:
  static Error take(const Model& model, const SessionNeeds& needs, const SessionMemory& given,
                    Span<uint8_t> fast, SessionMemory* own, SessionMemory* in_one);
  static Error place(const Model& model, const SessionMemory& own, Span<uint8_t> given, Session* session);
};

}  // namespace intaglio
