#include "tools/float_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "calibrator/host/accuracy/float_layers.h"
#include "calibrator/host/accuracy/sample_errors.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/judge/evaluate.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"
#include "tools/text.h"

namespace intaglio::tools {

namespace {

// Samples by which layers are ranked; each takes the time of as many FP32 runs as the model has layers.
constexpr size_t kRanking = 8;
constexpr int32_t kWideBits = 16;

class FloatSearch {
 public:
  FloatSearch(const LoadedModel& file, LoadedSession& fp32, CalibrationSamples& samples,
              const FloatSearchChoice& choice, const CalibratorOptions& options, Work& work)
      : file_(file), fp32_(fp32), samples_(samples), choice_(choice), options_(options), work_(work) {
    options_.layer_report = false;
    result_.held_out = samples.held_out_count() > 0;
    result_.judges = result_.held_out ? samples.held_out_count() : samples.count();
    result_.nodes.assign(options.float_nodes.begin(), options.float_nodes.end());
    result_.slots.assign(options.slots.begin(), options.slots.end());
  }

  Outcome<FloatSearchResult> run() {
    if (auto step = read_labels(); !step) return step.failure();
    const auto first = attempt({result_.nodes, result_.slots});
    if (!first) return first.failure();
    result_.before = result_.after = first->judgement;
    result_.bytes_before = result_.bytes_after = first->bytes.size();
    if (holds(first->judgement)) return result_;
    if (auto step = rank(first->bytes); !step) return step.failure();
    return search();
  }

 private:
  struct Attempt {
    FileBytes bytes;  // the int8 model
    Judgement judgement;
  };
  // Changes to the options.
  struct Mix {
    std::vector<int32_t> nodes;      // in FP32
    std::vector<SlotSetting> slots;  // those of 16 bits are the last
  };
  const Model& model() const { return file_.model(); }
  bool holds(const Judgement& judgement) const {
    return (!choice_.min_sqnr || judgement.sqnr >= *choice_.min_sqnr) &&
           (!choice_.max_drop || judgement.drop <= *choice_.max_drop);
  }
  const std::string& judge_name(size_t i) const {
    return result_.held_out ? samples_.held_out_name(i) : samples_.name(i);
  }
  Outcome<CalibrationSamples::Sample> judge_sample(size_t i) {
    return result_.held_out ? samples_.get_held_out(i) : samples_.get(i);
  }

  Outcome<Done> read_labels() {
    if (!choice_.max_drop) return Done{};
    if (!may_give_classes(model(), samples_.samples()))
      return no_classes(file_, samples_.samples(),
                        ", which " + option_word("max-drop") + " needs; ask for " + option_word("min-sqnr"));
    classes_ = *possible_class_output(model());
    const auto labels = tools::read_labels(choice_.labels, model(), work_);
    if (!labels) return labels.failure();
    for (size_t i = 0; i < result_.judges; ++i) {
      const auto label = labels->of(judge_name(i));
      if (!label) return label.failure();
      labels_.push_back(*label);
    }
    return Done{};
  }

  // A calibration with these nodes in FP32 and these of 16 bits, judged.
  Outcome<Attempt> attempt(const Mix& mix) {
    work_.show("calibrating once more", attempts_++, 0);
    CalibratorOptions options = options_;
    options.float_nodes = {mix.nodes.data(), mix.nodes.size()};
    options.slots = {mix.slots.data(), mix.slots.size()};
    const auto needs = Calibrator::measure(model(), options);
    if (!needs) return file_.failure(needs.error());
    FileBytes memory(needs->total());
    auto calibrator = Calibrator::create(model(), {memory.data(), memory.size()}, options);
    if (!calibrator) return file_.failure(calibrator.error());
    const SampleSource source = samples_.source();
    int32_t bad = -1;
    if (const Error error = calibrator->add_all(source, &bad); !error.ok()) {
      if (error.status == Status::kSamplesDiffer && !samples_.problem().empty())
        return Failure{samples_.problem()};
      return failure_in("sample " + samples_.name(static_cast<size_t>(std::max(bad, 0))), error, &model());
    }
    if (const Error error = calibrator->finish({}, &source); !error.ok()) return file_.failure(error);
    const Span<const uint8_t> written = calibrator->report().bytes;
    Attempt made{FileBytes(written.size), {}};
    memcpy(made.bytes.data(), written.data, written.size);
    const auto judgement = judge(made.bytes);
    if (!judgement) return judgement.failure();
    made.judgement = *judgement;
    return made;
  }

  Outcome<Judgement> judge(const FileBytes& bytes) {
    const auto int8_model = Model::open(bytes.span());
    if (!int8_model) return Failure{"the int8 model does not open: " + error_text(int8_model.error())};
    SessionOptions execution;
    execution.isa = options_.isa;
    execution.executor = options_.executor;
    auto int8 = LoadedSession::create(*int8_model, execution);
    if (!int8) return Failure{"the int8 model does not run: " + error_text(int8.error(), &*int8_model)};
    HostArena arena;
    const Span<const OutputTensor> outputs = output_tensors(model(), arena.arena());
    OutputComparison comparison(model(), *int8_model, outputs, has_channels_of_their_own(model()));
    SampleErrors errors;
    size_t right = 0, exact_right = 0;
    for (size_t i = 0; i < result_.judges; ++i) {
      work_.show("judging", i, result_.judges);
      const auto sample = judge_sample(i);
      if (!sample) return sample.failure();
      fill_inputs(*fp32_, *sample);
      const std::vector<NetworkError> found = comparison.run(*fp32_, **int8);
      errors.add(found, comparison.take_channels());
      if (labels_.empty()) continue;
      exact_right += chosen_class(*fp32_, classes_) == labels_[i] ? 1 : 0;
      right += chosen_class(**int8, classes_) == labels_[i] ? 1 : 0;
    }
    work_.clear();
    Judgement judgement;
    const std::vector<PartError> parts = errors.parts(false);
    if (const PartError* const worst = worst_of(parts))
      judgement.sqnr = sqnr_db(worst->error.signal, worst->error.noise);
    const auto count = static_cast<double>(result_.judges);
    judgement.top1 = 100 * static_cast<double>(right) / count;
    judgement.drop = 100 * static_cast<double>(exact_right) / count - judgement.top1;
    return judgement;
  }

  Outcome<Done> rank(const FileBytes& bytes) {
    const auto int8 = Model::open(bytes.span());
    if (!int8) return Failure{"the int8 model does not open: " + error_text(int8.error())};
    SessionOptions execution;
    execution.isa = options_.isa;
    execution.executor = options_.executor;
    const auto meter = SensitivityMeter::create(model(), *int8, execution);
    if (!meter) return meter.failure();
    const size_t count = std::min(samples_.count(), kRanking);
    for (size_t i = 0; i < count; ++i) {
      work_.show("measuring what each layer costs", i, count);
      const auto sample = samples_.get(i);
      if (!sample) return sample.failure();
      (*meter)->add(*sample);
    }
    work_.clear();
    layers_ = std::make_unique<FloatLayers>((*meter)->layers(), (*meter)->input_error(), !choice_.no_fpu);
    result_.layer_count = layers_->layers().size();
    return Done{};
  }

  Mix mix_of(const LayerTypes& types) const {
    Mix mix{{options_.float_nodes.begin(), options_.float_nodes.end()},
            {options_.slots.begin(), options_.slots.end()}};
    for (size_t i = 0; i < types.size(); ++i) {
      const LayerSensitivity& layer = layers_->layers()[i];
      if (types[i] == LayerType::kFloat && !layer.is_float)
        mix.nodes.insert(mix.nodes.end(), layer.nodes.begin(), layer.nodes.end());
      if (types[i] == LayerType::kInt16 && !layer.is_wide)
        mix.slots.push_back({layer.writer, SlotRole::kOutput, -1, kWideBits});
    }
    return mix;
  }

  // The errors of the layers add up to more or less than what is measured, so that the wanted sum is found by
  // calibrating. The cheapest model for which what was asked for holds is taken.
  Outcome<FloatSearchResult> search() {
    constexpr int kAttempts = 8;
    constexpr double kStep = 0.5, kCloseEnough = 1.1;
    std::vector<LayerTypes> tried;
    const double measured = std::pow(10.0, -result_.before.sqnr / 10);
    if (const LayerTypes widest = layers_->widest(); widest != layers_->types_at_first()) {
      const auto made = attempt(mix_of(widest));
      if (!made) return made.failure();
      tried.push_back(widest);
      if (holds(made->judgement)) take(widest, *made);
      layers_->fit(measured, std::pow(10.0, -made->judgement.sqnr / 10));
    }
    const double sum = layers_->error(layers_->types_at_first());
    double fails = sum,
           good = is_taken_ ? layers_->error(layers_->widest()) : 0.0;  // sums of errors; 0: none known
    double wanted = choice_.min_sqnr ? sum * std::pow(10.0, -*choice_.min_sqnr / 10) / measured : sum * kStep;
    for (int count = 0; count < kAttempts; ++count) {
      // One goal may say nothing about the other.
      wanted = std::min(wanted, fails / kCloseEnough);
      const LayerTypes types = layers_->choose(wanted);
      if (std::find(tried.begin(), tried.end(), types) != tried.end()) {
        if (is_taken_ || is_float_but_one(types)) break;
        fails = wanted;
        wanted *= kStep;
        continue;
      }
      tried.push_back(types);
      const auto made = attempt(mix_of(types));
      if (!made) return made.failure();
      if (holds(made->judgement)) {
        good = wanted;
        take(types, *made);
      } else {
        fails = wanted;
      }
      if (good > 0.0 && fails < kCloseEnough * good) break;
      wanted = good > 0.0 ? std::sqrt(good * fails) : wanted * next_step(made->judgement, kStep);
    }
    if (is_taken_) return result_;
    return last_resort(tried);
  }

  static bool is_float_but_one(const LayerTypes& types) {
    return std::count(types.begin(), types.end(), LayerType::kFloat) ==
           static_cast<std::ptrdiff_t>(types.size()) - 1;
  }

  // With one layer with weights in int8, those that should add least.
  Outcome<FloatSearchResult> last_resort(const std::vector<LayerTypes>& tried) {
    constexpr size_t kMost = 4;
    std::vector<LayerTypes> left = layers_->all_but_one();
    left.resize(std::min(left.size(), kMost));
    std::optional<Judgement> best;
    for (const LayerTypes& types : left) {
      if (best && std::find(tried.begin(), tried.end(), types) != tried.end()) continue;
      const auto made = attempt(mix_of(types));
      if (!made) return made.failure();
      if (holds(made->judgement)) {
        take(types, *made);
        return result_;
      }
      const auto worse = [this](const Judgement& a, const Judgement& b) {
        return choice_.min_sqnr ? a.sqnr < b.sqnr : a.drop > b.drop;
      };
      if (!best || worse(*best, made->judgement)) best = made->judgement;
    }
    return Failure{
        file_.path() + ": " + wish() + " cannot be reached while a layer with weights is int8: with " +
        (best ? std::to_string(result_.layer_count - 1) + " of " + std::to_string(result_.layer_count) +
                    " layers in FP32 " +
                    (choice_.min_sqnr ? "the SQNR is " + decimal(best->sqnr, 2) + " dB at best"
                                      : "top1 falls by " + decimal(best->drop, 2) + " points at best")
              : "none in int8 nothing is left to quantize") +
        "; ask for less, or deploy the FP32 model. Nothing was written"};
  }

  // By how much less error to ask for where this was not enough.
  double next_step(const Judgement& judgement, double step) const {
    if (!choice_.min_sqnr || judgement.sqnr >= *choice_.min_sqnr) return step;
    return std::pow(10.0, (judgement.sqnr - *choice_.min_sqnr - 0.1) / 10);
  }

  std::string wish() const {
    std::string text;
    if (choice_.min_sqnr) text = option_word("min-sqnr", decimal(*choice_.min_sqnr, 2));
    if (choice_.max_drop)
      text += (text.empty() ? "" : " with ") + option_word("max-drop", decimal(*choice_.max_drop, 2));
    return text;
  }

  void take(const LayerTypes& types, const Attempt& made) {
    const double cost = layers_->cost(types).total();
    if (is_taken_ && cost >= cost_) return;
    is_taken_ = true;
    cost_ = cost;
    Mix mix = mix_of(types);
    result_.nodes = std::move(mix.nodes);
    result_.slots = std::move(mix.slots);
    const NodeNumbers numbers(model());
    result_.layers.clear();
    result_.wide_layers.clear();
    for (size_t i = 0; i < types.size(); ++i) {
      const LayerSensitivity& layer = layers_->layers()[i];
      const int32_t node = layer.nodes.back();
      // Nodes that follow an answer are in FP32 unasked.
      const auto& kept = options_.float_nodes;
      const bool is_kept = std::find(kept.begin(), kept.end(), node) != kept.end();
      if (types[i] == LayerType::kFloat && (is_kept || !layer.is_float))
        result_.layers.push_back(numbers.name(model().tensor(model().node_outputs(node)[0]).name));
      if (types[i] == LayerType::kInt16)
        result_.wide_layers.push_back(
            numbers.name(model().tensor(model().node_outputs(layer.writer)[0]).name));
    }
    result_.after = made.judgement;
    result_.bytes_after = made.bytes.size();
    result_.time = (1 + layers_->cost(types).time) / (1 + layers_->cost(layers_->types_at_first()).time);
  }

  const LoadedModel& file_;
  LoadedSession& fp32_;
  CalibrationSamples& samples_;
  FloatSearchChoice choice_;
  CalibratorOptions options_;
  Work& work_;
  uint64_t attempts_ = 0;
  ClassOutput classes_;          // with labels
  std::vector<int32_t> labels_;  // of the samples that judge
  std::unique_ptr<FloatLayers> layers_;
  double cost_ = 0.0;  // of the result
  bool is_taken_ = false;
  FloatSearchResult result_;
};

}  // namespace

Outcome<FloatSearchResult> search_float_layers(const LoadedModel& file, LoadedSession& fp32,
                                               CalibrationSamples& samples, const FloatSearchChoice& choice,
                                               const CalibratorOptions& options, Work& work) {
  return FloatSearch(file, fp32, samples, choice, options, work).run();
}

Json json_of(const FloatSearchChoice& choice, const FloatSearchResult& result) {
  Json json{{"judged", result.judges},
            {"held_out", result.held_out},
            {"sqnr_db_before", json_number(result.before.sqnr)},
            {"sqnr_db_after", json_number(result.after.sqnr)},
            {"float_layers", result.layers},
            {"wide_layers", result.wide_layers},
            {"time", result.time},
            {"bytes_before", result.bytes_before},
            {"bytes_after", result.bytes_after}};
  if (choice.max_drop) {
    json["drop_before"] = result.before.drop;
    json["drop_after"] = result.after.drop;
  }
  return json;
}

Outcome<LayerProposal> propose_layers(const LoadedModel& fp32, const Model& int8, CalibrationSamples& samples,
                                      size_t count, double gain, const CalibratorOptions& options,
                                      const SessionOptions& execution, Work& work) {
  constexpr double kStep = 1.5, kLeast = 2.0;  // dB
  constexpr double kMostCost = 0.5;            // of what FP32 costs more than int8
  const auto meter = SensitivityMeter::create(fp32.model(), int8, execution);
  if (!meter) return meter.failure();
  for (size_t i = 0; i < count; ++i) {
    work.show("measuring what each layer costs", i, count);
    const auto sample = samples.get(i * samples.count() / count);
    if (!sample) return sample.failure();
    (*meter)->add(*sample);
  }
  std::vector<LayerSensitivity> measured = (*meter)->layers();
  for (LayerSensitivity& layer : measured) layer.can_be_wide = false;
  const FloatLayers layers(std::move(measured), (*meter)->input_error());
  const LayerTypes first = layers.types_at_first();
  const double sum = layers.error(first);
  const double most =
      kMostCost * (layers.cost(LayerTypes(first.size(), LayerType::kFloat)).time - layers.cost(first).time);
  LayerProposal proposal;
  for (double wanted = gain; wanted >= kLeast; wanted -= kStep) {
    const LayerTypes types = layers.choose(sum * std::pow(10.0, -wanted / 10));
    if (layers.cost(types).time - layers.cost(first).time > most || !(layers.error(types) < sum)) continue;
    const Span<const int32_t> kept = options.float_nodes;
    for (size_t i = 0; i < types.size(); ++i) {
      const LayerSensitivity& layer = layers.layers()[i];
      const bool is_float = types[i] == LayerType::kFloat && !layer.is_float;
      for (const int32_t n : layer.nodes)
        if (is_float && std::find(kept.begin(), kept.end(), n) == kept.end())
          proposal.float_nodes.push_back(n);
      if (is_float) ++proposal.layers;
    }
    std::sort(proposal.float_nodes.begin(), proposal.float_nodes.end());
    proposal.share = 1.0 - layers.error(types) / sum;
    break;
  }
  return proposal;
}

}  // namespace intaglio::tools
