// ONNX windows over three dimensions, beside their definitions in doubles on shapes made by chance.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tensor_places.h"

namespace intaglio::test::import_onnx_volumes_test {
namespace {

using Reals = std::vector<double>;
using Visit = std::function<void(const Ints& at, bool is_inside, const Ints& tap)>;

struct Windows {
  Ints x, kernel, strides, dilations, pads;
  bool rounds_up = false;

  int64_t out(size_t d) const {
    const int64_t room = x[d + 2] + pads[d] + pads[d + 3] - (kernel[d] - 1) * dilations[d] - 1;
    const int64_t steps = rounds_up ? (room + strides[d] - 1) / strides[d] : room / strides[d];
    // A window that would start in the padding behind does not count.
    return steps * strides[d] >= x[d + 2] + pads[d] ? steps : steps + 1;
  }
  Ints outs(int64_t channels) const { return {x[0], channels, out(0), out(1), out(2)}; }
  // Each tap of the window at `o` (d, h, w): where it lies along the three axes.
  void visit(const Ints& o, const Visit& tap) const {
    for (int64_t k = 0; k < count(kernel); ++k) {
      const Ints at_kernel = place_of(k, kernel);
      Ints at(3);
      bool inside = true;
      for (size_t d = 0; d < 3; ++d) {
        at[d] = o[d] * strides[d] + at_kernel[d] * dilations[d] - pads[d];
        inside &= at[d] >= 0 && at[d] < x[d + 2];
      }
      tap(at, inside, at_kernel);
    }
  }
  bool is_padding(const Ints& at) const {  // as the file states it, not what rounding up adds
    for (size_t d = 0; d < 3; ++d)
      if (at[d] >= x[d + 2] + pads[d + 3]) return false;
    return true;
  }
};

Windows windows(Random& random, int64_t channels, bool dilates) {
  Windows w;
  w.x = {random.between(1, 2), channels};
  w.pads.resize(6);
  for (size_t d = 0; d < 3; ++d) {
    w.kernel.push_back(random.between(1, 3));
    w.dilations.push_back(dilates ? random.between(1, 2) : 1);
    w.strides.push_back(random.between(1, 3));
    const int64_t extent = (w.kernel[d] - 1) * w.dilations[d] + 1;
    w.x.push_back(extent + random.between(0, 4));
    for (const size_t end : {d, d + 3}) w.pads[end] = random.between(0, static_cast<int>(w.kernel[d]) - 1);
  }
  return w;
}

void set_windows(OnnxBuilder::Node& node, const Windows& w) {
  set(node, "kernel_shape", w.kernel);
  set(node, "strides", w.strides);
  set(node, "pads", w.pads);
}

void check(OnnxBuilder& file, const std::vector<float>& x, const Reals& expected) {
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  const std::vector<float> y = run_import<float>(import, x);
  REQUIRE(y.size() == expected.size());
  for (size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(double{y[i]} - expected[i]) < 2e-5);
}

double at(const std::vector<float>& x, const Ints& dims, int64_t n, int64_t c, const Ints& place) {
  return x[static_cast<size_t>(index_of({n, c, place[0], place[1], place[2]}, dims))];
}

}  // namespace

TEST_CASE("convolutions are the sums of their definition") {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const int64_t groups = random.between(1, 3), each = random.between(1, 2), of_group = random.between(1, 2);
    const Windows w = windows(random, groups * each, true);
    Ints weight_dims{groups * of_group, each};
    weight_dims.insert(weight_dims.end(), w.kernel.begin(), w.kernel.end());
    const auto x = random.reals(static_cast<size_t>(count(w.x)), -1.0f, 1.0f),
               k = random.reals(static_cast<size_t>(count(weight_dims)), -1.0f, 1.0f),
               b = random.reals(static_cast<size_t>(weight_dims[0]), -1.0f, 1.0f);
    OnnxBuilder file;
    file.input("x", w.x);
    file.floats("w", weight_dims, k);
    file.floats("b", {weight_dims[0]}, b);
    auto& node = file.node("Conv", {"x", "w", "b"}, "y");
    set_windows(node, w);
    set(node, "dilations", w.dilations);
    set(node, "group", groups);
    Reals expected;
    const Ints out = w.outs(weight_dims[0]);
    for (int64_t i = 0; i < count(out); ++i) {
      const Ints o = place_of(i, out);
      double sum = b[static_cast<size_t>(o[1])];
      for (int64_t c = 0; c < each; ++c)
        w.visit({o[2], o[3], o[4]}, [&](const Ints& place, bool inside, const Ints& tap) {
          if (inside)
            sum += at(x, w.x, o[0], o[1] / of_group * each + c, place) * at(k, weight_dims, o[1], c, tap);
        });
      expected.push_back(sum);
    }
    check(file, x, expected);
  }
}

TEST_CASE("pools are the greatest and the mean of each window") {
  Random random(6);
  for (int round = 0; round < 90; ++round) {
    CAPTURE(round);
    const bool is_max = round % 3 == 0, includes = round % 3 == 1;
    Windows w = windows(random, random.between(1, 3), is_max);
    w.rounds_up = round % 2 == 0;
    const auto x = random.reals(static_cast<size_t>(count(w.x)), -1.0f, 1.0f);
    OnnxBuilder file;
    file.input("x", w.x);
    auto& node = file.node(is_max ? "MaxPool" : "AveragePool", {"x"}, "y");
    set_windows(node, w);
    if (is_max) set(node, "dilations", w.dilations);
    if (includes) set(node, "count_include_pad", int64_t{1});
    set(node, "ceil_mode", int64_t{w.rounds_up});
    Reals expected;
    const Ints out = w.outs(w.x[1]);
    for (int64_t i = 0; i < count(out); ++i) {
      const Ints o = place_of(i, out);
      double sum = 0, greatest = -1e9;
      int taps = 0;
      w.visit({o[2], o[3], o[4]}, [&](const Ints& place, bool inside, const Ints&) {
        taps += inside || (includes && w.is_padding(place));
        if (!inside) return;
        sum += at(x, w.x, o[0], o[1], place);
        greatest = std::max(greatest, at(x, w.x, o[0], o[1], place));
      });
      expected.push_back(is_max ? greatest : sum / taps);
    }
    check(file, x, expected);
  }
}

TEST_CASE("batch normalization of volumes") {
  const Ints dims{2, 3, 2, 2, 2};
  Random random(7);
  const auto x = random.reals(48, -1.0f, 1.0f);
  OnnxBuilder file;
  file.input("x", dims);
  const std::vector<float> scale{1, 2, -3}, bias{0.5f, 0, 1}, mean{0.1f, 0.2f, 0.3f}, variance{1, 4, 0.25f};
  file.floats("scale", {3}, scale);
  file.floats("bias", {3}, bias);
  file.floats("mean", {3}, mean);
  file.floats("variance", {3}, variance);
  file.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y");
  Reals expected;
  for (int64_t i = 0; i < 48; ++i) {
    const auto c = static_cast<size_t>(place_of(i, dims)[1]);
    expected.push_back((double{x[static_cast<size_t>(i)]} - mean[c]) / std::sqrt(double{variance[c]} + 1e-5) *
                           scale[c] +
                       bias[c]);
  }
  check(file, x, expected);
}

TEST_CASE("volumes: what does not fit is said") {
  const auto message = [](const Ints& weights, const char* name, const Ints& value) {
    OnnxBuilder file;
    file.input("x", {1, 2, 3, 4, 5});
    file.floats("w", weights, std::vector<float>(static_cast<size_t>(count(weights)), 1.0f));
    set(file.node("Conv", {"x", "w"}, "y"), name, value);
    file.output("y");
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(message({2, 2, 3, 3}, "strides", {1, 1, 1}), "its weights have the shape [2, 2, 3, 3]; rank 5"));
  CHECK(says(message({2, 2, 1, 1, 1}, "strides", {1, 1}), "attribute strides has 2 values; 3 are expected"));
  CHECK(says(message({2, 2, 4, 1, 1}, "strides", {1, 1, 1}), "the window of 4 does not fit the input of 3"));
  CHECK(says(message({2, 2, 1, 1, 1}, "pads", {1 << 30, 0, 0, 0, 0, 0}), "padding"));
  CHECK(says(message({2, 2, 1, 1, 1}, "kernel_shape", {1, 1, 2}),
             "its kernel_shape is not that of its weights"));
  CHECK(says(message({2, 3, 1, 1, 1}, "strides", {1, 1, 1}), "do not fit an input of 2 channels"));
}

}  // namespace intaglio::test::import_onnx_volumes_test
