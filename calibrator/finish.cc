// Calibrator::finish, top to bottom: parameters, bake, recoveries under guard, replay, hand over.
#include "calibrator/calibrator_memory.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/ranges/slot_params.h"
#include "calibrator/recover/bias_absorption.h"
#include "calibrator/recover/equalization.h"
#include "calibrator/recover/range_method.h"
#include "calibrator/recover/range_recovery.h"
#include "runtime/crc32.h"

namespace intaglio {
namespace {

class Finish {
 public:
  Finish(CalibratorMemory& memory, const SampleSource* source)
      : memory_(memory),
        replay_(memory, source),
        arena_(memory.output),
        meter_(memory, arena_),
        equalizer_(memory, arena_),
        absorber_(memory, memory.session_memory.persistent.size, arena_),
        lasting_(
            arena_.make<uint8_t>(static_cast<size_t>(range_recovery_bytes(memory.model, memory.options)))),
        int8_(memory, arena_),
        kept_(memory.references.rest()) {}

  // What recoveries have put into the calibrator's memory is taken out of it.
  Error restore() {
    memory_.options.method = memory_.asked;
    const Error error = absorber_.restore();
    const Error scaled = equalizer_.restore();
    return error.ok() ? scaled : error;
  }

  Error run(const ModelSink& sink) {
    memory_.step = 0;
    memory_.report = CalibrationReport();
    memory_.reported = memory_.seen.observers;
    if (memory_.seen.sample_count == 0) return bake_known(sink);
    Error error;
    memory_.threads.hold([&] { error = replay_.check(kept_); });
    ITG_TRY(error);
    walk_ = SampleWalk(replay_, memory_, int8_.session(), int8_.lanes(), kept_);
    ITG_TRY(context_.step("bake", 0, 1));
    ITG_TRY(build_with_ranges(context_));
    const bool decides = memory_.options.recover != recovery::kNone;
    ITG_TRY(context_.measure("first replay", context_.error, decides ? Part::kJudges : Part::kAll));
    const NetworkError baked = context_.error;
    ITG_TRY(recover(context_));
    memory_.step = steps_of(memory_.options) - 1;
    ITG_TRY(context_.complete());
    if (!memory_.rehearses) {
      memory_.threads.hold([&] { error = int8_.rewrite(); });
      ITG_TRY(error);
      ITG_TRY(check_replay());
    }
    if (memory_.options.layer_report) ITG_TRY(report_layers());
    const NetworkError& whole = context_.whole;
    memory_.report.signal = whole.signal;
    memory_.report.noise = whole.noise;
    memory_.report.noise_without_recovery =
        baked.signal == whole.signal ? baked.noise : baked.ratio() * whole.signal;
    memory_.report.samples = static_cast<int32_t>(memory_.seen.sample_count);
    memory_.report.method = memory_.options.method;
    memory_.report.bytes = int8_.bytes();
    memory_.reported = memory_.seen.observers;
    ITG_TRY(context_.step("store", 0, 1));
    if (sink.write != nullptr && !sink.write(sink.context, int8_.bytes())) return {Status::kSinkFailed};
    return kNoError;
  }

 private:
  // Without samples: what is known beforehand has to do. The model runs on zeros.
  Error bake_known(const ModelSink& sink) {
    if (memory_.options.known.empty()) return {Status::kNoSamples};
    ITG_TRY(choose_params(memory_));
    ITG_TRY(int8_.build());
    for (size_t i = 0; i < memory_.model.inputs().size; ++i) {
      const TensorView input = memory_.session.input(static_cast<int32_t>(i));
      memset(input.data, 0, input.info.bytes());
    }
    ITG_TRY(check_replay(false));
    memory_.report.bytes = int8_.bytes();
    if (sink.write != nullptr && !sink.write(sink.context, int8_.bytes())) return {Status::kSinkFailed};
    return kNoError;
  }

  // What is handed over gives the same bytes twice, from the file as it was written.
  Error check_replay(bool loads = true) {
    Session& int8 = int8_.session();
    uint32_t first = 0;
    for (int32_t run = 0; run < 2; ++run) {
      if (loads) ITG_TRY(replay_.load(0));
      copy_inputs(memory_.session, int8);
      int8.run();
      uint32_t crc = 0;
      for (size_t i = 0; i < int8.model().outputs().size; ++i) {
        const TensorView output = int8.output(static_cast<int32_t>(i));
        crc = crc32(crc, static_cast<const uint8_t*>(output.data), output.info.bytes());
      }
      if (run == 1 && crc != first) return {Status::kReplayDiffers};
      first = crc;
    }
    return kNoError;
  }

  // As many samples at once as there are lanes; their sums are added in the samples' order.
  Error report_layers() {
    Arena& arena = int8_.arena();
    const Span<const LayerPair> pairs = pair_layers(memory_.model, int8_.session().model(), arena);
    const Span<LayerReport> layers = arena.make<LayerReport>(pairs.size);
    if (layers.size != pairs.size) return {Status::kOutOfMemory};
    Arena scratch = arena;
    const Span<LayerReport> of_lanes = scratch.make<LayerReport>(memory_.lane_states.size * pairs.size);
    if (scratch.exhausted()) return {Status::kOutOfMemory};
    const int32_t lanes = memory_.lane_count();
    for (int32_t first = 0; first < replay_.count(); first += lanes) {
      const int32_t left = replay_.count() - first, count = left < lanes ? left : lanes;
      for (LayerReport& layer : of_lanes) layer = LayerReport();
      for (const bool alone : {false, true}) {
        ITG_TRY(context_.step("report", first, replay_.count()));
        int32_t batch[kMaxLanes];
        for (int32_t lane = 0; lane < count; ++lane) batch[lane] = first + lane;
        Error error;
        memory_.threads.hold([&] {
          error = replay_.load_each({batch, static_cast<size_t>(count)});
          if (!error.ok()) return;
          const Executor inner = count == 1 ? memory_.options.executor : Executor();
          parallel_for(memory_.options.executor, count, [&](int32_t lane) {
            Session fp32 = memory_.lanes.of(memory_.session, lane, inner);
            Session int8 = int8_.lanes().of(int8_.session(), lane, inner);
            copy_inputs(fp32, int8);
            LayerReport* const own = of_lanes.data + static_cast<size_t>(lane) * pairs.size;
            compare_layers(fp32, int8, pairs, {own, pairs.size}, alone);
          });
        });
      }
      for (size_t i = 0; i < static_cast<size_t>(count) * pairs.size; ++i)
        layers[i % pairs.size].add(of_lanes[i]);
    }
    for (LayerReport& layer : layers) layer.clipped /= replay_.count();
    memory_.report.layers = layers;
    return kNoError;
  }

  CalibratorMemory& memory_;
  Replay replay_;
  Arena arena_;
  NetworkErrorMeter meter_;
  Equalizer equalizer_;
  BiasAbsorber absorber_;
  Arena lasting_;
  Int8Model int8_;
  Arena kept_;  // memory for what is not computed twice
  SampleWalk walk_{replay_, memory_, int8_.session(), int8_.lanes(), kept_};
  RecoveryContext context_{memory_, int8_, replay_, walk_, meter_, equalizer_, absorber_, lasting_, {}, {}};
};

}  // namespace

Error finish_calibration(CalibratorMemory& memory, const ModelSink& sink, const SampleSource* source) {
  Finish finish(memory, source);
  const Error error = finish.run(sink);
  const Error restored = finish.restore();
  return error.ok() ? restored : error;
}

}  // namespace intaglio
