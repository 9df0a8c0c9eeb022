// For programs that run no tests and call what asks by doctest's macros: what is asked in vain ends the program.
#pragma once

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

namespace intaglio::test {

class OutsideTests {
 public:
  OutsideTests() { context_.setAsDefaultForAssertsOutOfTestCases(); }

 private:
  doctest::Context context_;
};

}  // namespace intaglio::test
