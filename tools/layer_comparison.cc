#include "tools/layer_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/recover/channels/channels.h"
#include "calibrator/recover/recovery.h"
#include "intaglio/describe.h"
#include "tools/class_scores.h"
#include "tools/text.h"

namespace intaglio::tools {

void OutputErrors::keep(const Session& fp32) {
  const size_t outputs = fp32.model().outputs().size;
  kept_.clear();
  for (size_t o = 0; o < outputs; ++o)
    kept_.push_back(is_class(o) ? std::vector<float>() : real_values(fp32.output(static_cast<int32_t>(o))));
}

void OutputErrors::add(const Session& test) {
  const Span<const int32_t> outputs = test.model().outputs();
  sums_.resize(std::min(kept_.size(), outputs.size));
  for (size_t o = 0; o < sums_.size(); ++o) {
    if (is_class(o)) continue;
    Sums& sums = sums_[o];
    const TensorView view = test.output(static_cast<int32_t>(o));
    const std::vector<float> found = real_values(view);
    if (sums.name.empty()) sums.name = view.info.name;
    sums.is_finite = sums.is_finite && found.size() == kept_[o].size();
    for (size_t i = 0; i < found.size() && sums.is_finite; ++i) {
      const auto exact = static_cast<double>(kept_[o][i]);
      const double difference = std::abs(static_cast<double>(found[i]) - exact);
      sums.is_finite = std::isfinite(difference);
      if (!sums.is_finite) break;
      sums.low = sums.count == 0 ? exact : std::min(sums.low, exact);
      sums.high = sums.count == 0 ? exact : std::max(sums.high, exact);
      sums.largest = std::max(sums.largest, difference);
      sums.differences.add(difference);
      ++sums.count;
    }
  }
}

std::vector<OutputError> OutputErrors::errors() const {
  std::vector<OutputError> list;
  for (const Sums& sums : sums_)
    if (sums.is_finite && sums.count > 0)
      list.push_back({sums.name, sums.differences.value() / sums.count, sums.largest, sums.low, sums.high});
  return list;
}

Json json_of(const std::vector<OutputError>& errors) {
  Json list = Json::array();
  for (const OutputError& error : errors)
    list.push_back({{"name", error.name},
                    {"mean", error.mean},
                    {"largest", error.largest},
                    {"low", error.low},
                    {"high", error.high}});
  return list;
}

std::string error_words(const OutputError& error) {
  constexpr int kDigits = 4;
  const auto number = [](double value) { return general_text(value, kDigits); };
  return "off by " + number(error.mean) + " on average and " + number(error.largest) +
         " at most, in values from " + number(error.low) + " to " + number(error.high);
}

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

Outcome<Done> add_class(Session& session, const ClassOutput& output, const std::string& sample,
                        std::vector<int32_t>& classes) {
  const auto best = chosen_class(session, output);
  if (!best) return Failure{"sample " + sample + ": the model gives a score that is no number"};
  classes.push_back(*best);
  return Done{};
}

// For each node of the reference, whether it is a function that the int8 model looks up with factors of its channels.
Span<const bool> functions_with_factors(const Model& reference, const Model& test,
                                        Span<const LayerPair> pairs, Arena& arena) {
  const Span<bool> functions = arena.make<bool>(static_cast<size_t>(reference.node_count()));
  for (const LayerPair& pair : pairs)
    if (test.node(pair.node).op == Op::kGroupedLookup)
      functions[static_cast<size_t>(pair.reference_node)] = true;
  return functions;
}

bool have_equal_outputs(const Model& a, const Model& b, size_t output) {
  if (output >= b.outputs().size) return false;
  const TensorInfo x = a.tensor(a.outputs()[output]), y = b.tensor(b.outputs()[output]);
  return x.shape.elements() == y.shape.elements() && (x.dtype == DType::kS32) == (y.dtype == DType::kS32);
}

// "1x28x28x3", or several with commas between them.
std::string input_shapes(const Model& model) {
  std::string shapes;
  for (const int32_t input : model.inputs())
    shapes += (shapes.empty() ? "" : ", ") + shape_text(model.tensor(input).shape);
  return shapes;
}

// The channels of an equalized model differ from the reference's by powers of two, those of one with biases
// absorbed by constants. `groups`: ChannelGroups or ChannelShifts of the reference.
template <typename Groups>
void drop_moved_layers(const Model& reference, Span<const LayerPair> pairs, const Groups& groups,
                       std::vector<LayerReport>& layers) {
  for (size_t i = 0; i < pairs.size; ++i) {
    LayerReport& layer = layers[i];
    for (const int32_t input : reference.node(pairs[i].reference_node).inputs)
      if (input >= 0 && groups.is_free(input)) layer.noise_alone = kNothing;
    if (!groups.is_free(pairs[i].reference_tensor)) continue;
    layer.signal = layer.noise = layer.dot = layer.norm = layer.noise_alone = layer.clipped = kNothing;
  }
}

}  // namespace

double sqnr_db(double signal, double noise) {
  if (signal == 0 && noise == 0) return kNothing;
  return 10 * std::log10(signal / noise);
}
double sqnr_db(const LayerReport& layer) { return sqnr_db(layer.signal, layer.noise); }
double sqnr_alone_db(const LayerReport& layer) { return sqnr_db(layer.signal, layer.noise_alone); }

double cosine(const LayerReport& layer) {
  const double product = std::sqrt(layer.signal) * std::sqrt(layer.norm);
  return product > 0 ? layer.dot / product : kNothing;
}

OutputFigures output_figures(Span<const LayerReport> layers, Span<const int32_t> outputs) {
  if (outputs.empty()) return {kNothing, kNothing};
  NetworkError error;
  OutputFigures figures;
  for (const int32_t output : outputs) {
    const LayerReport& layer = layers[static_cast<size_t>(output)];
    error.add({layer.signal, layer.noise}, outputs.size);
    figures.cosine += cosine(layer) / static_cast<double>(outputs.size);
  }
  figures.sqnr = sqnr_db(error.signal, error.noise);
  return figures;
}

bool is_one_class(const std::vector<int32_t>& classes) {
  return classes.size() > 1 && classes[0] >= 0 &&
         std::all_of(classes.begin(), classes.end(), [&](int32_t c) { return c == classes[0]; });
}

std::optional<double> agreement_of(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  size_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

std::optional<double> Comparison::agreement() const {
  return are_classes ? agreement_of(reference_classes, test_classes) : std::nullopt;
}

Outcome<Comparison> compare_models(const LoadedModel& reference_file, LoadedSession& reference,
                                   const Model& test_model, LoadedSession& test, const Samples& samples,
                                   bool alone, Work& work, const BothRan& ran) {
  const Model& reference_model = reference_file.model();
  const std::string wanted = input_shapes(reference_model), given = input_shapes(test_model);
  if (wanted != given)
    return Failure{reference_file.path() + ": takes " + wanted + ", and the model that it is compared with " +
                   given + "; name the model that it was made from"};
  HostArena memory;
  const Span<const LayerPair> pairs = pair_layers(reference_model, test_model, memory.arena());
  Comparison result;
  result.layers.resize(pairs.size);
  const Span<const int32_t> outputs = output_layers(reference_model, test_model, pairs, memory.arena());
  result.outputs.assign(outputs.begin(), outputs.end());
  const Span<LayerReport> layers{result.layers.data(), result.layers.size()};
  std::optional<ClassOutput> classes = possible_class_output(reference_model);
  if (!classes) classes = class_output(reference_model);
  if (!may_give_classes(reference_model, samples) && !gives_classes(reference_model, samples))
    classes.reset();
  if (classes && !have_equal_outputs(reference_model, test_model, classes->output)) classes.reset();
  const Span<const OutputTensor> parts = output_tensors(reference_model, memory.arena());
  const bool by_channels = has_channels_of_their_own(reference_model);
  const bool has_parts = by_channels || parts.size > 1;
  OutputComparison by_parts(reference_model, test_model, parts, by_channels);
  SampleErrors part_errors;
  part_errors.name(by_parts.names());
  // A presumed output is classes by all samples alone: errors of all outputs are at hand then.
  OutputErrors errors(classes && !classes->is_presumed ? classes : std::nullopt);
  for (size_t i = 0; i < samples.count(); ++i) {
    work.show("comparing", i, samples.count());
    // A run may reuse the memory of its inputs.
    for (int round = 0; round < (alone ? 2 : 1); ++round) {
      if (auto loaded = samples.load(i, *reference); !loaded) return loaded.failure();
      copy_inputs(*reference, *test);
      compare_layers(*reference, *test, pairs, layers, round == 1);
      if (round == 1) continue;
      if (has_parts) {
        if (auto loaded = samples.load(i, *reference); !loaded) return loaded.failure();
        const std::vector<NetworkError> found = by_parts.run(*reference, *test);
        part_errors.add(found, by_parts.take_channels());
      }
      errors.keep(*reference);
      errors.add(*test);
      if (ran)
        if (auto step = ran(i); !step) return step.failure();
      if (!classes) continue;
      if (auto added = add_class(*reference, *classes, samples.name(i), result.reference_classes); !added)
        return added.failure();
      if (auto added = add_class(*test, *classes, samples.name(i), result.test_classes); !added)
        return added.failure();
    }
  }
  work.clear();
  result.parts = part_errors.parts(false);
  result.are_classes = gives_classes(reference_model, samples) && !result.reference_classes.empty() &&
                       !(classes->is_presumed && is_one_class(result.reference_classes));
  if (!result.are_classes || !classes->is_presumed) result.errors = errors.errors();
  for (LayerReport& layer : result.layers) layer.clipped /= static_cast<double>(samples.count());
  result.scaled = std::strstr(test_model.calibration().options, kChannelsScaled) != nullptr;
  result.shifted = std::strstr(test_model.calibration().options, kChannelsShifted) != nullptr;
  if (result.scaled)
    drop_moved_layers(reference_model, pairs, group_channels(reference_model, memory.arena()), result.layers);
  const bool before_depthwise = std::strstr(test_model.calibration().options, kDepthwiseScaled) != nullptr;
  if (before_depthwise)
    drop_moved_layers(
        reference_model, pairs,
        group_channels(reference_model, memory.arena(), ChannelSets::kDepthwise,
                       functions_with_factors(reference_model, test_model, pairs, memory.arena())),
        result.layers);
  result.scaled = result.scaled || before_depthwise;
  if (result.shifted)
    drop_moved_layers(reference_model, pairs, find_shifts(reference_model, memory.arena()), result.layers);
  return result;
}

NodeNumbers::NodeNumbers(const Model& fp32) {
  for (int32_t n = 0; n < fp32.node_count(); ++n)
    for (const int32_t t : fp32.node(n).outputs) {
      nodes_[fp32.tensor(t).name] = n;
      names_[fp32.tensor(t).name] = fp32.node(n).name;
    }
}

std::string NodeNumbers::name(const std::string& tensor) const {
  const auto found = names_.find(tensor);
  return found == names_.end() || found->second.empty() ? tensor : found->second;
}

int32_t NodeNumbers::of(const std::string& tensor) const {
  const auto found = nodes_.find(tensor);
  return found == nodes_.end() ? -1 : found->second;
}

std::string NodeNumbers::text(const std::string& tensor) const {
  const int32_t node = of(tensor);
  return node < 0 ? "" : std::to_string(node);
}

Json NodeNumbers::json(const std::string& tensor) const {
  const int32_t node = of(tensor);
  return node < 0 ? Json(nullptr) : Json(node);
}

namespace {

constexpr double kMuchClipped = 0.01, kSoundAlone = 30.0, kFewCodes = 48.0;

// Mean squared error of rounding to the output's own steps, and the share of the layer's error that it
// explains.
double rounding_share(const LayerFacts& facts) {
  const LayerReport& layer = *facts.report;
  if (facts.values <= 0 || !(layer.noise_alone > 0) || facts.output.quantization.scales.size != 1) return 0;
  const auto step = static_cast<double>(facts.output.quantization.scales[0]);
  return step * step / 12 * static_cast<double>(facts.values) / layer.noise_alone;
}

}  // namespace

LayerAdvice advise(const LayerFacts& facts) {
  const LayerReport& layer = *facts.report;
  const double alone = sqnr_alone_db(layer);
  LayerAdvice advice;
  if (!facts.is_int8) {
    advice.reason = facts.reads_int8
                        ? "It reads codes and gives the answer in FP32; its error comes from its "
                          "weights' codes and from the layers before it."
                        : "It runs in FP32; its error comes from the layers before it.";
    advice.sound = true;
  } else if (alone >= kSoundAlone || std::isnan(alone)) {
    advice.reason = "It is exact enough; what is wrong at its output comes from the layers before it.";
    advice.sound = true;
  } else if (layer.clipped > kMuchClipped) {
    advice.reason =
        decimal(100 * layer.clipped, 1) +
        " % of its values lie beyond the chosen range and are cut off. More samples keep them, or a "
        "range as wide as the values seen (" +
        option_word("method", "minmax") + ").";
  } else if (facts.used_codes < kFewCodes) {
    advice.reason = "A few far values stretch its range: nearly all others share " +
                    decimal(facts.used_codes, 0) + " of the 256 codes. In FP32 this layer loses nothing.";
  } else if (facts.has_weights && rounding_share(facts) < 0.5) {
    advice.reason =
        "Its rounded weights make most of the error, not the codes of its output. Recoveries choose them so that "
        "the output suffers least (" +
        option_word("recover", "default,adaround") + ").";
  } else {
    advice.reason = "256 codes are few for what it puts out. In FP32 this layer loses nothing.";
  }
  return advice;
}

namespace {

constexpr size_t kNamesInWarning = 3;

}  // namespace

void Suspects::add(const std::string& name) {
  if (++count_ > kNamesInWarning) return;
  names_ += (names_.empty() ? "" : ", ") + name;
}

void Suspects::warn(Work& work, const std::string& what) const {
  if (count_ == 0) return;
  work.warn(what + " (" + (count_ == 1 ? "sample " : std::to_string(count_) + " of them: ") + names_ +
            (count_ > kNamesInWarning ? ", ...)" : ")"));
}

std::string range_text(const Range& range) {
  return general_text(range.lo, 4) + " to " + general_text(range.hi, 4);
}

}  // namespace intaglio::tools
