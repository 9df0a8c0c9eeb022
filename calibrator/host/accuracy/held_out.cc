#include "calibrator/host/accuracy/held_out.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "calibrator/host/system/open_session.h"
#include "runtime/op.h"

namespace intaglio {
namespace {

// Up to so many samples each is a part of its own; up to so many there are four parts; more are two halves. More
// parts come nearer to what all samples make, and take longer.
constexpr size_t kAlone = 7, kQuarters = 24;
// Recoveries of layers take minutes: the model of one half is made, and judged by the other.
constexpr size_t kManyForSlow = 16;
// Pictures that judge shifted by a pixel, too: n of n, or so many less n where that is fewer. So all of few, none of many.
constexpr size_t kMostShifted = 16;

// Whether a shift moves all that a sample has: what fits a picture (a mask, a state) would stay where it is.
bool all_are_pictures(const Model& model, const CalibratorOptions& options) {
  const bool is_plain =
      static_cast<size_t>(model.image_count()) == model.inputs().size && options.states_of == nullptr;
  return is_plain && std::all_of(model.inputs().begin(), model.inputs().end(), [&](int32_t input) {
           const TensorInfo info = model.tensor(input);
           return info.dtype == DType::kF32 && info.shape.rank == 4;
         });
}

// Some samples of a source.
struct Subset {
  SampleSource all;
  std::vector<int32_t> which;

  SampleSource source() {
    SampleSource part;
    part.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
      const Subset& self = *static_cast<Subset*>(context);
      return self.all.load(self.all.context, self.which[static_cast<size_t>(i)], inputs);
    };
    if (all.ran != nullptr)
      part.ran = [](void* context, int32_t i, const Session& session) {
        const Subset& self = *static_cast<Subset*>(context);
        self.all.ran(self.all.context, self.which[static_cast<size_t>(i)], session);
      };
    part.context = this;
    part.count = static_cast<int32_t>(which.size());
    part.loads_at_once = all.loads_at_once;
    return part;
  }
};

template <typename T>
Span<T> span_of(std::vector<T>& values) {
  return {values.data(), values.size()};
}

// Writes over what `state` holds.
void put_state(CalibrationState& state, const CalibrationState& from) {
  reset_state(state);
  add_state(state, from);
}

// Moves each picture in an FP32 session's inputs by a pixel to the left and upwards; its last row and column stay. It is
// hardly another picture, but all roundings are others: much of what a single sample shows is their chance.
void shift_pictures(const Session& session) {
  const Model& model = session.model();
  for (int32_t k = 0; k < model.image_count(); ++k) {
    const TensorView view = session.tensor(model.inputs()[static_cast<size_t>(model.image(k).input)]);
    const Shape& shape = view.info.shape;
    if (view.info.dtype != DType::kF32 || shape.rank != 4) continue;
    auto* const values = static_cast<float*>(view.data);
    const auto pixel = static_cast<size_t>(shape[3]), row = pixel * static_cast<size_t>(shape[2]);
    const auto rows = static_cast<size_t>(shape[0] * shape[1]);
    for (size_t y = 0; y < rows; ++y) {
      float* const here = values + y * row;
      const bool is_last = (y + 1) % static_cast<size_t>(shape[1]) == 0;
      const float* const below = is_last ? here : here + row;
      memmove(here, below + pixel, (row - pixel) * sizeof(float));
      if (!is_last) memcpy(here + row - pixel, below + row - pixel, pixel * sizeof(float));
    }
  }
}

}  // namespace

HeldOut::Seen::Seen(const CalibrationState& from)
    : memory(observer_list_bytes(from.observers.size, bins_of(from.observers))),
      mean_sums(from.mean_sums.size),
      inputs(from.inputs.size) {
  Arena arena(span_of(memory));
  state.observers = make_observers(arena, from.observers.size, bins_of(from.observers));
  state.mean_sums = span_of(mean_sums);
  state.inputs = span_of(inputs);
  put_state(state, from);
}

HeldOut::HeldOut(Calibrator& calibrator, const Model& model, const CalibratorOptions& options,
                 std::vector<Digest> digests)
    : calibrator_(calibrator), model_(model), options_(options), digests_(std::move(digests)) {
  divide();
}

void HeldOut::divide() {
  std::map<Digest, int32_t> ranks;
  for (const Digest& digest : digests_) ranks[digest] = 0;
  int32_t rank = 0;
  for (auto& [digest, place] : ranks) place = rank++;
  const size_t before = Calibration::of(calibrator_).seen.sample_count, distinct = ranks.size();
  if (before + distinct < kFewest || before + digests_.size() > kMaxSamples) return;
  const bool alone = distinct <= kAlone;
  const bool is_slow = (options_.recover & recovery::kLayers) != 0 && distinct >= kManyForSlow;
  parts_ = alone ? rank : (distinct <= kQuarters && !is_slow ? 4 : 2);
  judged_parts_ = is_slow ? 1 : parts_;
  const auto shifted =
      static_cast<int32_t>(std::min(distinct, kMostShifted - std::min(distinct, kMostShifted)));
  const bool are_pictures = all_are_pictures(model_, options_);
  for (const Digest& digest : digests_) {
    part_of_.push_back(ranks[digest] % parts_);
    shifted_.push_back(are_pictures && ranks[digest] < shifted);
  }
}

std::vector<int32_t> HeldOut::members(int32_t part, bool others) const {
  std::vector<int32_t> which;
  for (size_t i = 0; i < part_of_.size(); ++i)
    if ((part_of_[i] == part) != others) which.push_back(static_cast<int32_t>(i));
  return which;
}

Error HeldOut::add_all(const SampleSource& source, int32_t* bad) {
  if (parts_ == 0) return calibrator_.add_all(source, bad);
  Calibration& calibration = Calibration::of(calibrator_);
  Seen before(calibration.seen);
  seen_.reserve(static_cast<size_t>(parts_) + 1);
  // Progress counts all samples, also while a part of them is added.
  struct Whole {
    Progress outer;
    int32_t before, count;
  } whole{calibration.options.progress, 0, source.count};
  const auto step = [](void* context, const char* stage, int32_t done, int32_t) {
    const Whole& now = *static_cast<Whole*>(context);
    return now.outer.step(now.outer.context, stage, now.before + done, now.count);
  };
  Progress progress;
  if (whole.outer.step != nullptr) progress = {step, &whole};
  for (int32_t part = 0; part < parts_; ++part) {
    Subset subset{source, members(part, false)};
    reset_state(calibration.seen);
    const size_t elsewhere = before.state.sample_count + digests_.size() - subset.which.size();
    const Error error =
        add_samples(calibration, subset.source(), static_cast<uint32_t>(elsewhere), progress, bad);
    if (bad != nullptr && *bad >= 0) *bad = subset.which[static_cast<size_t>(*bad)];
    ITG_TRY(error);
    seen_.emplace_back(calibration.seen);
    whole.before += static_cast<int32_t>(subset.which.size());
  }
  seen_.push_back(std::move(before));
  reset_state(calibration.seen);
  for (const Seen& part : seen_) add_state(calibration.seen, part.state);
  return kNoError;
}

Error HeldOut::judge(const SampleSource& source, bool repeats, const Ran& ran, SampleErrors& errors) {
  Calibration& calibration = Calibration::of(calibrator_);
  CalibratorOptions options = calibration.options;
  options.layer_report = false;
  options.recover = parts_ == 0 ? recovery::kNone : options.recover & ~recovery::kRangeMethod;
  struct Stage {
    Progress outer;
    int32_t part = 0, parts = 0;
  } stage{options_.progress, 0, std::max(judged_parts_, 1)};
  options.progress = {[](void* context, const char*, int32_t, int32_t) {
                        const Stage& now = *static_cast<Stage*>(context);
                        return now.outer.step == nullptr ||
                               now.outer.step(now.outer.context, "held out", now.part, now.parts);
                      },
                      &stage};
  FileBytes slots(slot_bytes(model_)), output(calibration.memory.output.size);
  std::vector<RecoveryRecord> records(calibration.memory.records.size);
  FinishMemory memory{{Arena({slots.data(), slots.size()}), {}, calibration.memory.slots.behind},
                      span_of(records),
                      {output.data(), output.size()}};
  Seen learned(calibration.seen);
  const FinishJob job{options, learned.state, memory, &calibration.finished.made, true};
  for (; stage.part < stage.parts; ++stage.part) {
    if (parts_ > 0) reset_state(learned.state);
    for (size_t i = 0; i < seen_.size(); ++i)
      if (i != static_cast<size_t>(stage.part)) add_state(learned.state, seen_[i].state);
    Subset others{source, members(stage.part, true)};
    others.all.ran = nullptr;
    const SampleSource learners = parts_ == 0 ? source : others.source();
    Finished finished;
    ITG_TRY(finish_calibration(calibration, job, {}, repeats ? &learners : nullptr, finished));
    std::vector<int32_t> judges = members(stage.part, false);
    for (int32_t i = 0; parts_ == 0 && i < source.count; ++i) judges.push_back(i);
    ITG_TRY(judge_model(finished.report.bytes, source, judges, ran, errors));
  }
  return kNoError;
}

Error HeldOut::judge_written(const SampleSource& source, const Ran& ran, SampleErrors& errors) {
  std::vector<int32_t> all(static_cast<size_t>(source.count));
  std::iota(all.begin(), all.end(), 0);
  digests_.clear();  // these are other samples
  shifted_.clear();
  return judge_model(calibrator_.report().bytes, source, all, ran, errors);
}

Error HeldOut::judge_model(Span<const uint8_t> bytes, const SampleSource& source,
                           const std::vector<int32_t>& which, const Ran& ran, SampleErrors& errors) {
  Calibration& calibration = Calibration::of(calibrator_);
  Session& fp32 = calibration.fp32.session;
  const Span<const OutputTensor> outputs = calibration.observing.outputs;
  OpenOptions checked;
  checked.skip_checksum = true;  // finish() has opened these bytes
  const Result<Model> model = Model::open(bytes, checked);
  if (!model) return model.error();
  SessionOptions execution;
  execution.isa = options_.isa;
  execution.executor = options_.executor;
  FileBytes memory;
  Result<Session> int8 = open_session(*model, execution, memory);
  if (!int8) return int8.error();
  OutputComparison comparison(calibration.fp32.model, *model, outputs, ran.by_channels);
  errors.name(comparison.names());
  for (const int32_t i : which) {
    const auto at = static_cast<size_t>(i);
    ITG_TRY(load_inputs(source, i, fp32));
    const float* const known =
        at < digests_.size() && !ran.runs_fp32 ? calibration.references.find(digests_[at]) : nullptr;
    std::vector<NetworkError> found = comparison.run(fp32, *int8, known);
    if (known == nullptr && ran.fp32) ran.fp32(at, fp32);
    if (ran.int8) ran.int8(at, *int8);
    if (at < shifted_.size() && shifted_[at]) {
      ITG_TRY(load_inputs(source, i, fp32));
      shift_pictures(fp32);
      const std::vector<NetworkError> shifted = comparison.run(fp32, *int8);
      for (size_t o = 0; o < found.size(); ++o)
        found[o] = {(found[o].signal + shifted[o].signal) / 2, (found[o].noise + shifted[o].noise) / 2};
    }
    errors.add(found, comparison.take_channels(at < shifted_.size() && shifted_[at] ? 2 : 1));
  }
  return kNoError;
}

}  // namespace intaglio
