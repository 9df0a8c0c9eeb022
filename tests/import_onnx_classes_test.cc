// Classifiers and trees of ai.onnx.ml, by their definitions.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_classes_test {
namespace {

using Reals = std::vector<float>;
using Ints = std::vector<int64_t>;
using Words = std::vector<std::string>;

OnnxBuilder::Node& classical(OnnxBuilder& file, const char* op, const Words& inputs, const char* output) {
  auto& node = file.node(op, inputs, output);
  node.domain = "ai.onnx.ml";
  return node;
}
void words(OnnxBuilder::Node& node, const char* name, const Words& values) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::STRINGS;
  for (const std::string& value : values) attribute.strings.push_back(value);
}

// All outputs in turn, integers as reals.
Reals run_all(Import& import, const Reals& x) {
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  model.set_input(x);
  model.session().run();
  Reals all;
  for (size_t i = 0; i < model.model().outputs().size; ++i) {
    const TensorView view = model.session().output(static_cast<int32_t>(i));
    if (view.info.dtype == DType::kS32)
      for (const int32_t value : view.as<int32_t>()) all.push_back(static_cast<float>(value));
    else
      for (const float value : view.as<float>()) all.push_back(value);
  }
  return all;
}

void check_near(const Reals& found, const Reals& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

OnnxBuilder linear(const Reals& coefficients, const Reals& intercepts, const Ints& labels,
                   const char* transform = "NONE") {
  OnnxBuilder file(17);
  file.input("x", {2, 2});
  auto& node = classical(file, "LinearClassifier", {"x"}, "label");
  node.output.push_back("scores");
  set(node, "coefficients", coefficients);
  set(node, "intercepts", intercepts);
  if (!labels.empty()) set(node, "classlabels_ints", labels);
  set(node, "post_transform", transform);
  file.output("label").output("scores");
  return file;
}

const Reals kRows{1, 2, -3, 1};

// Two trees: x0 <= 0 ? 1 : (x1 <= 1.5 ? 2 : 4), and x1 < or <= 1 ? 10 : 20.
OnnxBuilder::Node& trees(OnnxBuilder& file, const char* op, const std::string& prefix, const Ints& ids,
                         const Reals& weights, const char* mode = "BRANCH_LEQ") {
  file.input("x", {3, 2});
  auto& node = classical(file, op, {"x"}, "y");
  set(node, "nodes_treeids", Ints{0, 0, 0, 0, 0, 7, 7, 7});
  set(node, "nodes_nodeids", Ints{0, 1, 2, 3, 4, 0, 1, 2});
  set(node, "nodes_featureids", Ints{0, 0, 1, 0, 0, 1, 0, 0});
  set(node, "nodes_truenodeids", Ints{1, 0, 3, 0, 0, 1, 0, 0});
  set(node, "nodes_falsenodeids", Ints{2, 0, 4, 0, 0, 2, 0, 0});
  set(node, "nodes_values", Reals{0, 0, 1.5f, 0, 0, 1, 0, 0});
  words(node, "nodes_modes", {mode, "LEAF", mode, "LEAF", "LEAF", mode, "LEAF", "LEAF"});
  set(node, (prefix + "_treeids").c_str(), Ints{0, 0, 0, 7, 7});
  set(node, (prefix + "_nodeids").c_str(), Ints{1, 3, 4, 1, 2});
  set(node, (prefix + "_ids").c_str(), ids);
  set(node, (prefix + "_weights").c_str(), weights);
  return node;
}

const Reals kPlaces{0, 1, 5, 1, 5, 2};  // of three rows: leaves 1 and 1, 3 and 1, 4 and 2

}  // namespace

// As onnxruntime has it.
TEST_CASE("LinearClassifier: of three classes and of one score for two, with labels of their own") {
  Import three(linear({1, 0, 0, 1, -1, -1}, {0, 0.5f, 0}, {3, 5, 9}).bytes());
  check_near(run_all(three, kRows), {5, 9, 1, 2.5f, -3, -3, 1.5f, 2});
  Import soft(linear({1, 0, 0, 1, -1, -1}, {0, 0.5f, 0}, {0, 1, 2}, "SOFTMAX").bytes());
  const Reals found = run_all(soft, kRows);
  CHECK(Reals(found.begin(), found.begin() + 2) == Reals{1, 2});
  CHECK(found[2] + found[3] + found[4] == doctest::Approx(1.0f));
  Import single(linear({1, 1}, {-1}, {4, 8}).bytes());
  check_near(run_all(single, kRows), {8, 4, -1, 2, 4, -3});
  // The score decides, and not the greater one of the pair.
  Import low(linear({0.1f, 0.1f}, {0}, {0, 1}).bytes());
  check_near(run_all(low, kRows), {1, 0, 0.7f, 0.3f, 1.2f, -0.2f});
  Import none(linear({0.1f, 0.1f}, {0}, {0, 1}, "SOFTMAX").bytes());
  check_near(run_all(none, kRows), {1, 0, 0.7f, 0.3f, 1.2f, -0.2f});
  Import logistic(linear({1, 1}, {-1}, {4, 8}, "LOGISTIC").bytes());
  const float p = 1.0f / (1.0f + std::exp(-2.0f)), q = 1.0f / (1.0f + std::exp(3.0f));
  check_near(run_all(logistic, kRows), {8, 4, 1 - p, p, 1 - q, q});
}

TEST_CASE("Normalizer: by each norm, and a row of zeros stays") {
  const auto normalized = [](const char* norm) {
    OnnxBuilder file(13);
    file.input("x", {2, 2});
    set(classical(file, "Normalizer", {"x"}, "y"), "norm", norm);
    return run_file(file.output("y").bytes(), {3, 4, 0, 0});
  };
  check_near(normalized("L1"), {3.0f / 7, 4.0f / 7, 0, 0});
  check_near(normalized("L2"), {0.6f, 0.8f, 0, 0});
  check_near(normalized("MAX"), {0.75f, 1, 0, 0});
}

TEST_CASE("ArrayFeatureExtractor: columns, labels by a run, and names, which become numbers") {
  OnnxBuilder columns(13);
  columns.input("x", {2, 3});
  columns.integers("some", {2, 0});
  classical(columns, "ArrayFeatureExtractor", {"x", "some"}, "y");
  CHECK(run_file(columns.output("y").bytes(), {1, 2, 3, 4, 5, 6}) == Reals{3, 1, 6, 4});
  for (const bool is_named : {false, true}) {
    CAPTURE(is_named);
    OnnxBuilder file(13);
    file.input("x", {2, 3});
    auto& labels = file.integers("labels", {7, 8, 9});
    if (is_named) {
      labels.data_type = onnx_file::TensorProto::STRING;
      labels.int64_data.clear();
      for (const char* name : {"cat", "dog", "owl"}) labels.string_data.push_back(name);
    }
    set(file.node("ArgMax", {"x"}, "place"), "axis", int64_t{1});
    classical(file, "ArrayFeatureExtractor", {"labels", "place"}, "y");
    Import import(file.output("y").bytes());
    CHECK(run_all(import, {1, 3, 2, 5, 4, 6}) == (is_named ? Reals{1, 2} : Reals{8, 9}));
    CHECK(import.notes("the model gives their numbers, from 0 on: 'cat', 'dog', 'owl'") == is_named);
  }
}

TEST_CASE("TreeEnsembleRegressor: sums and averages, with a base, by each comparison") {
  const auto run = [](const char* mode, const char* aggregate) {
    OnnxBuilder file(13);
    auto& node = trees(file, "TreeEnsembleRegressor", "target", {0, 0, 0, 0, 0}, {1, 2, 4, 10, 20}, mode);
    set(node, "base_values", Reals{100});
    set(node, "aggregate_function", aggregate);
    return run_file(file.output("y").bytes(), kPlaces);
  };
  CHECK(run("BRANCH_LEQ", "SUM") == Reals{111, 112, 124});
  CHECK(run("BRANCH_LT", "SUM") == Reals{122, 122, 124});
  CHECK(run("BRANCH_GTE", "SUM") == Reals{111, 111, 111});
  CHECK(run("BRANCH_GT", "SUM") == Reals{124, 121, 111});
  CHECK(run("BRANCH_LEQ", "AVERAGE") == Reals{105.5f, 106, 112});
}

TEST_CASE("TreeEnsembleClassifier: a score a class, and one for two of them") {
  OnnxBuilder file(13);
  auto& node =
      trees(file, "TreeEnsembleClassifier", "class", {0, 1, 1, 0, 1}, {0.5f, 0.5f, 0.5f, 0.25f, 0.25f});
  node.output.push_back("scores");
  set(node, "classlabels_int64s", Ints{10, 20});
  Import import(file.output("y").output("scores").bytes());
  CHECK(run_all(import, kPlaces) == Reals{10, 20, 20, 0.75f, 0, 0.25f, 0.5f, 0, 0.75f});
  OnnxBuilder single(13);
  auto& share =
      trees(single, "TreeEnsembleClassifier", "class", {0, 0, 0, 0, 0}, {0.25f, 0.5f, 0.5f, 0, 0.25f});
  share.output.push_back("scores");
  words(share, "classlabels_strings", {"no", "yes"});
  Import of_shares(single.output("y").output("scores").bytes());
  CHECK(run_all(of_shares, kPlaces) == Reals{0, 0, 1, 0.75f, 0.25f, 0.5f, 0.5f, 0.25f, 0.75f});
  CHECK(of_shares.notes("'no', 'yes'"));
}

TEST_CASE("ZipMap gives the scores") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  set(classical(file, "ZipMap", {"x"}, "y"), "classlabels_int64s", Ints{0, 1});
  Import import(file.output("y").bytes());
  CHECK(run_all(import, {3, 4}) == Reals{3, 4});
  CHECK(import.notes("ZipMap: the model gives the scores themselves"));
}

TEST_CASE("trees that are none, and lists that do not fit, are refused") {
  const auto says = [](const char* name, const Ints& list, const std::string& part) {
    OnnxBuilder file(13);
    auto& node = trees(file, "TreeEnsembleRegressor", "target", {0, 0, 0, 0, 0}, {1, 2, 4, 10, 20});
    for (auto& attribute : node.attribute) {
      if (attribute.name != name) continue;
      attribute.ints.clear();
      for (const int64_t value : list) attribute.ints.push_back(value);
    }
    Import import(file.output("y").bytes());
    CAPTURE(import.message());
    CHECK(import.says(part));
  };
  says("nodes_treeids", {0, 0}, "its lists of nodes have 2 and 8 entries");
  says("nodes_nodeids", {0, 1, 1, 3, 4, 0, 1, 2}, "its tree 0 has two nodes 1");
  says("nodes_featureids", {0, 0, 2, 0, 0, 1, 0, 0}, "it compares feature 2 of 2");
  says("nodes_featureids", {0, 0, INT64_MIN, 0, 0, 1, 0, 0}, "it compares feature -9223372036854775808 of 2");
  says("nodes_truenodeids", {9, 0, 3, 0, 0, 1, 0, 0}, "node 0 of tree 0 leads to none");
  says("nodes_truenodeids", {1, 0, 1, 0, 0, 1, 0, 0}, "node 1 of tree 0 has two parents");
  says("nodes_truenodeids", {0, 0, 3, 0, 0, 1, 0, 0}, "some of its nodes lead to one another in a ring");
  says("nodes_falsenodeids", {0, 0, 4, 0, 0, 2, 0, 0}, "some of its nodes lead to one another in a ring");
  says("target_nodeids", {1, 3, 2, 1, 2},
       "the weight 4 of node 2 of tree 0 for output 0 does not fit its leaves");
  says("target_ids", {0, 1, 0, 0, 0}, "for output 1 does not fit");
  says("target_ids", {0, 0}, "its lists of leaves' weights have 5, 5, 2 and 5 entries");
  const auto of_modes = [](const Words& modes) {
    OnnxBuilder file(13);
    file.input("x", {1, 1});
    auto& node = classical(file, "TreeEnsembleRegressor", {"x"}, "y");
    for (const char* name : {"nodes_treeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids"})
      set(node, name, Ints(modes.size(), 0));
    Ints numbers;
    for (size_t i = 0; i < modes.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
    set(node, "nodes_nodeids", numbers);
    set(node, "nodes_values", Reals(modes.size(), 0.0f));
    words(node, "nodes_modes", modes);
    return Import(file.output("y").bytes());
  };
  CHECK(of_modes({"LEAF"}).says("its trees have 0 comparisons and 1 leaves at most; 1 are needed"));
  CHECK(of_modes({"BRANCH_LEQ"}).says("node 0 of tree 0 has two parents"));
  CHECK(of_modes({"BRANCH_LEQ", "LEAF", "BRANCH_GT"}).says("has two parents"));
  CHECK(Import(linear({1, 2, 3}, {0}, {0, 1}).bytes())
            .says("it has 3 coefficients for 2 classes of 2 features"));
  CHECK(Import(linear({1, 2, 3, 4}, {0}, {0, 1}).bytes()).says("it has 1 intercepts for 2 scores"));
  CHECK(Import(linear({1, 2}, {0}, {0}).bytes()).says("it has 1 classes; 2 to 65536 are supported"));
  CHECK(Import(linear({1, 2}, {INFINITY}, {0, 1}).bytes()).says("its attribute intercepts holds inf"));
  CHECK(
      Import(linear({1, 2}, {0}, {0, 1}, "PROBIT").bytes()).says("post_transform 'PROBIT' is not supported"));
  OnnxBuilder empty(17);
  empty.input("x", {1, 2});
  empty.floats("none", {1, 0}, {});
  auto& node = classical(empty, "LinearClassifier", {"none"}, "label");
  set(node, "coefficients", Reals{1, 2});
  set(node, "classlabels_ints", Ints{0, 1});
  empty.node("Identity", {"x"}, "y");
  CHECK(Import(empty.output("label").output("y").bytes())
            .says("its input has the shape [1, 0]; rank 2 with features is expected"));
  OnnxBuilder many(17);
  many.input("x", {1, 2});
  auto& labels = many.integers("labels", {0});
  labels.data_type = onnx_file::TensorProto::STRING;
  labels.int64_data.clear();
  labels.dims[0] = 65537;
  for (int i = 0; i < 65537; ++i) labels.string_data.push_back("");
  set(many.node("ArgMax", {"x"}, "place"), "axis", int64_t{1});
  classical(many, "ArrayFeatureExtractor", {"labels", "place"}, "y");
  CHECK(Import(many.output("y").bytes())
            .says("constant 'labels' holds 65537 strings; at most 65536 are supported"));
}

}  // namespace intaglio::test::import_onnx_classes_test
