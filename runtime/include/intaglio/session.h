// Runs a model in memory that the caller gives. Everything that can fail fails in create().
#pragma once

#include "intaglio/model.h"
#include "intaglio/ops.h"
#include "intaglio/platform.h"

namespace intaglio {

// Called once for each model input when a run starts (node -1), and after a node has written each of its
// outputs. The data is valid during the call only: later nodes reuse its memory.
struct Observer {
  void (*on_tensor)(void* context, int32_t node, int32_t tensor, const TensorView& view) = nullptr;
  void* context = nullptr;
  // Called by create() for each node whose weights it has packed: run() reads them packed.
  void (*on_packed)(void* context, int32_t node) = nullptr;
};

struct SessionOptions {
  IsaMask isa = isa::kAll;  // narrows what cpu_isa() finds
  Executor executor;        // serial unless given; the caller keeps what it points to alive
  Observer observer;
};

// Bytes of the three kinds of memory. Exact: one byte less is refused.
struct SessionNeeds {
  size_t persistent_bytes = 0;  // bookkeeping and packed weights; one for each session
  size_t activation_bytes =
      0;  // inputs, outputs and what lies between; sessions that never run at once may share it
  size_t scratch_bytes = 0;  // working memory of one node; may be shared likewise

  size_t packed_bytes = 0;    // of the persistent ones: made of weights by create()
  size_t in_place_bytes = 0;  // packed weights that are used where they stand in the model

  // Of one block that Session::split() cuts into three. measure() refuses more than 2^31 bytes (kSessionTooLarge).
  size_t total() const;
};

// The memory itself; each span starts at a multiple of kMemoryAlignment, and none overlaps another. Of longer ones a
// session takes what it needs; one of which it needs nothing may be empty.
struct SessionMemory {
  Span<uint8_t> persistent;
  Span<uint8_t> activations;
  Span<uint8_t> scratch;
};

struct PlannedModel;  // intaglio/planned_model.h
struct PlannedNode;

class Session {
 public:
  Session() = default;

  // What create() needs with the same arguments. For another target's figures give its instruction sets
  // in `options.isa` and set `for_this_cpu` to false.
  static Result<SessionNeeds> measure(const Model& model, OpList ops, const SessionOptions& options = {},
                                      bool for_this_cpu = true);
  // Cuts one block of at least needs.total() bytes, at a multiple of kMemoryAlignment, into the three spans.
  static SessionMemory split(Span<uint8_t> block, const SessionNeeds& needs);

  // Checks every node with its operator, then packs weights, or compares those that the model holds packed
  // with what it would have made of them. The memory's content is of no use after an error. The model's
  // bytes, the operator list and the memory outlive the session.
  static Result<Session> create(const Model& model, OpList ops, const SessionMemory& memory,
                                const SessionOptions& options = {});

  // A session that was planned on the build machine: checks nothing but the memory, of planned.needs, that
  // the executor is serial, and that the library has the plan's kernels (kOtherKernels). options.isa is not
  // asked. `planned` and the memory outlive the session.
  static Result<Session> start(const PlannedModel& planned, const SessionMemory& memory,
                               const SessionOptions& options = {});

  // Inputs are written before each run: the run may reuse their memory. Outputs are valid until the next
  // run or the next write to an input. `i` counts the model's inputs() or outputs().
  TensorView input(int32_t i = 0) const;
  TensorView output(int32_t i = 0) const;

  // Runs every node. Cannot fail, allocate, lock or log with the serial executor or a caller's own.
  void run();
  // Runs nodes [first, last); run() is run_nodes(0, node_count). For tools that look between nodes.
  void run_nodes(int32_t first, int32_t last);
  // After the bytes of node `i`'s constants were changed in place: checks the node and packs them anew.
  // Refused where the node now needs another kernel or more memory, or is used packed from the model
  // (kBadPack); its outputs are then of no use. Refused in a planned session (kOperatorMissing).
  Error prepare_node(int32_t i);
  // State tensors to their initial values, as after create().
  void reset();

  // This session on other activations and scratch, of the bytes that measure() gave: both may run_nodes() at
  // once. They share all else, so prepare_node(), reset() and the states of run() are for times when one of
  // them runs alone. It has no observer. Memory is checked as by create(); an executor of more threads than
  // this session was made for is refused (kBadExecutor), since scratch is theirs.
  Result<Session> beside(Span<uint8_t> activations, Span<uint8_t> scratch,
                         const Executor& executor = {}) const {
    Session other = *this;
    ITG_TRY(other.move_to(activations, scratch, executor));
    return other;
  }

  const Model& model() const { return model_; }
  TensorView tensor(int32_t index) const;  // any tensor; an activation's data is valid as the observer's is
  // Of the kernel chosen for a node; "" where it has none, and in a planned session.
  const char* kernel_name(int32_t node) const;

 private:
  enum class StateMove { kReset, kLoad, kStore };

  Error move_to(Span<uint8_t> activations, Span<uint8_t> scratch, const Executor& executor);
  bool planned() const { return op_count_ == 0; }
  const PlannedNode* nodes() const;
  uint64_t kept_end(int32_t i, uint64_t all) const;
  void move_states(StateMove move);
  void run_nodes_with(const Executor& executor, int32_t first, int32_t last);

  Model model_;
  union {
    const OpDef* const* ops_ = nullptr;
    const PlannedModel* planned_;  // where there are no operators
  };
  size_t op_count_ = 0;
  SessionMemory memory_;
  SessionOptions options_;
};

}  // namespace intaglio
