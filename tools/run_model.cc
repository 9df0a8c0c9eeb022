#include "tools/run_model.h"

#include <algorithm>
#include <utility>

#include "calibrator/host/system/wording.h"
#include "intaglio/describe.h"
#include "tools/class_scores.h"
#include "tools/sample_checks.h"

namespace intaglio::tools {
namespace {

NpyType npy_type(DType dtype) {
  switch (dtype) {
    case DType::kS8:
      return NpyType::kS8;
    case DType::kU8:
      return NpyType::kU8;
    case DType::kS16:
      return NpyType::kS16;
    case DType::kS32:
      return NpyType::kS32;
    default:
      return NpyType::kF32;
  }
}

// The outputs of all samples, one array an output.
class OutputArrays {
 public:
  OutputArrays(const Model& model, bool raw, int32_t equal_places)
      : model_(model), raw_(raw), batch_(static_cast<size_t>(equal_places)), bytes_(model.outputs().size) {}

  void add(const Session& session) {
    ++samples_;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const TensorView view = session.output(static_cast<int32_t>(i));
      if (stays(view.info.dtype)) {
        const auto* const data = static_cast<const uint8_t*>(view.data);
        bytes_[i].insert(bytes_[i].end(), data, data + view.info.bytes() / batch_);
      } else {
        const std::vector<float> values = real_values(view);
        const auto* const data = reinterpret_cast<const uint8_t*>(values.data());
        bytes_[i].insert(bytes_[i].end(), data, data + values.size() / batch_ * sizeof(float));
      }
    }
  }
  std::vector<OutputArray> take() {
    std::vector<OutputArray> arrays;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const TensorInfo info = model_.tensor(model_.outputs()[i]);
      std::vector<int64_t> shape(info.shape.dims, info.shape.dims + info.shape.rank);
      if (!shape.empty() && (shape[0] == 1 || batch_ > 1)) {
        shape[0] = samples_;
      } else if (samples_ > 1) {
        shape.insert(shape.begin(), samples_);
      }
      const NpyType type = stays(info.dtype) ? npy_type(info.dtype) : NpyType::kF32;
      arrays.push_back({type, std::move(shape), std::move(bytes_[i])});
    }
    return arrays;
  }

 private:
  // Indices are written as they are.
  bool stays(DType dtype) const { return raw_ || dtype == DType::kS32; }

  const Model& model_;
  bool raw_;
  size_t batch_;  // equal places, of which the first is written
  int64_t samples_ = 0;
  std::vector<std::vector<uint8_t>> bytes_;
};

// How outputs are shown: the best classes, where there are any.
struct Shown {
  int32_t top = 0, places = 1;  // equal places, of which the first is shown
  std::optional<ClassOutput> classes;
  ClassNames names;

  RanOutput of(const Session& session, size_t i) const {
    const TensorView view = session.output(static_cast<int32_t>(i));
    const Shape& shape = view.info.shape;
    RanOutput output{view.info.name, view.info.dtype, {shape.dims, shape.dims + shape.rank}, {}};
    if (places > 1) output.dims[0] /= places;
    if (classes && classes->output == i) {
      const std::vector<float> scores = class_scores(session, *classes);
      for (const int32_t c : best_classes(scores, static_cast<size_t>(top))) {
        output.top.push_back({c, static_cast<double>(scores[static_cast<size_t>(c)]), {}});
        if (!names.empty()) output.top.back().label = names.of(c);
      }
    } else {
      const std::vector<float> values = real_values(view);
      output.least = *std::min_element(values.begin(), values.end());
      output.greatest = *std::max_element(values.begin(), values.end());
    }
    return output;
  }
};

Outcome<Shown> how_shown(const LoadedModel& file, const RunChoice& choice, const Samples& samples,
                         Work& work) {
  const Model& model = file.model();
  Shown shown{choice.top, equal_places(model, samples), {}, {}};
  if (may_give_classes(model, samples)) shown.classes = possible_class_output(model);
  if (!choice.names.empty()) {
    if (!shown.classes) return no_classes(file, samples, "; leave " + option_word("names") + " out");
    auto names = ClassNames::read(choice.names, model);
    if (!names) return names.failure();
    shown.names = std::move(*names);
  }
  const Span<const int32_t> outputs = model.outputs();
  if (choice.raw && std::none_of(outputs.begin(), outputs.end(),
                                 [&](int32_t t) { return model.tensor(t).dtype == DType::kS8; }))
    work.note(option_word("raw") + ": " + file.path() +
              " has no int8 output; float32 is written in any case");
  if (!shown.classes && choice.top != RunChoice().top)
    work.note(option_word("top") + ": " + no_classes(file, samples, "").message);
  return shown;
}

Outcome<RanModel> run_stoppable(const LoadedModel& file, const RunChoice& choice, Work& work) {
  auto loaded = LoadedSession::create(file, choice.execution, choice.ops);
  if (!loaded) return loaded.failure();
  Session& session = **loaded;
  const auto samples = Samples::open(choice.samples, file, work);
  if (!samples) return samples.failure();
  const auto sequences = Sequences::of(choice.steps, choice.samples, *samples, file, work);
  if (!sequences) return sequences.failure();
  for (const std::string& name : choice.written)
    if (auto step = samples->check_output(name); !step) return step.failure();
  const auto shown = how_shown(file, choice, *samples, work);
  if (!shown) return shown.failure();
  OutputArrays arrays(file.model(), choice.raw, shown->places);
  warn_of_units(*samples, file.model(), work);
  for (size_t i = 0; i < samples->count(); ++i) {
    work.show("running", i, samples->count());
    if (sequences->begins(i)) session.reset();
    if (auto step = samples->load(i, session); !step) return step.failure();
    session.run();
    if (choice.arrays) arrays.add(session);
    if (!choice.each) continue;
    RanSample ran{samples->name(i), {}};
    for (size_t k = 0; k < file.model().outputs().size; ++k) ran.outputs.push_back(shown->of(session, k));
    choice.each(ran, samples->count());
  }
  work.clear();
  RanModel found{samples->count(), {}};
  if (choice.arrays) found.arrays = arrays.take();
  return found;
}

}  // namespace

Outcome<RanModel> run_model(const LoadedModel& file, const RunChoice& choice, Work& work) {
  return stoppable([&] { return run_stoppable(file, choice, work); });
}

Json json_of(const RanSample& ran) {
  Json outputs = Json::array();
  for (const RanOutput& output : ran.outputs) {
    Json json{{"name", output.name}, {"dtype", dtype_name(output.dtype)}, {"shape", output.dims}};
    if (output.top.empty()) {
      json["min"] = json_number(static_cast<double>(output.least));
      json["max"] = json_number(static_cast<double>(output.greatest));
    } else {
      json["top"] = Json::array();
      for (const ClassScore& found : output.top) {
        json["top"].push_back({{"class", found.number}, {"score", json_number(found.score)}});
        if (found.label) json["top"].back()["label"] = *found.label;
      }
    }
    outputs.push_back(std::move(json));
  }
  return {{"name", ran.name}, {"outputs", std::move(outputs)}};
}

}  // namespace intaglio::tools
