#include "cli/suspects.h"

#include <cstdio>

#include "calibrator/host/system/real_text.h"
#include "cli/output.h"

namespace intaglio::cli {
namespace {

constexpr size_t kNamesInWarning = 3;

}  // namespace

void Suspects::add(const std::string& name) {
  if (++count_ > kNamesInWarning) return;
  names_ += (names_.empty() ? "" : ", ") + name;
}

void Suspects::warn(const std::string& what) const {
  if (count_ == 0) return;
  print_warning(what + " (" + (count_ == 1 ? "sample " : std::to_string(count_) + " of them: ") + names_ +
                (count_ > kNamesInWarning ? ", ...)" : ")"));
}

std::string range_text(const Range& range) {
  return general_text(range.lo, 4) + " to " + general_text(range.hi, 4);
}

}  // namespace intaglio::cli
