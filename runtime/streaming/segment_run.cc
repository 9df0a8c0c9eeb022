#include "runtime/streaming/streamed_model.h"

#include <cstring>
#include <new>

#include "intaglio/streaming.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/pool/pool.h"
#include "runtime/liveness.h"
#include "runtime/streaming/band_view.h"

#if ITG_STREAMING

namespace intaglio {

// Reads what is Session's own.
class SegmentRun {
 public:
  SegmentRun(const Session& session, const NodeRun& run, const SegmentInfo& segment)
      : session_(session), model_(*run.model), run_(run), segment_(segment) {}

  void run() {
    run_until(0, end());
    report();
  }

  // Row `row` of the fed picture is there: what follows from it, and after the last row all that is left.
  void go_on(int32_t row) {
    const int32_t last = picture_height() - 1;
    run_until(row == 0 ? 0 : shown_before(row), row == last ? end() : shown_before(row + 1));
    if (row == last) report();
  }

  // Where row `row` of the fed picture is to be written; with the first of a step, those that stay are moved down.
  uint8_t* place_of_row(int32_t row) const {
    const int32_t clock = shown_before(row) + segment_.band, tensor = model_.inputs()[0];
    const TensorInfo info = model_.tensor(tensor);
    const int32_t height = info.shape[1], row_bytes = row_bytes_of(info);
    const RowPlace place = {model_.activation_offset(tensor), walk_of(segment_, kPictureWalk)};
    const int32_t first = place.walk.rows_at(clock - segment_.band, height);
    if (row == first) make_room(place, row_bytes, first, place.walk.rows_at(clock, height));
    return run_.activations + place.of_row(row, height, row_bytes, clock);
  }

  // A node of no segment.
  void run_alone(int32_t n) const {
    const NodeView node = {n, model_.node(n), &model_};
    NodeRun run = run_;
    session_.set_node(n, &run)->run(node, run);
    for (const int32_t output : node.info.outputs) report(n, output);
  }

 private:
  static constexpr int32_t kFromBefore = kPictureWalk - 1;

  NodeView view(int32_t i) const { return {segment_.first + i, model_.node(segment_.first + i), &model_}; }
  int32_t picture_height() const { return model_.tensor(model_.inputs()[0]).shape[1]; }

  // When all is there.
  int32_t end() const {
    int32_t end = 0;
    for (int32_t i = 0; i < segment_.count; ++i) {
      const NodeView node = view(i);
      const RowWalk walk = walk_of(segment_, i);
      const int32_t due = walk.stride * counted_rows(node, walk.rows < 0) - walk.lead;
      end = due > end ? due : end;
    }
    return end + segment_.band - 1;
  }

  // The last time on the clock before row `row` of the fed picture is needed.
  int32_t shown_before(int32_t row) const {
    const RowWalk walk = walk_of(segment_, kPictureWalk);
    return ((row + 1) * walk.stride - walk.lead - 1) / segment_.band * segment_.band;
  }

  // Where a tensor's rows stand, and how they come.
  struct RowPlace {
    uint32_t offset;
    RowWalk walk;  // its rows are 0 where all of it is there

    // Where row `row` stands, from the start of the activations. Row 0, where it would stand if all rows did, may be below it:
    // modulo 2^32. `height` and `row_bytes`: of the whole tensor.
    uint32_t of_row(int32_t row, int32_t height, int32_t row_bytes, int32_t clock) const {
      const int32_t made = walk.rows > 0 ? walk.rows_at(clock, height) - walk.rows : 0;
      return offset + static_cast<uint32_t>((row - (made > 0 ? made : 0)) * row_bytes);
    }
  };

  // For input `k`, which is read by rows, of node `i`.
  RowPlace input_place(const NodeView& node, int32_t i, int32_t k) const {
    const int32_t tensor = node.input_index(k), from = writer(tensor, i);
    return {model_.activation_offset(tensor),
            from == kFromBefore ? RowWalk{1, 0, 0} : walk_of(segment_, from)};
  }

  // The arguments that are the same in all bands of a node.
  struct SegmentNode {
    SegmentNode(const SegmentRun& segment, int32_t number)
        : i(number),
          output{0, walk_of(segment.segment_, number)},
          band(segment.model_, segment.segment_.first + number, output.walk.rows < 0),
          run(segment.run_),
          op(segment.session_.set_node(band.node().index, &run)) {
      for (int32_t k = 0; kKeepsNodes && k < band.node().input_count(); ++k)
        if (band.reads_rows(k)) inputs[k] = segment.input_place(band.node(), i, k);
      output.offset = segment.model_.activation_offset(band.node().output_index(0));
    }

    uint32_t input_row(const SegmentRun& segment, int32_t k, int32_t row, int32_t clock) {
      const RowPlace place = kKeepsNodes ? inputs[k] : segment.input_place(band.node(), i, k);
      return place.of_row(row, band.height(k), band.row_bytes(k), clock);
    }

    int32_t i;                                                  // counted in the segment
    RowPlace output, inputs[kKeepsNodes ? kMaxBandInputs : 1];  // inputs by rows, where they are kept
    BandView band;
    NodeRun run;
    const OpRun* op;
  };

  // Decoded nodes: kept while the clock runs, those behind the first kKept but for a band.
  class SegmentNodes {
   public:
    SegmentNode& node(const SegmentRun& segment, int32_t i) {
      if (!kKeepsNodes || i >= kKept) return *new (places_[kKept]) SegmentNode(segment, i);
      if (!there_[i]) new (places_[i]) SegmentNode(segment, i);
      there_[i] = true;
      return *reinterpret_cast<SegmentNode*>(places_[i]);
    }

   private:
    static constexpr int32_t kKept = kKeepsNodes ? 24 : 0;
    alignas(SegmentNode) uint8_t places_[kKept + 1][sizeof(SegmentNode)];
    bool there_[kKept + 1] = {};
  };

  // The clock's steps behind `shown`, to `limit` at most.
  void run_until(int32_t shown, int32_t limit) {
    SegmentNodes nodes;
    for (int32_t clock = shown + segment_.band; clock <= limit; clock += segment_.band)
      for (int32_t i = 0; i < segment_.count; ++i) {
        const RowWalk walk = walk_of(segment_, i);
        if (walk.rows_at(clock - segment_.band, INT32_MAX) != walk.rows_at(clock, INT32_MAX))
          advance(nodes.node(*this, i), clock);
      }
  }

  void advance(SegmentNode& at, int32_t clock) {
    BandView& band = at.band;
    const bool reduces = band.access().reduces;
    const int32_t counted = reduces ? 0 : kMaxBandInputs;
    const int32_t height = band.height(counted), row_bytes = band.row_bytes(counted);
    const RowWalk& walk = at.output.walk;
    const int32_t first = walk.rows_at(clock - segment_.band, height), past = walk.rows_at(clock, height);
    if (first == past) return;
    if (reduces) return add_rows(band.node(), first, past, at.input_row(*this, 0, first, clock));
    make_room(at.output, row_bytes, first, past);
    band.take(
        first, past, [&](int32_t k) { return at.input_row(*this, k, 0, clock); },
        at.output.of_row(0, height, row_bytes, clock));
    if (band.is_empty()) return fill(band.node(), at.run);
    at.op->run(band.node(), at.run);
  }

  int32_t written(int32_t i) const { return StreamedModel::outputs(model_, segment_.first + i)[0]; }

  // The node of this segment that writes it for node `reader`, counted here; kPictureWalk where it is fed, kFromBefore where it
  // was there before.
  int32_t writer(int32_t tensor, int32_t reader) const {
    if (segment_.picture_rows != 0 && tensor == model_.inputs()[0]) return kPictureWalk;
    if (reader > 0 && written(reader - 1) == tensor) return reader - 1;
    int32_t first = 0, end = reader;
    while (first < end) {
      const int32_t middle = first + (end - first) / 2;
      const int32_t output = written(middle);
      if (output == tensor) return middle;
      (output < tensor ? first : end) = output < tensor ? middle + 1 : middle;
    }
    return kFromBefore;
  }

  // The last rows of a line buffer are moved to its start, as many as stay beside rows [first, past).
  void make_room(const RowPlace& place, int32_t row_bytes, int32_t first, int32_t past) const {
    const int32_t rows = place.walk.rows, kept_from = past - rows;  // the first row that stays
    if (rows <= 0 || kept_from <= 0 || kept_from >= first) return;
    const int32_t start = first - rows > 0 ? first - rows : 0;  // the row that is at its start
    uint8_t* const buffer = run_.activations + place.offset;
    const auto bytes = static_cast<size_t>(row_bytes);
    memmove(buffer, buffer + static_cast<size_t>(kept_from - start) * bytes,
            static_cast<size_t>(first - kept_from) * bytes);
  }

  // Rows that are nothing but a pad's value.
  static void fill(const NodeView& node, const NodeRun& run) {
    const TensorInfo out = node.output();
    const OutputS8 output = make_output_s8(out.quantization.zero_point, -128, 127);
    const int8_t code =
        clamp_and_round_s8(node.options<PadOptions>().value / out.quantization.scales[0], output);
    memset(run.output<int8_t>(node), code, out.bytes());
  }

  // A mean: sums of 32 bits stand at the output's place until the last row is in them. As pool.h
  // defines them.
  void add_rows(const NodeView& node, int32_t first, int32_t past, uint32_t from) const {
    const TensorInfo in = node.input(0), out = node.output();
    const int32_t height = in.shape[1], width = in.shape[2], channels = in.shape[3];
    auto* const place = run_.output<uint8_t>(node);
    auto* const sums = reinterpret_cast<int32_t*>(place);
    const int32_t taps = height * width;
    if (first == 0)
      for (int32_t c = 0; c < channels; ++c) sums[c] = -taps * in.quantization.zero_point;
    const auto* x = reinterpret_cast<const int8_t*>(run_.activations + from);
    for (int32_t pixels = (past - first) * width; pixels > 0; --pixels, x += channels)
      for (int32_t c = 0; c < channels; ++c) sums[c] += x[c];
    if (past < height) return;
    if (out.dtype == DType::kF32) {
      const float multiplier = in.quantization.scales[0] / static_cast<float>(taps);
      for (int32_t c = 0; c < channels; ++c) {
        const float mean = static_cast<float>(sums[c]) * multiplier;
        memcpy(place + 4 * c, &mean, sizeof mean);
      }
      return;
    }
    const Clamp& clamp = node.options<Clamp>();
    const OutputS8 output = make_output_s8(out.quantization.zero_point, clamp.lo, clamp.hi);
    const float multiplier = mean_multiplier(in.quantization.scales[0], out.quantization.scales[0], taps);
    auto* const codes =
        reinterpret_cast<int8_t*>(place);  // each code is written before the sum that it was made of
    for (int32_t c = 0; c < channels; ++c) codes[c] = requantize_s8(sums[c], multiplier, output);
  }

  // An observer sees what is there as a whole.
  void report() const {
    for (int32_t i = 0; i < segment_.count; ++i)
      if (walk_of(segment_, i).rows <= 0) report(segment_.first + i, written(i));
  }
  void report(int32_t n, int32_t output) const {
    const Observer& observer = session_.options_.observer;
    if (observer.on_tensor != nullptr)
      observer.on_tensor(observer.context, n, output, session_.tensor(output));
  }

  const Session& session_;
  const Model& model_;
  const NodeRun& run_;
  const SegmentInfo& segment_;
};

namespace {

void run_between(const Session& session, const NodeRun& run, int32_t first, int32_t last) {
  for (int32_t i = first; i < last;) {
    const SegmentInfo segment = StreamedModel::segment_of(*run.model, i);
    SegmentRun nodes(session, run, segment);
    if (segment.count == 0) {
      nodes.run_alone(i++);
    } else {
      if (i == segment.first) nodes.run();
      i = segment.first + segment.count;
    }
  }
}

}  // namespace

void run_streamed_nodes(const Session& session, const NodeRun& run, int32_t first, int32_t last) {
  if (first >= 0) return run_between(session, run, first, last);
  const SegmentInfo segment = StreamedModel::feeding_segment(*run.model);
  const int32_t row = -1 - first;
  if (row == 0) run_between(session, run, 0, segment.first);
  SegmentRun(session, run, segment).go_on(row);
  if (row == run.model->tensor(run.model->inputs()[0]).shape[1] - 1)
    run_between(session, run, segment.first + segment.count, run.model->node_count());
}

uint8_t* place_of_fed_row(const Session& session, const NodeRun& run, int32_t row) {
  const SegmentInfo segment = StreamedModel::feeding_segment(*run.model);
  return segment.count == 0 ? nullptr : SegmentRun(session, run, segment).place_of_row(row);
}

const Streaming kStreaming = {nullptr, nullptr, run_streamed_nodes, place_of_fed_row};

}  // namespace intaglio

#endif
