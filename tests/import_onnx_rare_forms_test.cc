// Rare forms of networks: padding beyond a window, casts to small integers, maxima over very many elements, codes of
// one bit.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_onnx_rare_forms_test {
namespace {

using Reals = std::vector<float>;

Reals some(uint32_t seed, size_t count) {
  Random random(seed);
  Reals values(count);
  for (float& value : values) value = random.real(-2, 2);
  return values;
}

// A convolution along one dimension, by its definition.
Reals line(const Reals& x, const Reals& w, int64_t before, int64_t after, int64_t dilation) {
  Reals y;
  const auto taps = static_cast<int64_t>(w.size()), size = static_cast<int64_t>(x.size());
  for (int64_t o = 0; o + (taps - 1) * dilation < before + size + after; ++o) {
    double sum = 0;
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t place = o + k * dilation - before;
      if (place >= 0 && place < size)
        sum += double{x[static_cast<size_t>(place)]} * w[static_cast<size_t>(k)];
    }
    y.push_back(static_cast<float>(sum));
  }
  return y;
}

}  // namespace

TEST_CASE("padding of a window's size and more is zeros around the input") {
  struct Case {
    size_t taps;
    int64_t before, after, dilation;
  };
  for (const Case& c :
       {Case{1, 1, 1, 1}, Case{3, 4, 0, 1}, Case{3, 0, 7, 1}, Case{2, 3, 5, 2}, Case{3, 2, 2, 1}}) {
    CAPTURE(c.taps);
    CAPTURE(c.before);
    OnnxBuilder file;
    file.input("x", {1, 1, 6});
    const Reals x = some(1, 6), w = some(2, c.taps);
    file.floats("w", {1, 1, static_cast<int64_t>(c.taps)}, w);
    auto& node = file.node("Conv", {"x", "w"}, "y");
    set(node, "pads", std::vector<int64_t>{c.before, c.after});
    set(node, "dilations", std::vector<int64_t>{c.dilation});
    file.output("y");
    const Reals got = run_file(file.bytes(), x), expected = line(x, w, c.before, c.after, c.dilation);
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

TEST_CASE("a cast to a small integer drops what stands behind the point") {
  for (const int64_t type : {2, 3, 4, 5}) {  // uint8, int8, uint16, int16
    OnnxBuilder file;
    file.input("x", {1, 3});
    set(file.node("Cast", {"x"}, "i"), "to", type);
    set(file.node("Cast", {"i"}, "y"), "to", int64_t{1});
    file.output("y");
    CHECK(run_file(file.bytes(), Reals{0.5f, 1.9f, 100}) == Reals{0, 1, 100});
  }
}

TEST_CASE("a maximum over any number of elements") {
  for (const int64_t size : {4096, 4097, 10000}) {
    OnnxBuilder file;
    file.input("x", {2, size});
    set(file.node("ReduceMax", {"x"}, "y"), "axes", std::vector<int64_t>{1});
    file.output("y");
    const Reals x = some(static_cast<uint32_t>(size), 2 * static_cast<size_t>(size));
    const auto middle = x.begin() + size;
    CHECK(run_file(file.bytes(), x) ==
          Reals{*std::max_element(x.begin(), middle), *std::max_element(middle, x.end())});
  }
}

TEST_CASE("codes of one bit: the scale where a number is 0 or more, less the scale below") {
  for (const char* const domain : {"qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"}) {
    OnnxBuilder file;
    file.input("x", {1, 3});
    file.floats("scale", {}, {0.5f});
    file.floats("k", {1, 3}, {-2, 0, 4});
    file.node("BipolarQuant", {"x", "scale"}, "a").domain = domain;
    file.node("BipolarQuant", {"k", "scale"}, "b").domain = domain;
    file.node("Add", {"a", "b"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), Reals{-0.1f, 0, 3}) == Reals{-1, 1, 1});
  }
}

}  // namespace intaglio::test::import_onnx_rare_forms_test
