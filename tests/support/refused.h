// An outcome that is refused by a message.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "calibrator/host/system/outcome.h"

namespace intaglio::test {

// Whether the message has `part`.
template <typename T>
bool refused(const Outcome<T>& outcome, const std::string& part) {
  if (outcome) return false;
  const bool found = outcome.message().find(part) != std::string::npos;
  if (!found) MESSAGE(outcome.message() << " lacks " << part);
  return found;
}

}  // namespace intaglio::test
