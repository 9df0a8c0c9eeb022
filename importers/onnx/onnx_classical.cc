// Operators of classical machine learning, ai.onnx.ml: linear models, scalers, classifiers, support vector machines, trees.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "importers/onnx/onnx_decomposer.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// Classes: two outputs, the class and the scores.
struct OnnxClasses {
  int64_t count = 0;
  std::vector<int64_t> labels;  // empty: the classes are numbered from 0
};

// The two scores that a single score stands for. The pair is that of onnxruntime.
enum class OnnxSecond {
  kNone,      // there is a score a class
  kShare,     // the second class's share of 1: [1 - s, s]
  kOpposite,  // above 0 for the second class: [-s, s]
  kLinear,    // the same, but the pair is [1 - s, s]
};

constexpr int64_t kMostClasses = 65536;

std::string names_of(const std::vector<std::string>& classes) {
  constexpr size_t kMostShown = 16;
  std::string list;
  for (size_t i = 0; i < std::min(classes.size(), kMostShown); ++i)
    list += (i == 0 ? "" : ", ") + quoted(classes[i]);
  return list + (classes.size() > kMostShown ? ", ..." : "");
}

void note_numbers(OnnxDecomposer& s, const std::vector<std::string>& classes) {
  s.note(text(s.source(),
              ": its classes are strings; the model gives their numbers, from 0 on: ", names_of(classes)));
}

// The labels in two attributes, of which a file has one. Strings are numbered, and a note lists them.
OnnxClasses read_onnx_classes(OnnxDecomposer& s, const char* integers, const char* strings) {
  const std::vector<std::string> names = s.strings(strings);
  OnnxClasses classes{0, s.list(integers)};
  classes.count = static_cast<int64_t>(names.empty() ? classes.labels.size() : names.size());
  if (classes.count < 2 || classes.count > kMostClasses)
    fail("it has ", classes.count, " classes; 2 to ", kMostClasses, " are supported");
  bool is_counted = true;
  for (size_t i = 0; i < classes.labels.size(); ++i)
    is_counted = is_counted && classes.labels[i] == static_cast<int64_t>(i);
  if (!names.empty() || is_counted) classes.labels.clear();
  if (!names.empty()) note_numbers(s, names);
  return classes;
}

// 1 - x; two columns.
std::string one_less(OnnxDecomposer& s, const std::string& x) { return s.add("Sub", {s.number(1.0f), x}); }

std::string both_onnx_scores(OnnxDecomposer& s, const std::string& first, const std::string& second) {
  return s.add("Concat", {first, second}, {{"axis", 1}});
}

// Scores behind the attribute post_transform; `is_single`: of one score SOFTMAX changes nothing.
std::string transformed_onnx_scores(OnnxDecomposer& s, const std::string& scores, bool is_single) {
  const std::string transform = s.string("post_transform", "NONE");
  if (transform == "LOGISTIC") return s.add("Sigmoid", {scores});
  if (transform == "SOFTMAX" && !is_single) return s.add("Softmax", {scores}, {{"axis", 1}});
  if (transform != "NONE" && transform != "SOFTMAX")
    fail("post_transform ", quoted(transform), " is not supported; NONE, LOGISTIC and SOFTMAX are");
  return scores;
}

// Writes the first output: the class of the greatest score.
void write_onnx_label(OnnxDecomposer& s, const OnnxClasses& classes, const std::string& scores) {
  if (!s.has_output(0)) return;
  const std::string place = s.add("ArgMax", {scores}, {{"axis", 1}, {"keepdims", 0}});
  s.end(classes.labels.empty() ? place : s.add("Gather", {s.integers(classes.labels), place}));
}

// Writes both outputs. `scores` [n, classes], or [n, 1], before the attribute post_transform.
void write_onnx_classes(OnnxDecomposer& s, const OnnxClasses& classes, const std::string& scores,
                        OnnxSecond second) {
  const bool is_single = second != OnnxSecond::kNone;
  std::string given = transformed_onnx_scores(s, scores, is_single), decides = given;
  if (is_single) {
    const bool is_opposite =
        second == OnnxSecond::kOpposite && s.string("post_transform", "NONE") != "LOGISTIC";
    given = decides = both_onnx_scores(s, is_opposite ? s.add("Neg", {given}) : one_less(s, given), given);
    if (second == OnnxSecond::kLinear) decides = both_onnx_scores(s, s.add("Neg", {scores}), scores);
  }
  if (s.has_output(1)) s.end(given, 1);
  write_onnx_label(s, classes, decides);
}

// A list of numbers that are all finite.
template <typename Node>
std::vector<float> finite_reals(const Node& node, const char* name) {
  std::vector<float> values = node.reals(name);
  for (const float value : values)
    if (!std::isfinite(value)) fail("its attribute ", name, " holds ", value);
  return values;
}

// Linear models and scalers.

constexpr char kDomain[] = "ai.onnx.ml";

// Rows [n, features]; integers as reals.
int32_t read_rows(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.as_real(op.any_activation(0));
  const Shape& shape = op.shape(x);
  check_rank(shape, 2);
  return x;
}

// y = x * coefficients + intercepts, coefficients [targets, features]
void import_linear_regressor(OnnxOp& op) {
  const int32_t x = read_rows(op);
  const Shape shape = op.shape(x);
  const int64_t targets = op.integer("targets", 1);
  if (targets < 1 || targets > kMaxTensorBytes) fail("its attribute targets is ", targets);
  if (const std::string transform = op.string("post_transform", "NONE"); transform != "NONE")
    fail("post_transform ", quoted(transform), " is not supported; NONE is");
  const auto outputs = static_cast<int32_t>(targets);
  const std::vector<float> weights = finite_reals(op, "coefficients");
  std::vector<float> bias = finite_reals(op, "intercepts");
  if (static_cast<int64_t>(weights.size()) != targets * shape[1])
    fail("it has ", weights.size(), " coefficients for ", targets, " targets of ", shape[1], " features");
  if (bias.empty()) bias.assign(static_cast<size_t>(targets), 0.0f);
  if (static_cast<int64_t>(bias.size()) != targets)
    fail("it has ", bias.size(), " intercepts for ", targets, " targets");
  const int32_t w =
      add_constant(op.draft(), op.name() + "/coefficients", DType::kF32, {outputs, shape[1]}, weights);
  const int32_t b = add_constant(op.draft(), op.name() + "/intercepts", DType::kF32, {outputs}, bias);
  const int32_t y = op.make(Op::kFullyConnected, {x, w, b}, {shape[0], outputs});
  op.set_output(y, 0, false);
}

// y = (x - offset) * scale, each one number or one a feature
void import_scaler(OnnxOp& op) {
  int32_t x = read_rows(op);
  const int32_t features = op.shape(x)[1];
  const auto by = [&](const char* name, Op kind) {
    const std::vector<float> values = finite_reals(op, name);
    if (values.empty()) return;
    if (values.size() != 1 && values.size() != static_cast<size_t>(features))
      fail("its attribute ", name, " has ", values.size(), " numbers for ", features, " features");
    x = add_binary(op, kind, x,
                   add_constant(op.draft(), op.name() + "/" + name, DType::kF32,
                                {1, static_cast<int32_t>(values.size())}, values));
  };
  by("offset", Op::kSub);
  by("scale", Op::kMul);
  op.set_output(x, 0, false);
}

constexpr OnnxOperator kOnnxClassicalOperators[] = {
    {"LinearRegressor", import_linear_regressor, {Op::kFullyConnected}, "Without a post_transform.", kDomain},
    {"Scaler", import_scaler, {Op::kSub, Op::kMul}, "Of rank 2.", kDomain},
};

}  // namespace

Span<const OnnxOperator> onnx_classical_operators() { return kOnnxClassicalOperators; }

// Classifiers of ai.onnx.ml and what stands around them, as ONNX's own operators.

namespace {

// The sum, the length or the greatest along the last axis, which stays.
std::string reduced(OnnxDecomposer& s, const char* op, const std::string& x) {
  if (s.opset() >= 18) return s.add(op, {x, s.integers({-1})});
  return s.add(op, {x}, {{"axes", OnnxList{-1}}});
}

// x over its norm; where that is 0, x.
void decompose_normalizer(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  const std::string norm = s.string("norm", "MAX");
  const char* const op = norm == "L1"    ? "ReduceL1"
                         : norm == "L2"  ? "ReduceL2"
                         : norm == "MAX" ? "ReduceMax"
                                         : nullptr;
  if (op == nullptr) fail("norm ", quoted(norm), " is not known");
  const std::string x = s.as_real(s.input(0)), by = reduced(s, op, x);
  const std::string is_none = s.as_real(s.add("Equal", {by, s.number(0.0f)}));
  s.end(s.add("Div", {x, s.add("Add", {by, is_none})}));
}

// Columns of x by their indices, which a run may compute; of a list as of one row.
void decompose_extractor(OnnxDecomposer& s) {
  s.check_inputs(2, 2);
  s.check_one_output();
  const std::vector<std::string> classes = s.string_constant(0);
  std::string x = s.input(0);
  const auto rank = classes.empty() ? static_cast<int64_t>(s.shape(0).size()) : 1;
  if (!classes.empty()) {
    note_numbers(s, classes);
    x = s.counted(static_cast<int64_t>(classes.size()));
  }
  const std::string made = s.add("Gather", {x, s.reshaped(s.input(1), {-1})}, {{"axis", rank - 1}});
  if (rank == 1)
    s.reshaped(made, {1, -1}, s.output(0));
  else
    s.end(made);
}

// The map from classes to scores is the scores, in the order of the classes.
void decompose_map(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  for (const char* const name : {"classlabels_int64s", "classlabels_strings"}) s.ignore(name);
  s.note("ZipMap: the model gives the scores themselves, in the order of the classes");
  s.end(s.input(0));
}

void decompose_linear(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  const OnnxClasses classes = read_onnx_classes(s, "classlabels_ints", "classlabels_strings");
  s.ignore("multi_class");
  const Shape x = s.shape(0);
  if (x.size() != 2 || x[1] < 1)
    fail("its input has the shape ", shape_text(x), "; rank 2 with features is expected");
  const std::vector<float> weights = finite_reals(s, "coefficients");
  std::vector<float> bias = finite_reals(s, "intercepts");
  const int64_t columns = x[1], rows = static_cast<int64_t>(weights.size()) / columns;
  const bool is_single = rows == 1 && classes.count == 2;
  if (static_cast<int64_t>(weights.size()) != rows * columns || (rows != classes.count && !is_single))
    fail("it has ", weights.size(), " coefficients for ", classes.count, " classes of ", columns,
         " features");
  if (bias.empty()) bias.assign(static_cast<size_t>(rows), 0.0f);
  if (static_cast<int64_t>(bias.size()) != rows)
    fail("it has ", bias.size(), " intercepts for ", rows, " scores");
  const std::string scores =
      s.add("Gemm", {s.as_real(s.input(0)), s.reshaped(s.numbers(weights), {rows, columns}), s.numbers(bias)},
            {{"transB", 1}});
  write_onnx_classes(s, classes, scores, is_single ? OnnxSecond::kLinear : OnnxSecond::kNone);
}

// A 1 in the column of the category that each element is; zeros where it is none.
void decompose_one_hot(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  if (!s.strings("cats_strings").empty())
    fail(
        "its categories are strings, which no run has; number them, and encode the numbers with cats_int64s");
  const std::vector<int64_t> categories = s.list("cats_int64s");
  if (categories.empty()) fail("it has no categories");
  if (s.integer("zeros", 1) == 0)
    s.note(text(s.source(), ": a category that it does not have gives zeros here, and is no error"));
  std::vector<int64_t> columns;
  for (const int32_t dim : s.shape(0)) columns.push_back(dim);
  columns.push_back(1);
  const std::string whole = s.cast(s.input(0), onnx_file::TensorProto::INT64);
  s.end(s.as_real(s.add("Equal", {s.reshaped(whole, columns), s.integers(categories)})));
}

constexpr char kNumbered[] = "Classes that are strings are numbered.";

// Support vector machines of ai.onnx.ml, as ONNX's own operators: a kernel of each support vector, and sums of these.

constexpr int64_t kMostSvmNumbers = int64_t{1} << 22;  // of a matrix that is made of a file's lists

struct Rows {
  std::string name;  // [n, features]
  int64_t features;
};

Rows read_svm_rows(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  const Shape x = s.shape(0);
  if (x.empty() || x.size() > 2 || x.back() < 1)
    fail("its input has the shape ", shape_text(x), "; rank 2 with features is expected");
  const std::string reals = s.as_real(s.input(0));
  return {x.size() == 1 ? s.reshaped(reals, {1, x[0]}) : reals, x.back()};
}

// [n, columns] = x * weights' + bias; weights [columns, features], a bias of one number or one a column
std::string product(OnnxDecomposer& s, const std::string& x, const std::vector<float>& weights,
                    const std::vector<float>& bias) {
  const auto columns = static_cast<int64_t>(bias.size());
  s.check_room(weights.size() + bias.size());
  return s.add("Gemm", {x, s.reshaped(s.numbers(weights), {columns, -1}), s.numbers(bias)}, {{"transB", 1}});
}

// exp(-gamma * |x - v|^2) of each support vector v. The square is that of x, that of v and a product; both are taken from the
// middle of the support vectors, so that little is lost between large numbers.
std::string radial_kernels(OnnxDecomposer& s, const Rows& x, const std::vector<float>& vectors,
                           double gamma) {
  const auto features = static_cast<size_t>(x.features), count = vectors.size() / features;
  std::vector<float> middle(features), weights(vectors.size()), bias(count);
  for (size_t f = 0; f < features; ++f) {
    double sum = 0;
    for (size_t v = 0; v < count; ++v) sum += double{vectors[v * features + f]};
    middle[f] = static_cast<float>(sum / static_cast<double>(count));
  }
  for (size_t v = 0; v < count; ++v) {
    double square = 0;
    for (size_t f = 0; f < features; ++f) {
      const double moved = double{vectors[v * features + f]} - double{middle[f]};
      square += moved * moved;
      weights[v * features + f] = static_cast<float>(2 * gamma * moved);
    }
    bias[v] = static_cast<float>(-gamma * square);
  }
  const std::string moved = s.add("Sub", {x.name, s.numbers(middle)}), squares = s.add("Mul", {moved, moved});
  const std::string own = product(s, squares, std::vector<float>(features, static_cast<float>(-gamma)), {0});
  return s.add("Exp", {s.add("Add", {product(s, moved, weights, bias), own})});
}

// [n, support vectors]
std::string kernels(OnnxDecomposer& s, const Rows& x, std::vector<float> vectors) {
  const std::string type = s.string("kernel_type", "LINEAR");
  std::vector<float> params = finite_reals(s, "kernel_params");
  if (!params.empty() && params.size() != 3)
    fail("its kernel_params have ", params.size(), " numbers; gamma, coef0 and degree are expected");
  params.resize(3, 0.0f);
  const size_t count = vectors.size() / static_cast<size_t>(x.features);
  if (type == "RBF") return radial_kernels(s, x, vectors, double{params[0]});
  if (type == "LINEAR") return product(s, x.name, vectors, std::vector<float>(count, 0.0f));
  if (type != "POLY" && type != "SIGMOID")
    fail("kernel_type ", quoted(type), " is not known; LINEAR, POLY, RBF and SIGMOID are");
  for (float& number : vectors) number *= params[0];
  const std::string made = product(s, x.name, vectors, std::vector<float>(count, params[1]));
  return type == "POLY" ? s.add("Pow", {made, s.number(params[2])}) : s.add("Tanh", {made});
}

// As many support vectors of `features` numbers; the coefficients and further numbers that a file must have of each.
std::vector<float> read_vectors(OnnxDecomposer& s, int64_t count, int64_t features) {
  const std::vector<float> vectors = finite_reals(s, "support_vectors");
  if (count < 1 || count > kMostSvmNumbers / features ||
      static_cast<int64_t>(vectors.size()) != count * features)
    fail("it has ", vectors.size(), " numbers in support_vectors for ", count, " of ", features, " features");
  return vectors;
}

std::vector<float> read_numbers(OnnxDecomposer& s, const char* name, int64_t count) {
  const std::vector<float> numbers = finite_reals(s, name);
  if (static_cast<int64_t>(numbers.size()) != count)
    fail("its attribute ", name, " has ", numbers.size(), " numbers where ", count, " are expected");
  return numbers;
}

void decompose_svm_regressor(OnnxDecomposer& s) {
  s.check_one_output();
  if (const std::string transform = s.string("post_transform", "NONE"); transform != "NONE")
    fail("post_transform ", quoted(transform), " is not supported; NONE is");
  const Rows x = read_svm_rows(s);
  const int64_t count = s.integer("n_supports", 0);
  const std::vector<float> rho = read_numbers(s, "rho", 1);
  // Without support vectors it is linear, whatever its kernel is.
  if (count == 0)
    for (const char* const name : {"kernel_type", "kernel_params", "support_vectors"}) s.ignore(name);
  const std::string of_vectors = count == 0 ? x.name : kernels(s, x, read_vectors(s, count, x.features));
  const std::string y =
      product(s, of_vectors, read_numbers(s, "coefficients", count == 0 ? x.features : count), rho);
  if (s.integer("one_class", 0) == 0) return s.end(y);
  const std::string is_above = s.as_real(s.add("Greater", {y, s.number(0.0f)}));
  s.end(s.add("Sub", {s.add("Mul", {is_above, s.number(2.0f)}), s.number(1.0f)}));
}

// A score of each pair of classes, [n, pairs], above 0 for the first one.
struct Pairs {
  std::string scores;
  std::vector<std::pair<size_t, size_t>> list;
};

Pairs read_pairs(OnnxDecomposer& s, int64_t classes) {
  const Rows x = read_svm_rows(s);
  const std::vector<int64_t> sizes = s.list("vectors_per_class");
  const int64_t pairs = classes * (classes - 1) / 2;
  std::vector<size_t> ends;  // of each class's vectors
  int64_t count = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMostSvmNumbers - count) fail("its vectors_per_class hold ", size);
    count += size;
    ends.push_back(static_cast<size_t>(count));
  }
  if (static_cast<int64_t>(sizes.size()) != classes)
    fail("it has ", sizes.size(), " vectors_per_class for ", classes, " classes");
  const std::vector<float> vectors = read_vectors(s, count, x.features);
  if (pairs > kMostSvmNumbers / std::max(count, classes))
    fail("it has ", pairs, " pairs of ", classes, " classes and ", count,
         " support vectors; pairs times either may be ", kMostSvmNumbers);
  const std::vector<float> given = read_numbers(s, "coefficients", (classes - 1) * count),
                           rho = read_numbers(s, "rho", pairs);
  // Row c - 1 holds the coefficients of a class's vectors against a later class c, row c those against an earlier one.
  Pairs made;
  const auto columns = static_cast<size_t>(count), number = static_cast<size_t>(classes);
  std::vector<float> weights;
  for (size_t i = 0; i < number; ++i) {
    for (size_t j = i + 1; j < number; ++j) {
      const size_t row = weights.size();
      weights.resize(row + columns, 0.0f);
      for (const auto& [own, other] : {std::pair{i, j - 1}, std::pair{j, i}})
        for (size_t v = own == 0 ? 0 : ends[own - 1]; v < ends[own]; ++v)
          weights[row + v] = given[other * columns + v];
      made.list.emplace_back(i, j);
    }
  }
  made.scores = product(s, kernels(s, x, vectors), weights, rho);
  return made;
}

// How many pairs each class wins, [n, classes].
std::string votes(OnnxDecomposer& s, const Pairs& pairs, size_t classes) {
  const size_t count = pairs.list.size();
  std::vector<float> weights(classes * count, 0.0f), bias(classes, 0.0f);
  for (size_t p = 0; p < count; ++p) {
    const auto [first, second] = pairs.list[p];
    weights[first * count + p] = 1.0f;
    weights[second * count + p] = -1.0f;
    bias[second] += 1.0f;
  }
  return product(s, s.as_real(s.add("Greater", {pairs.scores, s.number(0.0f)})), weights, bias);
}

void decompose_svm_classifier(OnnxDecomposer& s) {
  const OnnxClasses classes = read_onnx_classes(s, "classlabels_ints", "classlabels_strings");
  if (s.list("vectors_per_class").empty())
    fail("it has no support vectors; a linear classifier is supported as LinearClassifier");
  const std::vector<float> a = finite_reals(s, "prob_a"), b = finite_reals(s, "prob_b");
  const Pairs pairs = read_pairs(s, classes.count);
  write_onnx_label(s, classes, votes(s, pairs, static_cast<size_t>(classes.count)));
  if (!s.has_output(1)) return s.ignore("post_transform");
  if (a.size() != b.size() || (!a.empty() && a.size() != pairs.list.size()))
    fail("it has ", a.size(), " prob_a and ", b.size(), " prob_b for ", pairs.list.size(),
         " pairs of classes");
  if (a.empty()) {
    const bool is_single = classes.count == 2;
    const std::string scores = transformed_onnx_scores(s, pairs.scores, is_single);
    if (!is_single) return s.end(scores, 1);
    const bool is_opposite = s.string("post_transform", "NONE") == "NONE";
    return s.end(both_onnx_scores(s, is_opposite ? s.add("Neg", {scores}) : one_less(s, scores), scores), 1);
  }
  if (classes.count > 2)
    fail(
        "its probabilities of ", classes.count,
        " classes are found by iteration, which is not supported; export it without probabilities: with the scores of "
        "pairs");
  const std::string second =
      s.add("Sigmoid", {s.add("Add", {s.add("Mul", {pairs.scores, s.number(a[0])}), s.number(b[0])})});
  s.end(transformed_onnx_scores(s, both_onnx_scores(s, one_less(s, second), second), false), 1);
}

// Trees of ai.onnx.ml. Each node's comparison is a number 0 or 1, and a product of all of a tree with a matrix counts for each
// leaf how many of its path hold: the leaf is reached where all do.

constexpr size_t kMostTreeNodes = size_t{1} << 16;
constexpr size_t kMostTreeNumbers = size_t{1} << 22;  // of a constant that is made of the trees

using TreePlace = std::pair<int64_t, int64_t>;  // a tree and a node's number in it

// All trees with as many comparisons and leaves as the largest has; those that a tree lacks are never reached.
struct Trees {
  size_t count = 0, comparisons = 0, leaves = 0;  // the latter of each tree
  std::string mode;                               // of all comparisons
  std::vector<int64_t> features;                  // [count, comparisons]
  std::vector<float> values;                      // likewise: what is compared with
  std::vector<float>
      paths;  // [count, comparisons, leaves]; 1: it is to hold, -1: it is not, 0: it is not on the path
  std::vector<float> least;  // [count, leaves]: the whole path holds where the count is beyond
  std::map<TreePlace, size_t> place_of_leaf;  // in [count, leaves]
};

struct Nodes {
  std::vector<int64_t> trees, numbers, features, yes, no;
  std::vector<float> values;
  std::vector<std::string> modes;
};

Nodes read_nodes(OnnxDecomposer& s) {
  Nodes nodes{s.list("nodes_treeids"),     s.list("nodes_nodeids"),      s.list("nodes_featureids"),
              s.list("nodes_truenodeids"), s.list("nodes_falsenodeids"), s.reals("nodes_values"),
              s.strings("nodes_modes")};
  for (const char* const name : {"nodes_hitrates", "nodes_missing_value_tracks_true"}) s.ignore(name);
  const size_t count = nodes.trees.size();
  for (const size_t size : {nodes.numbers.size(), nodes.features.size(), nodes.yes.size(), nodes.no.size(),
                            nodes.values.size(), nodes.modes.size()})
    if (size != count) fail("its lists of nodes have ", count, " and ", size, " entries");
  if (count < 1 || count > kMostTreeNodes)
    fail("it has ", count, " nodes; 1 to ", kMostTreeNodes, " are supported");
  return nodes;
}

// The nodes as a graph: children by their indices, and the comparisons and leaves of each tree counted.
class Forest {
 public:
  Forest(const Nodes& nodes, int64_t columns) : nodes_(nodes), number_(nodes.trees.size()) {
    for (size_t i = 0; i < nodes.trees.size(); ++i)
      if (!places_.emplace(TreePlace{nodes.trees[i], nodes.numbers[i]}, i).second)
        fail("its tree ", nodes.trees[i], " has two nodes ", nodes.numbers[i]);
    std::vector<bool> has_parent(nodes.trees.size(), false);
    for (size_t i = 0; i < nodes.trees.size(); ++i) {
      Tree& tree = trees_[nodes.trees[i]];
      number_[i] = is_leaf(i) ? tree.leaves++ : tree.comparisons++;
      if (is_leaf(i)) continue;
      if (made_.mode.empty()) made_.mode = nodes.modes[i];
      if (nodes.modes[i] != made_.mode) fail("its nodes compare in two ways, which is not supported");
      if (nodes.features[i] < 0 || nodes.features[i] >= columns)
        fail("it compares feature ", nodes.features[i], " of ", columns);
      for (const bool holds : {true, false}) {
        const size_t next = child(i, holds);
        if (has_parent[next])
          fail("node ", nodes.numbers[next], " of tree ", nodes.trees[next], " has two parents");
        has_parent[next] = true;
      }
    }
    for (size_t i = 0; i < nodes.trees.size(); ++i) {
      if (has_parent[i]) continue;
      if (trees_[nodes.trees[i]].has_root) fail("its tree ", nodes.trees[i], " has two roots");
      trees_[nodes.trees[i]].has_root = true;
      roots_.push_back(i);
    }
  }

  Trees make(const OnnxDecomposer& s) {
    made_.count = trees_.size();
    size_t next = 0;
    for (auto& [id, tree] : trees_) {
      tree.index = next++;
      made_.comparisons = std::max(made_.comparisons, tree.comparisons);
      made_.leaves = std::max(made_.leaves, tree.leaves);
    }
    if (made_.comparisons < 1 || made_.leaves < 1)
      fail("its trees have ", made_.comparisons, " comparisons and ", made_.leaves,
           " leaves at most; 1 are needed");
    if (made_.leaves > kMostTreeNumbers / made_.comparisons / made_.count)
      fail("it has ", made_.count, " trees of up to ", made_.comparisons, " comparisons and ", made_.leaves,
           " leaves; their product may be ", kMostTreeNumbers);
    s.check_room(made_.count * made_.comparisons * made_.leaves);
    made_.features.assign(made_.count * made_.comparisons, 0);
    made_.values.assign(made_.count * made_.comparisons, 0.0f);
    made_.paths.assign(made_.count * made_.comparisons * made_.leaves, 0.0f);
    made_.least.assign(made_.count * made_.leaves, static_cast<float>(made_.comparisons + 1));
    size_t reached = 0;
    for (const size_t root : roots_) reached += walk(root);
    if (reached != nodes_.trees.size()) fail("some of its nodes lead to one another in a ring");
    return std::move(made_);
  }

 private:
  struct Tree {
    size_t index = 0, comparisons = 0, leaves = 0;
    bool has_root = false;
  };
  struct Step {
    size_t node;
    std::vector<std::pair<size_t, bool>> path;  // comparisons of the tree, and whether they hold
  };

  bool is_leaf(size_t i) const { return nodes_.modes[i] == "LEAF"; }
  size_t child(size_t i, bool holds) const {
    const auto found = places_.find({nodes_.trees[i], holds ? nodes_.yes[i] : nodes_.no[i]});
    if (found == places_.end())
      fail("node ", nodes_.numbers[i], " of tree ", nodes_.trees[i], " leads to none");
    return found->second;
  }

  // All nodes of a tree; how many that are.
  size_t walk(size_t root) {
    const size_t tree = trees_.at(nodes_.trees[root]).index;
    std::vector<Step> open{{root, {}}};
    size_t reached = 0;
    for (; !open.empty(); ++reached) {
      const Step step = std::move(open.back());
      open.pop_back();
      const size_t i = step.node;
      if (is_leaf(i)) {
        put_leaf(tree, i, step.path);
        continue;
      }
      made_.features[tree * made_.comparisons + number_[i]] = nodes_.features[i];
      made_.values[tree * made_.comparisons + number_[i]] = nodes_.values[i];
      for (const bool holds : {false, true}) {
        open.push_back({child(i, holds), step.path});
        open.back().path.emplace_back(number_[i], holds);
      }
    }
    return reached;
  }

  void put_leaf(size_t tree, size_t i, const std::vector<std::pair<size_t, bool>>& path) {
    const size_t place = tree * made_.leaves + number_[i];
    made_.place_of_leaf.emplace(TreePlace{nodes_.trees[i], nodes_.numbers[i]}, place);
    float held = 0.0f;
    for (const auto& [comparison, holds] : path) {
      made_.paths[(tree * made_.comparisons + comparison) * made_.leaves + number_[i]] = holds ? 1.0f : -1.0f;
      held += holds ? 1.0f : 0.0f;
    }
    made_.least[place] = held - 0.5f;
  }

  const Nodes& nodes_;
  std::vector<size_t> number_;  // of each node: which comparison, or which leaf, of its tree
  std::map<TreePlace, size_t> places_;
  std::map<int64_t, Tree> trees_;
  std::vector<size_t> roots_;
  Trees made_;
};

const char* comparison_of(const std::string& mode) {
  static constexpr std::pair<const char*, const char*> kModes[] = {{"BRANCH_LEQ", "LessOrEqual"},
                                                                   {"BRANCH_LT", "Less"},
                                                                   {"BRANCH_GTE", "GreaterOrEqual"},
                                                                   {"BRANCH_GT", "Greater"}};
  for (const auto& [name, op] : kModes)
    if (mode == name) return op;
  fail("its comparison ", quoted(mode), " is not supported; BRANCH_LEQ, _LT, _GTE and _GT are");
}

// The weights of the leaves, [count * leaves, outputs], from the lists whose names begin with `prefix`.
std::vector<float> weights_of(OnnxDecomposer& s, const std::string& prefix, const Trees& trees,
                              int64_t outputs, float factor) {
  const auto of = [&](const char* name) { return s.list((prefix + name).c_str()); };
  const std::vector<int64_t> in_trees = of("_treeids"), numbers = of("_nodeids"), ids = of("_ids");
  const std::vector<float> given = s.reals((prefix + "_weights").c_str());
  if (numbers.size() != in_trees.size() || ids.size() != in_trees.size() || given.size() != in_trees.size())
    fail("its lists of leaves' weights have ", in_trees.size(), ", ", numbers.size(), ", ", ids.size(),
         " and ", given.size(), " entries");
  const size_t leaves = trees.count * trees.leaves;
  if (static_cast<size_t>(outputs) > kMostTreeNumbers / leaves)
    fail("it has ", outputs, " outputs of ", leaves, " leaves; their product may be ", kMostTreeNumbers);
  s.check_room(leaves * static_cast<size_t>(outputs));
  std::vector<float> weights(leaves * static_cast<size_t>(outputs), 0.0f);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto leaf = trees.place_of_leaf.find({in_trees[i], numbers[i]});
    if (leaf == trees.place_of_leaf.end() || ids[i] < 0 || ids[i] >= outputs || !std::isfinite(given[i]))
      fail("the weight ", given[i], " of node ", numbers[i], " of tree ", in_trees[i], " for output ", ids[i],
           " does not fit its leaves");
    weights[leaf->second * static_cast<size_t>(outputs) + static_cast<size_t>(ids[i])] += given[i] * factor;
  }
  return weights;
}

// The sums of the leaves that are reached, [n, outputs].
std::string sums(OnnxDecomposer& s, const char* prefix, int64_t outputs) {
  s.check_inputs(1, 1);
  const Shape x = s.shape(0);
  check_rank(x, 2);
  if (outputs < 1) fail("it has ", outputs, " outputs");
  const Nodes nodes = read_nodes(s);
  const Trees trees = Forest(nodes, x[1]).make(s);
  const std::string aggregate = s.string("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    fail("aggregate_function ", quoted(aggregate), " is not supported; SUM and AVERAGE are");
  const std::vector<float> weights = weights_of(
      s, prefix, trees, outputs, aggregate == "SUM" ? 1.0f : 1.0f / static_cast<float>(trees.count));
  const int64_t n = x[0], count = static_cast<int64_t>(trees.count),
                comparisons = static_cast<int64_t>(trees.comparisons),
                leaves = static_cast<int64_t>(trees.leaves);
  const std::string features =
      s.add("Gather", {s.as_real(s.input(0)), s.integers(trees.features)}, {{"axis", 1}});
  const std::string held = s.as_real(s.add(
      comparison_of(trees.mode), {features, s.reshaped(s.numbers(trees.values), {1, count * comparisons})}));
  const std::string of_trees = s.transposed(s.reshaped(held, {n, count, comparisons}), {1, 0, 2});
  const std::string counts =
      s.add("MatMul", {of_trees, s.reshaped(s.numbers(trees.paths), {count, comparisons, leaves})});
  const std::string reached =
      s.as_real(s.add("Greater", {counts, s.reshaped(s.numbers(trees.least), {count, 1, leaves})}));
  std::vector<std::string> inputs{s.reshaped(s.transposed(reached, {1, 0, 2}), {n, count * leaves}),
                                  s.reshaped(s.numbers(weights), {count * leaves, outputs})};
  const std::vector<float> base = s.reals("base_values");
  if (!base.empty() && static_cast<int64_t>(base.size()) != outputs)
    fail("it has ", base.size(), " base_values for ", outputs, " outputs");
  if (!base.empty()) inputs.push_back(s.numbers(base));
  return s.add("Gemm", inputs);
}

void decompose_tree_regressor(OnnxDecomposer& s) {
  s.check_one_output();
  if (const std::string transform = s.string("post_transform", "NONE"); transform != "NONE")
    fail("post_transform ", quoted(transform), " is not supported; NONE is");
  s.end(sums(s, "target", s.integer("n_targets", 1)));
}

void decompose_tree_classifier(OnnxDecomposer& s) {
  const OnnxClasses classes = read_onnx_classes(s, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> ids = s.list("class_ids");
  const bool is_single =
      classes.count == 2 && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; });
  const std::vector<float> weights = s.reals("class_weights");
  const bool is_share =
      is_single && std::all_of(weights.begin(), weights.end(), [](float w) { return w >= 0; });
  write_onnx_classes(s, classes, sums(s, "class", is_single ? 1 : classes.count),
                     is_share    ? OnnxSecond::kShare
                     : is_single ? OnnxSecond::kOpposite
                                 : OnnxSecond::kNone);
}

constexpr OnnxDecomposition kOnnxClassicalDecompositions[] = {
    {"ArrayFeatureExtractor", decompose_extractor, {Op::kGather}, kNumbered, kOfMl},
    {"LinearClassifier", decompose_linear, {Op::kFullyConnected, Op::kSoftmax, Op::kTopK}, kNumbered, kOfMl},
    {"Normalizer", decompose_normalizer, {Op::kMean, Op::kMaxPool2d, Op::kDiv}, "", kOfMl},
    {"OneHotEncoder",
     decompose_one_hot,
     {Op::kEqual, Op::kCast},
     "Categories are integers; one that it does not have gives zeros.",
     kOfMl},
    {"SVMClassifier",
     decompose_svm_classifier,
     {Op::kFullyConnected, Op::kExp, Op::kTanh, Op::kTopK},
     "With support vectors; probabilities of two classes. Classes that are strings are numbered.",
     kOfMl},
    {"SVMRegressor",
     decompose_svm_regressor,
     {Op::kFullyConnected, Op::kExp, Op::kTanh, Op::kPow},
     "Without a post_transform.",
     kOfMl},
    {"TreeEnsembleClassifier",
     decompose_tree_classifier,
     {Op::kGather, Op::kFullyConnected, Op::kLess, Op::kTopK},
     "Comparisons of one kind; trees times comparisons times leaves at most 2^22. Classes that are strings are numbered.",
     kOfMl},
    {"TreeEnsembleRegressor",
     decompose_tree_regressor,
     {Op::kGather, Op::kFullyConnected, Op::kLess},
     "Comparisons of one kind; trees times comparisons times leaves at most 2^22; sums and averages, without a post_transform.",
     kOfMl},
    {"ZipMap", decompose_map, {Op::kReshape}, "It gives the scores, in the order of the classes.", kOfMl},
};

}  // namespace

Span<const OnnxDecomposition> onnx_classical_decompositions() { return kOnnxClassicalDecompositions; }

}  // namespace intaglio::importers
