// Support vector machines of ai.onnx.ml, as ONNX's own operators: a kernel of each support vector, and sums of these.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/onnx/onnx_classical.h"

namespace intaglio::importers {
namespace {

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
  return s.add("Gemm", {x, s.reshaped(s.numbers(weights), {columns, -1}), s.numbers(bias)},
               {{{"transB", 1}}, {}, {}, {}});
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
  // Of a class's vectors row c - 1 holds the coefficients against a later class c, row c those against an earlier one.
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

constexpr OnnxDecomposition kOnnxSvmDecompositions[] = {
    {"SVMClassifier",
     decompose_svm_classifier,
     {Op::kFullyConnected, Op::kExp, Op::kTanh, Op::kTopK},
     "With support vectors; probabilities of two classes. Classes that are strings are numbered.",
     false,
     false,
     true},
    {"SVMRegressor",
     decompose_svm_regressor,
     {Op::kFullyConnected, Op::kExp, Op::kTanh, Op::kPow},
     "Without a post_transform.",
     false,
     false,
     true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_svm_decompositions() { return kOnnxSvmDecompositions; }

}  // namespace intaglio::importers
