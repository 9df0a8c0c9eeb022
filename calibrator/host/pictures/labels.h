// Classes of samples, by the samples' names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calibrator/host/system/outcome.h"

namespace intaglio {

class Labels {
 public:
  // Lines "name class", or only "class", where the first line is sample 0 of an array.
  static Outcome<Labels> read(const std::string& path);

  size_t count() const { return classes_.size(); }
  // The class of ImageFolder::name(i).
  Outcome<int32_t> of(const std::string& name) const;
  int32_t largest() const { return largest_; }

 private:
  std::string path_;
  std::map<std::string, int32_t> classes_;
  int32_t largest_ = -1;
};

}  // namespace intaglio
