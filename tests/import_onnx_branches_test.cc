// Nodes that exporters leave around a network: branches that shapes decide, masks of infinities, single numbers, plain RNNs.
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_branches_test {
namespace {

using Reals = std::vector<float>;

// A branch that gives `op` of x.
onnx_file::GraphProto branch(const std::string& op, const std::string& output) {
  onnx_file::GraphProto graph;
  auto& node = graph.node.add();
  node.op_type = op;
  node.name = output + "_node";
  node.input.push_back("x");
  node.output.push_back(output);
  graph.output.add().name = output;
  return graph;
}

OnnxBuilder::Node& add_if(OnnxBuilder& file, const std::string& condition, const std::string& then_op) {
  auto& node = file.node("If", {condition}, "y");
  const std::pair<const char*, const char*> sides[] = {{"then_branch", "yes"}, {"else_branch", "no"}};
  for (const auto& [name, output] : sides) {
    auto& attribute = node.attribute.add();
    attribute.name = name;
    attribute.type = onnx_file::AttributeProto::GRAPH;
    attribute.g.make() = branch(output == std::string("yes") ? then_op : "Neg", output);
  }
  file.output("y");
  return node;
}

}  // namespace

TEST_CASE("an If whose condition the shapes decide becomes its branch") {
  for (const int64_t rows : {1, 2}) {
    OnnxBuilder file;
    file.input("x", {rows, 2});
    file.integers("zero", {0});
    file.integers("one", {1});
    file.node("Shape", {"x"}, "shape");
    file.node("Gather", {"shape", "zero"}, "rows");
    file.node("Equal", {"rows", "one"}, "is_one");
    add_if(file, "is_one", "Abs");
    const Reals x{-1, 2, 3, -4}, used(x.begin(), x.begin() + 2 * rows);
    CHECK(run_file(file.bytes(), used) == (rows == 1 ? Reals{1, 2} : Reals{1, -2, -3, 4}));
  }
}

// ONNX gives branches no inputs. Exporters that declare one mean the value of that name around it.
TEST_CASE("an input that a branch declares is a value of the graph around it") {
  for (const bool is_nested : {false, true}) {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.integers("condition", {1});
    auto& node = add_if(file, "condition", "Abs");
    for (auto& attribute : node.attribute) attribute.g.make().input.add().name = "x";
    if (is_nested) {  // the If within a branch of another
      OnnxBuilder outer;
      outer.input("x", {1, 2});
      outer.integers("condition", {1});
      auto& holder = add_if(outer, "condition", "Neg");
      auto& branch = holder.attribute[0].g.make();
      branch.input.add().name = "x";
      branch.node[0] = node;
      branch.node[0].output[0] = branch.output[0].name = "inner";
      CHECK(run_file(outer.bytes(), Reals{-1, 2}) == Reals{1, 2});
    } else {
      CHECK(run_file(file.bytes(), Reals{-1, 2}) == Reals{1, 2});
    }
  }
}

TEST_CASE("a branch that is not taken may hold anything, one that is taken not") {
  for (const int64_t taken : {0, 1}) {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.integers("condition", {taken});
    add_if(file, "condition", "NonZero");
    Import import(file.bytes());
    CHECK(import.good() == (taken == 0));
    if (taken != 0) CHECK(import.says("node 'yes_node' (NonZero): this operator is not supported"));
  }
}

TEST_CASE("an If that a run decides computes both branches") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.floats("zero", {1}, {0});
  file.integers("rows", {1});
  file.node("ReduceSum", {"x", "rows"}, "sum");
  file.node("Greater", {"sum", "zero"}, "is_positive");
  auto& node = add_if(file, "is_positive", "Abs");
  // Names of its own that both branches have, and a constant in each.
  for (auto& attribute : node.attribute) {
    onnx_file::GraphProto& graph = attribute.g.make();
    auto& constant = graph.initializer.add();
    constant.name = "by";
    constant.data_type = onnx_file::TensorProto::FLOAT;
    constant.float_data.push_back(attribute.name == "then_branch" ? 10.0f : 100.0f);
    auto& product = graph.node.add();
    product.op_type = "Mul";
    product.name = "product";
    product.input.push_back(graph.output[0].name);
    product.input.push_back("by");
    product.output.push_back("scaled");
    graph.output[0].name = "scaled";
  }
  CHECK(run_file(file.bytes(), {-1, 2}) == Reals{10, 20});
  CHECK(run_file(file.bytes(), {-3, 2}) == Reals{300, -200});
  Import import(file.bytes());
  CHECK(import.notes(
      "node 'y_node' (If): a run computes its condition, so each run computes both branches; where "
      "'x' is the same in each run, give it: --constant x=FILE.npy leaves one branch"));
}

TEST_CASE("an If whose branches are not both supported says what decides between them") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.input("rate", {1});
  file.floats("zero", {1}, {0});
  file.node("Greater", {"rate", "zero"}, "is_positive");
  add_if(file, "is_positive", "NonZero");
  const Import import(file.bytes());
  CHECK(import.says("yes_node' (NonZero): this operator is not supported"));
  CHECK(import.says(
      "node 'y_node' (If): a run computes its condition, so each run computes both branches; where "
      "'rate' is the same in each run, give it: --constant rate=NUMBER leaves one branch"));
}

TEST_CASE("an If that is wrong is refused") {
  const auto message = [](const std::string& condition,
                          const std::function<void(OnnxBuilder::Node&)>& spoil) {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.integers("condition", {1});
    file.integers("two", {1, 1});
    file.integers("axis", {1});
    set(file.node("ReduceSum", {"x", "axis"}, "one_of_x"), "keepdims", int64_t{0});
    spoil(add_if(file, condition, "Abs"));
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const auto nothing = [](OnnxBuilder::Node&) {};
  CHECK(message("condition", nothing).empty());
  CHECK(says(message("x", nothing), "its condition must be one value, it has the shape [1, 2]"));
  CHECK(says(message("one_of_x",
                     [](OnnxBuilder::Node& node) { node.attribute[0].g.make().node[0].op_type = "Size"; }),
             "its branches give [1] and [1, 2]; a run that chooses needs the same"));
  CHECK(says(message("two", nothing), "its condition must be one value, it has 2"));
  CHECK(says(message("condition", [](OnnxBuilder::Node& node) { node.attribute.clear(); }),
             "attribute 'then_branch' is missing"));
  CHECK(says(message("condition", [](OnnxBuilder::Node& node) { node.attribute[0].g.make().output.clear(); }),
             "its branch has 0 outputs where 1 are expected"));
  CHECK(says(message("condition",
                     [](OnnxBuilder::Node& node) { node.attribute[0].g.make().output[0].name = "lost"; }),
             "its branch does not write 'lost'"));
}

TEST_CASE("a mask of infinities leaves probabilities of 0") {
  OnnxBuilder file;
  file.input("x", {2, 3});
  file.floats("mask", {2, 3}, {0, -INFINITY, -INFINITY, 0, 0, -INFINITY});
  file.node("Add", {"x", "mask"}, "masked");
  set(file.node("Softmax", {"masked"}, "y"), "axis", int64_t{-1});
  file.output("y");
  const Reals y = run_file(file.bytes(), {1, 2, 3, 4, 4, 5});
  CHECK(y == Reals{1, 0, 0, 0.5f, 0.5f, 0});
  Import import(file.bytes());
  REQUIRE(import.outcome->report.notes.size() == 1);
  CHECK(import.outcome->report.notes[0].find("infinities of constant 'mask' are 1.3e30 here") !=
        std::string::npos);
  OnnxBuilder weights;  // but none may stand in weights
  weights.input("x", {2, 3});
  weights.floats("w", {3, 1}, {0, -INFINITY, 0});
  weights.node("MatMul", {"x", "w"}, "y");
  weights.output("y");
  CHECK(Import(weights.bytes()).says("every value must be finite"));
}

TEST_CASE("a border of infinities loses to every number") {
  OnnxBuilder file;
  file.input("x", {1, 1, 1, 2});
  file.integers("pads", {0, 0, 0, 1, 0, 0, 0, 1});
  file.floats("border", {}, {-INFINITY});
  file.node("Pad", {"x", "pads", "border"}, "padded");
  set(file.node("MaxPool", {"padded"}, "y"), "kernel_shape", std::vector<int64_t>{1, 2});
  file.output("y");
  CHECK(run_file(file.bytes(), {-5, -7}) == Reals{-5, -5, -7});
  Import import(file.bytes());
  REQUIRE(import.outcome->report.notes.size() == 2);
  CHECK(import.outcome->report.notes[0] ==
        "node 'padded_node' (Pad): its padding value -inf is -1.3e30 here");
}

TEST_CASE("a batch normalization of a vector that stands alone") {
  OnnxBuilder file;
  file.input("x", {2, 2});
  file.floats("scale", {2}, {2, -1});
  file.floats("bias", {2}, {0.5f, 1});
  file.floats("mean", {2}, {1, 2});
  file.floats("variance", {2}, {3, 15});
  set(file.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "y"), "epsilon", 1.0f);
  file.output("y");
  CHECK(run_file(file.bytes(), {1, 2, 3, 6}) == Reals{0.5f, 1, 2.5f, 0});
}

TEST_CASE("a tensor without axes is one number") {
  OnnxBuilder file;
  file.input("x", {1, 1, 1});
  file.node("Squeeze", {"x"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {3}) == Reals{3});
}

TEST_CASE("elements of a constant by indices that a run computes") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.floats("table", {1, 3}, {5, 6, 7});
  set(file.node("Cast", {"x"}, "indices"), "to", int64_t{onnx_file::TensorProto::INT64});
  set(file.node("GatherElements", {"table", "indices"}, "y"), "axis", int64_t{1});
  file.output("y");
  CHECK(run_file(file.bytes(), {2, 0}) == Reals{7, 5});
}

TEST_CASE("a plain RNN is the recurrence of its definition") {
  constexpr size_t kSteps = 4, kInputs = 3, kSize = 2;
  Random random(3);
  for (const char* const direction : {"forward", "reverse", "bidirectional"}) {
    const size_t directions = std::string(direction) == "bidirectional" ? 2 : 1;
    const Reals x = random.reals(kSteps * kInputs, -1.0f, 1.0f),
                w = random.reals(directions * kSize * kInputs, -1.0f, 1.0f),
                r = random.reals(directions * kSize * kSize, -1.0f, 1.0f),
                b = random.reals(directions * 2 * kSize, -1.0f, 1.0f);
    OnnxBuilder file;
    const auto n = static_cast<int64_t>(directions);
    file.input("x", {kSteps, 1, kInputs});
    file.floats("w", {n, kSize, kInputs}, w);
    file.floats("r", {n, kSize, kSize}, r);
    file.floats("b", {n, 2 * kSize}, b);
    auto& node = file.node("RNN", {"x", "w", "r", "b"}, "y");
    set(node, "hidden_size", int64_t{kSize});
    set(node, "direction", direction);
    file.output("y");
    const Reals y = run_file(file.bytes(), x);
    REQUIRE(y.size() == kSteps * directions * kSize);
    for (size_t d = 0; d < directions; ++d) {
      double h[kSize] = {};
      for (size_t i = 0; i < kSteps; ++i) {
        const bool backwards = d == 1 || std::string(direction) == "reverse";
        const size_t t = backwards ? kSteps - 1 - i : i;
        double next[kSize] = {};
        for (size_t o = 0; o < kSize; ++o) {
          double sum = double{b[d * 2 * kSize + o]} + b[(d * 2 + 1) * kSize + o];
          for (size_t k = 0; k < kInputs; ++k)
            sum += double{x[t * kInputs + k]} * w[(d * kSize + o) * kInputs + k];
          for (size_t k = 0; k < kSize; ++k) sum += h[k] * r[(d * kSize + o) * kSize + k];
          next[o] = std::tanh(sum);
        }
        for (size_t o = 0; o < kSize; ++o) {
          h[o] = next[o];
          CHECK(std::fabs(double{y[(t * directions + d) * kSize + o]} - h[o]) < 1e-6);
        }
      }
    }
  }
}

}  // namespace intaglio::test::import_onnx_branches_test
