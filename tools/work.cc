#include "tools/work.h"

#include <algorithm>
#include <cmath>

#include "tools/text.h"

namespace intaglio::tools {

Work::~Work() { clear(); }

void Work::note(const std::string& text) const {
  if (listener_.note) listener_.note(text);
}

void Work::warn(const std::string& text) {
  warnings_.push_back(safe(text, true));
  if (listener_.warn) listener_.warn(text);
}

void Work::enter(const std::string& what, std::chrono::steady_clock::time_point now) {
  if (stages_.empty())
    began_ = now;
  else
    stages_[stage_].seconds += std::chrono::duration<double>(now - entered_).count();
  if (estimate_) total_ = estimate_(stages_);
  stage_ = 0;
  while (stage_ < stages_.size() && stages_[stage_].name != what) ++stage_;
  if (stage_ == stages_.size()) stages_.push_back({what});
  entered_ = turn_ = now;
}

std::vector<StageTime> Work::stages() const {
  std::vector<StageTime> stages = stages_;
  if (!stages.empty())
    stages[stage_].seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - entered_).count();
  return stages;
}

void Work::show(const std::string& what, uint64_t done, uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_new = stages_.empty() || what != stages_[stage_].name;
  if (is_new) enter(what, now);
  advance(done, total, is_new);
  if (done == 0) turn_ = now;
  const bool is_due = is_new || now - last_ >= std::chrono::milliseconds(50);
  if (is_due) last_ = now;
  if (listener_.progress && is_due && !listener_.progress(what, done, total)) throw Stopped();
  if (!listener_.line || (shown_ && done < total && !is_due)) return;
  last_ = now;
  shown_ = true;
  const std::string count =
      total > 0 ? std::to_string(done) + "/" + std::to_string(total) : std::to_string(done);
  std::string bar;
  if ((total > 0 || steps_ > 0) && !beforehand_) {
    constexpr size_t kWidth = 20;
    const auto full = static_cast<size_t>(reached_ * kWidth);
    bar = "[" + std::string(full, '=') + std::string(kWidth - full, ' ') + "] ";
  }
  const std::string step =
      steps_ == 0 ? "" : "step " + std::to_string(step_) + " of " + std::to_string(steps_) + ": ";
  const std::string pass = passes_ == 0 ? "" : ", pass " + std::to_string(passes_ + 1) + ":";
  std::string left;
  const double spent = std::chrono::duration<double>(now - turn_).count();
  const double of_all = total_.value_or(0) - std::chrono::duration<double>(now - began_).count();
  if (of_all >= 1.0)
    left = ", " + time_text(of_all) + " left in all";
  else if (done > 0 && done < total && spent > 1.0)
    left = ", " + time_text(spent / static_cast<double>(done) * static_cast<double>(total - done)) + " left";
  if (!listener_.line(bar + step + safe(what) + pass + " " + count + left)) throw Stopped();
}

void Work::set_step(int32_t step, int32_t steps) {
  if (step != 0 && step <= step_) return;
  step_ = step;
  steps_ = step == 0 ? 0 : steps;
  parts_ = 0;
  if (step <= 1) reached_ = 0;
}

// How often a stage goes over its samples, and how many stages a step has, nobody knows beforehand: each pass takes half of
// what is left of the step's part of the bar.
void Work::advance(uint64_t done, uint64_t total, bool is_new) {
  const bool again = !is_new && done < done_;
  passes_ = is_new ? 0 : passes_ + (again ? 1 : 0);
  if (is_new && steps_ == 0) {
    parts_ = 0;
    reached_ = 0;
  } else if (is_new || again || parts_ == 0) {
    ++parts_;
  }
  done_ = done;
  if (total == 0) return;
  const double within = static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  if (steps_ == 0) {
    reached_ = std::max(reached_, within);
    return;
  }
  const double part = 1 - std::ldexp(1 - within / 2, -(parts_ - 1));
  reached_ = std::max(reached_, (step_ - 1 + part) / steps_);
}

void Work::set_estimate(TimeEstimate estimate) { estimate_ = std::move(estimate); }

void Work::clear() {
  if (shown_) listener_.line("");  // who ends the work is heard at the next line
  shown_ = false;
}

bool show_or_stop(Work& work, const char* stage, int32_t done, int32_t total) {
  try {
    work.show(stage, static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

}  // namespace intaglio::tools
