#include "runtime/streaming/segment_run.h"

#include <cstring>

#include "kernels/arithmetic/requant.h"
#include "kernels/pool/pool_s8.h"
#include "runtime/liveness.h"
#include "runtime/streaming/band_view.h"
#include "runtime/streaming/streamed_model.h"

#if ITG_STREAMING

namespace intaglio {

// Reads what is Session's own.
class SegmentRun {
 public:
  SegmentRun(const Session& session, const NodeRun& run, const SegmentInfo& segment)
      : session_(session), model_(*run.model), run_(run), segment_(segment) {}

  void run() {
    int32_t end = 0;  // when all is there
    for (int32_t i = 0; i < segment_.count; ++i) {
      const NodeView node = view(i);
      const int32_t due = stride(i) * counted_rows(node, row_access(node)) - lead(i);
      end = due > end ? due : end;
    }
    for (int32_t clock = segment_.band; clock < end + segment_.band; clock += segment_.band)
      for (int32_t i = 0; i < segment_.count; ++i) advance(i, clock);
    report();
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
  int32_t stride(int32_t i) const { return segment_.strides[static_cast<size_t>(i)]; }
  int32_t lead(int32_t i) const { return segment_.leads[static_cast<size_t>(i)]; }
  int32_t rows(int32_t i) const { return segment_.rows[static_cast<size_t>(i)]; }

  void advance(int32_t i, int32_t clock) {
    const int32_t before = clock - segment_.band;
    if (rows_at(segment_, i, before, INT32_MAX) == rows_at(segment_, i, clock, INT32_MAX)) return;
    const NodeView node = view(i);
    const RowAccess access = row_access(node);
    const int32_t height = counted_rows(node, access);
    const int32_t first = rows_at(segment_, i, before, height), past = rows_at(segment_, i, clock, height);
    if (first == past) return;
    if (access.reduces) return add_rows(node, first, past, row_0(node.input_index(0), clock));
    make_room(node, i, first, past);
    BandView band(node, access, first, past);
    for (int32_t k = 0; k < node.input_count(); ++k)
      if (reads_rows(node, k)) band.place_input(k, row_0(node.input_index(k), clock));
    band.place_output(row_0(node.output_index(0), clock));
    NodeRun run = run_;
    const OpRun* const op = session_.set_node(node.index, &run);
    if (band.is_empty()) return fill(band.node(), run);
    op->run(band.node(), run);
  }

  // Where the first row of a tensor would stand if all of its rows did, from the start of the activations.
  int64_t row_0(int32_t tensor, int32_t clock) const {
    const auto offset = static_cast<int64_t>(model_.activation_offset(tensor));
    const int32_t i = writer(tensor);
    if (i < 0 || rows(i) <= 0) return offset;
    const int32_t made = rows_at(segment_, i, clock, model_.tensor(tensor).shape[1]);
    return made <= rows(i) ? offset : offset - row_bytes(tensor) * (made - rows(i));
  }

  int64_t row_bytes(int32_t tensor) const {
    const TensorInfo info = model_.tensor(tensor);
    return static_cast<int64_t>(info.bytes()) / info.shape[1];
  }

  // The node of this segment that writes it, counted here; below 0 where it was there before.
  int32_t writer(int32_t tensor) const {
    int32_t first = 0, end = segment_.count;
    while (first < end) {
      const int32_t middle = first + (end - first) / 2;
      const int32_t output = StreamedModel::outputs(model_, segment_.first + middle)[0];
      if (output == tensor) return middle;
      (output < tensor ? first : end) = output < tensor ? middle + 1 : middle;
    }
    return -1;
  }

  // The last rows of a line buffer are moved to its start, as many as stay beside rows [first, past).
  void make_room(const NodeView& node, int32_t i, int32_t first, int32_t past) const {
    const int32_t kept_from = past - rows(i);  // the first row that stays
    if (rows(i) <= 0 || kept_from <= 0 || kept_from >= first) return;
    const int32_t tensor = node.output_index(0);
    const int32_t start = first - rows(i) > 0 ? first - rows(i) : 0;  // the row that is at its start
    uint8_t* const buffer = run_.activations + model_.activation_offset(tensor);
    const auto bytes = static_cast<size_t>(row_bytes(tensor));
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
      if (rows(i) <= 0) report(segment_.first + i, StreamedModel::outputs(model_, segment_.first + i)[0]);
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

void run_streamed_nodes(const Session& session, const NodeRun& run, int32_t first, int32_t last) {
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

}  // namespace intaglio

#endif
