// A model that is replaced in the field: two slots, of which one always holds a whole model.
//
//   model_update FLASH store NET.itg           writes a model into the slot that is not used
//   model_update FLASH store NET.itg --cut N   loses power after N programmed units: the old model stays
//   model_update FLASH show                    which model would run, and the memory that it needs
#include <charconv>

#include "examples/file_flash.h"

using example::fail;

int main(int argc, char** argv) {
  const std::string action = argc > 2 ? argv[2] : "";
  const bool cuts = argc == 6 && std::string(argv[4]) == "--cut";
  const bool stores = action == "store" && (argc == 4 || cuts);
  if (!stores && !(action == "show" && argc == 3)) fail("give FLASH store NET.itg [--cut N], or FLASH show");
  size_t units = SIZE_MAX;
  if (cuts) {
    const char* const past = argv[5] + std::strlen(argv[5]);
    const auto [end, error] = std::from_chars(argv[5], past, units);
    if (error != std::errc() || end != past)
      fail(std::string("--cut ") + argv[5] + ": give a number of units");
  }
  example::FileFlash chip(argv[1]);
  chip.cut_after(units);
  if (stores) example::store(chip, chip.flash(), argv[3]);
  example::show(chip.flash());
}
