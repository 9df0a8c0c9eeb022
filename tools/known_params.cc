#include "tools/known_params.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/calibration_facts.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/quantization/int8_nodes.h"
#include "importers/draft/quantized_tables.h"
#include "importers/wide_weights.h"
#include "runtime/liveness.h"
#include "tools/calibration_figures.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {
namespace {

constexpr size_t kMostNames = 20;
constexpr uint64_t kMaxMapBytes = uint64_t{1} << 24;

std::string remedy_of_samples() {
  return wording_here() == Wording::kPython ? "batches" : "intaglio calibrate --params FILE --images DIR";
}

// The first names, and how many more there are.
std::string listed(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) text += (i == 0 ? "" : between) + names[i];
  if (names.size() > kMostNames)
    text += between + ("and " + std::to_string(names.size() - kMostNames) + " more");
  return text;
}

struct Bytes {
  std::vector<uint8_t> bytes;
  static bool write(void* context, Span<const uint8_t> bytes) {
    static_cast<Bytes*>(context)->bytes.assign(bytes.begin(), bytes.end());
    return true;
  }
};

Outcome<Done> finish_params(const LoadedModel& file, const CalibratorOptions& options,
                            const ModelSink& sink) {
  const auto needs = Calibrator::measure(file.model(), options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(file.model(), {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  const Error error = calibrator->finish(sink);
  return error.ok() ? Outcome<Done>(Done{}) : file.failure(error);
}

// The options that a model's provenance states, less the word that its parameters were known.
std::string options_of(const std::vector<uint8_t>& bytes) {
  FileBytes aligned(bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.data());
  const auto model = Model::open(aligned.span());
  if (!model) return "";
  std::string text = model->calibration().options;
  const std::string known = ", known parameters";
  if (const size_t at = text.find(known); at != std::string::npos) text.erase(at, known.size());
  return text;
}

}  // namespace

std::string params_format_names(bool written) {
  std::string names;
  for (int32_t i = 0; i < kParamsFormatCount; ++i) {
    const auto format = static_cast<ParamsFormat>(i);
    if (written && format == ParamsFormat::kModel) continue;
    names += (names.empty() ? "" : ", ") + std::string(params_format_name(format));
  }
  return names;
}

Outcome<ParamsFormat> params_format(const std::string& name, const std::string& path) {
  for (int32_t i = 0; i < kParamsFormatCount; ++i)
    if (name == params_format_name(static_cast<ParamsFormat>(i))) return static_cast<ParamsFormat>(i);
  if (!name.empty())
    return Failure{"'" + name + "' is no format of parameters; there are " + params_format_names()};
  if (const auto format = params_format_of(path)) return *format;
  return Failure{
      path +
      ": its name does not tell its format; give it with --format (calibrate, simulate: --params-format): " +
      params_format_names()};
}

Outcome<ParamsFormat> params_format_of_file(const ParamsChoice& choice) {
  if (const auto file = open_regular_file(choice.file, UINT64_MAX); !file) return file.failure();
  return params_format(choice.format, choice.file);
}

Outcome<ParamsTable> read_named_params(const ParamsChoice& choice, ParamsNameMap* names) {
  const auto format = params_format_of_file(choice);
  if (!format) return format.failure();
  auto table = read_params(choice.file, *format);
  if (!table || choice.map.empty()) return table;
  const auto text = read_file(choice.map, kMaxMapBytes);
  if (!text) return text.failure();
  auto map = read_name_map(choice.map, {reinterpret_cast<const char*>(text->data()), text->size()});
  if (!map) return map.failure();
  rename_entries(*table, *map, choice.map);
  if (names != nullptr) *names = std::move(*map);
  return table;
}

namespace {

// The numbers as the nearest codes of a scale a channel, which `scales` gets, as quantized networks with such weights are read. A
// weight that has another code moves into that.
std::vector<float> nearest_weights(const TensorInfo& info, const std::vector<float>& numbers,
                                   std::vector<float>& scales) {
  const auto* const old = reinterpret_cast<const float*>(info.constant.data);
  std::vector<float> weights(old, old + info.shape.elements());
  const size_t inputs = weights.size() / static_cast<size_t>(info.shape[0]);
  scales.clear();
  for (size_t first = 0; first < weights.size(); first += inputs) {
    float largest = 0.0f;
    for (size_t i = first; i < first + inputs; ++i) largest = std::max(largest, std::fabs(numbers[i]));
    const float scale = std::max(largest / 127.0f, 0x1p-40f);
    scales.push_back(scale);
    std::vector<double> exact;
    for (size_t i = first; i < first + inputs; ++i) exact.push_back(numbers[i] / double{scale});
    const std::vector<int32_t> codes = importers::near_codes(exact);
    for (size_t i = 0; i < inputs; ++i) {
      constexpr double kWithin = 0.49;
      weights[first + i] = static_cast<float>(
          std::clamp<double>(weights[first + i], (codes[i] - kWithin) * scale, (codes[i] + kWithin) * scale));
    }
  }
  return weights;
}

// Scales of another tool come with its sums, which are as exact as they can be, as in a quantized network.
constexpr uint8_t kExactAddBits = 20;

bool has_coarser_sums(const Model& model) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const auto* const sum = node.options.get<AddOptions>();
    if (sum != nullptr && sum->add_bits < kExactAddBits) return true;
  }
  return false;
}

// The network for which the table's scales give the file's weights; the table then has its names.
Outcome<LoadedModel> with_own_weights(const LoadedModel& file, std::vector<OtherWeights> others,
                                      ParamsTable& table, const std::string& path, const Work& work) {
  HostArena memory;
  Graph graph = graph_of(file.model(), memory.arena());
  std::vector<WideLayer> layers;
  std::map<std::string, ParamsEntry> entries;  // by the tensor's name, which is not always the table's
  for (OtherWeights& other : others) {
    ParamsEntry& entry = table.entries[other.entry];
    const int32_t index = file.model().node_inputs(other.layer)[1];
    TensorInfo& weights = graph.tensors[static_cast<size_t>(index)];
    if (!other.numbers.empty()) {
      const std::vector<float> nearest = nearest_weights(weights, other.numbers, entry.scales);
      const Span<float> kept = memory.arena().copy(Span<const float>{nearest.data(), nearest.size()});
      weights.constant = {reinterpret_cast<const uint8_t*>(kept.data), kept.size * sizeof(float)};
    } else {
      layers.push_back({other.layer, std::move(other.codes), entry.scales});
    }
    entry.zero_point = 0;
    entry.lo = -128;
    entry.hi = 127;
    entries[weights.name] = entry;
  }
  for (GraphNode& node : graph.nodes)
    if (auto* const sum = node.options.get<AddOptions>()) sum->add_bits = kExactAddBits;
  const SplitWeights split = split_wide_weights(graph, memory.arena(), layers);
  if (!split.note.empty()) work.note(path + ": " + split.note);
  std::set<std::string> left;
  for (const TensorInfo& tensor : graph.tensors) left.insert(tensor.name);
  for (const SplitTensor& tensor : split.tensors) {
    if (const ParamsEntry* const of = table.find(ParamsOf::kTensor, tensor.of))
      entries.emplace(tensor.of, *of);
    const auto of = entries.find(tensor.of);
    if (of == entries.end()) continue;
    ParamsEntry entry = of->second;
    entry.name = tensor.name;
    if (!tensor.channels.empty() && entry.scales.size() > 1) {
      entry.scales.clear();
      for (const int32_t c : tensor.channels)
        entry.scales.push_back(of->second.scales[static_cast<size_t>(c)]);
    }
    table.entries.push_back(std::move(entry));
  }
  for (const SplitTensor& tensor : split.tensors)
    if (left.count(tensor.of) == 0) table.remove(tensor.of);
  const auto bytes = finish_model(graph, all_ops(), memory.arena());
  if (!bytes) return file.failure(bytes.error());
  FileBytes own(bytes->size);
  std::copy(bytes->begin(), bytes->end(), own.data());
  return file.is_imported() ? LoadedModel::of_import(file.path(), std::move(own))
                            : LoadedModel::of_bytes(file.path(), std::move(own));
}

}  // namespace

Outcome<std::optional<LoadedModel>> KnownParamsFile::open(const ParamsChoice& choice, const LoadedModel& file,
                                                          const Work& work) {
  if (choice.file.empty()) return std::optional<LoadedModel>();
  path_ = choice.file;
  map_ = choice.map;
  auto table = read_named_params(choice, &names_);
  if (!table) return table.failure();
  table_ = std::move(*table);
  auto resolved = resolve_params(table_, file.model(), path_);
  if (!resolved) return resolved.failure();
  const auto format = params_format_of_file(choice);
  const bool is_ppq = format && *format == ParamsFormat::kPpq && !table_.provenance;
  const bool is_finer = is_ppq && has_coarser_sums(file.model());
  if (resolved->other.empty() && !is_finer) return std::optional<LoadedModel>();
  for (const OtherWeights& other : resolved->other)
    if (!other.numbers.empty())
      work.note(
          path_ + " " + table_.entries[other.entry].place + ", " + table_.entries[other.entry].name +
          ": has a scale for each input, and int8 one for each output: the nearest codes of that of its largest weight");
  auto made = with_own_weights(file, std::move(resolved->other), table_, path_, work);
  if (!made) return made.failure();
  return std::optional<LoadedModel>(std::move(*made));
}

Outcome<Done> KnownParamsFile::resolve(const LoadedModel& file, const Work& work) {
  if (path_.empty()) return Done{};
  auto resolved = resolve_params(table_, file.model(), path_);
  if (!resolved) return resolved.failure();
  resolved_ = std::move(*resolved);
  for (const std::string& note : table_.notes) work.note(note);
  for (const std::string& note : resolved_.notes) work.note(note);
  if (!table_.pruned.empty())
    work.note(path_ + ": its prune_record is not applied here; " + tool_word("params prune") +
              " does that first");
  std::vector<std::string> unknown;
  for (size_t i = 0; i < resolved_.unknown.size(); ++i) {
    const std::string& name = resolved_.unknown[i];
    for (const auto& [from, to] : names_)
      if (to == name)
        return Failure{map_ + ": " + from + " is called " + name + ", which is not in " + file.path() +
                       "; nearest: " + resolved_.nearest[i]};
    unknown.push_back(name +
                      (resolved_.nearest[i].empty() ? "" : " (nearest: " + resolved_.nearest[i] + ")"));
  }
  if (!unknown.empty())
    work.note(path_ + ": " + std::to_string(unknown.size()) + " names are not in " + file.path() +
              " and are ignored; " + option_word("map") +
              " says what they are called there: " + listed(unknown, ", "));
  return Done{};
}

namespace {

const char* label_of(const Model& model, int32_t node) {
  const NodeInfo info = model.node(node);
  return info.name[0] != '\0' ? info.name : model.tensor(info.outputs[0]).name;
}

std::vector<std::string> labels_of(const Model& model, const std::vector<int32_t>& nodes) {
  std::vector<std::string> labels;
  for (const int32_t node : nodes)
    if (std::find(labels.begin(), labels.end(), label_of(model, node)) == labels.end())
      labels.emplace_back(label_of(model, node));
  return labels;
}

struct NodesInFloat {
  std::vector<int32_t> nodes;    // with those that are kept already
  std::vector<int32_t> results;  // layers of int8 weights that write FP32
};

// Whether a node is a layer that may write FP32, and whose weights have known parameters; where nothing says any, their own.
bool is_known_layer(const Model& model, const CalibratorOptions& options, int32_t node) {
  CalibratorOptions alone = options;
  alone.float_results = {&node, 1};
  if (node < 0 || answer_op(model, node, alone) == Op::kNone) return false;
  const Span<const int32_t> inputs = model.node_inputs(node);
  bool says_any = false;
  for (const KnownParams& known : options.known) {
    if (!model.tensor(known.tensor).is_constant()) continue;
    if (std::find(inputs.begin(), inputs.end(), known.tensor) != inputs.end()) return true;
    says_any = true;
  }
  return !says_any;
}

// Must be in FP32 so that no tensor of codes lacks parameters: the result of a layer whose weights are known, else who
// writes such a tensor; and where that is not enough who reads it. Ascending.
Outcome<NodesInFloat> nodes_without_params(const Model& model, CalibratorOptions options) {
  std::set<int32_t> nodes(options.float_nodes.begin(), options.float_nodes.end()), results;
  for (;;) {
    const NodesInFloat found{{nodes.begin(), nodes.end()}, {results.begin(), results.end()}};
    options.float_nodes = {found.nodes.data(), found.nodes.size()};
    options.float_results = {found.results.data(), found.results.size()};
    const auto missing = missing_params(model, options);
    if (!missing) return missing.failure();
    if (missing->empty()) return found;
    const size_t kept = nodes.size(), of_results = results.size();
    for (const int32_t tensor : *missing) {
      const int32_t writer = writer_of(model, tensor);
      if (nodes.count(writer) == 0 && is_known_layer(model, options, writer) && results.insert(writer).second)
        continue;
      if (writer >= 0 && results.count(writer) == 0 && nodes.insert(writer).second) continue;
      for (int32_t n = 0; n < model.node_count(); ++n)
        for (const int32_t input : model.node_inputs(n))
          if (input == tensor && nodes.insert(n).second) results.erase(n);
    }
    if (nodes.size() == kept && results.size() == of_results)
      return Failure{"tensor " + std::string(model.tensor(missing->front()).name) + " has no parameters"};
  }
}

}  // namespace

void KnownParamsFile::set(QuantizationLists& lists, CalibratorOptions& options) const {
  options.known = {resolved_.known.data(), resolved_.known.size()};
  for (const int32_t node : resolved_.float_nodes)
    if (std::find(lists.float_nodes.begin(), lists.float_nodes.end(), node) == lists.float_nodes.end())
      lists.float_nodes.push_back(node);
  options.float_nodes = {lists.float_nodes.data(), lists.float_nodes.size()};
}

Outcome<Done> KnownParamsFile::note_observed(const LoadedModel& file, const CalibratorOptions& options,
                                             const Work& work) const {
  if (path_.empty()) return Done{};
  const Model& model = file.model();
  if (!resolved_.float_nodes.empty())
    work.note(path_ + ": leaves in FP32: " + listed(labels_of(model, resolved_.float_nodes), ", "));
  const auto missing = missing_params(model, options);
  if (!missing || missing->empty()) return Done{};
  std::vector<std::string> names;
  for (const int32_t tensor : *missing) {
    const int32_t writer = writer_of(model, tensor);
    names.emplace_back(writer < 0 ? model.tensor(tensor).name : label_of(model, writer));
  }
  work.note(path_ + ": has no scales for what these give; the samples give them: " + listed(names, ", "));
  return Done{};
}

// Whether a layer of the file's stays int8.
bool KnownParamsFile::keeps_layers(const Model& model, const CalibratorOptions& options) const {
  const auto is_float = [&](int32_t node) {
    return std::find(options.float_nodes.begin(), options.float_nodes.end(), node) !=
           options.float_nodes.end();
  };
  for (const KnownParams& known : resolved_.known)
    for (int32_t n = 0; n < model.node_count() && model.tensor(known.tensor).is_constant(); ++n)
      for (const int32_t input : model.node_inputs(n))
        if (input == known.tensor && !is_float(n)) return true;
  return resolved_.weight_layers == 0;
}

Outcome<Done> KnownParamsFile::complete(const LoadedModel& file, QuantizationLists& lists,
                                        CalibratorOptions& options, const Work& work) const {
  const Model& model = file.model();
  const auto missing = missing_params(model, options);
  if (!missing) return missing.failure();
  const std::vector<int32_t> asked(options.float_nodes.begin(), options.float_nodes.end());
  std::vector<int32_t> lacking, results;
  if (!missing->empty()) {
    const auto found = nodes_without_params(model, options);
    if (!found) return found.failure();
    for (const int32_t node : found->nodes)
      if (std::find(asked.begin(), asked.end(), node) == asked.end()) lacking.push_back(node);
    results = found->results;
    lists.float_nodes = found->nodes;
    lists.float_results = results;
    options.float_nodes = {lists.float_nodes.data(), lists.float_nodes.size()};
    options.float_results = {lists.float_results.data(), lists.float_results.size()};
  }
  std::vector<int32_t> all = lacking;
  all.insert(all.end(), results.begin(), results.end());
  const std::vector<std::string> names = labels_of(model, all);
  if (!missing->empty() && (table_.names_all || !keeps_layers(model, options)))
    return Failure{path_ + ": has no parameters for what " + std::to_string(names.size()) + " nodes of " +
                   file.path() + " give or read:\n  " + listed(names, "\n  ") +
                   "\nadd them, keep these nodes in FP32 (" + option_word("keep-float", listed(names, ",")) +
                   "), or let pictures give their ranges (" + remedy_of_samples() + ")"};
  if (!resolved_.float_nodes.empty())
    work.note(path_ + ": leaves in FP32: " + listed(labels_of(model, resolved_.float_nodes), ", "));
  if (!results.empty())
    work.note(path_ + ": has no scales for what these give, and so they are int8 and write FP32: " +
              listed(labels_of(model, results), ", "));
  if (!lacking.empty())
    work.note(path_ + ": has no scales for what these give, and so they stay in FP32: " +
              listed(labels_of(model, lacking), ", ") + "; pictures would give them (" + remedy_of_samples() +
              ")");
  return Done{};
}

Outcome<BakedParams> KnownParamsFile::bake(const LoadedModel& file, CalibratorOptions options,
                                           const Work& work, const MemoryGoal& goal,
                                           const WriteModel& write) const {
  options.recover = recovery::kNone;
  options.layer_report = false;
  QuantizationLists lists;
  lists.float_nodes.assign(options.float_nodes.begin(), options.float_nodes.end());
  set(lists, options);
  if (auto step = complete(file, lists, options, work); !step) return step.failure();
  Bytes made;
  if (auto step = finish_params(file, options, {Bytes::write, &made}); !step) return step.failure();
  const CalibrationInfo info = table_.provenance ? table_.provenance->info() : CalibrationInfo();
  if (table_.provenance) {
    const std::string own = options_of(made.bytes);
    if (own == table_.provenance->options) {
      options.provenance = &info;
    } else {
      work.note("the parameters were calibrated with '" + table_.provenance->options +
                "', and this call has '" + own +
                "': the int8 model does not name the first calibration as its origin");
    }
  }
  FinishedModel finished(goal, write);
  if (auto step = finish_params(file, options, finished.sink()); !step)
    return finished.problem().empty() ? step.failure() : Failure{finished.problem()};
  BakedParams baked;
  baked.activations = resolved_.activations;
  baked.weight_layers = resolved_.weight_layers;
  baked.unknown = resolved_.unknown.size();
  baked.sha256 = finished.sha256();
  baked.bytes = finished.take_bytes();
  return baked;
}

Json json_of(const BakedParams& baked) {
  return {{"activations", baked.activations},
          {"weight_layers", baked.weight_layers},
          {"unknown", baked.unknown},
          {"sha256", baked.sha256}};
}

}  // namespace intaglio::tools
