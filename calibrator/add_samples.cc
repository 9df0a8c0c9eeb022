// Calibrator::add and add_all: samples through the FP32 model, each tensor observed.
#include "calibrator/calibration.h"
#include "calibrator/judge/replay.h"
#include "calibrator/ranges/probes.h"
#include "runtime/op.h"

namespace intaglio {
namespace {

Error check_room(const CalibrationState& seen, int32_t samples) {
  const int64_t all = int64_t{seen.sample_count} + samples;
  return all <= kMaxSamples ? kNoError : Error{Status::kTooManyItems, -1, -1, all, kMaxSamples};
}

// A sample that has been observed.
void count_in(Calibration& calibration, const LaneSample& sample) {
  calibration.references.keep(sample.name, sample.outputs);
  add_to_set(calibration.seen.samples, sample.name.digest);
  ++calibration.seen.sample_count;
}

// Samples [first, first + count) into as many lanes. `bad`: the one at fault, if any.
Error load_batch(Calibration& calibration, const SampleSource& source, int32_t first, int32_t count,
                 int32_t* bad) {
  Error errors[kMaxLanes];
  const auto load = [&](int32_t lane) {
    errors[lane] = load_inputs(source, first + lane, calibration.fp32.on_lane(lane));
  };
  if (source.loads_at_once)
    calibration.fp32.threads.hold(
        [&] { parallel_for(calibration.fp32.executor, count, [&](int32_t lane) { load(lane); }); });
  for (int32_t lane = 0; lane < count; ++lane) {
    *bad = first + lane;
    if (!source.loads_at_once) load(lane);
    ITG_TRY(errors[lane]);
  }
  return kNoError;
}

// Probes of the first `count` samples, which have been added.
Error probe_all(Calibration& calibration, const SampleSource& source, int32_t count, int32_t* bad) {
  for (int32_t first = 0; first < count; first += calibration.fp32.lane_count) {
    const int32_t left = count - first,
                  lanes = left < calibration.fp32.lane_count ? left : calibration.fp32.lane_count;
    const Executor inner = lanes == 1 ? calibration.fp32.executor : Executor();
    for (const Probe probe : kProbes) {
      ITG_TRY(load_batch(calibration, source, first, lanes, bad));
      calibration.fp32.threads.hold([&] {
        parallel_for(calibration.fp32.executor, lanes, [&](int32_t lane) {
          observe_probe(calibration.fp32, calibration.observing, lane, inner, probe);
        });
      });
    }
  }
  return kNoError;
}

// Samples [first, first + count), each on a lane. `bad`: the one at fault, if any.
Error add_batch(Calibration& calibration, const SampleSource& source, int32_t first, int32_t count,
                int32_t* bad) {
  LaneSample samples[kMaxLanes];
  const Executor inner = count == 1 ? calibration.fp32.executor : Executor();
  ITG_TRY(load_batch(calibration, source, first, count, bad));
  calibration.fp32.threads.hold([&] {
    parallel_for(calibration.fp32.executor, count, [&](int32_t lane) {
      LaneSample& sample = samples[lane];
      sample.index = int64_t{calibration.seen.sample_count} + lane;
      sample.name = name_of(calibration.fp32.on_lane(lane), *calibration.observing.sha256);
      sample.outputs = calibration.references.room(static_cast<size_t>(lane));
      observe_sample(calibration.fp32, calibration.observing, lane, inner, sample);
    });
  });
  for (int32_t lane = 0; lane < count; ++lane) {
    *bad = first + lane;
    // The traces of one bad sample in the observers cannot be taken back: the fault stays.
    ITG_TRY(calibration.fault = samples[lane].error);
    if (source.ran != nullptr) source.ran(source.context, first + lane, calibration.fp32.on_lane(lane));
    count_in(calibration, samples[lane]);
  }
  return kNoError;
}

}  // namespace

Error add_samples(Calibration& calibration, const SampleSource& source, uint32_t elsewhere,
                  const Progress& progress, int32_t* bad) {
  const uint32_t before = calibration.seen.sample_count;
  const int32_t lanes = calibration.fp32.lane_count;
  int32_t at_fault = -1;
  Error error = calibration.fault;
  if (error.ok()) error = calibration.take_session_back();
  if (error.ok()) error = check_room(calibration.seen, source.count);
  for (int32_t first = 0; first < source.count && error.ok(); first += lanes) {
    const int32_t left = source.count - first;
    const bool go_on =
        progress.step == nullptr || progress.step(progress.context, "calibrating", first, source.count);
    error = go_on ? add_batch(calibration, source, first, left < lanes ? left : lanes, &at_fault)
                  : Error{Status::kCancelled};
  }
  // Whether there are few is known only now; a cancelled call has added some, too.
  const uint32_t added = calibration.seen.sample_count;
  if (calibration.fault.ok() && has_probes(calibration.fp32.model, int64_t{added} + elsewhere)) {
    int32_t lost = -1;
    calibration.fault = probe_all(calibration, source, static_cast<int32_t>(added - before), &lost);
    if (error.ok() && !calibration.fault.ok()) at_fault = lost;
    if (error.ok()) error = calibration.fault;
  }
  merge_lanes(calibration.observing);
  if (bad != nullptr) *bad = error.ok() ? -1 : at_fault;
  return error;
}

Error add_sample(Calibration& calibration, const SampleSource& source) {
  ITG_TRY(calibration.fault);
  ITG_TRY(calibration.take_session_back());
  ITG_TRY(check_room(calibration.seen, 1));
  int32_t bad = -1;
  // Before the sample itself: its outputs stay where output() finds them.
  if (has_probes(calibration.fp32.model, int64_t{calibration.seen.sample_count} + 1))
    ITG_TRY(probe_all(calibration, source, 1, &bad));
  return add_batch(calibration, source, 0, 1, &bad);
}

Error Calibrator::add(Span<const Span<const uint8_t>> inputs) {
  Calibration& calibration = *parts_;
  ITG_TRY(calibration.fault);
  const Model& model = calibration.fp32.model;
  if (inputs.size != model.inputs().size)
    return {Status::kSampleCount, -1, -1, static_cast<int64_t>(inputs.size),
            static_cast<int64_t>(model.inputs().size)};
  for (size_t i = 0; i < inputs.size; ++i) {
    const int32_t tensor = model.inputs()[i];
    const size_t bytes = model.tensor(tensor).bytes();
    if (inputs[i].size != bytes)
      return {Status::kSampleSize, -1, tensor, static_cast<int64_t>(inputs[i].size),
              static_cast<int64_t>(bytes)};
  }
  SampleSource source;
  source.load = [](void* context, int32_t, Span<const Span<uint8_t>> places) {
    const auto& given = *static_cast<const Span<const Span<const uint8_t>>*>(context);
    for (size_t i = 0; i < places.size; ++i) memcpy(places[i].data, given[i].data, places[i].size);
    return true;
  };
  source.context = &inputs;
  source.count = 1;
  return add_sample(calibration, source);
}

Error Calibrator::add_all(const SampleSource& source, int32_t* bad) {
  return add_samples(*parts_, source, 0, parts_->options.progress, bad);
}

}  // namespace intaglio
