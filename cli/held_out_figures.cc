#include "cli/held_out_figures.h"

#include "cli/class_scores.h"
#include "cli/layer_comparison.h"

namespace intaglio::cli {
namespace {

int32_t class_of(const Session& session) { return best_class(class_scores(session)).value_or(-1); }

}  // namespace

Error judge_held_out(HeldOut& held_out, CalibrationSamples& samples, const std::vector<int32_t>& fp32_classes,
                     bool repeats, CalibrationFigures& figures) {
  const bool by_others = samples.held_out_count() >= HeldOut::kFewest;
  const bool gives = !fp32_classes.empty();
  std::vector<int32_t> exact = by_others ? std::vector<int32_t>(samples.held_out_count()) : fp32_classes;
  SampleErrors errors;
  size_t equal = 0;
  HeldOut::Ran ran;
  if (gives) {
    ran.fp32 = [&](size_t i, const Session& fp32) { exact[i] = class_of(fp32); };
    ran.int8 = [&](size_t i, const Session& int8) { equal += class_of(int8) == exact[i] ? 1 : 0; };
  }
  const Error error = by_others ? held_out.judge_written(samples.held_out_source(), ran, errors)
                                : held_out.judge(samples.source(), repeats, ran, errors);
  if (!error.ok()) return error;
  const NetworkError expected = errors.expected();
  figures.held_out.sqnr = sqnr_db(expected.signal, expected.noise);
  if (!by_others && !held_out.is_possible()) return kNoError;
  figures.judged = errors.samples();
  if (gives) figures.held_out.agreement = static_cast<double>(equal) / static_cast<double>(figures.judged);
  return kNoError;
}

}  // namespace intaglio::cli
