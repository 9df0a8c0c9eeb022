#include "tools/remedy.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/option_checks.h"
#include "calibrator/recover/recovery.h"
#include "tools/float_search.h"
#include "tools/slot_choices.h"
#include "tools/text.h"

namespace intaglio::tools {
namespace {

// The decibels that are wanted: those of a good model and one more, within these bounds.
constexpr double kWantedSqnr = 21, kLeastWanted = 3.5, kMostWanted = 12;
// To measure the layers takes half the products of the network a layer and sample. On a core of a desktop the most is a quarter of a minute.
constexpr size_t kTrialSamples = 4, kTrialLayers = 400;
constexpr int64_t kTrialProducts = int64_t{1} << 38;
constexpr int32_t kTrialBits = 8;
constexpr size_t kTrialReplayBytes = size_t{1} << 28;

int64_t products_of(const Model& model) {
  int64_t products = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) products += macs_of(model, model.node(n));
  return products;
}

// Options that cost decibels, which the calibration has and another need not have.
std::vector<std::string> costly_options(const RemedyJob& job) {
  std::vector<std::string> costly;
  if (job.options.weight_bits < kTrialBits) costly.emplace_back("weight-bits");
  if (job.options.method != RangeMethod::kAuto) costly.emplace_back("method");
  if (job.recover && (*job.recover & recovery::kDefault) != recovery::kDefault)
    costly.emplace_back("recover");
  if (job.options.int8_answers) costly.emplace_back("int8-answers");
  return costly;
}

void leave_out(const std::string& option, const RemedyJob& job, CalibratorOptions& options) {
  if (option == "weight-bits") options.weight_bits = kTrialBits;
  if (option == "method") options.method = RangeMethod::kAuto;
  if (option == "recover") set_recover({}, job.file.model(), job.samples.count(), options);
  if (option == "int8-answers") options.int8_answers = false;
}

Outcome<Done> choose_layers(const RemedyJob& job, RemedyTrial& trial, Work& work) {
  const Model& model = job.file.model();
  const auto nodes = static_cast<size_t>(model.node_count());
  const int64_t a_sample = std::max(products_of(model) * model.node_count(), int64_t{1});
  const auto count =
      std::min({static_cast<size_t>(kTrialProducts / a_sample), kTrialSamples, job.samples.count()});
  if (count == 0 || nodes > kTrialLayers) {
    trial.untried = "its products and layers are too many to measure each layer";
    return Done{};
  }
  const double wanted =
      std::clamp(kWantedSqnr - judged_sqnr(job.figures.held_out), kLeastWanted, kMostWanted);
  const auto proposal =
      propose_layers(job.file, job.int8, job.samples, count, wanted, job.options, job.execution, work);
  if (!proposal) return proposal.failure();
  trial.changes.float_nodes = proposal->float_nodes;
  trial.layers = proposal->layers;
  trial.share = proposal->share;
  if (trial.changes.empty()) trial.untried = "no few layers make its error";
  return Done{};
}

struct TrialSteps {
  Work& work;

  static bool show(void* context, const char*, int32_t done, int32_t total) {
    return show_or_stop(static_cast<TrialSteps*>(context)->work, "trying a remedy", done, total);
  }
};

// The fastest of a few runs of each model on the first sample, one after the other.
Outcome<Done> measure_times(const RemedyJob& job, const Model& tried, RemedyTrial& trial) {
  constexpr int kRuns = 6;
  auto fp32 = LoadedSession::create(job.file, job.execution);
  if (!fp32) return fp32.failure();
  auto int8 = LoadedSession::create(job.int8, job.execution);
  auto mixed = LoadedSession::create(tried, job.execution);
  if (!int8 || !mixed) return job.file.failure(int8 ? mixed.error() : int8.error());
  const auto time = [](LoadedSession& session, double& fastest) {
    const auto start = std::chrono::steady_clock::now();
    session->run();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, spent.count());
  };
  trial.int8_ms = trial.ms = trial.fp32_ms = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {  // a run may write over its inputs
    if (auto loaded = job.samples.load(0, *fp32, *int8); !loaded) return loaded;
    time(*int8, trial.int8_ms);
    if (auto loaded = job.samples.load(0, *fp32, *mixed); !loaded) return loaded;
    time(*mixed, trial.ms);
    time(*fp32, trial.fp32_ms);
  }
  return Done{};
}

// Calibrates with the changed options, judges and times. Where that cannot be, the trial has no changes.
Outcome<Done> calibrate_so(const RemedyJob& job, const CalibratorOptions& options, RemedyTrial& trial,
                           Work& work) {
  const Model& model = job.file.model();
  const auto give_up = [&](const Error& error) -> Outcome<Done> {
    if (error.status == Status::kCancelled || error.status == Status::kSamplesDiffer)
      return job.file.failure(error);
    trial.untried = "a calibration with " + option_text(trial.changes) + " fails";
    trial.changes = {};
    return Done{};
  };
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return give_up(needs.error());
  FileBytes memory(needs->total() + needs->shared_bytes);  // the FP32 session judges afterwards
  auto calibrator = Calibrator::create(model, {memory.data(), memory.size()}, options);
  if (!calibrator) return give_up(calibrator.error());
  HeldOut held_out(*calibrator, model, options, job.digests);
  const SampleSource source = job.samples.source();
  int32_t bad = -1;
  if (const Error error = held_out.add_all(source, &bad); !error.ok()) return give_up(error);
  if (const Error error = calibrator->finish({}, &source); !error.ok()) return give_up(error);
  CalibrationFigures figures;
  if (const Error error = judge_held_out(held_out, job.samples, job.outputs, true, figures); !error.ok())
    return give_up(error);
  work.clear();
  trial.after = figures.held_out;
  trial.bytes_before = job.figures.bytes;
  const Span<const uint8_t> bytes = calibrator->report().bytes;
  trial.bytes = bytes.size;
  const auto tried = Model::open(bytes);
  if (!tried) return give_up(tried.error());
  return measure_times(job, *tried, trial);
}

// Whether decibels are gained, and no answers are lost for them.
bool does_help(const RemedyTrial& trial, const Verdict& verdict) {
  constexpr double kSame = 1e-9, kLessF1 = 0.01;
  if (!(trial.gain() >= kLeastRemedyGain)) return false;
  const std::optional<double>&before = trial.before.agreement, &after = trial.after.agreement;
  if (before && after && *after < *before - kSame) return false;
  if (verdict.by_agreement && before && after && *after < *before + kSame) return false;
  const auto &boxes = trial.before.detections, &now = trial.after.detections;
  return !boxes || !now || boxes->pictures == 0 || now->counts.f1() >= boxes->counts.f1() - kLessF1;
}

}  // namespace

std::string option_text(const OptionChanges& changes) {
  const bool is_python = wording_here() == Wording::kPython;
  std::string text;
  if (!changes.float_nodes.empty())
    text = option_word("keep-float", is_python ? "'" + changes.kept() + "'" : changes.kept());
  std::string without;
  for (const std::string& option : changes.left_out)
    without += (without.empty() ? "without " : " and ") + option_word(option.c_str());
  return text + (text.empty() || without.empty() ? "" : ", ") + without;
}

Outcome<RemedyTrial> try_remedy(const RemedyJob& job, Work& work) {
  RemedyTrial trial;
  trial.before = job.figures.held_out;
  trial.sure = job.figures.verdict.kind != Remedy::kMoreSamples;
  CalibratorOptions options = job.options;
  options.layer_report = false;
  options.replay_bytes = std::min(options.replay_bytes, kTrialReplayBytes);
  TrialSteps steps{work};
  options.progress = {TrialSteps::show, &steps};
  trial.changes.left_out = costly_options(job);
  for (const std::string& option : trial.changes.left_out) leave_out(option, job, options);
  if (trial.changes.empty() && job.figures.verdict.kind == Remedy::kMoreSamples)
    trial.untried = "they are not here";
  else if (trial.changes.empty())
    if (auto step = choose_layers(job, trial, work); !step) return step.failure();
  if (trial.changes.empty()) return trial;
  std::vector<int32_t> nodes(job.options.float_nodes.begin(), job.options.float_nodes.end());
  nodes.insert(nodes.end(), trial.changes.float_nodes.begin(), trial.changes.float_nodes.end());
  options.float_nodes = {nodes.data(), nodes.size()};
  options.recover = possible_recoveries(job.file.model(), options);
  if (auto step = calibrate_so(job, options, trial, work); !step) return step.failure();
  trial.helps = !trial.changes.empty() && does_help(trial, job.figures.verdict);
  return trial;
}

void name_remedy(const RemedyTrial& trial, CalibrationFigures& figures) {
  Verdict& verdict = figures.verdict;
  if (trial.changes.empty()) {
    if (verdict.kind != Remedy::kLabels) verdict.remedy += "; not tried, since " + trial.untried;
    return;
  }
  const std::string option = option_text(trial.changes), gain = decimal(trial.gain(), 1) + " dB";
  if (trial.helps) {
    const std::string what = option + (trial.changes.left_out.empty() ? " gains " : ": that gains ");
    const std::string unsure = "some dB; these samples are too few to say how much: ";
    verdict.remedy = what + (trial.sure ? gain + " on the samples held out" : unsure + verdict.remedy);
    verdict.kind = Remedy::kTried;
    return;
  }
  const std::string tried = option + " was tried, and " +
                            (trial.gain() >= kLeastRemedyGain ? "gains " + gain + ", but no answers"
                             : trial.gain() >= 0              ? "gains only " + gain
                                                 : "loses " + decimal(-trial.gain(), 1) + " dB") +
                            " on the samples held out";
  if (verdict.kind == Remedy::kWiderLayers) {
    verdict.remedy = "none of those tried helps: " + tried;
    figures.command.clear();
  } else {
    verdict.remedy += "; " + tried;
  }
}

}  // namespace intaglio::tools
