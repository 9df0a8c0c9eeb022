// ONNX's Fourier transforms beside their definition.
#include <cmath>
#include <complex>

#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_spectrum_test {
namespace {

using Complex = std::complex<double>;

Complex turned(size_t turns, size_t of) {
  return std::polar(1.0, -2.0 * std::acos(-1.0) * static_cast<double>(turns) / static_cast<double>(of));
}

void check_near(const Reals& a, const std::vector<Complex>& b) {
  REQUIRE(a.size() == 2 * b.size());
  for (size_t i = 0; i < b.size(); ++i) {
    CHECK(a[2 * i] == doctest::Approx(b[i].real()).epsilon(1e-5));
    CHECK(a[2 * i + 1] == doctest::Approx(b[i].imag()).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("transforms of reals and complex numbers, longer and shorter than their axis, and back") {
  struct Case {
    int64_t opset, parts, length;
    bool inverse, one_sided;
  };
  constexpr size_t kRows = 2, kSteps = 6, kColumns = 3;
  for (const Case& c :
       {Case{17, 1, 6, false, true}, Case{20, 2, 6, false, false}, Case{20, 2, 6, true, false},
        Case{17, 1, 8, false, false}, Case{20, 1, 5, false, true}}) {
    CAPTURE(c.length);
    CAPTURE(c.parts);
    OnnxBuilder file(c.opset);
    file.input("x", {kRows, kSteps, kColumns, c.parts});
    file.integers("length", {c.length}).dims.clear();
    file.integers("axis", {1}).dims.clear();
    auto& node = file.node("DFT", {"x", "length"}, "y");
    if (c.opset >= 20) node.input.push_back("axis");
    set(node, "inverse", int64_t{c.inverse});
    set(node, "onesided", int64_t{c.one_sided});
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    Random random(2);
    const auto parts = static_cast<size_t>(c.parts), length = static_cast<size_t>(c.length);
    const Reals x = random.reals(kRows * kSteps * kColumns * parts, -1, 1);
    std::vector<Complex> y;
    for (size_t row = 0; row < kRows; ++row)
      for (size_t k = 0; k < (c.one_sided ? length / 2 + 1 : length); ++k)
        for (size_t column = 0; column < kColumns; ++column) {
          Complex sum = 0.0;
          for (size_t n = 0; n < std::min(kSteps, length); ++n) {
            const size_t at = ((row * kSteps + n) * kColumns + column) * parts;
            const Complex value(x[at], parts == 2 ? x[at + 1] : 0.0);
            const Complex by = turned(n * k, length);
            sum += value * (c.inverse ? std::conj(by) / static_cast<double>(length) : by);
          }
          y.push_back(sum);
        }
    check_near(run_import<float>(import, x), y);
  }
}

TEST_CASE("transforms of a signal's frames, with and without a window") {
  for (const bool windowed : {false, true}) {
    OnnxBuilder file(17);
    constexpr size_t kSamples = 20, kStep = 4, kLength = 8, kFrames = 4, kBins = 5;
    file.input("x", {1, kSamples, 1});
    file.integers("step", {kStep}).dims.clear();
    file.integers("length", {kLength}).dims.clear();
    Reals window(kLength, 1.0f);
    for (size_t n = 0; windowed && n < kLength; ++n) window[n] = 0.1f * static_cast<float>(n + 1);
    if (windowed) file.floats("window", {kLength}, window);
    file.node("STFT", {"x", "step", windowed ? "window" : "", "length"}, "y");
    file.output("y");
    Random random(7);
    const Reals x = random.reals(kSamples, -1, 1);
    std::vector<Complex> y;
    for (size_t frame = 0; frame < kFrames; ++frame)
      for (size_t k = 0; k < kBins; ++k) {
        Complex sum = 0.0;
        for (size_t n = 0; n < kLength; ++n)
          sum += static_cast<double>(x[frame * kStep + n]) * static_cast<double>(window[n]) *
                 turned(n * k, kLength);
        y.push_back(sum);
      }
    check_near(run_file(file.bytes(), x), y);
  }
}

TEST_CASE("a transform that does not fit is refused") {
  const auto refusal = [](const Ints& shape, int64_t axis, bool inverse) {
    OnnxBuilder file(17);
    file.input("x", shape);
    auto& node = file.node("DFT", {"x"}, "y");
    set(node, "axis", axis);
    set(node, "inverse", int64_t{inverse});
    set(node, "onesided", int64_t{1});
    file.output("y");
    return Import(file.bytes()).message();
  };
  CHECK(refusal({1, 4, 3}, 1, false).find("real, or real and imaginary parts are last") != std::string::npos);
  CHECK(refusal({1, 4, 1}, 2, false).find("axis 2 is none of those in front of the last") !=
        std::string::npos);
  CHECK(refusal({1, 4, 1}, 1, true).find("an inverse of one side is not supported") != std::string::npos);
  for (const int64_t length : {INT64_MAX, int64_t{1} << 62, (int64_t{1} << 24) + 1, int64_t{0}}) {
    OnnxBuilder file(17);
    file.input("x", {1, 1, 1});
    file.integers("length", {length}).dims.clear();
    file.node("DFT", {"x", "length"}, "y");
    file.output("y");
    CHECK(Import(file.bytes())
              .says("its length is " + std::to_string(length) + "; 1 to 16777216 are supported"));
  }
  CHECK(refusal({1, 8192, 1}, 1, false).find("16777216 are supported") != std::string::npos);
}

}  // namespace intaglio::test::import_onnx_spectrum_test
