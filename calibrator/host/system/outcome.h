// Host errors as values: what was asked for, or a sentence that says what is wrong, where, and what to do.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace intaglio {

struct Failure {
  std::string message;
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}                      // NOLINT(google-explicit-constructor)
  Outcome(Failure failure) : message_(std::move(failure.message)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return value_.has_value(); }
  const std::string& message() const { return message_; }  // empty where there is a value
  Failure failure() const { return {message_}; }           // to hand on as another Outcome's
  // Only where there is a value.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  std::string message_;
};

// For what gives nothing but success: `return Done{};`
struct Done {};

}  // namespace intaglio
