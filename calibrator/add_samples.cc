// Calibrator::add and add_all: samples through the FP32 model, each tensor observed.
#include "calibrator/judge/replay.h"
#include "calibrator/observe/probes.h"
#include "runtime/op.h"

namespace intaglio {
namespace {

SampleName name_of(const Session& session, const Sha256Kernel& kernel) {
  Sha256 sha(kernel);
  SampleName name;
  for (const int32_t input : session.model().inputs()) {
    const TensorView view = session.tensor(input);
    sha.update(view.data, view.info.bytes());
    name.fingerprint = fingerprint(name.fingerprint, view.data, view.info.bytes());
  }
  name.digest = sha.finish();
  return name;
}

Error check_room(const CalibrationState& seen, int32_t samples) {
  const int64_t all = int64_t{seen.sample_count} + samples;
  return all <= kMaxSamples ? kNoError : Error{Status::kTooManyItems, -1, -1, all, kMaxSamples};
}

// A sample that has been observed. Returns whether it is the one with the smallest digest so far, to be
// copied to seen.golden_sample.
bool count_in(CalibratorMemory& memory, const LaneSample& sample) {
  CalibrationState& seen = memory.seen;
  memory.references.keep(sample.name, sample.outputs);
  const bool is_golden = seen.sample_count == 0 || sample.name.digest < seen.golden;
  if (is_golden) seen.golden = sample.name.digest;
  add_to_set(seen.samples, sample.name.digest);
  ++seen.sample_count;
  return is_golden;
}

Error load_golden(const CalibratorMemory& memory, const SampleSource& source, int32_t i) {
  Span<uint8_t> inputs[kMaxModelInputs];
  const Model& model = memory.model;
  uint8_t* at = memory.seen.golden_sample.data;
  for (size_t k = 0; k < model.inputs().size; ++k) {
    inputs[k] = {at, model.tensor(model.inputs()[k]).bytes()};
    at += inputs[k].size;
  }
  const bool loaded = source.load(source.context, i, {inputs, model.inputs().size});
  return loaded ? kNoError : Error{Status::kSamplesDiffer, -1, -1, i};
}

// Samples [first, first + count) into as many lanes. `bad`: the one at fault, if any.
Error load_batch(CalibratorMemory& memory, const SampleSource& source, int32_t first, int32_t count,
                 int32_t* bad) {
  Error errors[kMaxLanes];
  const auto load = [&](int32_t lane) {
    errors[lane] = load_inputs(source, first + lane, memory.lanes.of(memory.session, lane));
  };
  if (source.loads_at_once)
    memory.threads.hold(
        [&] { parallel_for(memory.options.executor, count, [&](int32_t lane) { load(lane); }); });
  for (int32_t lane = 0; lane < count; ++lane) {
    *bad = first + lane;
    if (!source.loads_at_once) load(lane);
    ITG_TRY(errors[lane]);
  }
  return kNoError;
}

// Probes of the first `count` samples, which have been added.
Error probe_all(CalibratorMemory& memory, const SampleSource& source, int32_t count, int32_t* bad) {
  for (int32_t first = 0; first < count; first += memory.lane_count()) {
    const int32_t left = count - first, lanes = left < memory.lane_count() ? left : memory.lane_count();
    const Executor inner = lanes == 1 ? memory.options.executor : Executor();
    for (const Probe probe : kProbes) {
      ITG_TRY(load_batch(memory, source, first, lanes, bad));
      memory.threads.hold([&] {
        parallel_for(memory.options.executor, lanes,
                     [&](int32_t lane) { observe_probe(memory, lane, inner, probe); });
      });
    }
  }
  return kNoError;
}

// Samples [first, first + count), each on a lane. `bad`: the one at fault, if any.
Error add_batch(CalibratorMemory& memory, const SampleSource& source, int32_t first, int32_t count,
                int32_t* bad) {
  LaneSample samples[kMaxLanes];
  const Executor inner = count == 1 ? memory.options.executor : Executor();
  ITG_TRY(load_batch(memory, source, first, count, bad));
  memory.threads.hold([&] {
    parallel_for(memory.options.executor, count, [&](int32_t lane) {
      LaneSample& sample = samples[lane];
      sample.name = name_of(memory.lanes.of(memory.session, lane), *memory.sha256);
      sample.outputs = memory.references.room(static_cast<size_t>(lane));
      observe_sample(memory, lane, inner, sample);
    });
  });
  for (int32_t lane = 0; lane < count; ++lane) {
    *bad = first + lane;
    // What one bad sample has left in the observers cannot be taken back: the fault stays.
    ITG_TRY(memory.fault = samples[lane].error);
    if (source.ran != nullptr)
      source.ran(source.context, first + lane, memory.lanes.of(memory.session, lane));
    if (count_in(memory, samples[lane])) ITG_TRY(memory.fault = load_golden(memory, source, first + lane));
  }
  return kNoError;
}

}  // namespace

Error Calibrator::add(Span<const Span<const uint8_t>> inputs) {
  CalibratorMemory& memory = *memory_;
  ITG_TRY(memory.fault);
  const Model& model = memory.model;
  if (inputs.size != model.inputs().size)
    return {Status::kSampleCount, -1, -1, static_cast<int64_t>(inputs.size),
            static_cast<int64_t>(model.inputs().size)};
  ITG_TRY(check_room(memory.seen, 1));
  for (size_t i = 0; i < inputs.size; ++i) {
    const int32_t tensor = model.inputs()[i];
    const size_t bytes = model.tensor(tensor).bytes();
    if (inputs[i].size != bytes)
      return {Status::kSampleSize, -1, tensor, static_cast<int64_t>(inputs[i].size),
              static_cast<int64_t>(bytes)};
  }
  const auto load = [&] {
    for (size_t i = 0; i < inputs.size; ++i)
      memcpy(memory.session.input(static_cast<int32_t>(i)).data, inputs[i].data, inputs[i].size);
  };
  if (has_probes(memory, int64_t{memory.seen.sample_count} + 1)) {
    for (const Probe probe : kProbes) {
      load();
      memory.threads.hold([&] { observe_probe(memory, 0, memory.options.executor, probe); });
    }
  }
  load();
  LaneSample sample;
  sample.name = name_of(memory.session, *memory.sha256);
  sample.outputs = memory.references.room(0);
  memory.threads.hold([&] { observe_sample(memory, 0, memory.options.executor, sample); });
  ITG_TRY(memory.fault = sample.error);
  if (!count_in(memory, sample)) return kNoError;
  uint8_t* at = memory.seen.golden_sample.data;
  for (const Span<const uint8_t> input : inputs) {
    memcpy(at, input.data, input.size);
    at += input.size;
  }
  return kNoError;
}

Error Calibrator::add_all(const SampleSource& source, int32_t* bad) {
  CalibratorMemory& memory = *memory_;
  const uint32_t before = memory.seen.sample_count;
  int32_t at_fault = -1;
  Error error = memory.fault;
  if (error.ok()) error = check_room(memory.seen, source.count);
  const Progress& progress = memory.options.progress;
  for (int32_t first = 0; first < source.count && error.ok(); first += memory.lane_count()) {
    const int32_t left = source.count - first;
    const bool go_on =
        progress.step == nullptr || progress.step(progress.context, "calibrating", first, source.count);
    error = go_on ? add_batch(memory, source, first, left < memory.lane_count() ? left : memory.lane_count(),
                              &at_fault)
                  : Error{Status::kCancelled};
  }
  // Whether there are few is known only now; a cancelled call has added some, too.
  if (memory.fault.ok() && has_probes(memory, int64_t{memory.seen.sample_count} + memory.samples_elsewhere)) {
    int32_t lost = -1;
    memory.fault = probe_all(memory, source, static_cast<int32_t>(memory.seen.sample_count - before), &lost);
    if (error.ok() && !memory.fault.ok()) at_fault = lost;
    if (error.ok()) error = memory.fault;
  }
  merge_lanes(memory);
  if (bad != nullptr) *bad = error.ok() ? -1 : at_fault;
  return error;
}

}  // namespace intaglio
