#include "runtime/streaming/segment_run.h"

#include <cstring>

#include "intaglio/streaming.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/pool/pool_s8.h"
#include "runtime/liveness.h"
#include "runtime/streaming/band_view.h"
#include "runtime/streaming/streamed_model.h"
#include "runtime/streaming/streaming_hooks.h"

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
    const RowWalk walk = walk_of(segment_, kPictureWalk);
    const int32_t clock = shown_before(row) + segment_.band, tensor = model_.inputs()[0];
    const TensorInfo info = model_.tensor(tensor);
    const int32_t height = info.shape[1], row_bytes = row_bytes_of(info);
    const int32_t first = walk.rows_at(clock - segment_.band, height);
    if (row == first) make_room(tensor, row_bytes, walk.rows, first, walk.rows_at(clock, height));
    return run_.activations + model_.activation_offset(tensor) + int64_t{row} * row_bytes -
           gone_bytes(walk, info, clock);
  }

  // A node of no segment.
  void run_alone(int32_t n) const {
    const NodeView node = {n, model_.node(n), &model_};
    NodeRun run = run_;
    session_.set_node(n, &run)->run(node, run);
    for (const int32_t output : node.info.outputs) report(n, output);
  }

 private:
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

  // What the clock shows at most before row `row` of the fed picture is needed.
  int32_t shown_before(int32_t row) const {
    const RowWalk walk = walk_of(segment_, kPictureWalk);
    return ((row + 1) * walk.stride - walk.lead - 1) / segment_.band * segment_.band;
  }

  // The clock's steps behind `shown`, to `limit` at most.
  void run_until(int32_t shown, int32_t limit) {
    for (int32_t clock = shown + segment_.band; clock <= limit; clock += segment_.band)
      for (int32_t i = 0; i < segment_.count; ++i) advance(i, clock);
  }

  void advance(int32_t i, int32_t clock) {
    const int32_t before = clock - segment_.band;
    const RowWalk walk = walk_of(segment_, i);
    if (walk.rows_at(before, INT32_MAX) == walk.rows_at(clock, INT32_MAX)) return;
    BandView band(model_, segment_.first + i);
    const NodeView& node = band.node();
    const RowAccess access = known_row_access(node, walk.rows < 0);
    const TensorInfo out = band.output();
    const int32_t height = access.reduces ? band.input(0).shape[1] : out.shape[1];
    const int32_t first = walk.rows_at(before, height), past = walk.rows_at(clock, height);
    if (first == past) return;
    const auto input_row_0 = [&](int32_t k, const TensorInfo& info) {
      return row_0(node.input_index(k), info, i, clock);
    };
    if (access.reduces) return add_rows(node, first, past, input_row_0(0, band.input(0)));
    const int32_t output = node.output_index(0);
    make_room(output, row_bytes_of(out), walk.rows, first, past);
    band.take(access, first, past, input_row_0,
              static_cast<int64_t>(model_.activation_offset(output)) - gone_bytes(walk, out, clock));
    NodeRun run = run_;
    const OpRun* const op = session_.set_node(node.index, &run);
    if (band.is_empty()) return fill(node, run);
    op->run(node, run);
  }

  // Bytes of the rows that have left the line buffer.
  static int64_t gone_bytes(const RowWalk& walk, const TensorInfo& info, int32_t clock) {
    if (walk.rows <= 0) return 0;
    const int32_t made = walk.rows_at(clock, info.shape[1]);
    return made <= walk.rows ? 0 : int64_t{row_bytes_of(info)} * (made - walk.rows);
  }

  // Where the first row of a tensor that node `reader` reads would stand if all of its rows did, from the start of the
  // activations.
  int64_t row_0(int32_t tensor, const TensorInfo& info, int32_t reader, int32_t clock) const {
    const auto offset = static_cast<int64_t>(model_.activation_offset(tensor));
    const bool fed = segment_.picture_rows != 0 && tensor == model_.inputs()[0];
    const int32_t i = fed ? kPictureWalk : writer(tensor, reader);
    return i < 0 && !fed ? offset : offset - gone_bytes(walk_of(segment_, i), info, clock);
  }

  int32_t written(int32_t i) const { return StreamedModel::outputs(model_, segment_.first + i)[0]; }

  // The node of this segment that writes it for node `reader`, counted here; below 0 where it was there before.
  int32_t writer(int32_t tensor, int32_t reader) const {
    if (reader > 0 && written(reader - 1) == tensor) return reader - 1;
    int32_t first = 0, end = reader;
    while (first < end) {
      const int32_t middle = first + (end - first) / 2;
      const int32_t output = written(middle);
      if (output == tensor) return middle;
      (output < tensor ? first : end) = output < tensor ? middle + 1 : middle;
    }
    return -1;
  }

  // The last rows of a line buffer of `rows` are moved to its start, as many as stay beside rows [first, past).
  void make_room(int32_t tensor, int32_t row_bytes, int32_t rows, int32_t first, int32_t past) const {
    const int32_t kept_from = past - rows;  // the first row that stays
    if (rows <= 0 || kept_from <= 0 || kept_from >= first) return;
    const int32_t start = first - rows > 0 ? first - rows : 0;  // the row that is at its start
    uint8_t* const buffer = run_.activations + model_.activation_offset(tensor);
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

  // A mean: sums of 32 bits stand at the output's place until the last row is in them. As pool_s8.h and mean_s8_f32.h
  // define them.
  void add_rows(const NodeView& node, int32_t first, int32_t past, int64_t input_row_0) const {
    const TensorInfo in = node.input(0), out = node.output();
    const int32_t height = in.shape[1], width = in.shape[2], channels = in.shape[3];
    auto* const place = run_.output<uint8_t>(node);
    auto* const sums = reinterpret_cast<int32_t*>(place);
    const int32_t taps = height * width;
    if (first == 0)
      for (int32_t c = 0; c < channels; ++c) sums[c] = -taps * in.quantization.zero_point;
    const auto* x = reinterpret_cast<const int8_t*>(run_.activations + input_row_0) +
                    static_cast<ptrdiff_t>(first) * width * channels;
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
