#include "calibrator/judge/layer_report.h"

#include "calibrator/judge/evaluate.h"
#include "runtime/op.h"

namespace intaglio {
namespace {

// Samples [first, first + count), each on a lane. of_lanes[lane * pairs.size + i] gets what differs at pairs[i].
Error compare_batch(const FloatModel& fp32, Int8Model& int8, Span<const LayerPair> pairs,
                    Span<const int32_t> batch, Replay& samples, bool alone, Span<LayerReport> of_lanes) {
  ITG_TRY(samples.load_each(batch));
  const Executor inner = batch.size == 1 ? fp32.executor : Executor();
  parallel_for(fp32.executor, static_cast<int32_t>(batch.size), [&](int32_t lane) {
    Session exact = fp32.on_lane(lane, inner);
    Session test = int8.lanes().of(int8.session(), lane, inner);
    copy_inputs(exact, test);
    LayerReport* const own = of_lanes.data + static_cast<size_t>(lane) * pairs.size;
    compare_layers(exact, test, pairs, {own, pairs.size}, alone);
  });
  return kNoError;
}

}  // namespace

Result<Span<LayerReport>> report_layers(FloatModel& fp32, Int8Model& int8, Replay& samples,
                                        const Progress& progress) {
  Arena& arena = int8.arena();
  const Span<const LayerPair> pairs = pair_layers(fp32.model, int8.session().model(), arena);
  const Span<LayerReport> layers = arena.make<LayerReport>(pairs.size);
  if (layers.size != pairs.size) return Error{Status::kOutOfMemory};
  Arena scratch = arena;
  const int32_t lanes = fp32.lane_count, count = samples.count();
  const Span<LayerReport> of_lanes = scratch.make<LayerReport>(static_cast<size_t>(lanes) * pairs.size);
  if (scratch.exhausted()) return Error{Status::kOutOfMemory};
  for (int32_t first = 0; first < count; first += lanes) {
    const auto here = static_cast<size_t>(count - first < lanes ? count - first : lanes);
    int32_t batch[kMaxLanes];
    for (size_t lane = 0; lane < here; ++lane) batch[lane] = first + static_cast<int32_t>(lane);
    for (LayerReport& layer : of_lanes) layer = LayerReport();
    for (const bool alone : {false, true}) {
      if (progress.step != nullptr && !progress.step(progress.context, "report", first, count))
        return Error{Status::kCancelled};
      Error error;
      fp32.threads.hold([&] {
        error = compare_batch(fp32, int8, pairs, {batch, here}, samples, alone, of_lanes);
      });
      ITG_TRY(error);
    }
    for (size_t i = 0; i < here * pairs.size; ++i) layers[i % pairs.size].add(of_lanes[i]);
  }
  for (LayerReport& layer : layers) layer.clipped /= count;
  return layers;
}

}  // namespace intaglio
