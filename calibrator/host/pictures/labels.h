// Classes of samples, by the samples' names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace intaglio {

class Labels {
 public:
  // Lines "name class" or "name,class", or only "class", where the first line is sample 0 of an array. Of a folder: the
  // folders in it are the classes, from 0 on, in the order of their names; a sample's folder is its class.
  // `names`: what the classes are called, class 0 first. Then a line may have a class's name, and a folder with it is this
  // class.
  static Outcome<Labels> read(const std::string& path, const std::vector<std::string>& names = {});

  // The class of ImageFolder::name(i).
  Outcome<int32_t> of(const std::string& name) const;
  int32_t largest() const { return largest_; }

 private:
  static Outcome<Labels> read_folders(const std::string& path, const std::vector<std::string>& names);

  std::string path_;
  std::map<std::string, int32_t> classes_;
  bool of_folders_ = false;  // classes_ has folders' names
  int32_t largest_ = -1;
};

}  // namespace intaglio
