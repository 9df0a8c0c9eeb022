#include "intaglio/streaming.h"

#include "runtime/overlap_check.h"
#include "runtime/streaming/band_view.h"
#include "runtime/streaming/streamed_model.h"

#if ITG_STREAMING

namespace intaglio {

namespace {

// A segment's nodes run at one time.
struct SegmentedPlan {
  static constexpr bool kByRows = true;
  const Model* model;

  int32_t fed_until(int32_t tensor) const {
    const SegmentInfo s =
        StreamedModel::is_fed(*model, tensor) ? StreamedModel::feeding_segment(*model) : SegmentInfo();
    return s.first + s.count - 1;
  }
  SegmentInfo segment(int32_t n) const {
    return n < 0 ? SegmentInfo() : StreamedModel::segment_of(*model, n);
  }
  int32_t first_of(int32_t n) const {
    const SegmentInfo s = segment(n);
    return s.count == 0 ? n : s.first;
  }
  int32_t last_of(int32_t n) const {
    const SegmentInfo s = segment(n);
    return s.count == 0 ? n : s.first + s.count - 1;
  }
  bool by_rows(int32_t n) const { return segment(n).count != 0; }
  // A segment of one node makes its output in bands from the first row to the last. What it writes ends before the first row that
  // this band or a later one reads, wherever it reads `input`.
  bool may_follow(int32_t n, int32_t tensor, int32_t input) const {
    const SegmentInfo s = segment(n);
    const RowWalk walk = walk_of(s, n - s.first);
    if (s.count != 1 || walk.stride != 1 || walk.lead != 0 || walk.rows != 0 || s.picture_rows != 0)
      return false;
    const NodeView node{n, model->node(n), model};
    const RowAccess access = row_access(node);
    const TensorInfo in = model->tensor(input), out = model->tensor(tensor);
    const int64_t row_bytes = row_bytes_of(out), input_row_bytes = row_bytes_of(in);
    const int64_t above =
        int64_t{model->activation_offset(input)} - int64_t{model->activation_offset(tensor)};
    for (int32_t k = 0; k < node.input_count(); ++k) {
      if (node.input_index(k) != input) continue;
      const RowAccess& window = k == 0 ? access : kRowByRow;
      if (!reads_rows(node.info.op, k, in, out) || window.per != 1 ||
          above < window.least_above(out.shape[1], s.band, row_bytes, input_row_bytes))
        return false;
    }
    return true;
  }
  uint32_t bytes(const Model&, int32_t tensor) const {
    return StreamedModel::place_bytes(*model, tensor, writer_of(*model, tensor));
  }
};

Error check_streamed_overlaps(const Model& model, OpList ops, uint16_t* memory) {
  return OverlapCheck<SegmentedPlan>(model, ops, memory, {&model}).check();
}

// Plans one node for each band that a run may bring: those that touch padding or an end, and the two sizes in between.
class BandPlans {
 public:
  BandPlans(const OpDef& def, const NodeView& node, const PlanContext& context, const SegmentInfo& segment,
            NodePlan* plan)
      : def_(def),
        node_(node),
        context_(context),
        segment_(segment),
        access_(row_access(node)),
        walk_(walk_of(segment, node.index - segment.first)),
        height_(node.output().shape[1]),
        in_height_(node.input(0).shape[1]),
        plan_(plan) {}

  Error plan() {
    plan_->scratch_bytes = 0;
    if (access_.reduces) return kNoError;
    const int32_t stride = walk_.stride;
    const int32_t most = (segment_.band - 1) / stride + 1, fewest = segment_.band / stride;
    // Bands of padding alone compute nothing, and there may be 2^20 of them: before the first row that reads the input, and
    // behind the last one.
    int32_t first = band_of(first_with_input());
    do {
      ITG_TRY(plan_next(&first));
    } while (first < height_ && access_.first_input(first) < 0);
    for (const int32_t rows : {fewest, most}) {
      if (rows > 0 && first + rows <= height_ && access_.past_input(first + rows) <= in_height_)
        ITG_TRY(plan_band(first, first + rows));
    }
    const int32_t end = access_.last_without_padding(in_height_);
    int32_t from = (end < height_ ? end : height_) - 2 * most;
    from = band_of(from);
    first = from > first ? from : first;
    while (first < height_ && access_.first_input(first) < in_height_) ITG_TRY(plan_next(&first));
    return kNoError;
  }

 private:
  // The first row that reads a row of the input.
  int32_t first_with_input() const {
    int32_t first = 0, end = height_;
    while (first < end) {
      const int32_t middle = first + (end - first) / 2;
      if (access_.past_input(middle + 1) > 0) {
        end = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }

  // Where the band of this row begins, or one before it.
  int32_t band_of(int32_t row) const {
    const int32_t position = walk_.stride * row - walk_.lead;
    if (row <= 0 || position < 0) return 0;
    return walk_.rows_at(position / segment_.band * segment_.band, height_);
  }

  // The band that begins at row *first, which becomes the next one's.
  Error plan_next(int32_t* first) {
    const int32_t position = walk_.stride * (*first + 1) - walk_.lead;
    const int32_t clock = (position + segment_.band - 1) / segment_.band * segment_.band;
    const int32_t past = walk_.rows_at(clock, height_);
    ITG_TRY(plan_band(*first, past));
    *first = past;
    return kNoError;
  }

  Error plan_band(int32_t first, int32_t past) {
    BandView view(*node_.model, node_.index, false);
    view.node().weights_checked = true;
    view.take(
        first, past, [](int32_t) { return uint32_t{0}; }, 0);
    if (view.is_empty()) return kNoError;
    NodePlan of_band;
    of_band.kernel = plan_->kernel;
    ITG_TRY(def_.plan(view.node(), context_, &of_band));
    if (of_band.kernel != plan_->kernel || of_band.persistent_bytes != plan_->persistent_bytes)
      return node_.error(Status::kNotByRows);
    if (of_band.scratch_bytes > plan_->scratch_bytes) plan_->scratch_bytes = of_band.scratch_bytes;
    return kNoError;
  }

  const OpDef& def_;
  const NodeView& node_;
  const PlanContext& context_;
  const SegmentInfo& segment_;
  const RowAccess access_;
  const RowWalk walk_;
  const int32_t height_, in_height_;
  NodePlan* plan_;
};

Error plan_streamed_node(const OpDef& def, const NodeView& node, const PlanContext& context, NodePlan* plan) {
  const SegmentInfo segment = StreamedModel::segment_of(*node.model, node.index);
  if (segment.count == 0) return def.plan(node, context, plan);
  plan->kernel = kRunsByRows;
  ITG_TRY(def.plan(node, context, plan));
  if (plan->kernel == kRunsByRows) plan->kernel = 0;  // of an operator with one kernel
  return BandPlans(def, node, context, segment, plan).plan();
}

}  // namespace

const Streaming kCheckedStreaming = {check_streamed_overlaps, plan_streamed_node, run_streamed_nodes,
                                     place_of_fed_row};

}  // namespace intaglio

#endif
