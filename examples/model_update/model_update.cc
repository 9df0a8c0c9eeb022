// A model that is replaced in the field: two slots, of which one always holds a whole model.
//
//   model_update FLASH store NET.itg           writes a model into the slot that is not used
//   model_update FLASH store NET.itg --cut N   loses power after N programmed units: the old model stays
//   model_update FLASH show                    which model would run, and the memory that it needs
//
// The file FLASH stands for two erase blocks of a chip. On a board the two functions of FileFlash are those of the vendor,
// and the slots are addresses.
#include <charconv>
#include <cstring>

#include "examples/example_session.h"
#include "intaglio/model_store.h"

using namespace intaglio;
using example::check;
using example::fail;

namespace {

constexpr size_t kSlotBytes = size_t{8} << 20, kUnit = 16;

struct alignas(64) Line {
  uint8_t bytes[64];
};

// Two slots in memory, read from a file and kept in it. A file of another size is none of these.
class FileFlash {
 public:
  explicit FileFlash(std::string path) : path_(std::move(path)), lines_(2 * kSlotBytes / sizeof(Line)) {
    std::memset(lines_.data(), 0xff, 2 * kSlotBytes);  // a new chip
    if (!std::filesystem::exists(path_)) return;
    example::Memory kept = example::read_file(path_);
    if (kept.span().size != 2 * kSlotBytes)
      fail(path_ + ": has " + std::to_string(kept.span().size) +
           " bytes, which are not the two slots of a chip");
    std::memcpy(lines_.data(), kept.span().data, 2 * kSlotBytes);
  }

  // Programming ends after so many units, as where power fails.
  void cut_after(size_t units) { units_left_ = units; }

  Flash flash() {
    Flash flash;
    for (int slot = 0; slot < 2; ++slot) flash.slots[slot] = start(slot);
    flash.slot_bytes = kSlotBytes;
    flash.program_bytes = kUnit;
    flash.erase = [](void* context, int32_t slot) { return static_cast<FileFlash*>(context)->erase(slot); };
    flash.program = [](void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
      return static_cast<FileFlash*>(context)->program(slot, offset, bytes, size);
    };
    flash.context = this;
    return flash;
  }

  // Written beside and renamed, so that a full disk leaves the file as it was.
  void keep() const {
    const std::string beside = path_ + ".new";
    std::ofstream file(beside, std::ios::binary);
    file.write(reinterpret_cast<const char*>(lines_.data()), static_cast<std::streamsize>(2 * kSlotBytes));
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(beside, path_, error);
    if (!file || error) {
      std::filesystem::remove(beside, error);
      fail(path_ + ": cannot be written");
    }
  }

 private:
  uint8_t* start(int32_t slot) {
    return reinterpret_cast<uint8_t*>(lines_.data()) + static_cast<size_t>(slot) * kSlotBytes;
  }

  bool erase(int32_t slot) {
    if (units_left_ == 0) return false;
    std::memset(start(slot), 0xff, kSlotBytes);
    return true;
  }

  // Flash turns ones into zeros; only erasing brings ones back.
  bool program(int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
    for (size_t at = 0; at < size; ++at) {
      if (at % kUnit == 0 && units_left_-- == 0) return units_left_ = 0, false;
      start(slot)[offset + at] = static_cast<uint8_t>(start(slot)[offset + at] & bytes[at]);
    }
    return true;
  }

  std::string path_;
  std::vector<Line> lines_;
  size_t units_left_ = SIZE_MAX;
};

// Checks every byte and every operator before it is written: what is refused here would be refused there.
void store(FileFlash& chip, const std::string& path) {
  example::Memory file = example::read_file(path);
  const Result<Model> model = Model::open(file.span());
  check(path, model.error());
  check(path, Session::measure(*model, all_ops()).error(), &*model);
  if (file.span().size > kSlotBytes - kModelStoreOverhead)
    fail(path + ": is larger than a slot, which holds " + std::to_string(kSlotBytes - kModelStoreOverhead) +
         " bytes");
  const bool stored = store_model(chip.flash(), file.span());
  chip.keep();
  if (!stored) fail("power failed before the model was whole; the slot that was in use is as it was");
}

void show(FileFlash& chip) {
  const Span<const uint8_t> bytes = stored_model(chip.flash());
  if (bytes.empty()) fail("no slot holds a model");
  const Result<Model> model = Model::open(bytes);
  check("the stored model", model.error());
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  check("the stored model", needs.error(), &*model);
  std::printf("slot %d: %zu bytes, %d nodes, a session takes %zu bytes\n",
              bytes.data > chip.flash().slots[1] ? 1 : 0, bytes.size, model->node_count(), needs->total());
}

}  // namespace

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
  FileFlash chip(argv[1]);
  chip.cut_after(units);
  if (stores) store(chip, argv[3]);
  show(chip);
}
