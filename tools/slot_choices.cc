#include "tools/slot_choices.h"

#include <algorithm>
#include <charconv>

#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/recover/equalization.h"
#include "calibrator/recover/recovery.h"
#include "intaglio/describe.h"
#include "runtime/op_search.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

constexpr const char* kMethods[kRangeMethodCount] = {
#define ITG_RANGE_METHOD(id, c_name, name, ...) name,
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
};
constexpr const char* kCompats[kCompatCount] = {"none", "tengine", "ppq"};
constexpr const char* kPolicyWords[] = {"per-tensor", "per-channel", "linear",      "exponential",
                                        "symmetric",  "asymmetric",  "power-of-two"};

template <size_t count>
int32_t index_of(const char* const (&words)[count], const std::string& word) {
  return static_cast<int32_t>(std::find(words, words + count, word) - words);
}

Outcome<int32_t> read_number(const std::string& text) {
  int32_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    return Failure{"'" + text + "' is no number"};
  return value;
}

// By the node's own name, or its first output's, or its number: "12" where no name is "12", "@12" always. -1: no such
// node.
int32_t find_node(const Model& model, const std::string& name, const Work& work) {
  int32_t found = -1;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    if (name == node.name || name == model.tensor(node.outputs[0]).name) found = n;
  }
  const auto number = read_number(name.rfind('@', 0) == 0 ? name.substr(1) : name);
  if (!number || *number < 0 || *number >= model.node_count()) return found;
  if (found < 0) return *number;
  if (found != *number)
    work.note("'" + name + "' is the name of node " + std::to_string(found) + ", which is taken; @" +
              std::to_string(*number) + " is the node of this number");
  return found;
}

Failure no_node(const LoadedModel& file, const std::string& name) {
  std::string list = "Network.inspect(ops=True)";
  if (wording_here() == Wording::kCommand) {
    const std::string path = file.is_imported() ? "" : pasted_word(file.path());
    list = "'intaglio inspect " + (path.empty() ? "NET.itg" : path) + " --ops'";
  }
  return {file.path() + " has no node " + name + "; " + list + " lists their numbers and names" +
          (file.is_imported() ? ", of the model that " + tool_word("import") + " makes of it" : "")};
}

// Whether the node has such a slot.
Outcome<Done> check_slot(const Model& model, const SlotSetting& setting) {
  const NodeInfo node = model.node(setting.node);
  const OpDef* const def = find_op(float_ops(), model, node);
  const std::string name = "node " + std::to_string(setting.node);
  const int32_t weights = def == nullptr ? -1 : def->quant.weight_input;
  if (setting.role == SlotRole::kWeights && weights < 0)
    return Failure{name + ", " + op_name(node.op) + ", has no weights"};
  if (setting.role != SlotRole::kInput) return Done{};
  const auto inputs = static_cast<int32_t>(node.inputs.size);
  if (setting.input < 0 || setting.input >= inputs || node.inputs[static_cast<size_t>(setting.input)] < 0)
    return Failure{name + ", " + op_name(node.op) + ", has no input " + std::to_string(setting.input) +
                   "; the first is in0"};
  if (weights >= 0 && (setting.input == weights || setting.input == def->quant.bias_input))
    return Failure{"input " + std::to_string(setting.input) + " of " + name + " holds its " +
                   (setting.input == weights
                        ? "weights, whose slot is '" + std::to_string(setting.node) + "/weights'"
                        : "biases, which have no slot")};
  return Done{};
}

// all, activations, weights, NODE, NODE/in0, NODE/out, NODE/weights
Outcome<Done> read_slot(const std::string& text, const LoadedModel& file, const Work& work,
                        SlotSetting& setting) {
  if (text == "all") return Done{};
  if (text == "activations" || text == "weights") {
    setting.role = text == "weights" ? SlotRole::kWeights : SlotRole::kActivations;
    return Done{};
  }
  std::string node = text;
  const size_t slash = text.rfind('/');
  const std::string place = slash == std::string::npos ? "" : text.substr(slash + 1);
  // A node may be called .../out: the whole name comes first.
  setting.node = find_node(file.model(), text, work);
  if (setting.node >= 0) return Done{};
  if (place == "out") {
    setting.role = SlotRole::kOutput;
  } else if (place == "weights") {
    setting.role = SlotRole::kWeights;
  } else if (place.rfind("in", 0) == 0) {
    const auto input = read_number(place.substr(2));
    if (!input)
      return Failure{input.message() + " in '" + place + "'; slots are in0, in1, ..., out and weights"};
    setting.role = SlotRole::kInput;
    setting.input = *input;
  }
  if (setting.role != SlotRole::kEvery) node = text.substr(0, slash);
  setting.node = find_node(file.model(), node, work);
  if (setting.node < 0) return no_node(file, node);
  return check_slot(file.model(), setting);
}

Outcome<Done> read_value(const std::string& key, const std::string& value, NamedSetting& words) {
  SlotSetting& setting = words.setting;
  if (key == "lo" || key == "hi") {
    const auto code = read_number(value);
    if (!code) return code.failure();
    constexpr int32_t kFurthest = 1 << 30;
    if (*code < -kFurthest || *code > kFurthest) return Failure{key + " is within 2^30 of 0, not " + value};
    (key == "lo" ? words.range.lo : words.range.hi) = *code;
    (key == "lo" ? words.has_lo : words.has_hi) = true;
    return Done{};
  }
  if (key == "observer") {
    words.range.observer = index_of(kMethods, value);
    if (words.range.observer < kRangeMethodCount) return Done{};
    std::string names;
    for (const char* const name : kMethods) names += std::string(names.empty() ? "" : ", ") + name;
    return Failure{"no observer '" + value + "'; there are " + names};
  }
  if (key == "bits") {
    const auto bits = read_number(value);
    if (!bits) return bits.failure();
    if (*bits < kMinBits || *bits > kMaxBits) return Failure{"bits are 2 to 32, not " + value};
    setting.bits = *bits;
    return Done{};
  }
  if (key == "rounding") {
    for (int32_t i = 0; i < kRoundingCount; ++i)
      if (value == rounding_name(i)) setting.rounding = i;
    if (setting.rounding >= 0) return Done{};
    std::string names;
    for (int32_t i = 0; i < kRoundingCount; ++i) names += std::string(i == 0 ? "" : ", ") + rounding_name(i);
    return Failure{"no rounding '" + value + "'; there are " + names};
  }
  if (key != "policy")
    return Failure{"no setting '" + key + "'; there are bits, lo, hi, rounding, policy and observer"};
  for (const std::string& word : split(value, '+')) {
    const int32_t bit = index_of(kPolicyWords, word);
    if (bit == 7) return Failure{"no property '" + word + "'; a policy is like per-tensor+linear+symmetric"};
    setting.policy = static_cast<QuantPolicy>(setting.policy | 1 << bit);
  }
  const Error error = check_policy(setting.policy);
  return error.ok() ? Outcome<Done>(Done{}) : Failure{error_text(error)};
}

}  // namespace

Outcome<NamedSetting> parse_setting(const std::string& text) {
  NamedSetting words;
  words.text = text;
  const std::string shown = option_word("set", text);
  const size_t equals = text.find('=');  // none of the keys has a colon
  const size_t colon = text.rfind(':', equals);
  if (equals == std::string::npos || colon == std::string::npos)
    return Failure{shown + ": is not like SLOT:bits=4,rounding=half-up"};
  words.slot = text.substr(0, colon);
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    const size_t at = part.find('=');
    if (at == std::string::npos) return Failure{shown + ": '" + part + "' is not like bits=4"};
    if (auto step = read_value(part.substr(0, at), part.substr(at + 1), words); !step)
      return Failure{shown + ": " + step.message()};
  }
  const SlotRange& range = words.range;
  if (words.has_lo != words.has_hi) return Failure{shown + ": give both lo and hi"};
  if (words.has_lo && range.lo >= range.hi) return Failure{shown + ": lo has to be below hi"};
  const int32_t bits = words.setting.bits > 0 ? words.setting.bits : 8;
  if (words.has_lo && int64_t{range.hi} - range.lo >= int64_t{1} << bits)
    return Failure{shown + ": these are more codes than " + std::to_string(bits) +
                   " bits have; give more bits"};
  return words;
}

namespace {

// Finds a setting's slot in this model.
Outcome<NamedSetting> find_slot(NamedSetting words, const LoadedModel& file, const Work& work) {
  const SlotSetting& setting = words.setting;
  const std::string shown = option_word("set", words.text);
  if (auto step = read_slot(words.slot, file, work, words.setting); !step)
    return Failure{shown + ": " + step.message()};
  SlotRange& range = words.range;
  if (range.observer >= 0 && setting.role == SlotRole::kWeights)
    return Failure{shown + ": weights have no observer, since their scales come from the weights"};
  constexpr int32_t kNarrowBits = 8;
  if (setting.role == SlotRole::kInput && setting.bits > kNarrowBits)
    work.note(shown +
              ": an input has never more bits than what writes it; set that one's out, or activations");
  range.node = setting.node;
  range.role = setting.role;
  range.input = setting.input;
  return words;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> range_method_names() { return {kMethods, kMethods + kRangeMethodCount}; }
std::vector<std::string> compat_names() { return {kCompats, kCompats + kCompatCount}; }

Outcome<RangeMethod> range_method_of(const std::string& name) {
  const int32_t method = index_of(kMethods, name);
  if (method < kRangeMethodCount) return static_cast<RangeMethod>(method);
  return Failure{option_word("method", name) + ": is no method; there are " + listed(range_method_names())};
}

Outcome<Compat> compat_of(const std::string& name) {
  const int32_t compat = index_of(kCompats, name);
  if (compat < kCompatCount) return static_cast<Compat>(compat);
  return Failure{option_word("compat", name) + ": is no tool that is known here; there are " +
                 listed(compat_names())};
}

Outcome<Done> set_quantization(const QuantizationChoice& choice, const LoadedModel& file, const Work& work,
                               QuantizationLists& lists, CalibratorOptions& options) {
  options.method = choice.method;
  options.compat = choice.compat;
  options.percentile = choice.percentile;
  options.symmetric = choice.symmetric;
  options.power_of_two = choice.power_of_two;
  options.weight_bits = choice.weight_bits;
  options.safe_pairs = choice.safe_pairs;
  options.int8_answers = choice.int8_answers;
  for (const std::string& name : choice.keep_float) {
    const int32_t node = find_node(file.model(), name, work);
    if (node < 0) return Failure{option_word("keep-float") + ": " + no_node(file, name).message};
    lists.float_nodes.push_back(node);
  }
  for (const NamedSetting& given : choice.set) {
    const auto found = find_slot(given, file, work);
    if (!found) return found.failure();
    const SlotSetting& form = found->setting;
    if (form.bits != 0 || form.rounding >= 0 || form.policy != 0) lists.settings.push_back(form);
    if (found->has_lo || found->range.observer >= 0) lists.ranges.push_back(found->range);
  }
  options.ranges = {lists.ranges.data(), lists.ranges.size()};
  options.float_nodes = {lists.float_nodes.data(), lists.float_nodes.size()};
  options.slots = {lists.settings.data(), lists.settings.size()};
  return Done{};
}

std::string recovery_names() {
  std::string names;
  for (const RecoveryRule& rule : recovery_rules())
    names += std::string(names.empty() ? "" : ", ") + rule.name;
  return names;
}

Outcome<std::optional<RecoveryMask>> parse_recover(const std::string& list) {
  using Chosen = std::optional<RecoveryMask>;
  if (list == "default") return Chosen();
  if (list == "none") return Chosen(recovery::kNone);
  RecoveryMask mask = recovery::kNone;
  for (size_t start = 0; start <= list.size();) {
    const size_t comma = std::min(list.find(',', start), list.size());
    const std::string name = list.substr(start, comma - start);
    RecoveryMask bit = recovery::kNone;
    for (const RecoveryRule& rule : recovery_rules())
      if (name == rule.name) bit = rule.bit;
    if (name == "default") bit = recovery::kDefault;
    if (bit == recovery::kNone)
      return Failure{option_word("recover") + ": '" + name + "' " +
                     (name == "none" ? "cannot be combined" : "is no recovery") + "; there are " +
                     recovery_names() + ", default for the usual ones, and none, alone"};
    mask |= bit;
    start = comma + 1;
  }
  return Chosen(mask);
}

std::vector<std::string> profile_names() { return {"host", "device"}; }

void set_recover(std::optional<RecoveryMask> chosen, const Model& fp32, size_t samples,
                 CalibratorOptions& options) {
  constexpr size_t kEnough = 8;
  if (options.one_pass) return;
  options.recover = chosen.value_or(recovery::kDefault);
  const bool scales_are_free = options.known.empty() && options.compat == Compat::kNone;
  if (!chosen && scales_are_free && samples >= kEnough && has_factors(fp32))
    options.recover |= recovery::kEqualization;
}

}  // namespace intaglio::tools
