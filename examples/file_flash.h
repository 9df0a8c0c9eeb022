// Shared by the examples that replace a model: a file that stands for two erase blocks of a chip. On a board the two functions of
// FileFlash are those of the vendor, and the slots are addresses.
#pragma once

#include <cstring>

#include "examples/example_session.h"
#include "intaglio/model_store.h"

namespace example {

inline constexpr size_t kSlotBytes = size_t{8} << 20, kUnit = 16;

struct alignas(64) Line {
  uint8_t bytes[64];
};

// Two slots in memory, read from a file and kept in it. A file of another size is none of these.
class FileFlash {
 public:
  explicit FileFlash(std::string path) : path_(std::move(path)), lines_(2 * kSlotBytes / sizeof(Line)) {
    std::memset(lines_.data(), 0xff, 2 * kSlotBytes);  // a new chip
    if (!std::filesystem::exists(path_)) return;
    Memory kept = read_file(path_);
    if (kept.span().size != 2 * kSlotBytes)
      fail(path_ + ": has " + std::to_string(kept.span().size) +
           " bytes, which are not the two slots of a chip");
    std::memcpy(lines_.data(), kept.span().data, 2 * kSlotBytes);
  }

  // Programming ends after so many units, as where power fails.
  void cut_after(size_t units) { units_left_ = units; }

  intaglio::Flash flash() {
    intaglio::Flash flash;
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

// Stores the file of what this machine can run within its ceiling of memory, and keeps the chip.
inline void store(FileFlash& chip, const intaglio::Flash& flash, const std::string& path) {
  Memory file = read_file(path);
  const intaglio::Error error = intaglio::update_model(flash, file.span(), intaglio::all_ops());
  chip.keep();
  // Names of nodes and tensors are the file's, which is read once it is known to be good.
  const bool is_read = error.status != intaglio::Status::kNotVerified;
  const auto model = is_read ? intaglio::Model::open(file.span()) : intaglio::Result<intaglio::Model>(error);
  check(path, error, model ? &*model : nullptr);
}

// The model that would run, and the memory that it needs.
inline void show(const intaglio::Flash& flash) {
  const intaglio::Span<const uint8_t> bytes = intaglio::stored_model(flash);
  if (bytes.empty()) fail("no slot holds a model");
  const intaglio::Result<intaglio::Model> model = intaglio::Model::open(bytes);
  check("the stored model", model.error());
  const auto needs = intaglio::Session::measure(*model, intaglio::all_ops());
  check("the stored model", needs.error(), &*model);
  std::printf("slot %d: %zu bytes, %d nodes, a session takes %zu bytes", bytes.data > flash.slots[1] ? 1 : 0,
              bytes.size, model->node_count(), needs->total());
  if (model->memory_ceiling() != 0) std::printf(" of %u", static_cast<unsigned>(model->memory_ceiling()));
  std::printf("\n");
}

}  // namespace example
