// Numbers for each channel and bounds go into the layer that they belong to, whatever moves its result before they come. Each
// row is one way to write that. The same network with the layer's result as an output keeps them apart, and gives the
// same values.
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_fold_channels_test {
namespace {

std::vector<float> numbers(uint32_t seed, size_t count, float from, float to) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.real(from, to);
  return values;
}

class Network {
 public:
  Network() : file_(17) {}

  OnnxBuilder& file() { return file_; }
  std::string weights(const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    const std::string name = next("w");
    file_.floats(name, dims, numbers(static_cast<uint32_t>(names_), count, -1, 1));
    return name;
  }
  // With numbers far from 0.
  std::string channels(const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    const std::string name = next("k");
    file_.floats(name, dims, numbers(static_cast<uint32_t>(names_), count, 0.25f, 4));
    return name;
  }
  std::string integers(const std::vector<int64_t>& values) {
    const std::string name = next("i");
    file_.integers(name, values);
    return name;
  }
  std::string add(const char* op, const std::vector<std::string>& inputs) {
    last_ = &file_.node(op, inputs, next("t"));
    return last_->output[0];
  }
  template <typename T>
  std::string add(const char* op, const std::vector<std::string>& inputs, const char* attribute,
                  const T& value) {
    const std::string name = add(op, inputs);
    set(*last_, attribute, value);
    return name;
  }
  std::string reshape(const std::string& x, const std::vector<int64_t>& to) {
    return add("Reshape", {x, integers(to)});
  }
  std::string transpose(const std::string& x, const std::vector<int64_t>& order) {
    return add("Transpose", {x}, "perm", order);
  }
  std::string norm(const std::string& x, int64_t count) {
    return add("BatchNormalization",
               {x, channels({count}), channels({count}), channels({count}), channels({count})});
  }
  // The layer's own result, which is an output where it must stay apart.
  std::string layer(const std::string& x) { return layer_ = x; }
  const std::string& layer() const { return layer_; }

 private:
  std::string next(const char* kind) { return kind + std::to_string(++names_); }

  OnnxBuilder file_;
  OnnxBuilder::Node* last_ = nullptr;
  int names_ = 0;
  std::string layer_;
};

using Shape = std::vector<int64_t>;

struct Row {
  const char* name;
  Shape input;
  std::function<std::string(Network&)> write;  // from "x"; gives the name of the result
};

const Row kRows[] = {
    {"one dimension, a norm",
     {1, 3, 10},
     [](Network& n) {
       return n.add("Relu", {n.norm(n.layer(n.add("Conv", {"x", n.weights({4, 3, 3})})), 4)});
     }},
    {"three dimensions, a norm",
     {1, 3, 4, 5, 5},
     [](Network& n) {
       return n.add("Relu", {n.norm(n.layer(n.add("Conv", {"x", n.weights({4, 3, 2, 3, 3})})), 4)});
     }},
    {"transposed with a stride",
     {1, 3, 4, 4},
     [](Network& n) {
       return n.norm(n.layer(n.add("ConvTranspose", {"x", n.weights({3, 4, 3, 3})}, "strides", Shape{2, 2})),
                     4);
     }},
    {"a factor and a summand",
     {1, 3, 6, 6},
     [](Network& n) {
       const std::string y = n.layer(n.add("Conv", {"x", n.weights({4, 3, 3, 3})}));
       return n.add("Add", {n.channels({4, 1, 1}), n.add("Mul", {y, n.channels({1, 4, 1, 1})})});
     }},
    {"a quotient, and a difference from the channels",
     {1, 6},
     [](Network& n) {
       const std::string y = n.layer(n.add("Gemm", {"x", n.weights({6, 4})}));
       return n.add("Sub", {n.channels({4}), n.add("Div", {y, n.channels({4})})});
     }},
    {"tokens, turned",
     {1, 5, 6},
     [](Network& n) {
       const std::string y = n.layer(n.add("MatMul", {"x", n.weights({6, 4})}));
       return n.norm(n.transpose(n.add("Add", {n.channels({4}), y}), {0, 2, 1}), 4);
     }},
    {"a channel shuffle",
     {1, 3, 4, 4},
     [](Network& n) {
       std::string y = n.layer(n.add("Conv", {"x", n.weights({6, 3, 1, 1})}));
       y = n.reshape(n.transpose(n.reshape(y, {1, 2, 3, 4, 4}), {0, 2, 1, 3, 4}), {1, 6, 4, 4});
       return n.add("Relu", {n.norm(y, 6)});
     }},
    {"joined with another layer",
     {1, 3, 4, 4},
     [](Network& n) {
       const std::string a = n.layer(n.add("Conv", {"x", n.weights({2, 3, 1, 1})}));
       const std::string b = n.add("Conv", {"x", n.weights({3, 3, 1, 1})});
       return n.add("Relu", {n.norm(n.add("Concat", {a, b}, "axis", int64_t{1}), 5)});
     }},
    {"two pieces, each with numbers of its own",
     {1, 3, 4, 4},
     [](Network& n) {
       const std::string y = n.layer(n.add("Conv", {"x", n.weights({4, 3, 1, 1})}));
       const auto piece = [&](int64_t from, int64_t to) {
         return n.add("Slice", {y, n.integers({from}), n.integers({to}), n.integers({1})});
       };
       const std::string a = n.norm(piece(0, 2), 2), b = n.norm(piece(2, 4), 2);
       return n.add("Add", {a, b});
     }},
    {"flattened",
     {1, 3, 4, 4},
     [](Network& n) {
       return n.norm(n.add("Flatten", {n.layer(n.add("Conv", {"x", n.weights({5, 3, 4, 4})}))}), 5);
     }},
    {"behind a Relu",
     {1, 3, 4, 4},
     [](Network& n) {
       const std::string y = n.layer(n.add("Conv", {"x", n.weights({4, 3, 1, 1})}));
       return n.add("Mul", {n.add("Relu", {y}), n.channels({4, 1, 1})});
     }},
    {"numbers that are written out",
     {1, 3, 2, 2},
     [](Network& n) {
       const std::string y = n.layer(n.add("Conv", {"x", n.weights({2, 3, 1, 1})}));
       n.file().floats("written", {1, 2, 2, 2}, {3, 3, 3, 3, 5, 5, 5, 5});
       return n.add("Mul", {y, "written"});
     }},
};

std::string file_of(const Row& row, bool apart) {
  Network network;
  network.file().input("x", row.input);
  const std::string y = row.write(network);
  network.file().output(y);
  if (apart) network.file().output(network.layer());
  return network.file().bytes();
}

}  // namespace

TEST_CASE("numbers for each channel go into their layer, however the network is written") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    Import folded(file_of(row, false)), apart(file_of(row, true));
    REQUIRE_MESSAGE(folded.good(), folded.message());
    REQUIRE_MESSAGE(apart.good(), apart.message());
    for (const Op op : {Op::kMul, Op::kSub, Op::kDiv, Op::kDepthwiseConv2d, Op::kClamp})
      CHECK(folded.count(op) == 0);
    CHECK(folded.graph().nodes.size() < apart.graph().nodes.size());
    size_t count = 1;
    for (const int64_t dim : row.input) count *= static_cast<size_t>(dim);
    const std::vector<float> x = numbers(77, count, -2, 2);
    const auto got = run_import<float>(folded, x), expected = run_import<float>(apart, x);
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

TEST_CASE(
    "numbers stay where a reader would miss what stood before them, or where they are not of channels") {
  const auto nodes = [](const std::function<std::string(Network&)>& write) {
    Import import(file_of({"", {1, 3, 4, 4}, write}, false));
    REQUIRE_MESSAGE(import.good(), import.message());
    return import.count(Op::kMul) + import.count(Op::kDepthwiseConv2d);
  };
  // A number for each place.
  CHECK(nodes([](Network& n) {
          return n.add("Mul", {n.add("Conv", {"x", n.weights({2, 3, 1, 1})}), n.channels({1, 1, 4, 4})});
        }) == 1);
  // Pieces that meet.
  CHECK(nodes([](Network& n) {
          const std::string y = n.add("Conv", {"x", n.weights({4, 3, 1, 1})});
          const auto piece = [&](int64_t from, int64_t to) {
            return n.add("Slice", {y, n.integers({from}), n.integers({to}), n.integers({1})});
          };
          return n.add("Add", {n.norm(piece(0, 3), 3), piece(1, 4)});
        }) == 1);
  // A bound that factors would move apart.
  CHECK(nodes([](Network& n) {
          n.file().floats("least", {}, {-1});
          n.file().floats("most", {}, {1});
          const std::string y = n.add("Conv", {"x", n.weights({4, 3, 1, 1})});
          return n.add("Mul", {n.add("Clip", {y, "least", "most"}), n.channels({4, 1, 1})});
        }) == 1);
}

}  // namespace intaglio::test::import_fold_channels_test
