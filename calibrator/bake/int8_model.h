// The int8 model while it is made: its graph, the bytes of its file, and a session that runs them.
#pragma once

#include "calibrator/bake/bake.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/quantization/slot_map.h"
#include "calibrator/workspace/float_model.h"
#include "runtime/op.h"

namespace intaglio {

// The parts that an int8 model is made from.
struct Int8Source {
  const FloatModel& fp32;
  const CalibratorOptions& options;
  const SlotMap& slots;  // with parameters
  size_t output_bytes;   // of all memory that there is for it, which an error names
};

class Int8Model {
 public:
  // All memory comes from `arena`, which nobody else takes from until build() has been called.
  Int8Model(const Int8Source& source, const Arena& arena) : source_(source), empty_(arena) {}

  // What all of this takes of the arena, at most: the graph, the file and its session, from the first bake() to finish(), and
  // `in_between`, which arena() is asked for.
  static Result<uint64_t> bytes(const Model& fp32, const CalibratorOptions& options, uint64_t in_between);

  // Whether the file is written once, over the codes that it is made from, by finish(): there is no session before.
  static bool is_written_once(const CalibratorOptions& options);

  // From the parameters of the slots: bakes the graph and fuses. What stood here before is gone, and its memory is used
  // again. `info` is what the file says of its calibration.
  Error bake(const CalibrationInfo& info);
  // Whether bake() takes the weights' codes that the call before it has made: while nothing but ranges and biases changes.
  void keep_weights(bool keeps) { keeps_weights_ = keeps; }
  // Writes what bake() has made, with the biases that the graph has now, and opens it; unless it is written once.
  Error write_and_open();
  Error build(const CalibrationInfo& info) {
    const Error error = bake(info);
    return error.ok() ? write_and_open() : error;
  }
  // Writes the file anew from the graph as it is now, equal constants once, and opens it as a stranger would. Ends of a step
  // model become states. Without states, what arena() has given since the last bake() is gone. No layer is updated afterwards.
  Error finish();
  // Node `n`'s codes, scales or biases have changed in the graph: brings them into the file, which then has
  // another checksum than it says, and into the session.
  Error update_layer(int32_t n);
  // The same of every node with weights, side by side.
  Error update_layers();

  Graph& graph() { return graph_; }
  // For a node of the FP32 model: changes since the present weights were made.
  MeanOutputs& means(int32_t fp32_node, int32_t half) {
    return weights_.layers[static_cast<size_t>(fp32_node)].means[half];
  }
  Session& session() { return session_; }
  const Lanes& lanes() const { return lanes_; }  // of the session
  // Another number after each call that makes or changes the model.
  int64_t revision() const { return revision_; }
  // The changes since then were undone.
  void is_again(int64_t revision) { revision_ = revision; }
  Span<const uint8_t> bytes() const { return bytes_; }
  // Behind all of the above; copies of it are scratch.
  Arena& arena() { return arena_; }

 private:
  Error write(FileUse use);
  Error open(bool checks_sum);
  void join_states();
  Span<const uint8_t> initial_value(const TensorInfo& state, Span<const uint8_t> real);
  Error refresh_layer(int32_t n);
  Error as_in_fp32(Error error) const;
  Error out_of_memory() const;

  Int8Source source_;
  Arena empty_, arena_, behind_graph_;
  BakedWeights weights_;
  bool keeps_weights_ = false;
  Graph graph_;
  FilePlace place_;  // where it is written once
  Span<const uint8_t> bytes_;
  Span<uint8_t> session_memory_;
  Session session_;
  Lanes lanes_;
  int64_t revision_ = 0, last_revision_ = 0;
};

// The rule of a node of an int8 graph that has weights; nullptr where it has none or is not int8.
const QuantRule* weight_rule(const Graph& graph, int32_t node);

}  // namespace intaglio
