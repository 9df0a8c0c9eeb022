// ONNX operators that become several of ours: each against its definition in doubles, on values made by chance.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tensor_places.h"

namespace intaglio::test::import_onnx_composites_test {
namespace {

using Reals = std::vector<double>;

// In the file's order of axes to the model's: NHWC where that is what the model takes.
std::vector<float> laid_out(const std::vector<float>& values, const Ints& dims,
                            const std::vector<int32_t>& model) {
  if (Ints(model.begin(), model.end()) == dims || dims.size() != 4) return values;
  std::vector<float> nhwc(values.size());
  const Ints to{dims[0], dims[2], dims[3], dims[1]};
  for (size_t i = 0; i < values.size(); ++i) {
    const Ints at = place_of(static_cast<int64_t>(i), dims);
    nhwc[static_cast<size_t>(index_of({at[0], at[2], at[3], at[1]}, to))] = values[i];
  }
  return nhwc;
}

// Runs the file on x, in the file's layout, and compares with what is expected, in the file's layout too.
void check(OnnxBuilder& file, const Ints& dims, const std::vector<float>& x, const Reals& expected) {
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  const std::vector<float> y = run_import<float>(import, laid_out(x, dims, import.dims(import.input())));
  REQUIRE(y.size() == expected.size());
  double largest = 1.0, worst = 0.0;
  for (size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    worst = std::max(worst, std::fabs(double{y[i]} - expected[i]));
  }
  CHECK(worst <= 2e-6 * largest);
}

struct Transposed {
  Ints x, w;  // [n, c, ...], [c, oc / groups, ...]
  int64_t groups = 1;
  Ints strides, dilations, pads, extra;
  Ints out;  // of the result
};

// The definition: each input element adds the kernel, times itself, to the result.
Reals transposed(const Transposed& t, const std::vector<float>& x, const std::vector<float>& w,
                 const std::vector<float>& b) {
  Reals y(static_cast<size_t>(count(t.out)));
  const size_t axes = t.x.size() - 2;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = b[static_cast<size_t>(place_of(static_cast<int64_t>(i), t.out)[1])];
  const int64_t each_in = t.x[1] / t.groups, each_out = t.w[1];
  for (int64_t i = 0; i < count(t.x); ++i)
    for (int64_t k = 0; k < count(t.w); ++k) {
      const Ints from = place_of(i, t.x), kernel = place_of(k, t.w);
      if (kernel[0] != from[1]) continue;
      Ints to{from[0], from[1] / each_in * each_out + kernel[1]};
      bool inside = true;
      for (size_t d = 0; d < axes; ++d) {
        to.push_back(from[d + 2] * t.strides[d] + kernel[d + 2] * t.dilations[d] - t.pads[d]);
        inside &= to.back() >= 0 && to.back() < t.out[d + 2];
      }
      if (inside)
        y[static_cast<size_t>(index_of(to, t.out))] +=
            double{x[static_cast<size_t>(i)]} * w[static_cast<size_t>(k)];
    }
  return y;
}

void check_transposed(Transposed t, uint32_t seed) {
  Random random(seed);
  const std::vector<float> x = random.reals(static_cast<size_t>(count(t.x)), -1.0f, 1.0f),
                           w = random.reals(static_cast<size_t>(count(t.w)), -1.0f, 1.0f),
                           b = random.reals(static_cast<size_t>(t.w[1] * t.groups), -1.0f, 1.0f);
  OnnxBuilder file;
  file.input("x", t.x);
  file.floats("w", t.w, w);
  file.floats("b", {static_cast<int64_t>(b.size())}, b);
  auto& node = file.node("ConvTranspose", {"x", "w", "b"}, "y");
  set(node, "group", t.groups);
  set(node, "strides", t.strides);
  set(node, "dilations", t.dilations);
  set(node, "pads", t.pads);
  set(node, "output_padding", t.extra);
  file.output("y");
  t.out = {t.x[0], t.w[1] * t.groups};
  const size_t axes = t.x.size() - 2;
  for (size_t d = 0; d < axes; ++d)
    t.out.push_back((t.x[d + 2] - 1) * t.strides[d] + (t.w[d + 2] - 1) * t.dilations[d] + 1 + t.extra[d] -
                    t.pads[d] - t.pads[d + axes]);
  check(file, t.x, x, transposed(t, x, w, b));
}

// x of these dims through one node, whose inputs behind x the caller adds; `expected` of x.
template <typename Build, typename Expected>
void check_node(const std::string& op, const Ints& dims, uint32_t seed, Build build, Expected expected,
                int64_t opset = 13) {
  CAPTURE(op);
  Random random(seed);
  const std::vector<float> x = random.reals(static_cast<size_t>(count(dims)), -2.0f, 2.0f);
  OnnxBuilder file(opset);
  file.input("x", dims);
  auto& node = file.node(op, {"x"}, "y");
  build(file, node, random);
  file.output("y");
  check(file, dims, x, expected(x));
}

// Groups of elements whose places agree along all axes but `axes`.
std::vector<std::vector<size_t>> groups_of(const Ints& dims, const Ints& axes) {
  Ints kept = dims;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  std::vector<std::vector<size_t>> groups(static_cast<size_t>(count(kept)));
  for (int64_t i = 0; i < count(dims); ++i) {
    Ints place = place_of(i, dims);
    for (const int64_t axis : axes) place[static_cast<size_t>(axis)] = 0;
    groups[static_cast<size_t>(index_of(place, kept))].push_back(static_cast<size_t>(i));
  }
  return groups;
}

// (x - mean) / sqrt(variance + epsilon) in each group, or without the mean.
Reals normalized(const std::vector<float>& x, const std::vector<std::vector<size_t>>& groups, bool centred) {
  Reals y(x.size());
  for (const auto& group : groups) {
    double mean = 0.0, power = 0.0;
    for (const size_t i : group) mean += x[i];
    mean = centred ? mean / static_cast<double>(group.size()) : 0.0;
    for (const size_t i : group) power += (x[i] - mean) * (x[i] - mean);
    for (const size_t i : group)
      y[i] = (x[i] - mean) / std::sqrt(power / static_cast<double>(group.size()) + double{1e-5f});
  }
  return y;
}

}  // namespace

TEST_CASE("transposed convolutions are the sums of their definition") {
  const Ints one{1, 1}, none{0, 0, 0, 0}, no{0, 0};
  check_transposed({{1, 3, 4, 5}, {3, 2, 3, 3}, 1, {2, 2}, one, {1, 1, 1, 1}, {1, 1}, {}}, 1);
  check_transposed({{1, 3, 4, 5}, {3, 2, 2, 2}, 1, {2, 2}, one, none, no, {}}, 2);
  check_transposed({{2, 2, 3, 3}, {2, 4, 4, 4}, 1, {2, 2}, one, {1, 1, 1, 1}, no, {}}, 3);
  check_transposed({{1, 2, 3, 4}, {2, 3, 3, 2}, 1, {1, 1}, one, none, no, {}}, 4);      // no stride
  check_transposed({{1, 2, 3, 4}, {2, 3, 2, 2}, 1, {3, 4}, one, none, {1, 3}, {}}, 5);  // gaps
  check_transposed({{1, 2, 4, 3}, {2, 2, 3, 3}, 1, {2, 3}, {2, 2}, {2, 0, 1, 3}, no, {}}, 6);
  check_transposed({{1, 4, 3, 3}, {4, 1, 4, 4}, 4, {2, 2}, one, {1, 1, 1, 1}, no, {}}, 7);  // depthwise
  check_transposed({{1, 4, 3, 3}, {4, 3, 3, 3}, 2, {2, 2}, one, {0, 1, 1, 0}, no, {}}, 8);
  check_transposed({{1, 2, 3, 5}, {2, 1, 1, 1}, 1, {2, 2}, one, none, {1, 1}, {}}, 9);
  check_transposed({{1, 2, 3, 2}, {2, 2, 9, 3}, 1, {2, 1}, one, {7, 0, 2, 1}, no, {}},
                   10);                                                        // whole phases cut off
  check_transposed({{1, 3, 6}, {3, 2, 4}, 1, {2}, {1}, {1, 1}, {0}, {}}, 11);  // one dimension
  check_transposed({{2, 4, 5}, {4, 1, 3}, 4, {3}, {2}, {0, 2}, {1}, {}}, 12);
  check_transposed({{2, 2, 3, 2, 4}, {2, 3, 2, 2, 2}, 1, {2, 2, 2}, {1, 1, 1}, Ints(6, 0), {0, 0, 0}, {}},
                   13);
}

TEST_CASE("transposed convolutions by chance") {
  Random random(77);
  for (uint32_t round = 0; round < 150; ++round) {
    CAPTURE(round);
    const int64_t groups = random.between(1, 3);
    Transposed t{{random.between(1, 2), groups * random.between(1, 2)},
                 {0, random.between(1, 3)},
                 groups,
                 {},
                 {},
                 {},
                 {},
                 {}};
    t.w[0] = t.x[1];
    const int axes = random.between(1, 3);
    t.pads.resize(static_cast<size_t>(2 * axes));
    for (int d = 0; d < axes; ++d) {
      const int64_t stride = random.between(1, 4), dilation = random.between(1, 2),
                    kernel = random.between(1, 5);
      const int64_t in = random.between(1, 6), whole = (in - 1) * stride + (kernel - 1) * dilation + 1;
      t.x.push_back(in);
      t.w.push_back(kernel);
      t.strides.push_back(stride);
      t.dilations.push_back(dilation);
      t.extra.push_back(random.between(0, static_cast<int>(std::max(stride, dilation)) - 1));
      const int64_t cut = random.between(0, static_cast<int>(whole) - 1),
                    before = random.between(0, static_cast<int>(cut));
      t.pads[static_cast<size_t>(d)] = before;
      t.pads[static_cast<size_t>(d + axes)] = cut - before;
    }
    if (t.x.size() == 4 && t.x[1] == t.x[2] && t.x[1] == t.x[3]) ++t.x[3];  // else no shape tells NHWC apart
    check_transposed(t, round + 100);
  }
}

TEST_CASE("transposed convolutions: what does not fit") {
  const auto message = [](const char* name, const Ints& value, const Ints& weights = {2, 1, 3, 3}) {
    OnnxBuilder file;
    file.input("x", {1, 2, 4, 4});
    file.floats("w", weights, std::vector<float>(static_cast<size_t>(count(weights)), 1.0f));
    set(file.node("ConvTranspose", {"x", "w"}, "y"), name, value);
    file.output("y");
    Import import(file.bytes());
    CHECK(!import.good());
    return import.message();
  };
  const std::string node = "model cannot be imported: node 'y_node' (ConvTranspose): ";
  CHECK(message("output_padding", {1, 0}) ==
        node + "output padding 1 is not allowed: it must be at least 0 and less than stride or dilation (1)");
  CHECK(message("pads", {3, 0, 3, 0}) == node + "padding 3 and 3 leave nothing of 6 elements");
  CHECK(message("output_shape", {9, 6}) == node + "its output cannot have 9 elements along an axis");
  CHECK(
      message("strides", {4096, 4096}, {2, 1, 1, 1}) ==
      node +
          "its strides 4096 and 4096 make 4096 x 4096 weights of each kernel [1, 1, 1, 2], more than 16 times as many");
  CHECK(message("strides", {1, 1}, {3, 1, 3, 3}) ==
        node + "1 groups and weights [3, 1, 3, 3] do not fit an input of 2 channels");
}

TEST_CASE("convolutions and pools of one dimension") {
  Random random(5);
  const std::vector<float> w = random.reals(4 * 3 * 3, -1.0f, 1.0f);
  const auto build = [&](OnnxBuilder& file, OnnxBuilder::Node& node, Random&) {
    file.floats("w", {4, 3, 3}, w);
    node.input.push_back("w");
    set(node, "kernel_shape", Ints{3});
    set(node, "strides", Ints{2});
    set(node, "dilations", Ints{2});
    set(node, "pads", Ints{1, 3});
  };
  check_node("Conv", {2, 3, 9}, 31, build, [&](const std::vector<float>& x) {
    Reals y;
    for (size_t n = 0; n < 2; ++n)
      for (size_t o = 0; o < 4; ++o)
        for (int at = -1; at + 4 <= 11; at += 2) {
          double sum = 0.0;
          for (size_t c = 0; c < 3; ++c)
            for (int k = 0; k < 3; ++k)
              if (at + 2 * k >= 0 && at + 2 * k < 9)
                sum += double{x[(n * 3 + c) * 9 + static_cast<size_t>(at + 2 * k)]} *
                       w[(o * 3 + c) * 3 + static_cast<size_t>(k)];
          y.push_back(sum);
        }
    return y;
  });
  const auto window = [](OnnxBuilder&, OnnxBuilder::Node& node, Random&) {
    set(node, "kernel_shape", Ints{2});
    set(node, "strides", Ints{2});
  };
  check_node("MaxPool", {1, 3, 8}, 32, window, [](const std::vector<float>& x) {
    Reals y;
    for (size_t i = 0; i < x.size(); i += 2) y.push_back(std::max(x[i], x[i + 1]));
    return y;
  });
  check_node("AveragePool", {1, 3, 8}, 33, window, [](const std::vector<float>& x) {
    Reals y;
    for (size_t i = 0; i < x.size(); i += 2) y.push_back((double{x[i]} + x[i + 1]) / 2);
    return y;
  });
  const auto none = [](OnnxBuilder&, OnnxBuilder::Node&, Random&) {};
  check_node("GlobalMaxPool", {1, 3, 8}, 34, none, [](const std::vector<float>& x) {
    Reals y;
    for (const auto& group : groups_of({1, 3, 8}, {2})) {
      y.push_back(x[group[0]]);
      for (const size_t i : group) y.back() = std::max(y.back(), double{x[i]});
    }
    return y;
  });
}

TEST_CASE("normalizations") {
  const Ints dims{2, 6, 3, 4};
  const auto parameters = [](const Ints& shape) {
    return [shape](OnnxBuilder& file, OnnxBuilder::Node& node, Random&) {
      std::vector<float> factors, summands;
      for (int64_t i = 0; i < count(shape); ++i) {
        factors.push_back(0.5f + 0.25f * static_cast<float>(i));
        summands.push_back(0.125f * static_cast<float>(i) - 0.5f);
      }
      file.floats("factor", shape, factors);
      node.input.push_back("factor");
      if (node.op_type == "RMSNormalization") return;
      file.floats("summand", shape, summands);
      node.input.push_back("summand");
    };
  };
  const auto scaled = [](Reals y, const Ints& shape, const std::function<int64_t(const Ints&)>& parameter,
                         bool summed) {
    for (size_t i = 0; i < y.size(); ++i) {
      const auto p = static_cast<double>(parameter(place_of(static_cast<int64_t>(i), shape)));
      y[i] = y[i] * (0.5 + 0.25 * p) + (summed ? 0.125 * p - 0.5 : 0.0);
    }
    return y;
  };
  const auto last = [](const Ints& at) { return at[3]; };
  const auto channel = [](const Ints& at) { return at[1]; };
  check_node(
      "LayerNormalization", dims, 41, parameters({4}),
      [&](const std::vector<float>& x) {
        return scaled(normalized(x, groups_of(dims, {3}), true), dims, last, true);
      },
      17);
  check_node(
      "RMSNormalization", dims, 42, parameters({4}),
      [&](const std::vector<float>& x) {
        return scaled(normalized(x, groups_of(dims, {3}), false), dims, last, false);
      },
      23);
  check_node(
      "LayerNormalization", dims, 43,
      [&](OnnxBuilder& file, OnnxBuilder::Node& node, Random& random) {
        parameters({3, 4})(file, node, random);
        set(node, "axis", int64_t{2});
      },
      [&](const std::vector<float>& x) {
        return scaled(
            normalized(x, groups_of(dims, {2, 3}), true), dims,
            [](const Ints& at) { return at[2] * 4 + at[3]; }, true);
      },
      17);
  check_node("InstanceNormalization", dims, 44, parameters({6}), [&](const std::vector<float>& x) {
    return scaled(normalized(x, groups_of(dims, {2, 3}), true), dims, channel, true);
  });
  check_node("InstanceNormalization", {2, 6, 5}, 45, parameters({6}), [&](const std::vector<float>& x) {
    return scaled(normalized(x, groups_of({2, 6, 5}, {2}), true), {2, 6, 5}, channel, true);
  });
  for (const int64_t opset : {18, 21})
    check_node(
        "GroupNormalization", dims, 46,
        [&](OnnxBuilder& file, OnnxBuilder::Node& node, Random& random) {
          parameters({opset < 21 ? 3 : 6})(file, node, random);
          set(node, "num_groups", int64_t{3});
        },
        [&](const std::vector<float>& x) {
          const Reals y = normalized(x, groups_of({2, 3, 2, 3, 4}, {2, 3, 4}), true);
          return scaled(
              y, dims, [&](const Ints& at) { return opset < 21 ? at[1] / 2 : at[1]; }, true);
        },
        opset);
}

TEST_CASE("reductions over axes wherever they lie") {
  const Ints dims{2, 3, 4, 5};
  for (const Ints& axes : {Ints{1}, Ints{3}, Ints{1, 3}, Ints{0, 2}, Ints{0, 1, 3}, Ints{2, 3}})
    for (const std::string op : {"ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceLogSum"})
      check_node(
          op, dims, 51,
          [&](OnnxBuilder& file, OnnxBuilder::Node& node, Random&) {
            if (op == "ReduceLogSum") {  // of numbers above 0
              file.node("Exp", {"x"}, "positive");
              file.graph().node.swap(0, 1);
            }
            OnnxBuilder::Node& reduce = op == "ReduceLogSum" ? file.graph().node[1] : node;
            if (op == "ReduceLogSum") reduce.input[0] = "positive";
            set(reduce, "axes", axes);
            set(reduce, "keepdims", int64_t{0});
          },
          [&](const std::vector<float>& x) {
            Reals y;
            for (const auto& group : groups_of(dims, axes)) {
              double most = x[group[0]], least = x[group[0]], sum = 0.0;
              for (const size_t i : group) {
                most = std::max(most, double{x[i]});
                least = std::min(least, double{x[i]});
                sum += std::exp(double{x[i]});
              }
              y.push_back(op == "ReduceMax" ? most : op == "ReduceMin" ? least : std::log(sum));
            }
            return y;
          });
}

TEST_CASE("logarithms of softmax, also where softmax is 0") {
  for (const int64_t axis : {int64_t{-1}, int64_t{1}})
    check_node(
        "LogSoftmax", {2, 5, 3}, 61,
        [&](OnnxBuilder& file, OnnxBuilder::Node& node, Random&) {
          set(node, "axis", axis);
          file.floats("factor", {1}, {100.0f});
          file.node("Mul", {"x", "factor"}, "large");
          file.graph().node.swap(0, 1);
          file.graph().node[1].input[0] = "large";
        },
        [&](const std::vector<float>& x) {
          Reals y(x.size());
          for (const auto& group : groups_of({2, 5, 3}, {axis < 0 ? 2 : 1})) {
            double most = -1e30, sum = 0.0;
            for (const size_t i : group) most = std::max(most, double{x[i] * 100.0f});
            for (const size_t i : group) sum += std::exp(double{x[i] * 100.0f} - most);
            for (const size_t i : group) y[i] = double{x[i] * 100.0f} - most - std::log(sum);
          }
          return y;
        });
}

}  // namespace intaglio::test::import_onnx_composites_test
