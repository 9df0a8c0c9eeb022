#include "intaglio/model_store.h"

#include <cstring>

#include "runtime/crc32.h"
#include "runtime/stored_file.h"

namespace intaglio {
namespace {

constexpr size_t kCommitOffset = 64;
constexpr uint32_t kMagic = 0x53475449;   // "ITGS"
constexpr uint32_t kCommit = 0x6b9d24c3;  // neither all ones nor all zeros, and far from both

// Little-endian, as the machines that read it are.
struct Header {
  uint32_t magic, sequence, bytes, model_crc, header_crc;
};

uint32_t header_crc(const Header& header) {
  return crc32(0, reinterpret_cast<const uint8_t*>(&header), sizeof header - sizeof header.header_crc);
}

// Whether a slot holds a whole model; its header.
bool read_slot(const Flash& flash, int32_t slot, Header* header) {
  const uint8_t* const start = flash.slots[slot];
  uint32_t commit;
  memcpy(header, start, sizeof *header);
  memcpy(&commit, start + kCommitOffset, sizeof commit);
  if (header->magic != kMagic || commit != kCommit || header_crc(*header) != header->header_crc) return false;
  if (header->bytes > flash.slot_bytes - kModelStoreOverhead) return false;
  return crc32(0, start + kModelStoreOverhead, header->bytes) == header->model_crc;
}

// The slot with the newest whole model that is verified, or -1. Sequence numbers wrap around.
int32_t newest_slot(const Flash& flash, Header* header, Span<const uint8_t>* model = nullptr) {
  if (flash.slot_bytes < kModelStoreOverhead) return -1;
  Header headers[2];
  bool holds[2];
  for (int32_t slot = 0; slot < 2; ++slot) holds[slot] = read_slot(flash, slot, &headers[slot]);
  const bool second_is_newer = static_cast<int32_t>(headers[1].sequence - headers[0].sequence) > 0;
  const int32_t newest = holds[1] && (!holds[0] || second_is_newer) ? 1 : 0;
  for (const int32_t slot : {newest, 1 - newest}) {
    if (!holds[slot]) continue;
    const Span<const uint8_t> found =
        verified_model(flash, {flash.slots[slot] + kModelStoreOverhead, headers[slot].bytes});
    if (found.empty()) continue;
    if (model != nullptr) *model = found;
    *header = headers[slot];
    return slot;
  }
  return -1;
}

// Programs `size` bytes; the last unit is completed with what erased flash holds.
bool program(const Flash& flash, int32_t slot, size_t offset, const void* data, size_t size) {
  const auto* const bytes = static_cast<const uint8_t*>(data);
  const size_t whole = size / flash.program_bytes * flash.program_bytes;
  if (whole > 0 && !flash.program(flash.context, slot, offset, bytes, whole)) return false;
  if (whole == size) return true;
  uint8_t unit[64];
  memset(unit, 0xff, sizeof unit);
  memcpy(unit, bytes + whole, size - whole);
  return flash.program(flash.context, slot, offset + whole, unit, flash.program_bytes);
}

bool good_unit(size_t bytes) { return bytes >= 1 && bytes <= 64 && (bytes & (bytes - 1)) == 0; }

}  // namespace

size_t slot_room(const Flash& flash) {
  if (!good_unit(flash.program_bytes) || flash.slot_bytes < kModelStoreOverhead) return 0;
  const size_t units = flash.program_bytes, room = (flash.slot_bytes - kModelStoreOverhead) / units * units;
  return room < UINT32_MAX ? room : UINT32_MAX;
}

Span<const uint8_t> verified_model(const Flash& flash, Span<const uint8_t> file) {
  if (flash.verify == nullptr) return file;
  const size_t size = flash.verify(flash.context, file.data, file.size);
  return size <= file.size ? Span<const uint8_t>(file.data, size) : Span<const uint8_t>();
}

Span<const uint8_t> stored_model(const Flash& flash) {
  Header header;
  Span<const uint8_t> model;
  newest_slot(flash, &header, &model);
  return model;
}

bool store_model(const Flash& flash, Span<const uint8_t> file) {
  return file.size <= slot_room(flash) && !verified_model(flash, file).empty() && store_verified(flash, file);
}

bool store_verified(const Flash& flash, Span<const uint8_t> file) {
  Header header = {};
  const int32_t old_slot = newest_slot(flash, &header), slot = old_slot == 0 ? 1 : 0;
  header = {kMagic, old_slot < 0 ? 1 : header.sequence + 1, static_cast<uint32_t>(file.size),
            crc32(0, file.data, file.size), 0};
  header.header_crc = header_crc(header);
  const uint8_t* const start = flash.slots[slot];
  if (!flash.erase(flash.context, slot) || !program(flash, slot, kModelStoreOverhead, file.data, file.size) ||
      !program(flash, slot, 0, &header, sizeof header))
    return false;
  // A slot whose bytes are not as they were written must not count.
  if (memcmp(start, &header, sizeof header) != 0 ||
      memcmp(start + kModelStoreOverhead, file.data, file.size) != 0)
    return false;
  // Whether the word is in is what flash says, and not what its driver says of it.
  program(flash, slot, kCommitOffset, &kCommit, sizeof kCommit);
  return newest_slot(flash, &header) == slot;
}

}  // namespace intaglio
