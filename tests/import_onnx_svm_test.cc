// Support vector machines and OneHotEncoder of ai.onnx.ml. The numbers are what onnxruntime 1.32 gives.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_svm_test {
namespace {

using Reals = std::vector<float>;
using Ints = std::vector<int64_t>;

struct Svm {
  const char* op;
  const char* kernel;
  Reals coefficients;
  Ints per_class;  // of a classifier, whose classes are 3, 5, 9
  const char* transform = "NONE";
  Reals rho = {0.2f};
  Reals a = {}, b = {};
  int64_t supports = 5, one_class = 0;
  Reals vectors = {1, 0, 0, 1, -1, -1, 2, 1, 0, -2};
  Reals params = {0.3f, 0.1f, 3};
};

std::string file_of(const Svm& svm) {
  OnnxBuilder file(17);
  file.input("x", {3, 2});
  auto& node = file.node(svm.op, {"x"}, "y");
  node.domain = "ai.onnx.ml";
  set(node, "kernel_type", svm.kernel);
  set(node, "kernel_params", svm.params);
  set(node, "coefficients", svm.coefficients);
  if (!svm.vectors.empty()) set(node, "support_vectors", svm.vectors);
  set(node, "rho", svm.rho);
  set(node, "post_transform", svm.transform);
  if (!svm.a.empty()) set(node, "prob_a", svm.a);
  if (!svm.b.empty()) set(node, "prob_b", svm.b);
  file.output("y");
  if (std::string(svm.op) == "SVMRegressor") {
    set(node, "n_supports", svm.supports);
    set(node, "one_class", svm.one_class);
    return file.bytes();
  }
  Ints classes{3, 5, 9};
  if (svm.per_class.size() == 2) classes.pop_back();
  while (svm.per_class.size() > 4 && classes.size() < svm.per_class.size()) classes.push_back(100);
  set(node, "classlabels_ints", classes);
  if (!svm.per_class.empty()) set(node, "vectors_per_class", svm.per_class);
  node.output.push_back("scores");
  return file.output("scores").bytes();
}

const Reals kRows{1, 2, -3, 1, 0.5f, -1};

// Labels, then scores.
Reals run_classifier(const Svm& svm) {
  Import import(file_of(svm));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  model.set_input(kRows);
  model.session().run();
  Reals all;
  for (const int32_t label : model.session().output(0).as<int32_t>())
    all.push_back(static_cast<float>(label));
  for (const float score : model.session().output(1).as<float>()) all.push_back(score);
  return all;
}

void check_near(const Reals& found, const Reals& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(2e-5).scale(1));
}

const Reals kOfTwo{1, -0.5f, 0.25f, 0.75f, -2}, kOfThree{1, -0.5f, 0.25f, 0.75f, 2, 0.5f, 0.5f, -1, -2, 1};

Svm of_two(const char* kernel, const char* transform = "NONE") {
  return {"SVMClassifier", kernel, kOfTwo, {2, 3}, transform};
}
Svm of_three(const char* kernel, const char* transform = "NONE") {
  return {"SVMClassifier", kernel, kOfThree, {2, 2, 1}, transform, {0.2f, -0.1f, 0.3f}};
}

}  // namespace

TEST_CASE("SVMRegressor: each kernel, one class, and without support vectors") {
  const auto of = [](const char* kernel) {
    return Svm{"SVMRegressor", kernel, {1, -0.5f, 0.25f, 0.75f, 2}, {}};
  };
  check_near(run_file(file_of(of("LINEAR")), kRows), {-5.55f, -10.55f, 5.325f});
  check_near(run_file(file_of(of("POLY")), kRows), {-1.04975f, -2.5662506f, 0.9102814f});
  check_near(run_file(file_of(of("RBF")), kRows), {0.6556511f, 0.2046214f, 2.364458f});
  check_near(run_file(file_of(of("SIGMOID")), kRows), {-0.8429499f, -2.0911674f, 1.888323f});
  Svm one = of("LINEAR");
  one.one_class = 1;
  check_near(run_file(file_of(one), kRows), {-1, -1, 1});
  Svm linear = of("RBF");
  linear.supports = 0;
  linear.vectors = {};
  linear.coefficients = {1, -0.5f};
  check_near(run_file(file_of(linear), kRows), {0.2f, -3.3f, 1.2f});
}

TEST_CASE("SVMClassifier of two classes: a pair of scores, or probabilities") {
  check_near(run_classifier(of_two("LINEAR")), {3, 5, 5, -10.45f, 10.45f, 2.55f, -2.55f, 2.675f, -2.675f});
  check_near(run_classifier(of_two("POLY")),
             {3, 5, 5, -4.274251f, 4.274251f, 2.066251f, -2.066251f, 0.4617189f, -0.4617189f});
  check_near(run_classifier(of_two("RBF")),
             {3, 3, 5, -0.6312641f, 0.6312641f, -0.1865551f, 0.1865551f, 0.3846995f, -0.3846995f});
  check_near(run_classifier(of_two("SIGMOID")),
             {3, 5, 5, -2.359046f, 2.359046f, 0.2426989f, -0.2426989f, 0.5291486f, -0.5291486f});
  check_near(run_classifier(of_two("RBF", "LOGISTIC")),
             {3, 3, 5, 0.347224f, 0.652776f, 0.453496f, 0.546504f, 0.595006f, 0.404994f});
  check_near(run_classifier(of_two("RBF", "SOFTMAX")),
             {3, 3, 5, 0.3687359f, 0.6312641f, 0.8134449f, 0.1865551f, 1.384699f, -0.3846995f});
  const auto shares = [](const char* transform) {
    Svm svm = of_two("RBF", transform);
    svm.a = {-1.5f};
    svm.b = {0.2f};
    return run_classifier(svm);
  };
  check_near(shares("NONE"),
             {3, 3, 5, 0.6785021f, 0.3214981f, 0.5199463f, 0.4800536f, 0.3149561f, 0.6850439f});
  check_near(shares("LOGISTIC"),
             {3, 3, 5, 0.6634043f, 0.5796893f, 0.6271352f, 0.6177605f, 0.5780945f, 0.6648635f});
  check_near(shares("SOFTMAX"),
             {3, 3, 5, 0.588315f, 0.411685f, 0.5099719f, 0.4900281f, 0.4085198f, 0.5914802f});
}

TEST_CASE("SVMClassifier of three classes: the scores of pairs, and the class that wins most of them") {
  check_near(run_classifier(of_three("LINEAR")),
             {9, 5, 3, 2.45f, -6.6f, -8.7f, -6.55f, -5.1f, 6.3f, 1.325f, 3.65f, 1.8f});
  check_near(run_classifier(of_three("POLY")), {9, 5, 3, 1.61225f, -2.5585f, -4.913001f, -2.316251f, -0.574f,
                                                5.320001f, 0.2242813f, 0.5898126f, 0.6253751f});
  check_near(run_classifier(of_three("RBF")), {3, 3, 3, 0.6434575f, 0.3371964f, -0.8117684f, 0.1955883f,
                                               -0.05431571f, 0.2126925f, 0.9898791f, 1.757939f, 0.171423f});
  check_near(run_classifier(of_three("SIGMOID")), {9, 5, 3, 0.7580483f, -1.20884f, -1.559909f, -1.166933f,
                                                   -1.166278f, 1.004218f, 0.6795869f, 1.132507f, 0.4601132f});
  check_near(run_classifier(of_three("RBF", "LOGISTIC")),
             {3, 3, 3, 0.6555346f, 0.5835093f, 0.3075138f, 0.5487418f, 0.4864244f, 0.5529736f, 0.729064f,
              0.8529513f, 0.5427511f});
  check_near(run_classifier(of_three("RBF", "SOFTMAX")),
             {3, 3, 3, 0.5077323f, 0.3737896f, 0.1184781f, 0.3576376f, 0.2785552f, 0.3638073f, 0.2780333f,
              0.5993229f, 0.1226439f});
}

TEST_CASE("support vectors far from 0 lose nothing in a radial kernel") {
  Svm far{"SVMRegressor", "RBF", {1, -0.5f, 0.25f, 0.75f, 2}, {}};
  for (float& number : far.vectors) number += 1000;
  Reals rows = kRows;
  for (float& number : rows) number += 1000;
  check_near(run_file(file_of(far), rows), {0.6556511f, 0.2046214f, 2.364458f});
}

TEST_CASE("OneHotEncoder, of integers and of reals, which are cut off") {
  OnnxBuilder file(17);
  file.input("x", {2, 2});
  auto& node = file.node("OneHotEncoder", {"x"}, "y");
  node.domain = "ai.onnx.ml";
  set(node, "cats_int64s", Ints{1, 3, -2});
  Import import(file.output("y").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{2, 2, 3});
  CHECK(run_import<float>(import, Reals{1.7f, 3, -2.5f, 7}) == Reals{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  auto& strings = node.attribute.add();
  strings.name = "cats_strings";
  strings.type = onnx_file::AttributeProto::STRINGS;
  strings.strings.push_back("cat");
  CHECK(Import(file.bytes()).says("its categories are strings, which no run has; number them"));
}

TEST_CASE("support vector machines whose lists do not fit are refused") {
  const auto refused = [](const Svm& svm, const char* part) {
    const Import import(file_of(svm));
    CAPTURE(part);
    CHECK_MESSAGE(import.says(part), import.message());
  };
  Svm svm = of_three("RBF");
  svm.rho = {1};
  refused(svm, "its attribute rho has 1 numbers where 3 are expected");
  svm = of_three("RBF");
  svm.per_class = {2, 2, 2};
  refused(svm, "it has 10 numbers in support_vectors for 6 of 2 features");
  svm.per_class = {2, 4, -1};
  refused(svm, "its vectors_per_class hold -1");
  svm.per_class = {1, 1, 1, 2};
  refused(svm, "it has 4 vectors_per_class for 3 classes");
  svm.per_class = {};
  refused(svm, "it has no support vectors; a linear classifier is supported as LinearClassifier");
  svm = of_three("WAVELET");
  refused(svm, "kernel_type 'WAVELET' is not known; LINEAR, POLY, RBF and SIGMOID are");
  svm = of_three("RBF");
  svm.params = {1};
  refused(svm, "its kernel_params have 1 numbers; gamma, coef0 and degree are expected");
  svm = of_three("RBF");
  svm.coefficients.pop_back();
  refused(svm, "its attribute coefficients has 9 numbers where 10 are expected");
  svm.coefficients.push_back(INFINITY);
  refused(svm, "its attribute coefficients holds inf");
  svm = of_three("RBF", "PROBIT");
  refused(svm, "post_transform 'PROBIT' is not supported; NONE, LOGISTIC and SOFTMAX are");
  svm = of_three("RBF");
  svm.a = svm.b = {1, 2, 3};
  refused(svm, "its probabilities of 3 classes are found by iteration, which is not supported");
  svm = of_two("LINEAR");  // of 2000 classes, which all but one have no vectors
  svm.per_class = Ints(2000, 0);
  svm.per_class[0] = 1;
  svm.vectors = {1, 2};
  svm.coefficients = Reals(1999, 1.0f);
  refused(svm, "it has 1999000 pairs of 2000 classes and 1 support vectors");
  svm = of_two("RBF");
  svm.a = {1};
  refused(svm, "it has 1 prob_a and 0 prob_b for 1 pairs of classes");
}

}  // namespace intaglio::test::import_onnx_svm_test
