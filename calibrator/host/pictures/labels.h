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
  // Lines "name class" or "name,class", or only "class", where the first line is sample 0 of an array. A heading before them,
  // such as "image,label", is passed over. Of a folder: the
  // folders in it are the classes, from 0 on, in the order of their names; a sample's folder is its class. Folders whose
  // names begin with a dot are none.
  // `names`: what the classes are called, class 0 first. Then a line may have a class's name, and a folder with it is this
  // class. A name of two classes, and a name that is another class's number, are refused where they are used.
  // `classes`: how many there are, 0 where that is not known; `names` say it, too. Folders without names must be as many.
  static Outcome<Labels> read(const std::string& path, const std::vector<std::string>& names = {},
                              size_t classes = 0);

  // The class of ImageFolder::name(i), one of the classes that there are.
  Outcome<int32_t> of(const std::string& name) const;
  int32_t largest() const { return largest_; }
  // How many there are where lines are a class alone, for the samples in their order; else 0.
  size_t in_order() const { return in_order_ ? classes_.size() : 0; }
  // Which class each folder has become, for the user; empty where the user said it.
  const std::string& note() const { return note_; }

 private:
  static Outcome<Labels> read_folders(const std::string& path, const std::vector<std::string>& names,
                                      size_t classes);
  Failure no_class_for(const std::string& name) const;

  std::string path_, note_;
  std::map<std::string, int32_t> classes_;
  bool of_folders_ = false;  // classes_ has folders' names
  bool in_order_ = false;    // classes_ has the numbers of samples
  size_t count_ = 0;         // of classes; 0: not known
  int32_t largest_ = -1;
};

}  // namespace intaglio
