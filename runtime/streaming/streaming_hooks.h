// The calls of a session into the streaming object. It is reached through a model of stream_rows() or a planned model alone, so that
// other programs link none of it.
#pragma once

#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

struct Streaming {
  // These two are nullptr in kStreaming: a planned model was checked before.
  // As in liveness.h: a segment's nodes run at one time, and work in place nowhere.
  Error (*check_overlaps)(const Model& model, OpList ops, uint16_t* memory);
  // The operator's plan for the node, and for every band of rows in which a segment runs it.
  Error (*plan_node)(const OpDef& def, const NodeView& node, const PlanContext& context, NodePlan* plan);
  // Runs nodes `first` to `last` - 1, a segment where its first node is among them. `run` has all that is the session's and
  // not a node's. With `first` below 0 row -1 - first of a fed picture has come: runs what follows from it.
  void (*run_nodes)(const Session& session, const NodeRun& run, int32_t first, int32_t last);
  // Where that row is to be written, once those before it have come; nullptr where the picture is there as a whole.
  uint8_t* (*place_of_fed_row)(const Session& session, const NodeRun& run, int32_t row);
};

// For models of stream_rows().
extern const Streaming kCheckedStreaming;

}  // namespace intaglio
