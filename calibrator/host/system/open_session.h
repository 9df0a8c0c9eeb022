// A session on a host, in memory of its own.
#pragma once

#include "calibrator/host/system/files.h"
#include "intaglio/session.h"

namespace intaglio {

// A host is another machine than the one that a model's ceiling of memory is for.
inline SessionOptions above_ceiling(SessionOptions options = {}) {
  options.above_ceiling = true;
  return options;
}

// `memory` becomes the session's, and outlives it, as `model` does.
inline Result<Session> open_session(const Model& model, const SessionOptions& given, FileBytes& memory) {
  const SessionOptions options = above_ceiling(given);
  const Result<SessionNeeds> needs = Session::measure(model, all_ops(), options);
  if (!needs) return needs.error();
  memory = FileBytes(needs->total());
  return Session::create(model, all_ops(), Session::split({memory.data(), memory.size()}, *needs), options);
}

}  // namespace intaglio
