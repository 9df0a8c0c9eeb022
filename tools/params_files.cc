#include "tools/params_files.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"

namespace intaglio::tools {
namespace {

// The axis of a layer's output channels in its weights.
int32_t channel_axis(const Model& model, int32_t weights) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    if (node.op == Op::kDepthwiseConv2d && node.inputs.size > 1 && node.inputs[1] == weights)
      return model.tensor(weights).shape.rank - 1;
  }
  return 0;
}

std::vector<int8_t> rounded(const Model& model, int32_t tensor, const std::vector<float>& scales) {
  const TensorInfo info = model.tensor(tensor);
  if (info.dtype != DType::kF32 || !info.is_constant()) return {};
  const auto* const values = reinterpret_cast<const float*>(info.constant.data);
  const auto behind =
      static_cast<size_t>(info.shape.elements(channel_axis(model, tensor) + 1, info.shape.rank));
  std::vector<int8_t> codes(static_cast<size_t>(info.shape.elements()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : i / behind % scales.size()];
    codes[i] = static_cast<int8_t>(std::clamp(std::nearbyint(values[i] / scale), -127.0f, 127.0f));
  }
  return codes;
}

// The codes among an activation's 256 by `a` whose number has another code by `b`, or none.
ChangedCodes changed_activation_codes(const ParamsEntry& a, const ParamsEntry& b) {
  const int32_t lo = a.is_wide() ? a.lo : -128, hi = a.is_wide() ? a.hi : 127;
  ChangedCodes count{0, hi - lo + 1};
  for (int32_t code = lo; code <= hi; ++code) {
    const double number = static_cast<double>(a.scales[0]) * (code - a.zero_point);
    count.changed += std::nearbyint(number / static_cast<double>(b.scales[0])) + b.zero_point != code;
  }
  return count;
}

// Where the codes of weights come from: an int8 model's own, or an FP32 model's weights rounded by a table's scales.
struct WeightSource {
  const Model* int8 = nullptr;
  const Model* fp32 = nullptr;

  // Those of the layer that an entry is about; empty where neither model has it.
  std::vector<int8_t> codes(const ParamsEntry& entry) const;
};

std::vector<int8_t> WeightSource::codes(const ParamsEntry& entry) const {
  if (int8 != nullptr) {
    for (int32_t t = 0; t < int8->tensor_count(); ++t) {
      const TensorInfo info = int8->tensor(t);
      if (std::string_view(info.name) != entry.node || info.dtype != DType::kS8 || !info.is_constant())
        continue;
      const auto* const codes = reinterpret_cast<const int8_t*>(info.constant.data);
      return {codes, codes + info.constant.size};
    }
  }
  if (fp32 == nullptr) return {};
  ParamsTable one;
  one.entries.push_back(entry);
  const auto resolved = resolve_params(one, *fp32, "");
  if (!resolved || resolved->known.empty()) return {};
  return rounded(*fp32, resolved->known[0].tensor, entry.scales);
}

// Nothing where a side has no weights, or other ones than the other side.
std::optional<ChangedCodes> changed_weight_codes(const ParamsEntry& a, const WeightSource& of_a,
                                                 const ParamsEntry& b, const WeightSource& of_b) {
  const std::vector<int8_t> p = of_a.codes(a), q = of_b.codes(b);
  if (p.empty() || p.size() != q.size()) return std::nullopt;
  ChangedCodes count{0, static_cast<int64_t>(p.size())};
  for (size_t i = 0; i < p.size(); ++i) count.changed += p[i] != q[i];
  return count;
}

ParamsDifference difference_of(const ParamsEntry& a, const ParamsEntry& b) {
  ParamsDifference found{a, b};
  const size_t count = std::max(a.scales.size(), b.scales.size());
  double largest = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const float x = a.scales[a.scales.size() == 1 ? 0 : i], y = b.scales[b.scales.size() == 1 ? 0 : i];
    if (x == y) continue;
    ++found.channels;
    const double ratio = static_cast<double>(y) / static_cast<double>(x), size = std::abs(std::log(ratio));
    if (size < largest) continue;
    largest = size;
    found.channel = i;
    found.ratio = ratio;
  }
  return found;
}

// The entry of another table for the same; PPQ's names weights as it does any tensor, others by their layers.
const ParamsEntry* counterpart(const ParamsEntry& entry, const ParamsTable& other) {
  if (const ParamsEntry* const same = other.find_same(entry)) return same;
  if (entry.of == ParamsOf::kLayerWeights) return other.find(ParamsOf::kTensor, entry.node);
  if (entry.of == ParamsOf::kTensor)
    for (const ParamsEntry& candidate : other.entries)
      if (candidate.of == ParamsOf::kLayerWeights && candidate.node == entry.name) return &candidate;
  return nullptr;
}

std::optional<ChangedCodes> changed_codes(const ParamsEntry& a, const WeightSource& of_a,
                                          const ParamsEntry& b, const WeightSource& of_b) {
  const bool is_weights = a.of == ParamsOf::kLayerWeights || b.of == ParamsOf::kLayerWeights;
  if (is_weights) return changed_weight_codes(a, of_a, b, of_b);
  if (a.scales.size() != 1 || b.scales.size() != 1) return std::nullopt;  // weights that PPQ names as tensors
  return changed_activation_codes(a, b);
}

// Differences in the parts that both files can hold.
std::vector<ParamsDifference> differences(const ParamsTable& a, const WeightSource& of_a,
                                          const ParamsTable& b, const WeightSource& of_b) {
  std::vector<ParamsDifference> list;
  const auto holds = [](const ParamsTable& table, ParamsOf of) {
    return std::any_of(table.entries.begin(), table.entries.end(),
                       [of](const ParamsEntry& e) { return e.of == of; });
  };
  for (const ParamsEntry& entry : a.entries) {
    const ParamsEntry* const other = counterpart(entry, b);
    if (other == nullptr) {
      if (holds(b, entry.of)) list.push_back({entry, {}});
      continue;
    }
    const size_t most = std::max(entry.scales.size(), other->scales.size()),
                 least = std::min(entry.scales.size(), other->scales.size());
    ParamsDifference found{entry, *other, 0, most};
    if (least == 1 || least == most) {
      found = difference_of(entry, *other);
      found.codes = changed_codes(entry, of_a, *other, of_b);
    }
    const bool codes_differ = found.codes && found.codes->changed > 0;
    if (found.channels > 0 || entry.zero_point != other->zero_point || codes_differ) list.push_back(found);
  }
  for (const ParamsEntry& entry : b.entries)
    if (holds(a, entry.of) && counterpart(entry, a) == nullptr) list.push_back({{}, entry});
  return list;
}

Outcome<ParamsTable> open_table(const ParamsChoice& choice, const Work& work) {
  const auto format = params_format_of_file(choice);
  if (!format) return format.failure();
  auto table = read_params(choice.file, *format);
  if (table)
    for (const std::string& note : table->notes) work.note(note);
  return table;
}

}  // namespace

Outcome<WrittenParams> params_of(const LoadedModel& file, ParamsFormat format, const Work& work) {
  const auto table = params_of_model(file.model(), file.path());
  if (!table) return table.failure();
  auto text = write_params(*table, format);
  if (!text) return Failure{file.path() + ": " + text.message()};
  const std::string options = file.model().calibration().options;
  if (options.find("no recovery") == std::string::npos)
    work.note(file.path() + ": was made with '" + options +
              "': biases and codes that a recovery has changed are not in the file");
  return WrittenParams{std::move(*text), table->entries.size()};
}

Outcome<PrunedModel> prune(const LoadedModel& file, const ParamsChoice& record) {
  const auto table = read_named_params(record);
  if (!table) return table.failure();
  HostArena memory;
  Graph graph;
  const auto summary = prune_model(file.model(), *table, record.file, graph, memory.arena());
  if (!summary) return summary.failure();
  const auto bytes = finish_model(graph, all_ops(), memory.arena());
  if (!bytes) return failure_in(file.path(), bytes.error());
  const auto model = Model::open(*bytes);
  if (!model) return failure_in(file.path(), model.error());
  if (const auto needs = Session::measure_anywhere(*model, all_ops()); !needs)
    return failure_in(file.path(), needs.error(), &*model);
  FileBytes pruned(bytes->size);
  std::copy(bytes->begin(), bytes->end(), pruned.data());
  return PrunedModel{std::move(pruned), *summary, table->notes};
}

Outcome<std::vector<ParamsDifference>> compare_params(const ParamsChoice& a, const ParamsChoice& b,
                                                      const std::string& network, const Work& work) {
  const auto first = open_table(a, work);
  if (!first) return first.failure();
  const auto second = open_table(b, work);
  if (!second) return second.failure();
  std::optional<LoadedModel> models[3];  // of each side, and the network that both are of
  const std::string* const paths[3] = {&a.file, &b.file, &network};
  for (size_t i = 0; i < 3; ++i) {
    const ParamsChoice& side = i == 0 ? a : b;
    const bool is_model = i == 2 ? !paths[i]->empty() : *params_format_of_file(side) == ParamsFormat::kModel;
    if (!is_model) continue;
    auto file = LoadedModel::open(*paths[i]);
    if (!file) return file.failure();
    models[i] = std::move(*file);
  }
  if (models[2])
    if (auto step = check_float(*models[2]); !step) return step.failure();
  const Model* const fp32 = models[2] ? &models[2]->model() : nullptr;
  const auto source = [&](size_t i) { return WeightSource{models[i] ? &models[i]->model() : nullptr, fp32}; };
  return differences(*first, source(0), *second, source(1));
}

const char* role_of(ParamsOf of) {
  constexpr const char* kRoles[] = {"tensor", "input", "weights", "reader"};
  return kRoles[static_cast<size_t>(of)];
}

Json json_of(const std::vector<ParamsDifference>& list) {
  Json json{{"differences", Json::array()}};
  for (const ParamsDifference& difference : list) {
    const ParamsEntry& any = difference.any();
    Json entry{{"name", any.name}, {"of", role_of(any.of)}};
    for (const auto& [name, side] : {std::pair{"a", &difference.a}, std::pair{"b", &difference.b}})
      entry[name] =
          !*side ? Json(nullptr) : Json{{"scales", (*side)->scales}, {"zero_point", (*side)->zero_point}};
    if (difference.codes)
      entry["codes"] = {{"changed", difference.codes->changed}, {"of", difference.codes->of}};
    json["differences"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace intaglio::tools
