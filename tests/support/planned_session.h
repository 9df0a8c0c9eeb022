// A session planned beforehand, as a program holds one that export-c wrote: plan, kept bytes and model are
// only read, and each span of memory is an allocation of its own exact size.
#pragma once

#include "calibrator/host/plan_model.h"
#include "kernels/compiled_isa.h"
#include "tests/support/model_builder.h"

namespace intaglio::test {

class PlannedSession {
 public:
  explicit PlannedSession(Span<const uint8_t> bytes, const PlanTarget& target = {},
                          const SessionOptions& options = {}) {
    const Result<Model> model = Model::open(bytes);
    error_ = model.error();
    if (!model) return;
    auto plan = plan_model(*model, target);
    error_ = plan.error();
    if (!plan) return;
    plan_ = std::move(*plan);
    planned_ = plan_.planned(*model, runs_);
    persistent_ = AlignedBytes(plan_.needs.persistent_bytes);
    activations_ = AlignedBytes(plan_.needs.activation_bytes);
    scratch_.allocate(plan_.needs.scratch_bytes);
    const Result<Session> session = Session::start(planned_, memory(), options);
    error_ = session.error();
    if (session) session_ = *session;
  }
  PlannedSession(const PlannedSession&) = delete;
  PlannedSession& operator=(const PlannedSession&) = delete;

  const Error& error() const { return error_; }
  Session& session() { return session_; }
  const ModelPlan& plan() const { return plan_; }
  PlannedModel& planned() { return planned_; }
  SessionMemory memory() { return {persistent_.span(), activations_.span(), scratch_.span()}; }

 private:
  ModelPlan plan_;
  std::vector<const OpRun*> runs_;
  PlannedModel planned_;
  AlignedBytes persistent_, activations_;
  GuardedScratch scratch_;
  Session session_;
  Error error_;
};

}  // namespace intaglio::test
