#include "calibrator/ranges/slot_facts.h"

#include <limits>

#include "calibrator/ranges/observed_range.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kNone = -1, kSeveral = -2;  // readers

// What is farther than this, and so many times as far as all else, masks: its sign counts. The others would lose their codes to it.
constexpr double kLeastOfMasks = 1024.0, kFarFromAll = 16.0;

double fill_of(const NodeInfo& node) {
  const auto* const pad = node.options.get<PadOptions>();
  return pad == nullptr ? 0.0 : static_cast<double>(pad->value);
}

}  // namespace

SlotFacts::SlotFacts(const Model& model, const CalibratorOptions& options, const SlotMap& map, Arena& arena)
    : model_(model),
      options_(options),
      map_(map),
      writers_(arena.make<int32_t>(static_cast<size_t>(model.tensor_count()))),
      known_(arena.make<int32_t>(static_cast<size_t>(map.slots.count()))),
      readers_(arena.make<int32_t>(static_cast<size_t>(map.slots.count()))),
      in_head_(arena.make<bool>(static_cast<size_t>(model.tensor_count()))),
      scores_(arena.make<Reach>(static_cast<size_t>(model.tensor_count()))),
      non_negative_(non_negative_tensors(model, arena)) {
  for (size_t t = 0; t < writers_.size; ++t) writers_[t] = writer_of(model, static_cast<int32_t>(t));
  if (!in_head_.empty()) find_head(model, in_head_);
  for (int32_t n = 0; n < model.node_count(); ++n) has_fills_ = has_fills_ || fill_of(model.node(n)) != 0.0;
  find_known();
  find_readers();
  find_scores();
}

void SlotFacts::find_known() {
  for (int32_t& known : known_) known = -1;
  const Span<const KnownParams> list = options_.known;
  for (size_t i = 0; i < list.size && !known_.empty(); ++i) {
    if (model_.tensor(list[i].tensor).is_constant()) continue;
    const int32_t root = map_.slots.root(slot_of(map_, list[i]));
    if (list[i].node >= 0 && root == map_.slots.root(list[i].tensor))
      continue;  // it reads the tensor's own codes
    int32_t& known = known_[static_cast<size_t>(root)];
    if (known < 0 || list[i].tensor == map_.tensor_of[static_cast<size_t>(root)])
      known = static_cast<int32_t>(i);
  }
}

void SlotFacts::find_readers() {
  for (int32_t& reader : readers_) reader = kNone;
  const auto add = [this](int32_t tensor, int32_t node) {
    if (tensor < 0 || model_.tensor(tensor).is_constant() || readers_.empty()) return;
    int32_t& reader = readers_[static_cast<size_t>(map_.slots.root(tensor))];
    reader = reader == kNone ? node : kSeveral;
  };
  for (int32_t n = 0; n < model_.node_count(); ++n)
    for (const int32_t input : model_.node_inputs(n)) add(input, n);
  for (const int32_t output : model_.outputs()) add(output, kSeveral);
}

// Whether a node behind an answer gives one: it computes of one tensor alone, or joins several.
bool SlotFacts::is_behind_answer(int32_t node) const {
  const QuantRule* const own = rule(node);
  if (own == nullptr || own->weight_input >= 0 || own->normalizes) return false;
  int32_t operands = 0;
  for (const int32_t input : model_.node_inputs(node))
    operands += input >= 0 && !model_.tensor(input).is_constant() ? 1 : 0;
  return operands == 1 || own->inputs_as_output;
}

void SlotFacts::find_scores() {
  if (scores_.empty()) return;
  for (const int32_t output : model_.outputs()) scores_[static_cast<size_t>(output)] = Reach::kAnswer;
  for (int32_t n = model_.node_count() - 1; n >= 0; --n) {
    const NodeInfo node = model_.node(n);
    Reach own = scores_[static_cast<size_t>(node.outputs[0])];
    if (node.outputs.size != 1 || own == Reach::kNowhere || !is_behind_answer(n)) own = Reach::kElsewhere;
    if (own == Reach::kAnswer && rule(n)->output == OutputRule::kFixed) own = Reach::kScore;
    for (const int32_t input : node.inputs) {
      if (input < 0) continue;
      Reach& reach = scores_[static_cast<size_t>(input)];
      reach = reach == Reach::kNowhere || reach == own ? own : Reach::kElsewhere;
    }
  }
}

bool SlotFacts::is_root(int32_t slot) const {
  const QuantConfig& config = map_.slots.own(slot);
  return config.state == QuantState::kInitial && !config.parameter;
}

const KnownParams* SlotFacts::known_at(int32_t slot) const {
  const int32_t known = known_[static_cast<size_t>(map_.slots.root(slot))];
  return known < 0 ? nullptr : &options_.known[static_cast<size_t>(known)];
}

bool SlotFacts::is_non_negative(int32_t tensor) const {
  return non_negative_[static_cast<size_t>(tensor)] && options_.compat != Compat::kTengine;
}

Bounds SlotFacts::bounds(int32_t tensor) const {
  Bounds bounds{is_non_negative(tensor) ? 0.0 : -kInfinity, kInfinity};
  if (rule(writer(tensor)) != nullptr) {
    const auto clamp = model_.node(writer(tensor)).options.value<Clamp>();
    const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
    if (lo < 0.0 || options_.compat != Compat::kTengine) bounds.lo = lo > bounds.lo ? lo : bounds.lo;
    bounds.hi = hi;
  }
  return bounds;
}

Range SlotFacts::with_fills(int32_t root, Range range) const {
  const double reach = range.hi > -range.lo ? range.hi : -range.lo;
  for (int32_t n = 0; has_fills_ && n < model_.node_count(); ++n) {
    const NodeInfo node = model_.node(n);
    const double fill = fill_of(node), size = fill < 0.0 ? -fill : fill;
    if (fill == 0.0 || map_.slots.root(node.outputs[0]) != root) continue;
    if (size > kLeastOfMasks && size > kFarFromAll * reach) continue;
    if (fill < range.lo) range.lo = fill;
    if (fill > range.hi) range.hi = fill;
  }
  return range;
}

int32_t SlotFacts::input_at(int32_t tensor) const {
  for (size_t i = 0; i < model_.inputs().size; ++i)
    if (model_.inputs()[i] == tensor) return static_cast<int32_t>(i);
  return -1;
}

const QuantRule* SlotFacts::rule(int32_t node) const {
  const OpDef* const def = node < 0 ? nullptr : find_op(float_ops(), model_, model_.node(node));
  return def == nullptr ? nullptr : &def->quant;
}

const QuantRule* SlotFacts::fixing_rule(int32_t tensor) const {
  const QuantRule* const found = rule(writer(tensor));
  return found != nullptr && found->output == OutputRule::kFixed ? found : nullptr;
}

bool SlotFacts::is_function(int32_t node) const {
  const QuantRule* const found = rule(node);
  return found != nullptr && found->unary != nullptr;
}

int32_t SlotFacts::function_reader(int32_t tensor) const {
  const int32_t node = reader(tensor);
  return is_function(node) && !is_function(reader(model_.node_outputs(node)[0])) ? node : -1;
}

namespace {

bool constant_is_non_negative(const TensorInfo& info) {
  if (info.dtype != DType::kF32) return true;  // an index is no quantity
  const auto* values = reinterpret_cast<const float*>(info.constant.data);
  for (size_t i = 0; i < info.constant.size / sizeof(float); ++i)
    if (!(values[i] >= 0.0f)) return false;
  return true;
}

bool pixels_are_non_negative(const ImageInput& image) {
  for (int32_t c = 0; c < image.channels; ++c)
    for (const float pixel : {0.0f, 255.0f})
      if (!((pixel - image.mean[c]) * image.norm[c] >= 0.0f)) return false;
  return true;
}

bool writes_non_negative(const Model& model, const NodeInfo& node, Span<const bool> known) {
  const auto clamp = node.options.value<Clamp>();
  if (clamp.min >= 0.0f) return true;
  if (clamp.max < 0.0f || node.options.value<PadOptions>().value < 0.0f) return false;
  const OpDef* const def = find_op(float_ops(), model, node);
  if (def == nullptr || def->quant.sign == SignRule::kAny) return false;
  if (def->quant.sign == SignRule::kNonNegative) return true;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const bool is_operand = node.inputs[i] >= 0 && static_cast<int8_t>(i) != def->quant.parameter_input;
    if (is_operand && !known[static_cast<size_t>(node.inputs[i])]) return false;
  }
  return true;
}

}  // namespace

Span<const bool> non_negative_tensors(const Model& model, Arena& arena) {
  const Span<bool> known = arena.make<bool>(static_cast<size_t>(model.tensor_count()));
  if (known.empty()) return known;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.is_constant()) known[static_cast<size_t>(t)] = constant_is_non_negative(info);
  }
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    known[static_cast<size_t>(model.inputs()[static_cast<size_t>(image.input)])] =
        pixels_are_non_negative(image);
  }
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const bool proved = writes_non_negative(model, node, known);
    for (const int32_t output : node.outputs) known[static_cast<size_t>(output)] = proved;
  }
  return known;
}

}  // namespace intaglio
