#include "tools/answer_kind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

constexpr int32_t kFewestPresumed = 10, kWidthOfEmbeddings = 64;

struct KindName {
  AnswerKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 5> kNames = {{{AnswerKind::kClasses, "classes"},
                                             {AnswerKind::kValues, "values"},
                                             {AnswerKind::kBoxes, "boxes"},
                                             {AnswerKind::kMap, "map"},
                                             {AnswerKind::kEmbedding, "embedding"}}};

// Operators behind which the values are the same, elsewhere or of another type.
bool moves(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kQuantize || op == Op::kDequantize ||
         op == Op::kCast;
}

// The node that computed an output's values; -1: none, as of a model input.
int32_t maker_of(const Model& model, int32_t tensor) {
  int32_t writer = writer_of(model, tensor);
  while (writer >= 0 && moves(model.node(writer).op)) writer = writer_of(model, model.node_inputs(writer)[0]);
  return writer;
}

bool reads_logarithm(const Model& model, const NodeInfo& node) {
  const int32_t maker = node.op == Op::kSub ? maker_of(model, node.inputs[1]) : -1;
  return maker >= 0 && model.node(maker).op == Op::kLog;
}

TensorInfo output_info(const Model& model, size_t output) { return model.tensor(model.outputs()[output]); }

// Whether a node computes probabilities of two classes.
bool is_sigmoid(const Model& model, int32_t node) {
  constexpr float kStepOfSigmoid = 1.0f / 256;
  if (node < 0) return false;
  const Quantization& codes = model.tensor(model.node_outputs(node)[0]).quantization;
  const Op op = model.node(node).op;
  // A table of a Sigmoid's codes has its scale.
  return op == Op::kSigmoid || (op == Op::kLookup && codes.scales.size == 1 &&
                                codes.scales[0] == kStepOfSigmoid && codes.zero_point == -128);
}

// The kind by the end of the network; unknown where it says nothing.
Answer answer_by_end(const Model& model, size_t output) {
  const int32_t maker = maker_of(model, model.outputs()[output]);
  if (maker < 0) return {};
  const NodeInfo node = model.node(maker);
  const int32_t row = row_length(model, output);
  // Many places with a class each are a map, whatever axis the classes lie along.
  const AnswerKind classes = row > 1 ? AnswerKind::kClasses : AnswerKind::kMap;
  if (node.op == Op::kSoftmax) return {classes, "it ends in Softmax"};
  if (reads_logarithm(model, node)) return {classes, "it ends in LogSoftmax"};
  if (node.op == Op::kTopK && output_info(model, output).dtype == DType::kS32)
    return {row == 1   ? AnswerKind::kClasses
            : row == 0 ? AnswerKind::kMap
                       : AnswerKind::kUnknown,
            "it gives indices"};
  if (row == 1 && is_sigmoid(model, maker)) return {AnswerKind::kClasses, "it ends in one Sigmoid"};
  if (node.op == Op::kL2Normalize) return {AnswerKind::kEmbedding, "it ends in an L2 normalization"};
  if (node.op == Op::kTanh) return {AnswerKind::kValues, "it ends in Tanh"};
  return {};
}

// Whether scores of classes seldom end so: behind a bound (ReLU), a function of one variable (a Sigmoid of each), or a table of one.
bool ends_unlike_scores(const Model& model, size_t output) {
  const int32_t maker = maker_of(model, model.outputs()[output]);
  if (maker < 0) return false;
  const NodeInfo node = model.node(maker);
  const OpDef* const def = find_op(all_ops(), model, node);
  const Clamp* const clamp = node.options.get<Clamp>();
  return node.op == Op::kLookup || node.op == Op::kGroupedLookup ||
         (def != nullptr && def->quant.unary != nullptr) || (clamp != nullptr && std::isfinite(clamp->min));
}

bool is_as_long_as_an_input(const Model& model, size_t output) {
  const int64_t elements = output_info(model, output).shape.elements();
  return std::any_of(model.inputs().begin(), model.inputs().end(),
                     [&](int32_t input) { return model.tensor(input).shape.elements() == elements; });
}

}  // namespace

int32_t picture_batch(const Model& model) {
  if (model.image_count() == 0) return 1;
  const int32_t batch = model.tensor(model.inputs()[static_cast<size_t>(model.image(0).input)]).shape[0];
  const auto has_it = [&](int32_t t) {
    const Shape& shape = model.tensor(t).shape;
    return shape.rank > 1 && shape[0] == batch;
  };
  return std::all_of(model.outputs().begin(), model.outputs().end(), has_it) ? batch : 1;
}

int32_t row_length(const Model& model, size_t output) {
  const Shape shape = output_info(model, output).shape;
  if (shape.rank == 0) return 0;
  return shape.back(0) * int64_t{picture_batch(model)} == shape.elements() ? shape.back(0) : 0;
}

Answer answer_of(const Model& model, size_t output) {
  const Span<const uint8_t> told = model.answers();
  const uint8_t kind = output < told.size ? told[output] : 0;
  if (kind > 0 && kind <= kNames.size()) return {static_cast<AnswerKind>(kind), "import was told so"};
  if (Answer found = answer_by_end(model, output); found.kind != AnswerKind::kUnknown) return found;
  const TensorInfo info = output_info(model, output);
  const int32_t row = row_length(model, output);
  if (row == 1) return {AnswerKind::kValues, "it is one number"};
  if (model.outputs().size != 1 || row < kFewestPresumed || row % kWidthOfEmbeddings == 0) return {};
  if (info.dtype == DType::kS32 || ends_unlike_scores(model, output) || is_as_long_as_an_input(model, output))
    return {};
  return {AnswerKind::kClasses, "presumed of " + std::to_string(row) + " numbers", true};
}

namespace {

ClassOutput class_output_at(const Model& model, size_t output, bool is_presumed) {
  return {output, row_length(model, output), output_info(model, output).dtype == DType::kS32, is_presumed,
          is_sigmoid(model, maker_of(model, model.outputs()[output]))};
}

}  // namespace

std::optional<ClassOutput> class_output(const Model& model) {
  std::optional<ClassOutput> found;
  for (size_t i = 0; i < model.outputs().size; ++i) {
    const Answer answer = answer_of(model, i);
    if (answer.kind != AnswerKind::kClasses) continue;
    if (found) return std::nullopt;
    found = class_output_at(model, i, answer.is_presumed);
  }
  return found;
}

std::optional<ClassOutput> possible_class_output(const Model& model) {
  std::optional<ClassOutput> found = class_output(model);
  const bool is_open = model.outputs().size == 1 && answer_of(model, 0).kind == AnswerKind::kUnknown;
  if (!found && is_open && row_length(model, 0) > 1) found = class_output_at(model, 0, true);
  return found && found->is_index ? std::nullopt : found;
}

bool has_channels_of_their_own(const Model& model) {
  bool any = false;
  for (size_t i = 0; i < model.outputs().size; ++i) {
    const AnswerKind kind = answer_of(model, i).kind;
    // A Sigmoid of each number gives shares of one: what is small is little of the same thing.
    if (kind == AnswerKind::kUnknown && is_sigmoid(model, maker_of(model, model.outputs()[i]))) continue;
    any = true;
    const bool counts =
        kind == AnswerKind::kUnknown || kind == AnswerKind::kValues || kind == AnswerKind::kBoxes;
    if (!counts || (row_length(model, i) > 0 && is_as_long_as_an_input(model, i))) return false;
  }
  return any;
}

const char* answer_name(AnswerKind kind) {
  for (const KindName& known : kNames)
    if (known.kind == kind) return known.name.data();
  return "";
}

std::string answer_text(const Model& model, size_t output) {
  const Answer answer = answer_of(model, output);
  return answer.kind == AnswerKind::kUnknown
             ? "unknown"
             : std::string(answer_name(answer.kind)) + " (" + answer.reason + ")";
}

Outcome<std::vector<AnswerKind>> read_answers(const std::vector<std::string>& texts) {
  std::vector<AnswerKind> kinds;
  for (const std::string& text : texts)
    for (const std::string& name : split(text, ',')) {
      const auto* const known =
          std::find_if(kNames.begin(), kNames.end(), [&](const KindName& one) { return name == one.name; });
      if (known == kNames.end())
        return Failure{option_word("answers") + ": '" + name +
                       "' is none of classes, values, boxes, map and embedding"};
      kinds.push_back(known->kind);
    }
  return kinds;
}

Outcome<std::vector<uint8_t>> answers_to_store(const std::vector<AnswerKind>& told, const Model& model) {
  const size_t outputs = model.outputs().size;
  std::vector<uint8_t> stored;
  if (told.empty()) return stored;
  if (told.size() != 1 && told.size() != outputs)
    return Failure{option_word("answers") + ": names " + std::to_string(told.size()) +
                   " kinds, and the network has " + std::to_string(outputs) +
                   (outputs == 1 ? " output" : " outputs") + "; give one for all, or one for each"};
  for (size_t i = 0; i < outputs; ++i) {
    const AnswerKind kind = told[told.size() == 1 ? 0 : i];
    const TensorInfo info = output_info(model, i);
    if (kind == AnswerKind::kClasses && row_length(model, i) == 0)
      return Failure{option_word("answers") + ": the output '" + info.name + "' (" + shape_text(info.shape) +
                     ") is no row of scores, a class each; 'map' is a class for each place"};
    stored.push_back(static_cast<uint8_t>(kind));
  }
  return stored;
}

}  // namespace intaglio::tools
