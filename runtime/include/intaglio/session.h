// Runs a model in memory that the caller gives. Everything that can fail fails in create().
//
// In this order: Model::open(), Session::measure(), Session::split() of a block of memory, Session::create().
// Then for each inference: write input(), run(), read output().
#pragma once

#include "intaglio/model.h"
#include "intaglio/ops.h"
#include "intaglio/platform.h"

namespace intaglio {

// Sees every tensor that a run writes. What it points to outlives the session.
struct Observer {
  // Called once for each model input when a run starts, with node -1, but for a picture that is fed by rows.
  // Then called for each output of a node, after that node has run. The view's data is valid during the call
  // only: later nodes reuse its memory.
  void (*on_tensor)(void* context, int32_t node, int32_t tensor, const TensorView& view) = nullptr;
  void* context = nullptr;  // is given to both functions
  // Called by Session::create() for each node whose weights it has packed: run() reads these, and no longer
  // the plain ones.
  void (*on_packed)(void* context, int32_t node) = nullptr;
};

// The machine that a session runs on. The objects that these members point to outlive the session.
struct SessionOptions {
  IsaMask isa = isa::kAll;  // instruction sets that it may use, of those that cpu_isa() finds
  Executor executor;        // its threads; serial unless given
  Observer observer;        // none unless given
};

// Bytes of the three kinds of memory. Exact: Session::create() refuses one byte less.
struct SessionNeeds {
  size_t persistent_bytes = 0;  // bookkeeping and packed weights; one for each session
  size_t activation_bytes =
      0;  // inputs, outputs and what lies between; sessions that never run at once may share it, see feed_rows()
  size_t scratch_bytes = 0;  // working memory of one node; sessions that never run at once may share it

  size_t packed_bytes = 0;    // the part of persistent_bytes that holds weights packed by Session::create()
  size_t in_place_bytes = 0;  // packed weights that the model file holds and that are used there

  // Bytes of one block that Session::split() cuts into the three. At most 2^31: Session::measure() refuses more
  // (kSessionTooLarge).
  size_t total() const;
};

// The memory itself. Each span starts at a multiple of kMemoryAlignment, and none overlaps another. A span may
// be longer than needed, and empty where nothing is needed.
struct SessionMemory {
  Span<uint8_t> persistent;
  Span<uint8_t> activations;
  Span<uint8_t> scratch;
};

struct PlannedModel;  // intaglio/planned_model.h
struct PlannedNode;
struct NodeRun;
struct OpRun;

// A model with its memory and kernels, ready to run. A small handle: a copy is the same session, on the same
// memory. It owns nothing. The model's bytes, the operator list and the memory outlive it. One session runs on one
// thread at a time; its executor spreads the work of a node.
class Session {
 public:
  Session() = default;

  // The memory that create() needs with the same arguments. For another machine's figures give its instruction
  // sets in `options.isa` and set `for_this_cpu` to false. Errors: those of create(), but for memory; and more bytes than
  // Model::memory_ceiling() allows (kAboveCeiling, with the bytes as value and the ceiling as limit).
  static Result<SessionNeeds> measure(const Model& model, OpList ops, const SessionOptions& options = {},
                                      bool for_this_cpu = true);
  // The same whatever the model's ceiling is: for programs on another machine than the one that it is for.
  static Result<SessionNeeds> measure_anywhere(const Model& model, OpList ops,
                                               const SessionOptions& options = {}, bool for_this_cpu = true);
  // Cuts one block into the three spans. The block starts at a multiple of kMemoryAlignment and has at least
  // needs.total() bytes. In a smaller one the last spans are too small, and create() names the first of them.
  static SessionMemory split(Span<uint8_t> block, const SessionNeeds& needs);

  // Checks every node with its operator, chooses its kernel and packs its weights. Packed weights of the model
  // file are compared with what it would have made, and used there.
  //
  // Errors: what is wrong with a node, an operator that `ops` lacks (kOperatorMissing), and memory that is too
  // small, misaligned or overlaps other memory. After an error the content of the memory is undefined.
  static Result<Session> create(const Model& model, OpList ops, const SessionMemory& memory,
                                const SessionOptions& options = {});

  // Starts a session that was planned on the build machine (intaglio/planned_model.h). It checks three things: the
  // memory has planned.needs, the executor is serial (kBadExecutor), and the library has the plan's kernels
  // (kOtherKernels). `options.isa` is not read. `planned` and the memory outlive the session.
  static Result<Session> start(const PlannedModel& planned, const SessionMemory& memory,
                               const SessionOptions& options = {});

  // Input or output `i` of the model, in the order of Model::inputs() or Model::outputs(). `i` is in range: this
  // is not checked. Write every input before each run, since a run may reuse its memory. An output is valid
  // until the next run or the next write to an input.
  TensorView input(int32_t i = 0) const;
  TensorView output(int32_t i = 0) const;

  // Runs every node. It cannot fail. It does not allocate, lock or log, unless the executor does.
  void run();
  // Runs the nodes `first` to `last` - 1. For tools that look between nodes: run() and run_slice() also copy the
  // states. With a streamed plan a segment runs as a whole where its first node is among them.
  // 0 <= first <= last <= Model::node_count(): this is not checked.
  void run_nodes(int32_t first, int32_t last);
  // A part of run(), for programs whose other work must get its turn (docs/rtos.md): `count` nodes from `first` on. Begin with 0, and go on
  // with what it gives until that is 0: then the run is over, and its outputs and states are those of run(). Nothing but the session's
  // activations has to be kept between two slices. 0 <= first < Model::node_count() and count > 0: this is not checked.
  int32_t run_slice(int32_t first, int32_t count);
  // Takes the next `count` rows of a picture, as a camera gives them: the first input of the model, [1, h, w, c], row by row.
  // Where the model has a recipe for this input (Model::image) a row is w * c bytes: pixels in the model's order of colours, which
  // become values by the recipe. There is no resizing. Else a row is the input's own elements: w * c of them. An input of other
  // rank, of several pictures or of more than 65535 rows is one row.
  //
  // Runs the model as far as the rows allow. True once the last row was taken: then the outputs are there, as after run().
  // Cannot fail; rows behind the last one are ignored. Write other inputs before the first row. With a streamed plan that
  // feeds the picture (`intaglio plan --feed-rows`) there is no memory for all of it: input() is without data, and run() is of
  // no use. With any other plan the rows are written to input(), and the last one calls run().
  //
  // From the first row to the last one the activations hold the picture: no session that shares them may run in between. The
  // rows that were taken are counted by this handle, not by its copies.
  bool feed_rows(const uint8_t* rows, int32_t count);
  // The next row is the first of a new picture. A new session begins with one.
  void begin_picture() { fed_rows_ = 0; }
  // Checks node `i` and packs its weights anew. Call it after the node's constants were changed in place.
  //
  // Errors: the node needs another kernel or more memory than before, or its packed weights stand in the model
  // file (kBadPack). Then its outputs are undefined. A planned session always refuses (kOperatorMissing).
  Error prepare_node(int32_t i);
  // Sets every state tensor to its initial value, as create() does.
  void reset();

  // A second session that shares the packed weights and states of this one. Its activations and scratch are
  // its own, of the bytes that measure() gave, the activations in one memory. It has no observer. Both may call run_nodes() at the same time.
  // The other must not run during prepare_node() and reset(), nor during run() of a model with states.
  //
  // Errors: those of create() for memory, and an executor with more threads than this session's (kBadExecutor).
  Result<Session> beside(Span<uint8_t> activations, Span<uint8_t> scratch,
                         const Executor& executor = {}) const {
    Session other = *this;
    ITG_TRY(other.move_to(activations, scratch, executor));
    return other;
  }

  // The model that it runs.
  const Model& model() const { return model_; }
  // Tensor `index` of the model. The data of an activation is valid until a later node reuses its memory.
  TensorView tensor(int32_t index) const;
  // Name of the kernel of a node: "gemm_s8_avx2". "" for a node without one, and in a planned session.
  const char* kernel_name(int32_t node) const;

 private:
  friend struct TwoMemories;
  friend class SegmentRun;
  friend class RowsAloneRun;
  enum class StateMove { kReset, kLoad, kStore };

  // Splits off `needs` bytes of each span, aligned, none over another. `to` is without memory as yet, and of no use after an error.
  static Error take_memory(const SessionMemory& given, const SessionNeeds& needs, SessionMemory* to);
  Error move_to(Span<uint8_t> activations, Span<uint8_t> scratch, const Executor& executor);
  bool planned() const { return op_count_ == 0; }
  const PlannedNode* nodes() const;
  uint64_t kept_end(int32_t i, uint64_t all) const;
  void move_states(StateMove move);
  const OpRun* node_run(int32_t i, NodeRun* run) const;
  const OpRun* set_node(int32_t i, NodeRun* run) const;  // the same, for the streaming object
  void run_nodes_with(const Executor& executor, int32_t first, int32_t last);

  Model model_;
  union {
    const OpDef* const* ops_ = nullptr;
    const PlannedModel* planned_;  // where there are no operators
  };
  uint16_t op_count_ = 0;  // a PlannedNode's numbers are no larger
  uint16_t fed_rows_ = 0;  // of the picture
  SessionMemory memory_;
  SessionOptions options_;
};

}  // namespace intaglio
