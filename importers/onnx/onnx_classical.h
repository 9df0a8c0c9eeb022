// Classes of ai.onnx.ml: two outputs, the class and the scores.
#pragma once

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {

struct OnnxClasses {
  int64_t count = 0;
  std::vector<int64_t> labels;  // empty: the classes are numbered from 0
};

// The labels in two attributes, of which a file has one. Strings are numbered, and a note lists them.
OnnxClasses read_onnx_classes(OnnxDecomposer& s, const char* integers, const char* strings);
// The two scores that a single score stands for. The pair is that of onnxruntime.
enum class OnnxSecond {
  kNone,      // there is a score a class
  kShare,     // the second class's share of 1: [1 - s, s]
  kOpposite,  // above 0 for the second class: [-s, s]
  kLinear,    // the same, but the pair is [1 - s, s]
};
// Scores behind the attribute post_transform; `is_single`: of one score SOFTMAX changes nothing.
std::string transformed_onnx_scores(OnnxDecomposer& s, const std::string& scores, bool is_single);
// Two columns; 1 - x.
std::string both_onnx_scores(OnnxDecomposer& s, const std::string& first, const std::string& second);
std::string one_less(OnnxDecomposer& s, const std::string& x);
// Writes the first output: the class of the greatest score.
void write_onnx_label(OnnxDecomposer& s, const OnnxClasses& classes, const std::string& scores);
// Writes both outputs. `scores` [n, classes], or [n, 1], before the attribute post_transform.
void write_onnx_classes(OnnxDecomposer& s, const OnnxClasses& classes, const std::string& scores,
                        OnnxSecond second);
// A list of numbers that are all finite.
std::vector<float> finite_reals(const OnnxDecomposer& s, const char* name);

}  // namespace intaglio::importers
