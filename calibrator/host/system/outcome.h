// Host errors as values: what was asked for, or a sentence that says what is wrong, where, and what to do.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "intaglio/status.h"

namespace intaglio {

struct Failure {
  std::string message;
  Error error = {};                    // what the library said; ok() where a host part found the fault
  std::string node = {}, tensor = {};  // what `error` is about, by the model's names; empty: none
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}              // NOLINT(google-explicit-constructor)
  Outcome(Failure failure) : failure_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return value_.has_value(); }
  const std::string& message() const { return failure_.message; }  // empty where there is a value
  Failure failure() const { return failure_; }                     // to hand on as another Outcome's
  // Only where there is a value.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Failure failure_;
};

// For what gives nothing but success: `return Done{};`
struct Done {};

}  // namespace intaglio
