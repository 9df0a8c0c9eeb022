#include "runtime/streaming/streamed_model.h"

#include "intaglio/streaming.h"
#include "runtime/liveness.h"
#include "runtime/streaming/row_access.h"

#if ITG_STREAMING

namespace intaglio {
namespace {

constexpr int32_t kSumsOnly = -1;  // SegmentInfo::rows of a mean

int64_t aligned(int64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

bool is_in(const SegmentInfo& segment, int32_t n) {
  return n >= segment.first && n < segment.first + segment.count;
}

// The proof that a segment's rows are written before they are read and stay until they are read. With the clock c, a
// tensor t has floor((c + lead_t) / stride_t) rows. A node m that reads it with the window (stride / per, extent, pad) has
// made u = floor((c + lead_m) / stride_m) rows, stride_m * per = stride * stride_t.
// For its last row it needs t's rows before floor((u - 1) * stride / per) - pad + extent, at most
//   floor((c + lead_m - stride_m) / stride_t) - pad + extent.
// They are there if lead_t - lead_m >= stride_t * (extent - pad) - stride_m. One step of `band` earlier m still needed the
// rows from floor(u * stride / per) - pad on. u * stride_m is at most stride_t - stride_t / per above a multiple of stride_t,
// so since then t has gone on to at most
//   pad + floor((lead_t - lead_m + band - 1 + stride_m + stride_t - stride_t / per) / stride_t)
// rows behind that one, which is what its line buffer must hold. First and last rows only need less.
class SegmentCheck {
 public:
  SegmentCheck(const Model& model, const SegmentInfo& segment) : model_(model), segment_(segment) {}

  Error check() const {
    if (segment_.picture_rows != 0) ITG_TRY(check_picture());
    for (int32_t i = 0; i < segment_.count; ++i) {
      const NodeView node = view(i);
      const RowAccess access = row_access(node);
      if (!access.by_rows) return node.error(Status::kNotByRows);
      ITG_TRY(check_walk(node, access, i));
      for (int32_t k = 0; k < node.input_count(); ++k)
        if (node.has_input(k)) ITG_TRY(check_input(node, access, i, k));
    }
    return kNoError;
  }

 private:
  NodeView view(int32_t i) const { return {segment_.first + i, model_.node(segment_.first + i), &model_}; }

  // `error` says whose rows they are; there are `height` of them.
  static Error check_steps(Error error, const RowWalk& walk, int32_t height) {
    const auto bad = [&error](int64_t value, int64_t limit) {
      error.status = Status::kBadRowStep;
      error.value = value;
      error.limit = limit;
      return error;
    };
    if (walk.stride < 1 || walk.stride > kMaxRows) return bad(walk.stride, kMaxRows);
    // Nothing is there when the clock shows 0, and all is there soon enough.
    if (walk.lead >= walk.stride || walk.lead < -kMaxRows) return bad(walk.lead, walk.stride - 1);
    if (int64_t{walk.stride} * height > kMaxRows) return bad(int64_t{walk.stride} * height, kMaxRows);
    return kNoError;
  }

  int32_t least_rows(const RowWalk& walk, int32_t height) const {
    const int32_t at_once = (segment_.band - 1) / walk.stride + 1;
    return at_once < height ? at_once : height;
  }

  Error check_picture() const {
    Error error{Status::kBadRowStep, -1, -1, 0, 0};
    if (model_.inputs().empty()) return error;
    error.tensor = model_.inputs()[0];
    const TensorInfo picture = model_.tensor(error.tensor);
    if (!is_picture(picture) || picture.dtype != DType::kS8) {
      error.status = Status::kNotByRows;
      return error;
    }
    const int32_t height = picture.shape[1];
    if (height > kMaxFedRows) {
      error.value = height;
      error.limit = kMaxFedRows;
      return error;
    }
    const RowWalk walk = walk_of(segment_, kPictureWalk);
    ITG_TRY(check_steps(error, walk, height));
    if (walk.rows >= least_rows(walk, height) && walk.rows <= height) return kNoError;
    error.status = Status::kBadLineBuffer;
    error.value = walk.rows;
    error.limit = least_rows(walk, height);
    return error;
  }

  Error check_walk(const NodeView& node, const RowAccess& access, int32_t i) const {
    const int32_t height = counted_rows(node, access.reduces);
    const RowWalk walk = walk_of(segment_, i);
    ITG_TRY(check_steps(node.output_error(Status::kBadRowStep, 0), walk, height));
    if (access.reduces) {
      if (walk.rows != kSumsOnly) return node.output_error(Status::kBadLineBuffer, 0, walk.rows, kSumsOnly);
      // So that 32 bits hold the bytes of the sums, of which there are more than of codes.
      const int64_t bytes = node.output().shape.elements() * int64_t{sizeof(int32_t)};
      return bytes > kMaxTensorBytes ? node.output_error(Status::kTensorTooLarge, 0, bytes, kMaxTensorBytes)
                                     : kNoError;
    }
    const int32_t least = least_rows(walk, height);
    if (walk.rows < 0 || walk.rows > height || (walk.rows > 0 && walk.rows < least))
      return node.output_error(Status::kBadLineBuffer, 0, walk.rows, least);
    return kNoError;
  }

  Error check_input(const NodeView& node, const RowAccess& access, int32_t i, int32_t k) const {
    const int32_t tensor = node.input_index(k);
    const bool fed = segment_.picture_rows != 0 && tensor == model_.inputs()[0];
    const int32_t writer = fed ? kPictureWalk : writer_of(model_, tensor) - segment_.first;
    if (!fed && (writer < 0 || writer >= i)) return kNoError;  // it was there before
    const RowWalk from = walk_of(segment_, writer), to = walk_of(segment_, i);
    if (!reads_rows(node, k) || from.rows == kSumsOnly) return node.input_error(Status::kRowsGone, k);
    const RowAccess window = access_of_input(access, k);
    const int64_t step = int64_t{window.stride} * from.stride, made = int64_t{to.stride} * window.per;
    if (made != step) return node.input_error(Status::kBadRowStep, k, made, step);
    const int64_t ahead = int64_t{from.lead} - to.lead,
                  least_ahead = window.least_ahead(from.stride, to.stride);
    if (ahead < least_ahead) return node.input_error(Status::kRowsTooLate, k, ahead, least_ahead);
    if (from.rows == 0) return kNoError;
    const int64_t height = node.input(k).shape[1];
    const int64_t kept = window.kept_rows(from.stride, to.stride, ahead, segment_.band);
    const int64_t least = kept < height ? kept : height;
    if (from.rows < least) return node.input_error(Status::kBadLineBuffer, k, from.rows, least);
    return kNoError;
  }

  const Model& model_;
  const SegmentInfo& segment_;
};

// The segment that keeps, by rows, a tensor that node `writer` writes (-1: the model's input); one of no nodes where
// none does. `rows`: how many it keeps.
SegmentInfo keeping_segment(const Model& model, int32_t tensor, int32_t writer, int32_t* rows) {
  *rows = 0;
  if (writer < 0) {
    if (!StreamedModel::is_fed(model, tensor)) return {};
    const SegmentInfo segment = StreamedModel::feeding_segment(model);
    *rows = segment.picture_rows;
    return segment;
  }
  const SegmentInfo segment = StreamedModel::segment_of(model, writer);
  if (segment.count != 0) *rows = walk_of(segment, writer - segment.first).rows;
  return segment;
}

// A tensor that is kept by rows leaves neither its segment nor the model.
Error check_line_buffers_stay(const Model& model) {
  const auto error = [&model](int32_t n, int32_t tensor) -> Error {
    int32_t rows = 0;
    const SegmentInfo segment = keeping_segment(model, tensor, writer_of(model, tensor), &rows);
    return rows > 0 && !is_in(segment, n) ? Error{Status::kRowsGone, n, tensor} : kNoError;
  };
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n))
      if (input >= 0) ITG_TRY(error(n, input));
  for (const int32_t output : model.outputs()) ITG_TRY(error(model.node_count(), output));
  for (int32_t i = 0; i < model.state_count(); ++i) ITG_TRY(error(model.node_count(), model.state(i).output));
  return kNoError;
}

Error check_places(const Model& model) {
  int64_t all = 0;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const uint32_t offset = model.activation_offset(t);
    const bool is_constant = model.tensor(t).is_constant();
    if (is_constant != (offset == Model::kNoOffset))
      return {is_constant ? Status::kActivationExpected : Status::kConstantExpected, -1, t, offset};
    if (is_constant) continue;
    if (offset % kTensorAlignment != 0) return {Status::kPlanAlignment, -1, t, offset, kTensorAlignment};
    const int64_t bytes = StreamedModel::place_bytes(model, t, writer_of(model, t)), end = offset + bytes;
    const auto limit = static_cast<int64_t>(model.activation_bytes());
    if (end > limit) return {Status::kPlanOffset, -1, t, end, limit};
    all += aligned(bytes);
  }
  if (static_cast<int64_t>(model.activation_bytes()) > all)
    return {Status::kPlanTooLarge, -1, -1, static_cast<int64_t>(model.activation_bytes()), all};
  return kNoError;
}

}  // namespace

SegmentInfo StreamedModel::segment_of(const Model& model, int32_t n) {
  int32_t first = 0, end = segment_count(model);
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    const SegmentInfo found = segment(model, middle);
    if (is_in(found, n)) return found;
    (found.first < n ? first : end) = found.first < n ? middle + 1 : middle;
  }
  return {};
}

SegmentInfo StreamedModel::feeding_segment(const Model& model) {
  const SegmentInfo first = segment_count(model) == 0 ? SegmentInfo() : segment(model, 0);
  return first.picture_rows == 0 ? SegmentInfo() : first;
}

bool StreamedModel::is_fed(const Model& model, int32_t tensor) {
  return !model.inputs().empty() && tensor == model.inputs()[0] && feeding_segment(model).count != 0;
}

uint32_t StreamedModel::place_bytes(const Model& model, int32_t tensor, int32_t writer) {
  const TensorInfo info = model.tensor(tensor);
  const auto bytes = static_cast<uint32_t>(info.bytes());
  int32_t rows = 0;
  keeping_segment(model, tensor, writer, &rows);
  if (rows == kSumsOnly) return static_cast<uint32_t>(info.shape.elements()) * uint32_t{sizeof(int32_t)};
  return rows == 0 ? bytes : bytes / static_cast<uint32_t>(info.shape[1]) * static_cast<uint32_t>(rows);
}

Error StreamedModel::check(const Model& model) {
  const size_t tensors = static_cast<size_t>(model.tensor_count());
  if (offsets(model).size != tensors)
    return {Status::kPlanSize, -1, -1, static_cast<int64_t>(offsets(model).size),
            static_cast<int64_t>(tensors)};
  int32_t end = 0;
  for (int32_t s = 0; s < segment_count(model); ++s) {
    const SegmentInfo segment = StreamedModel::segment(model, s);
    const size_t size = segment.strides.size;
    if (segment.first < end || segment.first >= model.node_count() || size == 0 ||
        size > static_cast<size_t>(model.node_count() - segment.first) || segment.leads.size != size ||
        segment.rows.size != size || (s > 0 && segment.picture_rows != 0))
      return {Status::kBadSegment, -1, -1, s};
    if (segment.band < 1 || segment.band > kMaxRows)
      return {Status::kBadRowStep, segment.first, -1, segment.band, kMaxRows};
    end = segment.first + segment.count;
  }
  for (int32_t s = 0; s < segment_count(model); ++s) {
    const SegmentInfo segment = StreamedModel::segment(model, s);
    ITG_TRY(SegmentCheck(model, segment).check());
  }
  ITG_TRY(check_line_buffers_stay(model));
  return check_places(model);
}

Result<Model> stream_rows(const Model& model) { return StreamedModel::open(model); }

Result<Model> StreamedModel::open(const Model& model) {
  if (!model.has_streamed_plan()) return model;
  Model streamed = model;
  streamed.streaming_ = &kCheckedStreaming;
  streamed.offsets_ = offsets(streamed).data;  // none, perhaps
  ITG_TRY(check(streamed));
  return streamed;
}

}  // namespace intaglio

#endif
