// Classifiers of ai.onnx.ml and what stands around them, as ONNX's own operators.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_classical.h"

namespace intaglio::importers {
namespace {

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

// The sum, the length or the greatest along the last axis, which stays.
std::string reduced(OnnxDecomposer& s, const char* op, const std::string& x) {
  if (s.opset() >= 18) return s.add(op, {x, s.integers({-1})});
  return s.add(op, {x}, {{}, {{"axes", {-1}}}, {}, {}});
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
  const std::string made =
      s.add("Gather", {x, s.reshaped(s.input(1), {-1})}, {{{"axis", rank - 1}}, {}, {}, {}});
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
            {{{"transB", 1}}, {}, {}, {}});
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

constexpr OnnxDecomposition kOnnxClassDecompositions[] = {
    {"ArrayFeatureExtractor", decompose_extractor, {Op::kGather}, kNumbered, false, false, true},
    {"LinearClassifier",
     decompose_linear,
     {Op::kFullyConnected, Op::kSoftmax, Op::kTopK},
     kNumbered,
     false,
     false,
     true},
    {"OneHotEncoder",
     decompose_one_hot,
     {Op::kEqual, Op::kCast},
     "Categories are integers; one that it does not have gives zeros.",
     false,
     false,
     true},
    {"Normalizer", decompose_normalizer, {Op::kMean, Op::kMaxPool2d, Op::kDiv}, "", false, false, true},
    {"ZipMap",
     decompose_map,
     {Op::kReshape},
     "It gives the scores, in the order of the classes.",
     false,
     false,
     true},
};

}  // namespace

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

std::string one_less(OnnxDecomposer& s, const std::string& x) { return s.add("Sub", {s.number(1.0f), x}); }

std::string both_onnx_scores(OnnxDecomposer& s, const std::string& first, const std::string& second) {
  return s.add("Concat", {first, second}, {{{"axis", 1}}, {}, {}, {}});
}

std::string transformed_onnx_scores(OnnxDecomposer& s, const std::string& scores, bool is_single) {
  const std::string transform = s.string("post_transform", "NONE");
  if (transform == "LOGISTIC") return s.add("Sigmoid", {scores});
  if (transform == "SOFTMAX" && !is_single) return s.add("Softmax", {scores}, {{{"axis", 1}}, {}, {}, {}});
  if (transform != "NONE" && transform != "SOFTMAX")
    fail("post_transform ", quoted(transform), " is not supported; NONE, LOGISTIC and SOFTMAX are");
  return scores;
}

void write_onnx_label(OnnxDecomposer& s, const OnnxClasses& classes, const std::string& scores) {
  if (!s.has_output(0)) return;
  const std::string place = s.add("ArgMax", {scores}, {{{"axis", 1}, {"keepdims", 0}}, {}, {}, {}});
  s.end(classes.labels.empty() ? place : s.add("Gather", {s.integers(classes.labels), place}));
}

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

std::vector<float> finite_reals(const OnnxDecomposer& s, const char* name) {
  std::vector<float> values = s.reals(name);
  for (const float value : values)
    if (!std::isfinite(value)) fail("its attribute ", name, " holds ", value);
  return values;
}

Span<const OnnxDecomposition> onnx_class_decompositions() { return kOnnxClassDecompositions; }

}  // namespace intaglio::importers
