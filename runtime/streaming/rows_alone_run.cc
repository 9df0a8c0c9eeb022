// Runs a streamed plan in which each node runs alone: as a whole, or in bands of rows from the first to the last. It has no clock and
// no line buffers, so a planned model of such a plan links two thirds of what segments take.
#include "intaglio/streaming.h"
#include "runtime/streaming/band_view.h"
#include "runtime/streaming/streamed_model.h"

#if ITG_STREAMING

namespace intaglio {

// Reads what is Session's own.
class RowsAloneRun {
 public:
  static void run_nodes(const Session& session, const NodeRun& whole, int32_t first, int32_t last) {
    const Model& model = *whole.model;
    for (int32_t n = first; n < last; ++n) {
      NodeRun run = whole;
      const OpRun* const op = session.set_node(n, &run);
      const SegmentInfo segment = StreamedModel::segment_of(model, n);
      if (segment.count == 0) {
        op->run({n, model.node(n), &model}, run);
      } else {
        run_bands(*op, run, n, segment.band);
      }
      const Observer& observer = session.options_.observer;
      if (observer.on_tensor == nullptr) continue;
      for (const int32_t output : model.node_outputs(n))
        observer.on_tensor(observer.context, n, output, session.tensor(output));
    }
  }

 private:
  static void run_bands(const OpRun& op, const NodeRun& run, int32_t n, int32_t band) {
    const Model& model = *run.model;
    BandView view(model, n, false);
    const NodeView& node = view.node();
    const int32_t height = view.height(kMaxBandInputs);
    for (int32_t row = 0; row < height; row += band) {
      view.take(
          row, band < height - row ? row + band : height,
          [&](int32_t k) { return model.activation_offset(node.input_index(k)); },
          model.activation_offset(node.output_index(0)));
      op.run(node, run);
    }
  }
};

const Streaming kRowsAlone = {nullptr, nullptr, RowsAloneRun::run_nodes, nullptr};

}  // namespace intaglio

#endif
