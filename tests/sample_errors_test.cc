// What is to be expected of other samples, from the errors of some.
#include "calibrator/host/accuracy/held_out.h"

#include <doctest/doctest.h>

#include <cmath>

namespace intaglio::test::sample_errors_test {
namespace {

TEST_CASE("few samples seldom show those that lose most: a spread of the noise adds to it") {
  SampleErrors alike, spread;
  for (int i = 0; i < 8; ++i) {
    alike.add({NetworkError{100.0, 1.0}});
    spread.add({NetworkError{100.0, std::exp(i < 4 ? -2.0 : 2.0)}});
  }
  // A variance of 1.5 that four samples are worth, beside none that is measured: (4 * 1.5 + 7 * 0) / (4 + 7). The log-normal
  // mean is exp of half of that.
  CHECK(alike.expected().ratio() == doctest::Approx(std::exp(3.0 / 11) / 100));
  // Logarithms of mean 0 and squares of 4 each.
  CHECK(spread.expected().ratio() == doctest::Approx(std::exp((6.0 + 8 * 4) / 11 / 2) / 100));
  // As much noise everywhere, under 4 or 1 of signal: 0.4 in all, 0.625 on the mean of the samples.
  SampleErrors uneven;
  for (int i = 0; i < 8; ++i) uneven.add({NetworkError{i < 4 ? 4.0 : 1.0, 1.0}});
  CHECK(uneven.expected().ratio() == doctest::Approx(std::sqrt(0.4 * std::exp(3.0 / 11) * 0.625)));
  SampleErrors exact;
  for (int i = 0; i < 4; ++i) exact.add({NetworkError{1.0, 0.0}});
  CHECK(exact.expected().noise == 0.0);
  CHECK(SampleErrors().expected().signal == 0.0);
}

TEST_CASE("the order of the samples does not reach the last digit") {
  SampleErrors forwards, backwards;
  const auto sample = [](int i) {
    return std::vector<NetworkError>{{1.0 + 0.1 * i, 1e-3 * (i % 7) / 3}, {0.7 * i, 0.3 / (i + 1)}};
  };
  for (int i = 0; i < 30; ++i) {
    forwards.add(sample(i));
    backwards.add(sample(29 - i));
  }
  CHECK(forwards.expected().signal == backwards.expected().signal);
  CHECK(forwards.expected().noise == backwards.expected().noise);
}

}  // namespace
}  // namespace intaglio::test::sample_errors_test
