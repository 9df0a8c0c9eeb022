// Model::open of models that were changed: each refusal with its exact error, and what is allowed.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "intaglio/describe.h"
#include "tests/support/model_object.h"

namespace intaglio::test {

inline void check_error(const Error& found, const Error& expected) {
  CAPTURE(text_of(found));
  CHECK(found.status == expected.status);
  CHECK(found.node == expected.node);
  CHECK(found.tensor == expected.tensor);
  CHECK(found.value == expected.value);
  CHECK(found.limit == expected.limit);
}

struct Refusal {
  const char* what;
  Error expected;
  Change change;
};

inline void check_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.what);
    check_error(error_of(refusal.change), refusal.expected);
  }
}

struct Allowed {
  const char* what;
  Change change;
};

inline void check_allowed(const std::vector<Allowed>& list) {
  for (const Allowed& allowed : list) {
    CAPTURE(allowed.what);
    check_error(error_of(allowed.change), kNoError);
  }
}

}  // namespace intaglio::test
