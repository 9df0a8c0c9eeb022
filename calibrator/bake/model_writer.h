// A graph to the bytes of a model file.
#pragma once

#include "calibrator/bake/graph.h"
#include "intaglio/ops.h"
#include "runtime/op.h"

namespace intaglio {

// The use of a file. In one that is handed over equal constants stand once. Where layers change in place each has bytes
// of its own, and the checksum is 0: nobody looks at it.
enum class FileUse : uint8_t { kHandedOver, kChanging };

// Memory in which a file is written over the codes that it is made from.
//
//   [ kNotes | codes, one behind the other | ... ]   those of the first node at the end
//
// A file grows from its end, and its constants come first, in the order of the nodes. What has been written is never longer than what
// is no longer needed, together with what a file has beside codes. So the codes stand in this memory once.
struct FilePlace {
  static constexpr size_t kNotes = 256;  // FlatBuffers' own, at the other end

  Span<uint8_t> memory;  // kNotes and file_bytes(), from a multiple of kModelAlignment on
  Span<uint8_t> codes;
};

// The last steps for every writer of model files: removes what is dead, fills in what devices use in place
// (multipliers and folded biases of int8 convolutions), plans memory, writes. The bytes lie in the arena at a
// multiple of kModelAlignment. The same graph gives the same bytes on every machine.
Result<Span<const uint8_t>> finish_model(Graph& graph, OpList ops, Arena& arena,
                                         FileUse use = FileUse::kHandedOver);
// The file in a place of its own: constants of the graph that stand there are gone.
Result<Span<const uint8_t>> finish_model(Graph& graph, OpList ops, Arena& arena, const FilePlace& place);

// What they take of the arena for a graph of this size, and the file alone of that.
uint64_t finish_model_bytes(const GraphCount& count, FileUse use);
uint64_t file_bytes(const GraphCount& count);

// The same steps, one by one.
void fill_requantization(Graph& graph, OpList ops, Arena& arena);
// For one node that has them; overwrites the present bytes.
void refill_requantization(const Graph& graph, const GraphNode& node, const QuantRule& rule,
                           Span<float> multiplier, Span<int32_t> folded_bias);
// After plan_memory().
Result<Span<const uint8_t>> write_model(const Graph& graph, Arena& arena, FileUse use = FileUse::kHandedOver);

}  // namespace intaglio
