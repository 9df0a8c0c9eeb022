// Tells a tool's caller notes, warnings, and how far the work is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace intaglio::tools {

// Nobody hears what has no function.
struct Listener {
  std::function<void(const std::string&)> note,
      warn;  // a sentence or more each, which may hold names from files
  // At most 20 times a second, and as each stage begins. False ends the work. From any thread, one at a time.
  std::function<bool(const std::string& stage, uint64_t done, uint64_t total)> progress;
  // The same as a line of text, in place of the one before; empty: none any more. Result and threads as above.
  std::function<bool(const std::string& line)> line;
};

// Thrown by Work::show() where the caller ended the work. stoppable() makes a failure of it.
struct Stopped {};

// A stage of the work and what it took, all its turns together.
struct StageTime {
  std::string name;
  double seconds = 0;
};

// Tells from the stages that are over what all of the work takes, in seconds, where it knows.
using TimeEstimate = std::function<std::optional<double>(const std::vector<StageTime>&)>;

// One piece of work of one caller. The line of progress has a bar, the step of how many, the present stage and the time that
// all of them, or it alone, should still take. The bar is of all steps, or of a stage without steps, and never goes back: a
// stage that begins anew is a further pass.
class Work {
 public:
  explicit Work(Listener listener = {}) : listener_(std::move(listener)) {}
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void note(const std::string& text) const;
  void warn(const std::string& text);
  const std::vector<std::string>& warnings() const { return warnings_; }  // so far, as safe() makes them

  void show(const std::string& stage, uint64_t done, uint64_t total);
  void clear();
  // From now on the display shows step `step` of so many; 0: work without steps. Earlier steps are left as they were.
  void set_step(int32_t step, int32_t steps);
  // The display shows a look beforehand at what the work will be: it has a count, and no bar.
  void set_beforehand(bool beforehand) { beforehand_ = beforehand; }
  void set_estimate(TimeEstimate estimate);  // is asked as each stage begins

  // In the order in which they began; a stage lasts until the next one is shown, the present one until now.
  std::vector<StageTime> stages() const;

 private:
  void enter(const std::string& what, std::chrono::steady_clock::time_point now);
  void advance(uint64_t done, uint64_t total, bool is_new);

  Listener listener_;
  std::vector<std::string> warnings_;
  bool shown_ = false;
  bool beforehand_ = false;
  int32_t step_ = 0, steps_ = 0;
  // Stages and passes of this step, passes of this stage, and the part of the bar that was reached.
  int parts_ = 0, passes_ = 0;
  uint64_t done_ = 0;
  double reached_ = 0;
  std::vector<StageTime> stages_;
  size_t stage_ = 0;  // the present one
  TimeEstimate estimate_;
  std::optional<double> total_;  // seconds
  std::chrono::steady_clock::time_point last_, entered_, turn_, began_;
};

// Work::show() for callers that know no exceptions, as Progress::step has it: false where the caller ended the work.
bool show_or_stop(Work& work, const char* stage, int32_t done, int32_t total);

// Runs what a tool does, where its caller may end it: kCancelled then.
template <typename Do>
auto stoppable(Do run) -> decltype(run()) {
  try {
    return run();
  } catch (const Stopped&) {
    return Failure{"the work was ended by its caller", {Status::kCancelled}};
  }
}

}  // namespace intaglio::tools
