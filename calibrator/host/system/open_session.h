// A session on a host, in memory of its own.
#pragma once

#include "calibrator/host/system/files.h"
#include "intaglio/session.h"

namespace intaglio {

// `memory` becomes the session's, and outlives it, as `model` does.
inline Result<Session> open_session(const Model& model, const SessionOptions& options, FileBytes& memory) {
  const Result<SessionNeeds> needs = Session::measure_anywhere(model, all_ops(), options);
  if (!needs) return needs.error();
  memory = FileBytes(needs->total());
  return Session::create(model, all_ops(), Session::split({memory.data(), memory.size()}, *needs), options);
}

}  // namespace intaglio
