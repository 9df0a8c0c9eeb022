// Linear models and scalers of ai.onnx.ml, by their definitions.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_classical_test {
namespace {

using Reals = std::vector<float>;

std::string file_of(const char* op, const std::vector<std::pair<const char*, Reals>>& reals,
                    int64_t targets = 0, const char* transform = nullptr,
                    const std::vector<int64_t>& input = {2, 3}) {
  OnnxBuilder file(13);
  file.input("x", input);
  auto& node = file.node(op, {"x"}, "y");
  node.domain = "ai.onnx.ml";
  for (const auto& [name, values] : reals) set(node, name, values);
  if (targets != 0) set(node, "targets", targets);
  if (transform != nullptr) set(node, "post_transform", transform);
  return file.output("y").bytes();
}

}  // namespace

TEST_CASE("LinearRegressor, of one target and of two") {
  const Reals x{1, 2, 3, 4, 5, 6};
  CHECK(run_file(file_of("LinearRegressor", {{"coefficients", {1, 0, -1}}, {"intercepts", {10}}}), x) ==
        Reals{8, 8});
  CHECK(run_file(file_of("LinearRegressor", {{"coefficients", {1, 0, 0, 0, 0, 2}}}, 2, "NONE"), x) ==
        Reals{1, 6, 4, 12});
}

TEST_CASE("Scaler, with one number or one a feature") {
  const Reals x{1, 2, 3, 4, 5, 6};
  CHECK(run_file(file_of("Scaler", {{"offset", {1, 2, 3}}, {"scale", {2}}}), x) == Reals{0, 0, 0, 6, 6, 6});
  CHECK(run_file(file_of("Scaler", {{"scale", {1, 2, 3}}}), x) == Reals{1, 4, 9, 4, 10, 18});
}

TEST_CASE("what does not fit is refused") {
  const auto refused = [](const std::string& file, const char* part) {
    Import import(file);
    CAPTURE(import.message());
    CHECK(import.says(part));
  };
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2}}}),
          "it has 2 coefficients for 1 targets of 3 features");
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2, 3}}, {"intercepts", {1, 2}}}),
          "it has 2 intercepts for 1 targets");
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2, 3}}}, -1), "its attribute targets is -1");
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2, 3}}}, INT64_MAX), "its attribute targets is");
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2, INFINITY}}}),
          "its attribute coefficients holds inf");
  refused(file_of("LinearRegressor", {{"coefficients", {1, 2, 3}}}, 1, "PROBIT"),
          "post_transform 'PROBIT' is not supported; NONE is");
  refused(file_of("Scaler", {{"offset", {1, 2}}}), "its attribute offset has 2 numbers for 3 features");
  refused(file_of("Scaler", {}, 0, nullptr, {2, 3, 4}),
          "its input has the shape [2, 3, 4]; rank 2 is expected");
}

}  // namespace intaglio::test::import_onnx_classical_test
