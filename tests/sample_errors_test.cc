// The errors to be expected of other samples, from those of some.
#include "calibrator/host/accuracy/sample_errors.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/model_builder.h"

namespace intaglio::test::sample_errors_test {

using intaglio::DType;
using intaglio::Op;

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

TEST_CASE("what nine of ten sets reach is below what is expected, and more so where samples differ more") {
  const auto errors = [](size_t count, double spread) {
    SampleErrors made;
    for (size_t i = 0; i < count; ++i)
      made.add({NetworkError{100.0, std::exp(i % 2 == 0 ? -spread : spread)}});
    return made;
  };
  CHECK(!errors(8, 1.0).most_of_sets());
  double before = 0.0;
  for (const double spread : {0.0, 0.5, 1.0, 2.0}) {
    CAPTURE(spread);
    const SampleErrors some = errors(9, spread);
    const double most = *some.most_of_sets();
    CHECK(most > some.expected().ratio());
    CHECK(most / some.expected().ratio() > before);
    before = most / some.expected().ratio();
    CHECK(*errors(9, spread).most_of_sets() == most);
  }
  // Further samples of many equal ones are as they are, but for what the usual spread leaves.
  CHECK(*errors(400, 0.0).most_of_sets() == doctest::Approx(0.01).epsilon(0.1));
  CHECK(*errors(9, 0.0).most_of_sets() > 0.015);
  // The tenth of drawn sets of 16 of a log-normal distribution of deviation 1, by 400,000 draws: 2.33 times its median.
  CHECK(*errors(2000, 1.0).most_of_sets() == doctest::Approx(0.0233).epsilon(0.1));
  SampleErrors exact;
  for (int i = 0; i < 9; ++i) exact.add({NetworkError{1.0, 0.0}});
  CHECK(*exact.most_of_sets() == 0.0);
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

TEST_CASE(
    "channels that are a factor of eight apart are judged apart, and what is nearly nothing is not judged") {
  using Groups = std::vector<std::vector<int32_t>>;
  CHECK(groups_of_like_size({1.0, 8.0, 2.0}) == Groups{{0, 1, 2}});
  CHECK(groups_of_like_size({1.0, 8.5}) == Groups{{1}, {0}});
  CHECK(groups_of_like_size({1.0, 8.5, 2.0, 0.2, 0.03}) == Groups{{0, 1, 2, 3, 4}});
  CHECK(groups_of_like_size({640, 1, 600, 0.9, 0.2, 300}) == Groups{{0, 2, 5}, {1, 3, 4}});
  CHECK(groups_of_like_size({1.0, 0.0, 0x1p-15}) == Groups{{0}});
  CHECK(groups_of_like_size({0.0, 0.0}).empty());
  CHECK(groups_of_like_size({}).empty());
}

TEST_CASE("channels lie along the last axis of pictures, else along the shortest") {
  // Parts of an output with these dimensions; behind a Transpose of this order.
  const auto axis = [](const std::vector<int32_t>& dims, const std::vector<int32_t>& order = {}) {
    ModelBuilder b;
    std::vector<int32_t> before = dims;
    for (size_t a = 0; a < order.size(); ++a) before[static_cast<size_t>(order[a])] = dims[a];
    const int32_t x = b.tensor("x", DType::kF32, before), y = b.tensor("y", DType::kF32, dims);
    b.input(x);
    if (order.empty())
      b.node(Op::kAbs, {x}, {y});
    else
      b.node(Op::kTranspose, {x}, {y}).options.as<TransposeOptions>().permutation = b.keep(order);
    b.output(y);
    const AlignedBytes bytes = b.finish();
    const Model model = *Model::open(bytes.view());
    return part_axis(model, model.outputs()[0]);
  };
  CHECK(axis({1, 20, 20, 85}) == 3);
  CHECK(axis({1, 85, 20, 20}, {0, 3, 1, 2}) == 1);
  CHECK(axis({1, 3, 8, 8, 85}, {0, 3, 1, 2, 4}) == 4);
  CHECK(axis({1, 84, 8400}) == 1);
  CHECK(axis({1, 8400, 84}) == 2);
  CHECK(axis({1, 6}) == 1);
  CHECK(axis({4, 16, 16}) == 0);
  CHECK(axis({100, 6}) == 1);
  CHECK(axis({1, 1}) == -1);
  CHECK(axis({1, 100, 1}) == -1);
  CHECK(axis({1, 1, 100}) == -1);
  CHECK(axis({100, 1}) == -1);
  CHECK(axis({1, 20, 20, 1}) == -1);
  CHECK(axis({1, 2000}) == -1);
}

TEST_CASE("the worst part is a tensor, or channels of unlike size") {
  SampleErrors errors;
  errors.name({"joint", "other"});
  for (int i = 0; i < 20; ++i) {
    const ChannelError large{{1e6, 1.0}, 600}, small{{1.0, 0.5}, 1};
    errors.add({{2e6 + 1, 2.5}, {4.0, 0.1}}, {{large, small, large}, {}});
  }
  const std::vector<PartError> parts = errors.parts(false);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].channels == std::vector<int32_t>{0, 2});
  CHECK(parts[1].channels == std::vector<int32_t>{1});
  CHECK(parts[1].all_channels == 3);
  CHECK(parts[2].tensor == "other");
  CHECK(parts[2].channels.empty());
  const PartError* const worst = worst_of(parts);
  REQUIRE(worst != nullptr);
  CHECK(worst->tensor == "joint");
  CHECK(worst->error.ratio() == doctest::Approx(0.5));
  CHECK(errors.parts()[1].error.ratio() > 0.5);
  CHECK(worst_of({}) == nullptr);
  // The whole is what it was: two outputs, each with its own ratio.
  CHECK(errors.expected().signal == 2.0);
}

}  // namespace
}  // namespace intaglio::test::sample_errors_test
