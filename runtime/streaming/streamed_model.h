// A model's streamed plan: what the file says, how a session comes to it, and its arithmetic.
#pragma once

#include "intaglio/model.h"
#include "intaglio/session.h"
#include "runtime/op.h"
#include "runtime/streaming/streaming_build.h"

namespace intaglio {

// Reads the streamed plan. Of a model from open_streamed() the numbers are as checked there.
struct StreamedModel {
  // The model with its streamed plan, checked but for overlaps: all that follows is about what this gives. A model
  // that has no streamed plan comes back as it is: without segments.
  static Result<Model> open(const Model& model);

  // The runner of a session by rows; nullptr: it runs layer by layer.
  static const Streaming* streaming(const Model& model) { return kStreams ? model.streaming_ : nullptr; }

  static int32_t segment_count(const Model& model);
  static SegmentInfo segment(const Model& model, int32_t index);
  // The segment that node `n` is of; one of no nodes where it is of none.
  static SegmentInfo segment_of(const Model& model, int32_t n);
  // The segment that takes the model's first input by rows; one of no nodes where it is there as a whole.
  static SegmentInfo feeding_segment(const Model& model);
  // Whether it takes this tensor so.
  static bool is_fed(const Model& model, int32_t tensor);
  // The bytes at a tensor's offset: its line buffer, a mean's sums, or all of it. `writer`: the node that writes it, or -1.
  static uint32_t place_bytes(const Model& model, int32_t tensor, int32_t writer);
  // A node's outputs, without the cost of its options.
  static Span<const int32_t> outputs(const Model& model, int32_t node);

 private:
  static Span<const uint32_t> offsets(const Model& model);
  static Error check(const Model& model);
};

inline constexpr int32_t kPictureWalk = -1;    // the place of a fed picture among a segment's nodes
inline constexpr int32_t kMaxFedRows = 65535;  // of a picture

// How the rows of a node's output come, and how many of them are kept.
struct RowWalk {
  int32_t stride, lead, rows;

  // Rows that are there once the clock shows `clock`; `height`: of them all.
  int32_t rows_at(int32_t clock, int32_t height) const {
    const int32_t position = clock + lead;
    const int32_t there = position <= 0 ? 0 : position / stride;
    return there < height ? there : height;
  }
};

// The walk of node `i`, counted in its segment, or of the picture (kPictureWalk).
inline RowWalk walk_of(const SegmentInfo& segment, int32_t i) {
  if (i == kPictureWalk) return {segment.picture_stride, segment.picture_lead, segment.picture_rows};
  const auto at = static_cast<size_t>(i);
  return {segment.strides[at], segment.leads[at], segment.rows[at]};
}

// Runs a segment of a streamed plan: the clock goes on a band at a time, and each node makes the rows that are due.

// As Streaming says.
void run_streamed_nodes(const Session& session, const NodeRun& run, int32_t first, int32_t last);
uint8_t* place_of_fed_row(const Session& session, const NodeRun& run, int32_t row);

// The calls of a session into the streaming object. It is reached through a model of stream_rows() or a planned model alone, so that
// other programs link none of it.

struct Streaming {
  // These two are nullptr in kStreaming and kRowsAlone: a planned model was checked before.
  // As in liveness.h: a segment's nodes run at one time, and work in place nowhere.
  Error (*check_overlaps)(const Model& model, OpList ops, uint16_t* memory);
  // The operator's plan for the node, and for every band of rows in which a segment runs it.
  Error (*plan_node)(const OpDef& def, const NodeView& node, const PlanContext& context, NodePlan* plan);
  // Runs nodes `first` to `last` - 1, a segment where its first node is among them. `run` has all that is the session's and
  // not a node's. With `first` below 0 row -1 - first of a fed picture has come: runs what follows from it.
  void (*run_nodes)(const Session& session, const NodeRun& run, int32_t first, int32_t last);
  // Where that row is to be written, once those before it have come; nullptr where the picture is there as a whole. kRowsAlone,
  // which feeds none, has no such function.
  uint8_t* (*place_of_fed_row)(const Session& session, const NodeRun& run, int32_t row);
};

// For models of stream_rows().
extern const Streaming kCheckedStreaming;

}  // namespace intaglio
