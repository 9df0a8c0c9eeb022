#include "calibrator/judge/judge.h"

#include "runtime/op.h"

namespace intaglio {

Judge::Judge(FloatModel& fp32, Span<const OutputTensor> outputs, Span<float> exact_values,
             const Progress& progress, Int8Model& int8, Replay& samples, Arena& arena)
    : fp32_(fp32),
      exact_outputs_(outputs),
      exact_values_(exact_values),
      progress_(progress),
      int8_(int8),
      samples_(samples),
      outputs_(arena.make<OutputPair>(outputs.size)),
      sums_(arena.make<Sums>(outputs_.size)),
      figures_(arena.make<NetworkError>(static_cast<size_t>(fp32.lane_count) * outputs_.size)) {}

uint64_t Judge::bytes(const Model& fp32, const CalibratorOptions& options) {
  const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
  return output_parts(fp32) * (sizeof(OutputPair) + sizeof(Sums) + lanes * sizeof(NetworkError)) +
         3 * alignof(Sums);
}

Error Judge::ask(const Question& question, NetworkError& answer) {
  answer = {};
  if (!samples_.has_source()) return kNoError;
  pair_outputs(fp32_.model, int8_.session().model(), exact_outputs_, outputs_);
  for (Sums& sums : sums_) sums = {};
  Question asked = question;
  if (asked.part == Part::kJudges && samples_.all_judge()) asked.part = Part::kAll;
  const bool is_told = asked.part == Part::kAll || asked.part == Part::kJudges || asked.part == Part::kOthers;
  const bool tells = is_told && samples_.wants_results();
  const auto walk = [&] {
    Error error;
    fp32_.threads.hold([&] { error = run(asked, tells); });
    return error;
  };
  ITG_TRY(samples_.add_up({"error", int8_.bytes(), static_cast<int32_t>(asked.part)},
                          sums_of(SumKind::kOrderFree, sums_), walk));
  if (tells && asked.part != Part::kOthers) judges_told_revision_ = int8_.revision();
  if (asked.part == Part::kAll) {
    if (tells) told_revision_ = int8_.revision();
    whole_ = total();
    whole_revision_ = int8_.revision();
  }
  answer = asked.part == Part::kAll ? judged() : total();
  if (answer.noise > asked.most) answer.noise = kNoLimit;  // how far it came is chance
  return kNoError;
}

Error Judge::complete(const NetworkError& judged, NetworkError& whole) {
  const int64_t now = int8_.revision();
  const bool told = !samples_.wants_results() || told_revision_ == now;
  if (whole_revision_ != now || !told) {
    // For several outputs noise over signal is averaged, so that parts do not add up.
    const bool rest_is_enough =
        outputs_.size == 1 && (!samples_.wants_results() || judges_told_revision_ == now);
    NetworkError rest;
    ITG_TRY(ask({"last replay", rest_is_enough ? Part::kOthers : Part::kAll}, rest));
    if (rest_is_enough) whole_ = {judged.signal + rest.signal, judged.noise + rest.noise};
  }
  whole = whole_;
  return kNoError;
}

Error Judge::run(const Question& question, bool tells) {
  const bool may_end = question.most < kNoLimit && outputs_.size == 1 && !samples_.are_elsewhere();
  return samples_.for_each_batch(question.part, [&](Span<const int32_t> batch) -> Error {
    if (may_end && total().noise > question.most) return kNoError;
    bool judges[kMaxLanes] = {};
    for (size_t lane = 0; lane < batch.size; ++lane) {
      ITG_TRY(tell(progress_, question.stage, batch[lane], samples_.count()));
      ITG_TRY(samples_.belongs(batch[lane], Part::kJudges, &judges[lane]));
    }
    ITG_TRY(add(batch, judges, tells));
    for (int32_t lane = 0; lane < static_cast<int32_t>(batch.size) && tells; ++lane)
      samples_.tell(batch[static_cast<size_t>(lane)], int8_.lanes().of(int8_.session(), lane));
    return kNoError;
  });
}

// Runs these samples side by side; the FP32 model only where its outputs are not known. With `to_the_end` also what stands
// behind the outputs that are compared: the model's outputs are then those of its lanes' sessions. judges[lane]: whether
// judged() counts the sample.
Error Judge::add(Span<const int32_t> which, const bool* judges, bool to_the_end) {
  ITG_TRY(samples_.load_each(which));
  const Executor inner = which.size == 1 ? fp32_.executor : Executor();
  parallel_for(fp32_.executor, static_cast<int32_t>(which.size),
               [&](int32_t lane) { run_lane(which[static_cast<size_t>(lane)], lane, inner, to_the_end); });
  for (size_t at = 0; at < which.size * sums_.size; ++at) {
    Sums& sums = sums_[at % sums_.size];
    const bool judges_it = judges[at / sums_.size];
    (judges_it ? sums.signal : sums.other_signal).add(figures_[at].signal);
    (judges_it ? sums.noise : sums.other_noise).add(figures_[at].noise);
  }
  return kNoError;
}

void Judge::run_lane(int32_t i, int32_t lane, const Executor& executor, bool to_the_end) {
  Session fp32 = fp32_.lanes.of(fp32_.reference, lane, executor);
  Session int8 = int8_.lanes().of(int8_.session(), lane, executor);
  copy_inputs(fp32, int8);
  const float* exact = samples_.reference(i);
  if (exact == nullptr) {
    float* const values = exact_values_.data + static_cast<size_t>(lane) * output_elements(exact_outputs_);
    run_outputs(fp32, exact_outputs_, values);
    exact = values;
  }
  NetworkError* const figures = figures_.data + static_cast<size_t>(lane) * sums_.size;
  const int32_t done = compare_outputs(int8, outputs_, exact, figures);
  if (to_the_end) int8.run_nodes(done, int8.model().node_count());
}

NetworkError Judge::total() const {
  NetworkError total;
  for (const Sums& sums : sums_)
    total.add(
        {sums.signal.value() + sums.other_signal.value(), sums.noise.value() + sums.other_noise.value()},
        sums_.size);
  return total;
}

NetworkError Judge::judged() const {
  NetworkError judged;
  for (const Sums& sums : sums_) judged.add({sums.signal.value(), sums.noise.value()}, sums_.size);
  return judged;
}

}  // namespace intaglio
