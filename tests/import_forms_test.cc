// One network, written in random ways: each gives the nodes of the plain way, and its values. Each table holds ways to write one
// thing: another way is another row.
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_forms_test {
namespace {

using Dims = std::vector<int64_t>;
using Reals = std::vector<float>;

// A file in the making, and the value that it has come to.
class Writing {
 public:
  explicit Writing(const Dims& input) : file_(17), dims(input) { file_.input("x", input); }

  std::string value = "x";

  std::string reals(const Dims& shape, const Reals& numbers) {
    const std::string name = next("k");
    file_.floats(name, shape, numbers);
    return name;
  }
  std::string integers(const Dims& numbers) {
    const std::string name = next("i");
    file_.integers(name, numbers);
    return name;
  }
  OnnxBuilder::Node& add(const char* op, std::vector<std::string> inputs) {
    auto& node = file_.node(op, inputs, next("t"));
    value = node.output[0];
    return node;
  }
  void reshape(const Dims& to) { add("Reshape", {value, integers(to)}); }
  void transpose(const Dims& order) { set(add("Transpose", {value}), "perm", order); }
  std::string finish() {
    file_.output(value);
    return file_.bytes();
  }

 private:
  std::string next(const char* kind) { return kind + std::to_string(++names_); }

  OnnxBuilder file_;
  int names_ = 0;

 public:
  Dims dims;  // of the value
};

Reals some(Random& random, int64_t count, float from, float to) {
  Reals numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = random.real(from, to);
  return numbers;
}

int64_t product(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

constexpr int64_t kChannels = 4;

// --- layers: the channels are axis 1, or the last one of a matrix product ---

struct Layer {
  const char* name;
  Dims input;
  int64_t axis;  // of the channels in the result
  std::function<void(Writing&, Random&)> write;
};

const Layer kLayers[] = {
    {"Conv, one dimension",
     {1, 3, 9},
     1,
     [](Writing& w, Random& r) {
       w.add("Conv", {w.value, w.reals({kChannels, 3, 3}, some(r, 36, -1, 1))});
       w.dims = {1, kChannels, 7};
     }},
    {"Conv",
     {1, 3, 5, 4},
     1,
     [](Writing& w, Random& r) {
       set(w.add("Conv", {w.value, w.reals({kChannels, 3, 3, 3}, some(r, 108, -1, 1))}), "pads",
           Dims{1, 1, 1, 1});
       w.dims = {1, kChannels, 5, 4};
     }},
    {"Conv of groups",
     {1, 4, 5, 4},
     1,
     [](Writing& w, Random& r) {
       set(w.add("Conv", {w.value, w.reals({kChannels, 2, 1, 1}, some(r, 8, -1, 1))}), "group", int64_t{2});
       w.dims = {1, kChannels, 5, 4};
     }},
    {"Conv, depthwise",
     {1, 4, 5, 4},
     1,
     [](Writing& w, Random& r) {
       set(w.add("Conv", {w.value, w.reals({kChannels, 1, 2, 2}, some(r, 16, -1, 1))}), "group", kChannels);
       w.dims = {1, kChannels, 4, 3};
     }},
    {"Conv, three dimensions",
     {1, 2, 3, 4, 3},
     1,
     [](Writing& w, Random& r) {
       w.add("Conv", {w.value, w.reals({kChannels, 2, 2, 2, 2}, some(r, 64, -1, 1))});
       w.dims = {1, kChannels, 2, 3, 2};
     }},
    {"ConvTranspose",
     {1, 3, 3, 3},
     1,
     [](Writing& w, Random& r) {
       set(w.add("ConvTranspose", {w.value, w.reals({3, kChannels, 2, 2}, some(r, 48, -1, 1))}), "strides",
           Dims{2, 2});
       w.dims = {1, kChannels, 6, 6};
     }},
    {"Gemm",
     {2, 6},
     1,
     [](Writing& w, Random& r) {
       w.add("Gemm", {w.value, w.reals({6, kChannels}, some(r, 24, -1, 1))});
       w.dims = {2, kChannels};
     }},
    {"MatMul, rank 3",
     {1, 5, 6},
     2,
     [](Writing& w, Random& r) {
       w.add("MatMul", {w.value, w.reals({6, kChannels}, some(r, 24, -1, 1))});
       w.dims = {1, 5, kChannels};
     }},
    {"MatMul, rank 4",
     {1, 2, 5, 6},
     3,
     [](Writing& w, Random& r) {
       w.add("MatMul", {w.value, w.reals({6, kChannels}, some(r, 24, -1, 1))});
       w.dims = {1, 2, 5, kChannels};
     }},
};

// --- what changes nothing, and may stand anywhere ---

struct Nothing {
  const char* name;
  std::function<void(Writing&, Random&)> write;
};

const Nothing kNothings[] = {
    {"Identity", [](Writing& w, Random&) { w.add("Identity", {w.value}); }},
    {"Dropout", [](Writing& w, Random&) { w.add("Dropout", {w.value}); }},
    {"a Cast to FP32", [](Writing& w, Random&) { set(w.add("Cast", {w.value}), "to", int64_t{1}); }},
    {"Transpose and back",
     [](Writing& w, Random&) {
       Dims order;
       for (size_t i = w.dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
       w.transpose(order);
       w.transpose(order);
     }},
    {"Reshape and back",
     [](Writing& w, Random&) {
       w.reshape({-1});
       w.reshape(w.dims);
     }},
    {"Unsqueeze and Squeeze",
     [](Writing& w, Random& r) {
       const std::string axis = w.integers({r.between(0, static_cast<int32_t>(w.dims.size()))});
       w.add("Unsqueeze", {w.value, axis});
       w.add("Squeeze", {w.value, axis});
     }},
    {"a slice of all",
     [](Writing& w, Random&) {
       w.add("Slice", {w.value, w.integers({0}), w.integers({INT64_MAX}), w.integers({1})});
     }},
    {"a Concat of one", [](Writing& w, Random&) { set(w.add("Concat", {w.value}), "axis", int64_t{1}); }},
    {"Expand to its own shape",
     [](Writing& w, Random&) {
       w.add("Expand", {w.value, w.integers(w.dims)});
     }},
    {"Tile once",
     [](Writing& w, Random&) {
       w.add("Tile", {w.value, w.integers(Dims(w.dims.size(), 1))});
     }},
    {"Pad by 0",
     [](Writing& w, Random&) {
       w.add("Pad", {w.value, w.integers(Dims(2 * w.dims.size(), 0))});
     }},
    {"plus 0, times 1",
     [](Writing& w, Random&) {
       w.add("Add", {w.value, w.reals({}, {0})});
       w.add("Mul", {w.reals({}, {1}), w.value});
     }},
};

// --- (x - mean) / deviation * factor + summand of each channel ---

struct Numbers {
  Reals mean, deviation, factor, summand;
};

struct Spelling {
  const char* name;
  std::function<void(Writing&, const Numbers&, int64_t axis)> write;
};

std::string channels(Writing& w, const Reals& numbers, int64_t axis) {
  Dims shape(w.dims.size() - static_cast<size_t>(axis), 1);
  shape[0] = kChannels;
  return w.reals(shape, numbers);
}

const Spelling kSpellings[] = {
    {"Sub, Div, Mul, Add",
     [](Writing& w, const Numbers& n, int64_t axis) {
       w.add("Sub", {w.value, channels(w, n.mean, axis)});
       w.add("Div", {w.value, channels(w, n.deviation, axis)});
       w.add("Mul", {w.value, channels(w, n.factor, axis)});
       w.add("Add", {w.value, channels(w, n.summand, axis)});
     }},
    {"Mul and Add, constants first",
     [](Writing& w, const Numbers& n, int64_t axis) {
       Reals factor, summand;
       for (size_t c = 0; c < n.mean.size(); ++c) {
         factor.push_back(n.factor[c] / n.deviation[c]);
         summand.push_back(n.summand[c] - n.mean[c] * factor[c]);
       }
       w.add("Mul", {channels(w, factor, axis), w.value});
       w.add("Add", {channels(w, summand, axis), w.value});
     }},
    {"a difference from the summand",
     [](Writing& w, const Numbers& n, int64_t axis) {
       Reals factor, summand;
       for (size_t c = 0; c < n.mean.size(); ++c) {
         factor.push_back(-n.factor[c] / n.deviation[c]);
         summand.push_back(n.summand[c] + n.mean[c] * factor[c]);
       }
       w.add("Mul", {w.value, channels(w, factor, axis)});
       w.add("Sub", {channels(w, summand, axis), w.value});
     }},
    {"BatchNormalization",
     [](Writing& w, const Numbers& n, int64_t axis) {
       Dims order;  // the channels to axis 1
       for (size_t i = 0; i < w.dims.size(); ++i) order.push_back(static_cast<int64_t>(i));
       std::swap(order[1], order[static_cast<size_t>(axis)]);
       Reals variance;
       for (const float deviation : n.deviation) variance.push_back(deviation * deviation);
       if (axis != 1) w.transpose(order);
       set(w.add("BatchNormalization",
                 {w.value, w.reals({kChannels}, n.factor), w.reals({kChannels}, n.summand),
                  w.reals({kChannels}, n.mean), w.reals({kChannels}, variance)}),
           "epsilon", 1e-12f);
       if (axis != 1) w.transpose(order);
     }},
};

// --- a Relu ---

struct Bound {
  const char* name;
  std::function<void(Writing&)> write;
};

const Bound kBounds[] = {
    {"Relu", [](Writing& w) { w.add("Relu", {w.value}); }},
    {"Clip",
     [](Writing& w) {
       w.add("Clip", {w.value, w.reals({}, {0})});
     }},
    {"Max",
     [](Writing& w) {
       w.add("Max", {w.value, w.reals({}, {0})});
     }},
    {"LeakyRelu of 0", [](Writing& w) { set(w.add("LeakyRelu", {w.value}), "alpha", 0.0f); }},
};

struct Written {
  std::string bytes, ways;
};

// The plain way is the first of each table with nothing between.
Written written(const Layer& layer, uint32_t numbers_seed, Random* ways) {
  Random random(numbers_seed);
  Writing w(layer.input);
  Written made;
  const auto nothing = [&] {
    while (ways != nullptr && ways->between(0, 2) == 0) {
      const Nothing& row = kNothings[static_cast<size_t>(ways->between(0, std::size(kNothings) - 1))];
      made.ways += std::string(row.name) + "; ";
      row.write(w, *ways);
    }
  };
  w.dims = layer.input;
  nothing();
  layer.write(w, random);
  nothing();
  const Numbers numbers{some(random, kChannels, -1, 1), some(random, kChannels, 0.5f, 4),
                        some(random, kChannels, 0.5f, 2), some(random, kChannels, -1, 1)};
  const Spelling& spelling =
      kSpellings[ways == nullptr ? 0 : static_cast<size_t>(ways->between(0, std::size(kSpellings) - 1))];
  made.ways += std::string(spelling.name) + "; ";
  spelling.write(w, numbers, layer.axis);
  nothing();
  const Bound& bound =
      kBounds[ways == nullptr ? 0 : static_cast<size_t>(ways->between(0, std::size(kBounds) - 1))];
  made.ways += std::string(bound.name) + "; ";
  bound.write(w);
  nothing();
  made.bytes = w.finish();
  return made;
}

}  // namespace

TEST_CASE("one network, written in random ways, has the same nodes and gives the same values") {
  constexpr uint32_t kRounds = kIsSanitized ? 20 : 200;
  for (const Layer& layer : kLayers) {
    CAPTURE(std::string(layer.name));
    const uint32_t seed = static_cast<uint32_t>(&layer - kLayers) + 1;
    Import plain(written(layer, seed, nullptr).bytes);
    REQUIRE_MESSAGE(plain.good(), plain.message());
    Random random(seed * 1000);
    const Reals x = some(random, product(layer.input), -2, 2), expected = run_import<float>(plain, x);
    for (uint32_t round = 0; round < kRounds; ++round) {
      Random ways(seed * 1000 + round);
      const Written other = written(layer, seed, &ways);
      CAPTURE(other.ways);
      Import import(other.bytes);
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.ops() == plain.ops());
      const Reals got = run_import<float>(import, x);
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-3));
    }
  }
}

}  // namespace intaglio::test::import_forms_test
