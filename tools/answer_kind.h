// The numbers of a model's output: the one place that decides it. Figures, verdicts and advice about classes follow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/model.h"

namespace intaglio::tools {

// By the first of these that holds:
//   1. what import was told (`import --answers`) and stored in the model;
//   2. the end of the network, before what only moves values or changes their type: Softmax or LogSoftmax over the row, the
//      index of the greatest of a row, or a Sigmoid of one number: classes. The same at each of several places: a map. L2
//      normalization: an embedding. Tanh: values;
//   3. one number: a value;
//   4. a row of numbers that is the only output is presumed to be scores of classes, since most classifiers are exported
//      without their Softmax. Not fewer than ten: boxes, angles and forecasts are as short. Not a multiple of 64, as embeddings
//      are. Not as many as an input has: an autoencoder. Not behind ReLU, or a Sigmoid of each number;
//   5. else it is unknown.
struct Answer {
  AnswerKind kind = AnswerKind::kUnknown;
  std::string reason;  // a clause: "it ends in Softmax"
  bool is_presumed = false;
};
Answer answer_of(const Model& model, size_t output);

// An output whose numbers are scores of classes. It is found in one model and holds for those that are made of it.
struct ClassOutput {
  size_t output = 0;
  int32_t row = 0;              // numbers of one sample; 1: of two classes
  bool is_index = false;        // the number of a class
  bool is_presumed = false;     // by rule 4
  bool is_probability = false;  // of one number: half is between the classes, else zero

  int32_t classes() const { return row == 1 ? 2 : row; }
};
// The only output that answer_of() calls so.
std::optional<ClassOutput> class_output(const Model& model);
// The same, or where there is none the model's only output if that is a row of numbers of which nothing is known: labels and
// names say that it holds scores. No index.
std::optional<ClassOutput> possible_class_output(const Model& model);

// Whether channels of unlike size stand for unlike things, each of which counts: of boxes and values, not of scores (also a Sigmoid
// of each number), maps, embeddings and what an autoencoder gives. An output of Sigmoids beside boxes has no say.
bool has_channels_of_their_own(const Model& model);

// How many pictures a run takes at once: the first dimension of a picture input, where every output has it. 1: no batch.
int32_t picture_batch(const Model& model);
// The numbers of one picture, or sample, where all lie along the last axis; 0 where they do not.
int32_t row_length(const Model& model, size_t output);
const char* answer_name(AnswerKind kind);  // "classes", ...; "" of an unknown one
// "classes (it ends in Softmax)", "unknown"
std::string answer_text(const Model& model, size_t output);
// "boxes,classes", or a name each.
Outcome<std::vector<AnswerKind>> read_answers(const std::vector<std::string>& texts);

// One kind for all outputs, or one for each, checked against the model: what is stored in it.
Outcome<std::vector<uint8_t>> answers_to_store(const std::vector<AnswerKind>& told, const Model& model);

}  // namespace intaglio::tools
