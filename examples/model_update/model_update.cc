// A model that is replaced in the field: two slots, of which one always holds a whole model.
//
//   model_update FLASH store NET.itg           writes a model into the slot that is not used
//   model_update FLASH store NET.itg --cut N   loses power after N programmed units: the old model stays
//   model_update FLASH show                    which model would run, and the memory that it needs
//
// The file FLASH stands for two erase blocks of a chip. On a board the two functions of FileFlash are those of the vendor,
// and the slots are addresses.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "intaglio/describe.h"
#include "intaglio/model_store.h"
#include "intaglio/session.h"

using namespace intaglio;

namespace {

constexpr size_t kSlotBytes = size_t{8} << 20, kUnit = 16;

struct alignas(64) Line {
  uint8_t bytes[64];
};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "model_update: %s\n", text.c_str());
  std::exit(1);
}

// Two slots in memory, read from a file and kept in it.
class FileFlash {
 public:
  explicit FileFlash(std::string path) : path_(std::move(path)), lines_(2 * kSlotBytes / sizeof(Line)) {
    std::memset(lines_.data(), 0xff, 2 * kSlotBytes);  // a new chip
    std::ifstream file(path_, std::ios::binary);
    if (file) file.read(reinterpret_cast<char*>(lines_.data()), static_cast<std::streamsize>(2 * kSlotBytes));
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

  void keep() const {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(lines_.data()), static_cast<std::streamsize>(2 * kSlotBytes));
    if (!file.flush()) fail(path_ + ": cannot be written");
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

std::string words(const Error& error) {
  char text[256];
  describe(error, nullptr, text, sizeof text);
  return text;
}

// Checks every byte before it is written: a model that does not open here would not open there.
void store(FileFlash& chip, const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(std::string(path) + ": cannot be read");
  const auto size = static_cast<size_t>(file.tellg());
  std::vector<Line> lines(size / sizeof(Line) + 1);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(lines.data()), static_cast<std::streamsize>(size));
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(lines.data()), size};
  const Result<Model> model = Model::open(bytes);
  if (!model) fail(std::string(path) + ": " + words(model.error()));
  const bool stored = store_model(chip.flash(), bytes);
  chip.keep();
  if (!stored) fail("power failed, or the model is too large; the old model stays");
}

void show(FileFlash& chip) {
  const Span<const uint8_t> bytes = stored_model(chip.flash());
  if (bytes.empty()) fail("no slot holds a model");
  const Result<Model> model = Model::open(bytes);
  if (!model) fail(words(model.error()));
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  if (!needs) fail(words(needs.error()));
  std::printf("slot %d: %zu bytes, %d nodes, a session takes %zu bytes\n",
              bytes.data > chip.flash().slots[1] ? 1 : 0, bytes.size, model->node_count(), needs->total());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc > 2 ? argv[2] : "";
  const bool cuts = argc == 6 && std::string(argv[4]) == "--cut";
  const bool stores = action == "store" && (argc == 4 || cuts);
  if (!stores && !(action == "show" && argc == 3)) fail("give FLASH store NET.itg [--cut N], or FLASH show");
  FileFlash chip(argv[1]);
  if (cuts) chip.cut_after(static_cast<size_t>(std::strtoull(argv[5], nullptr, 10)));
  if (stores) store(chip, argv[3]);
  show(chip);
}
