#include "intaglio/model_store.h"

#include <cstring>

#include "runtime/crc32.h"

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

// The slot with the newest whole model, or -1. Sequence numbers wrap around.
int32_t newest_slot(const Flash& flash, Header* header) {
  if (flash.slot_bytes < kModelStoreOverhead) return -1;
  Header headers[2];
  const bool first = read_slot(flash, 0, &headers[0]), second = read_slot(flash, 1, &headers[1]);
  if (!first && !second) return -1;
  const bool second_is_newer = static_cast<int32_t>(headers[1].sequence - headers[0].sequence) > 0;
  const int32_t slot = second && (!first || second_is_newer) ? 1 : 0;
  *header = headers[slot];
  return slot;
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

Span<const uint8_t> stored_model(const Flash& flash) {
  Header header;
  const int32_t slot = newest_slot(flash, &header);
  if (slot < 0) return {};
  return {flash.slots[slot] + kModelStoreOverhead, header.bytes};
}

bool store_model(const Flash& flash, Span<const uint8_t> model) {
  if (!good_unit(flash.program_bytes) || flash.slot_bytes < kModelStoreOverhead) return false;
  const size_t units = flash.program_bytes;
  const size_t room = (flash.slot_bytes - kModelStoreOverhead) / units * units;
  if (model.size > room || model.size > UINT32_MAX) return false;
  Header header = {};
  const int32_t old_slot = newest_slot(flash, &header), slot = old_slot == 0 ? 1 : 0;
  header = {kMagic, old_slot < 0 ? 1 : header.sequence + 1, static_cast<uint32_t>(model.size),
            crc32(0, model.data, model.size), 0};
  header.header_crc = header_crc(header);
  const uint8_t* const start = flash.slots[slot];
  if (!flash.erase(flash.context, slot) ||
      !program(flash, slot, kModelStoreOverhead, model.data, model.size) ||
      !program(flash, slot, 0, &header, sizeof header))
    return false;
  // A slot whose bytes are not as they were written must not count.
  if (memcmp(start, &header, sizeof header) != 0 ||
      memcmp(start + kModelStoreOverhead, model.data, model.size) != 0)
    return false;
  // Whether the word is in is what flash says, and not what its driver says of it.
  program(flash, slot, kCommitOffset, &kCommit, sizeof kCommit);
  return newest_slot(flash, &header) == slot;
}

}  // namespace intaglio
