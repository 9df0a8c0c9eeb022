// Models that a command opens, sessions of them, the machine they are for, and where a model goes.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/plan_model.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "calibrator/host/system/text_lines.h"
#include "calibrator/workspace/arena.h"
#include "intaglio/calibrator.h"
#include "intaglio/model.h"
#include "intaglio/session.h"
#include "tools/work.h"

namespace intaglio::tools {

// A model file in memory, and a session that runs it as the command line says.

// How nodes are run. Results do not depend on it.
struct ExecutionOptions {
  int32_t threads = 1;
  std::string isa;        // empty: the best that this CPU has
  bool streamed = false;  // by the model's streamed plan
  bool compact = false;   // compact_ops()
};
Outcome<SessionOptions> session_options(const ExecutionOptions& options);
OpList ops_of(const ExecutionOptions& options);

// "scalar, avx2, ..."
std::string isa_names();
// The instruction set of this name and those below it in its family; of an order for in-order cores (isa_list.inc) those that
// such cores have. Nothing where there is no such name.
Outcome<IsaMask> isa_up_to(const std::string& name);
// The best instruction set among the kernels that a session has chosen.
const char* isa_in_use(const Session& session);

// Whether two names are one file, or would be once it is written.
bool is_same_place(const std::string& a, const std::string& b);
// Refuses what would destroy an input, or could not be written at the end of the work. `option` names the
// file.
Outcome<Done> check_output_path(const std::string& output, const std::string& input,
                                const std::string& option = "-o");
// The same of a model that is written: what stands there already, and is neither a model nor empty, is somebody's.
Outcome<Done> check_model_output(const std::string& output, const std::string& input);
// Refuses a regular file that is not empty, and is not what would be written. `what`: "model".
Outcome<Done> check_replaceable(const std::string& output, const std::string& what,
                                const std::function<bool()>& is_one);
// One is known by `mark` at `offset`.
Outcome<Done> check_replaceable(const std::string& output, size_t offset, const std::string& mark,
                                const std::string& what);

// Whether a file begins as models do.
bool is_model_file(Span<const uint8_t> begin);

class LoadedModel {
 public:
  // For what judges a file, or makes another of it: the bytes that were checked stay, whatever happens to the
  // file.
  static Outcome<LoadedModel> open(const std::string& path);
  // For what runs it: mapped, so that weights which are used packed take memory once.
  static Outcome<LoadedModel> map(const std::string& path);

  // A model of bytes that are in memory already; messages call it `name`.
  static Outcome<LoadedModel> of_bytes(const std::string& name, FileBytes bytes);
  // A model that was imported from the network at this path.
  static Outcome<LoadedModel> of_import(const std::string& path, FileBytes bytes);

  // The model of one step of a model with states (intaglio/step_model.h).
  static Outcome<LoadedModel> step_of(const LoadedModel& file);
  // Its sessions run by rows, where `streamed` and the model has a streamed plan.
  Outcome<Done> stream_if(bool streamed, const Work& work);

  const Model& model() const { return model_; }
  const std::string& path() const { return path_; }
  // Made in memory of the network at this path; no file holds it.
  bool is_imported() const { return is_imported_; }
  size_t file_bytes() const { return bytes_.size(); }
  Failure failure(const Error& error) const { return failure_in(path_, error, &model_); }
  // Gives back memory of a mapped file that nobody needs for now.
  void release(Span<const uint8_t> bytes) const { bytes_.release(bytes); }

 private:
  static Outcome<LoadedModel> open(const std::string& path, MappedFile bytes);

  std::string path_;
  bool is_imported_ = false;
  MappedFile bytes_;
  Model model_;
};

// Refuses a model that cannot be calibrated since it is not FP32 throughout.
Outcome<Done> check_float(const LoadedModel& file);

// Refuses a model with states, for what takes samples that do not hang on each other.
Outcome<Done> check_no_states(const LoadedModel& file);

// A session in memory of its own.
class LoadedSession {
 public:
  // The model and what the options point to outlive the session.
  static Outcome<LoadedSession> create(const LoadedModel& file, const SessionOptions& options,
                                       OpList ops = all_ops());
  static Result<LoadedSession> create(const Model& model, const SessionOptions& options,
                                      OpList ops = all_ops());

  Session& operator*() { return session_; }
  Session* operator->() { return &session_; }
  Span<uint8_t> activations() const { return parts_.activations; }
  const SessionNeeds& needs() const { return needs_; }

 private:
  FileBytes memory_;
  SessionNeeds needs_;
  SessionMemory parts_;
  Session session_;
};

// Machines that a session can be sized for on any other one.
struct Target {
  std::string name;
  IsaMask isa = isa::kScalar;  // the kernels that a build for it has
  bool cortex_m = false;

  PlanTarget plan_target() const { return {isa, cortex_m}; }
};

std::vector<Target> targets();
std::string target_names();  // "scalar, x86-avx2, ..."
Outcome<Target> find_target(const std::string& name);

// How much the activations of a model may take.
struct MemoryGoal {
  bool flat = false;                   // layer by layer
  std::optional<uint64_t> most_bytes;  // nothing: as little as can be
  bool feeds_rows = false;             // the picture comes by rows
  uint64_t fast_bytes = 0;             // of most_bytes, in a fast memory of their own; 0: there is one memory

  static MemoryGoal layer_by_layer() { return {true, {}, false, 0}; }
};
// Of 'least', 'flat', a number of bytes, or 'fast=BYTES,slow=BYTES', where K and M behind a number are 2^10 and 2^20.
Outcome<MemoryGoal> memory_goal(const std::string& word);

// The model's file with the plan that the goal asks for.
Result<Span<const uint8_t>> plan_for_goal(const Model& model, const MemoryGoal& goal, Arena& arena);

// The streamed plan of a model's file, which is checked with all operators, and the one for two memories.
struct StreamedNeeds {
  size_t activation_bytes = 0;  // 0: the file has none
  bool is_fed = false;          // the first input comes by rows
  // Of the plan that a device runs: in a fast memory, and in the other. 0: it is for one memory.
  size_t fast_bytes = 0, slow_bytes = 0;
};
Result<StreamedNeeds> streamed_needs(Span<const uint8_t> file);
// A session of a plan for two memories, which both lie in `memory`, apart.
Result<Session> open_in_two(const Model& model, FileBytes& memory);

// The most that --ceiling takes: no session takes more.
inline constexpr int64_t kMaxCeiling = int64_t{1} << 31;
// Refuses a ceiling of memory (--ceiling) that is below the activations alone, so that no machine could hold to it.
Outcome<Done> check_ceiling(const Model& model, size_t streamed_bytes);

// Where a finished model goes.

// Takes a finished model, for example into a file. It has been opened and run.
using WriteModel = std::function<Outcome<Done>(Span<const uint8_t> bytes)>;

// Takes the bytes of a calibrator's finish(). Where `goal` asks for a streamed plan, it is put beside these bytes' own, and
// checked; then `write` gets them, if there is one.
class FinishedModel {
 public:
  FinishedModel(const MemoryGoal& goal, const WriteModel& write, bool at_once = false)
      : goal_(goal), write_(write), at_once_(at_once) {}

  ModelSink sink() { return {take, this}; }
  const std::string& problem() const { return problem_; }  // why it was refused; empty where it was not
  // Behind finish(), once.
  std::string sha256() { return sha256_.get(); }
  FileBytes take_bytes() { return std::move(bytes_); }

 private:
  static bool take(void* context, Span<const uint8_t> bytes);

  const MemoryGoal& goal_;
  const WriteModel& write_;
  bool at_once_;  // whether another thread may work beside the disk
  std::string problem_;
  FileBytes bytes_;
  std::future<std::string> sha256_;
};

}  // namespace intaglio::tools
