#include "calibrator/recover/recovery.h"

#include "calibrator/ranges/auto_rules.h"
#include "intaglio/version.h"

namespace intaglio {

namespace {

constexpr const char* kMethodNames[] = {
#define ITG_RANGE_METHOD(id, c_name, name, ...) name,
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
};

}  // namespace

Provenance::Provenance(const CalibratorOptions& options, const Candidate& candidate) {
  if (options.provenance != nullptr) {
    info_ = *options.provenance;
    return;
  }
  describe(options, *candidate.network);
  text_[length_] = '\0';
  info_.library_version = ITG_VERSION;
  info_.method = kMethodNames[static_cast<size_t>(candidate.method)];
  info_.options = text_;
  info_.samples = candidate.network->seen.sample_count;
  info_.samples_digest = {candidate.network->seen.samples.bytes,
                          sizeof candidate.network->seen.samples.bytes};
}

void Provenance::add(const char* words) {
  while (*words != '\0' && length_ + 1 < sizeof text_) text_[length_++] = *words++;
}

void Provenance::describe(const CalibratorOptions& options, const Network& network) {
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
    if (rule.bit == recovery::kDepthwiseScales && network.scales.factors.empty()) continue;
    add(", ");
    add(rule.title);
    recovers = true;
  }
  if (!recovers) add(", no recovery");
  if (network.channels_scaled) {
    add(", ");
    add(kChannelsScaled);
  }
  if (network.channels_shifted) {
    add(", ");
    add(kChannelsShifted);
  }
  if (!options.float_nodes.empty()) add(", some nodes in float");
}

namespace {

constexpr RecoveryRule kRules[] = {
    {recovery::kDepthwiseScales, "depthwise", kDepthwiseScaled, 2},
    {recovery::kRangeMethod, "method", "range method", kAutoRules.other_method.least_samples},
    {recovery::kEqualization, "cle", "equalization", 2},
    {recovery::kBiasAbsorption, "absorb", "bias absorption", 2},
    {recovery::kBiasCorrection, "bias", "bias correction", 1},
    {recovery::kLearnedScales, "lsq", "learned scales", kGuardedSamples},
    {recovery::kWeightScales, "eq", "weight scale search", kGuardedSamples},
    {recovery::kAdaptiveRounding, "adaround", "adaptive rounding", kGuardedSamples},
};

}  // namespace

Span<const RecoveryRule> recovery_rules() { return {kRules, sizeof kRules / sizeof kRules[0]}; }

const RecoveryRule& rule_of(RecoveryMask bit) {
  const RecoveryRule* rule = kRules;
  while (rule->bit != bit) ++rule;
  return *rule;
}

bool Guard::keeps(RecoveryMask step, const NetworkError& before, const NetworkError& after, double share) {
  if (!judges_) {
    record({step, -1, -1, 0.0, 0.0, RecoveryVerdict::kUnjudged});
    return true;
  }
  const bool kept = share < 1.0 ? after.ratio() < share * before.ratio() : !after.worse_than(before);
  record({step, -1, -1, before.ratio(), after.ratio(),
          kept ? RecoveryVerdict::kKept : RecoveryVerdict::kNetworkWorse});
  return kept;
}

void Guard::not_tried(RecoveryMask step, const Candidate& now, RecoveryVerdict why) {
  record({step, -1, -1, now.error.ratio(), now.error.ratio(), why});
}

void Guard::record(const RecoveryRecord& record) {
  if (count_ < room_.size) room_[count_++] = record;
}

Error RecoveryContext::build(const Candidate& candidate, int32_t half) {
  Error fault;
  fp32.threads.hold([&] {
    fault = bake(candidate, half);
    if (fault.ok()) fault = int8.write_and_open();
  });
  return fault;
}

Error RecoveryContext::bake(const Candidate& candidate, int32_t half) {
  if (candidate.network != network) ITG_TRY(use(*candidate.network));
  ITG_TRY(choose_params({fp32, options, observing, network->seen}, candidate.method, half, slots));
  return int8.bake(Provenance(options, candidate).info());
}

Error RecoveryContext::use(const Network& wanted) {
  network = &wanted;  // also where it fails: what ran before is gone
  SessionMemory memory = fp32.lanes.own();
  if (!wanted.persistent.empty()) memory.persistent = wanted.persistent;
  const Result<Session> session = fp32.create_session(wanted.model, memory);
  if (!session) return session.error();
  fp32.model = wanted.model;
  fp32.session = *session;
  fp32.functions = wanted.functions;
  if (wanted.persistent.empty()) fp32.reference = *session;
  return kNoError;
}

Result<Candidate> RecoveryContext::judged(const char* stage, Candidate candidate) {
  ITG_TRY(waiting.put_off(judge.ask({stage}, candidate.error)));
  return candidate;
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

}  // namespace intaglio
