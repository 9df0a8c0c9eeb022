#include "calibrator/recover/recovery.h"

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/recover/bias_absorption.h"
#include "calibrator/recover/bias_correction.h"
#include "calibrator/recover/equalization.h"
#include "calibrator/recover/layer_recovery.h"
#include "calibrator/recover/range_method.h"
#include "intaglio/version.h"

namespace intaglio {

namespace {

constexpr const char* kMethodNames[] = {
#define ITG_RANGE_METHOD(id, c_name, name, ...) name,
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
};

}  // namespace

Provenance::Provenance(const RecoveryContext& context) {
  if (context.options.provenance != nullptr) {
    info_ = *context.options.provenance;
    return;
  }
  describe_options(context);
  text_[length_] = '\0';
  info_.library_version = ITG_VERSION;
  info_.method = kMethodNames[static_cast<size_t>(context.method)];
  info_.options = text_;
  info_.samples = context.seen.sample_count;
  info_.samples_digest = {context.seen.samples.bytes, sizeof context.seen.samples.bytes};
}

void Provenance::add(const char* words) {
  while (*words != '\0' && length_ + 1 < sizeof text_) text_[length_++] = *words++;
}

void Provenance::describe_options(const RecoveryContext& context) {
  const CalibratorOptions& options = context.options;
  add(options.symmetric ? "symmetric" : "asymmetric");
  if (options.power_of_two) add(", powers of two");
  if (options.compat != Compat::kNone) add(options.compat == Compat::kPpq ? ", as PPQ" : ", as Tengine");
  const char digits[] = {static_cast<char>('0' + options.weight_bits / 10),
                         static_cast<char>('0' + options.weight_bits % 10), '\0'};
  add(", ");
  add(options.weight_bits < 10 ? digits + 1 : digits);
  add("-bit weights");
  if (options.safe_pairs) add(" in safe pairs");
  if (!options.slots.empty() || !options.ranges.empty()) add(", slots with settings of their own");
  if (!options.known.empty()) add(", known parameters");
  bool recovers = false;
  for (const RecoveryRule& rule : recovery_rules()) {
    if ((options.recover & rule.bit) == 0) continue;
    add(", ");
    add(rule.title);
    recovers = true;
  }
  if (!recovers) add(", no recovery");
  if (context.channels_scaled) {
    add(", ");
    add(kChannelsScaled);
  }
  if (context.channels_shifted) {
    add(", ");
    add(kChannelsShifted);
  }
  if (!options.float_nodes.empty()) add(", some nodes in float");
}

namespace {

constexpr RecoveryRule kRules[] = {
    {recovery::kRangeMethod, "method", "range method", kAutoRules.other_method.least_samples, choose_method},
    {recovery::kEqualization, "cle", "equalization", 2, equalize},
    {recovery::kBiasAbsorption, "absorb", "bias absorption", 2, absorb_biases},
    {recovery::kBiasCorrection, "bias", "bias correction", 1, correct_biases},
    {recovery::kLearnedScales, "lsq", "learned scales", kGuardedSamples, learn_scales},
    {recovery::kWeightScales, "eq", "weight scale search", kGuardedSamples, search_scales},
    {recovery::kAdaptiveRounding, "adaround", "adaptive rounding", kGuardedSamples, round_weights},
};

}  // namespace

Span<const RecoveryRule> recovery_rules() { return {kRules, sizeof kRules / sizeof kRules[0]}; }

Error RecoveryContext::step(const char* stage, int32_t done, int32_t total) const {
  const Progress& progress = options.progress;
  const bool go_on = progress.step == nullptr || progress.step(progress.context, stage, done, total);
  return go_on ? kNoError : Error{Status::kCancelled};
}

Error RecoveryContext::build(int32_t half) {
  Error fault;
  fp32.threads.hold([&] {
    fault = bake(half);
    if (fault.ok()) fault = int8.write_and_open();
  });
  return fault;
}

Error RecoveryContext::bake(int32_t half) {
  ITG_TRY(choose_params({fp32, options, observing, seen}, method, half, slots));
  return int8.bake(Provenance(*this).info());
}

Error RecoveryContext::measure(const char* stage, NetworkError& result, Part part, double most) {
  meter.start(int8);
  if (part == Part::kJudges && samples.all_judge()) part = Part::kAll;
  const bool tells = part == Part::kAll || part == Part::kJudges || part == Part::kOthers;
  ITG_TRY(run(stage, part, tells && samples.wants_results(), {}, most));
  result = part == Part::kAll ? meter.judged() : meter.total();
  if (result.noise > most) result.noise = kNoLimit;  // how far it came is chance
  return kNoError;
}

Error RecoveryContext::measure_from(int32_t node, const char* stage, NetworkError& result, Part part) {
  meter.start(int8);
  if (part == Part::kJudges && samples.all_judge()) part = Part::kAll;
  walk_is_over = meter.can_start_at(node);
  ITG_TRY(run(stage, part, false, walk_is_over ? WalkStart{&walk, node} : WalkStart()));
  result = meter.judged();
  return kNoError;
}

Error RecoveryContext::complete() {
  const int64_t now = int8.revision();
  const bool told = !samples.wants_results() || told_revision == now;
  if (whole_revision == now && told) return kNoError;
  // Of several outputs noise over signal is averaged, so that parts do not add up.
  const bool rest_is_enough =
      observing.outputs.size == 1 && (!samples.wants_results() || judges_told_revision == now);
  if (!rest_is_enough) return measure("last replay", error, Part::kAll);
  NetworkError rest;
  ITG_TRY(measure("last replay", rest, Part::kOthers));
  whole = {error.signal + rest.signal, error.noise + rest.noise};
  return kNoError;
}

void RecoveryContext::tell_measured() {
  if (!walk_is_over || !samples.wants_results() || !walk.keeps(samples.count())) return;
  for (int32_t i = 0; i < samples.count(); ++i) samples.tell(i, walk.standing(i));
  told_revision = int8.revision();
}

Error RecoveryContext::run(const char* stage, Part part, bool tells, const WalkStart& from, double most) {
  Error fault;
  fp32.threads.hold([&] { fault = run_all(stage, part, tells, from, most); });
  ITG_TRY(fault);
  if (tells && part != Part::kOthers) judges_told_revision = int8.revision();
  if (part != Part::kAll) return kNoError;
  if (tells) told_revision = int8.revision();
  whole = meter.total();
  whole_revision = int8.revision();
  return kNoError;
}

// As many samples at once as there are lanes.
Error RecoveryContext::run_all(const char* stage, Part part, bool tells, const WalkStart& from, double most) {
  const bool may_end = most < kNoLimit && observing.outputs.size == 1;
  int32_t batch[kMaxLanes];
  bool judges[kMaxLanes];
  size_t waiting = 0;
  for (int32_t i = 0; i < samples.count(); ++i) {
    bool is_one = false;
    ITG_TRY(samples.belongs(i, part, &is_one));
    if (is_one) {
      ITG_TRY(step(stage, i, samples.count()));
      ITG_TRY(samples.belongs(i, Part::kJudges, &judges[waiting]));
      batch[waiting++] = i;
    }
    const bool is_full = waiting == static_cast<size_t>(fp32.lane_count) || i + 1 == samples.count();
    if (!is_full || waiting == 0) continue;
    ITG_TRY(meter.add(samples, {batch, waiting}, judges, tells || from.walk != nullptr, from));
    for (int32_t lane = 0; lane < static_cast<int32_t>(waiting) && tells; ++lane)
      samples.tell(batch[lane], int8.lanes().of(int8.session(), lane));
    waiting = 0;
    if (may_end && meter.total().noise > most) return kNoError;
  }
  return kNoError;
}

void RecoveryContext::record(const RecoveryRecord& record) {
  Span<const RecoveryRecord>& list = report.recoveries;
  if (list.size == records.size) return;
  records[list.size] = record;
  list = {records.data, list.size + 1};
}

int32_t steps_of(const CalibratorOptions& options) {
  int32_t steps = 2;
  for (const RecoveryRule& rule : recovery_rules()) steps += (options.recover & rule.bit) != 0 ? 1 : 0;
  return steps;
}

bool may_judge_by_half(RecoveryMask recover) {
  constexpr RecoveryMask kQuick = recovery::kDefault | recovery::kEqualization | recovery::kBiasAbsorption;
  return (recover & ~kQuick) == 0;
}

Error recover(RecoveryContext& context) {
  for (const RecoveryRule& rule : recovery_rules()) {
    if ((context.options.recover & rule.bit) == 0) continue;
    ++context.steps_done;
    // A recovery that needs several needs them again.
    const auto samples = static_cast<uint32_t>(context.samples.count());
    if (rule.least_samples > 1 && samples < rule.least_samples) {
      const RecoveryVerdict verdict =
          context.samples.has_source() ? RecoveryVerdict::kTooFewSamples : RecoveryVerdict::kNoSource;
      context.record({rule.bit, -1, -1, context.error.ratio(), context.error.ratio(), verdict});
      continue;
    }
    ITG_TRY(rule.run(context));
  }
  return kNoError;
}

}  // namespace intaglio
