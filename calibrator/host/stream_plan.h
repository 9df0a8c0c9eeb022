// Finds the segments of a streamed plan (docs/streaming.md): which nodes run by rows, so that the activations fit.
#pragma once

#include <cstdint>
#include <optional>

#include "calibrator/workspace/arena.h"
#include "intaglio/model.h"
#include "intaglio/ops.h"

namespace intaglio {

// The goals of a streamed plan.
struct StreamGoal {
  // Activations of at most so many bytes, by rows only as far as that asks for, in bands as high as it allows. Without it: the
  // least that the planner finds.
  std::optional<uint64_t> most_bytes;
  // The model's first input may come row by row (Session::feed_rows), without memory for all of it.
  bool feeds_rows = false;
  // Of most_bytes, which is given, so many are in a fast memory of their own (intaglio/two_memories.h). Where all fits layer by layer
  // that is the file's flat plan. 0: one memory.
  uint64_t fast_bytes = 0;
};

// The model's file with a streamed plan beside its flat one, in the place of any that it had. Where there is no such plan, the
// error is kActivationsTooSmall with `most_bytes` as value and the least as limit; with two memories both are bytes of the slow one. Where running by rows saves nothing the
// file has no streamed plan. Deterministic. The bytes lie in the arena, the model outlives the call alone.
Result<Span<const uint8_t>> stream_model(const Model& model, OpList ops, const StreamGoal& goal,
                                         Arena& arena);
// Nodes [first, past) that run by rows, `band` rows of the finest tensor at a time.
struct StreamedNodes {
  int32_t first = 0, past = 0, band = 1;
};
// The same with these segments, which ascend and lie apart: for tests and experiments. kNotByRows: nodes of one cannot run
// together by rows.
Result<Span<const uint8_t>> stream_segments(const Model& model, OpList ops,
                                            Span<const StreamedNodes> segments, bool feeds_rows,
                                            Arena& arena);
// The file with a place for the whole picture, where its streamed plan feeds it: what run() needs.
Result<Span<const uint8_t>> unfed_model(const Model& model, OpList ops, Arena& arena);
// The file with this ceiling of memory (Model::memory_ceiling), or with none.
Result<Span<const uint8_t>> with_ceiling(const Model& model, uint32_t bytes, Arena& arena);
// The file without a streamed plan, for one memory.
Result<Span<const uint8_t>> unstream_model(const Model& model, OpList ops, Arena& arena);

}  // namespace intaglio
