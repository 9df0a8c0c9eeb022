// A device of a fleet: it observes the pictures in its flash, gives the state away in pieces over the serial line, takes the int8 model
// likewise, stores it so that a power cut leaves the old or the new one, and runs it. examples/fleet/fleet.py is the other side.
//
// The host leads. A message is: u8 0xa5, u8 0x5a, u16 how many bytes, u8 command, u8 number, these bytes, u32 CRC-32 of all from the
// count on. The answer has the same form and number, and in place of the command 0 where it is good, 1 where the message was damaged, 2 where
// it is refused. Nothing that is sent twice does harm, so the host sends again what has no answer.
//
// Nothing is kept of what has been sent: save_to() writes the state anew for each piece, and the buffer has the bytes of one piece. So a
// reset in the middle costs the time to observe again, and nothing else. What has come of the model stands in flash.
#include <cstring>

#include "intaglio/calibrator.h"
#include "intaglio/model_store.h"
#include "runtime/crc32.h"
#include "tests/firmware/board_print.h"

using namespace intaglio;

namespace {

// Of the board that qemu calls mps2-an386: its serial line, and memory that a reset leaves as it is, which stands for flash.
struct Uart {
  volatile uint32_t data, state, control, interrupts, divider;
};
Uart& uart() { return *reinterpret_cast<Uart*>(uintptr_t{0x40004000}); }
uint8_t* flash_at(uintptr_t offset) { return reinterpret_cast<uint8_t*>(uintptr_t{0x21000000} + offset); }

constexpr uintptr_t kNetworkAt = 0x000000, kPicturesAt = 0x100000, kSlotsAt = 0x200000, kInboxAt = 0x400000;
constexpr size_t kSlotBytes = 0x40000, kPieceBytes = 256, kUnit = 16, kHeadBytes = 64, kMemoryBytes = 160000;

alignas(kMemoryAlignment) uint8_t memory[kMemoryBytes];
alignas(uint32_t) uint8_t scratch[4096];
uint32_t units_left = 0xffffffffu;  // that are programmed before power fails

void reset_board() {
  *reinterpret_cast<volatile uint32_t*>(uintptr_t{0xE000ED0C}) = 0x05FA0004u;  // AIRCR.SYSRESETREQ
  for (;;) {
  }
}

Flash flash() {
  Flash f;
  for (uintptr_t slot : {uintptr_t{0}, uintptr_t{1}}) f.slots[slot] = flash_at(kSlotsAt + slot * kSlotBytes);
  f.slot_bytes = kSlotBytes;
  f.program_bytes = kUnit;
  f.erase = [](void*, int32_t slot) {
    memset(flash_at(kSlotsAt + static_cast<uintptr_t>(slot) * kSlotBytes), 0xff, kSlotBytes);
    return true;
  };
  f.program = [](void*, int32_t slot, size_t offset, const uint8_t* bytes, size_t size) {
    uint8_t* const to = flash_at(kSlotsAt + static_cast<uintptr_t>(slot) * kSlotBytes + offset);
    for (size_t at = 0; at < size; at += kUnit) {
      if (units_left-- == 0) reset_board();
      memcpy(to + at, bytes + at, kUnit);
    }
    return true;
  };
  return f;
}

// What has come of a model: behind a reset it is still there.
struct Inbox {
  uint32_t size, crc, arrived;
};
Inbox& inbox() { return *reinterpret_cast<Inbox*>(flash_at(kInboxAt)); }
uint8_t* inbox_bytes() { return flash_at(kInboxAt + kHeadBytes); }

// Bytes behind their number.
Span<const uint8_t> part(uintptr_t at) {
  uint32_t size;
  memcpy(&size, flash_at(at), sizeof size);
  return {flash_at(at + kHeadBytes), size};
}

uint8_t get_byte() {
  while ((uart().state & 2u) == 0) {
  }
  return static_cast<uint8_t>(uart().data);
}
void get(void* to, size_t size) {
  for (size_t i = 0; i < size; ++i) static_cast<uint8_t*>(to)[i] = get_byte();
}
void put(const void* from, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    while ((uart().state & 1u) != 0) {
    }
    uart().data = static_cast<const uint8_t*>(from)[i];
  }
}

constexpr uint8_t kBegin[] = {0xa5, 0x5a};
enum Answer : uint8_t { kGood = 0, kDamaged = 1, kRefused = 2 };

struct Message {
  struct Head {
    uint16_t size = 0;  // of bytes
    uint8_t command = 0, number = 0;
  } head;
  uint8_t bytes[kPieceBytes + 8] = {};

  uint32_t crc() const {
    return crc32(crc32(0, reinterpret_cast<const uint8_t*>(&head), sizeof head), bytes, head.size);
  }
};
Message message;

bool get_message() {
  for (uint8_t before = 0, now = 0; before != kBegin[0] || now != kBegin[1];) {
    before = now;
    now = get_byte();
  }
  uint32_t crc;
  get(&message.head, sizeof message.head);
  if (message.head.size > sizeof message.bytes) return false;
  get(message.bytes, message.head.size);
  get(&crc, sizeof crc);
  return crc == message.crc();
}

void answer(Answer how, size_t size) {
  message.head.size = static_cast<uint16_t>(size);
  message.head.command = how;
  const uint32_t crc = message.crc();
  put(kBegin, sizeof kBegin);
  put(&message.head, sizeof message.head);
  put(message.bytes, size);
  put(&crc, sizeof crc);
}

// Some of a state's bytes.
struct Piece {
  size_t skip, size, done = 0;
};

size_t save_piece(const Calibrator& calibrator, Piece piece) {
  const StateSink sink{[](void* context, Span<const uint8_t> bytes) {
                         Piece& p = *static_cast<Piece*>(context);
                         const size_t passed = p.skip < bytes.size ? p.skip : bytes.size;
                         p.skip -= passed;
                         const size_t rest = bytes.size - passed, room = p.size - p.done,
                                      take = rest < room ? rest : room;
                         memcpy(message.bytes + p.done, bytes.data + passed, take);
                         p.done += take;
                         return p.done < p.size;  // what is behind it nobody wants now
                       },
                       &piece};
  static_cast<void>(calibrator.save_to(sink));
  return piece.done;
}

// The pictures: u32 width, u32 height, then red, green and blue of each pixel.
Frame frame_at(size_t i) {
  const Span<const uint8_t> pictures = part(kPicturesAt);
  uint32_t sides[2];
  memcpy(sides, pictures.data, sizeof sides);
  Frame frame;
  frame.info = {static_cast<int32_t>(sides[0]), static_cast<int32_t>(sides[1]), PixelOrder::kRgb};
  const size_t bytes = frame_bytes(frame.info);
  const uint8_t* const first = pictures.data + sizeof sides;
  if ((i + 1) * bytes <= pictures.size - sizeof sides) frame.pixels = {first + i * bytes, bytes};
  return frame;
}

Error observe_all(Calibrator& calibrator) {
  for (size_t i = 0; !frame_at(i).pixels.empty(); ++i) ITG_TRY(calibrator.add_frame(frame_at(i), scratch));
  return kNoError;
}

// The stored model's answer to the first picture, as a CRC-32.
Error run_stored(uint32_t& crc) {
  const Result<Model> model = Model::open(stored_model(flash()));
  if (!model) return model.error();
  const Result<SessionNeeds> needs = Session::measure(*model, int8_ops());
  if (!needs) return needs.error();
  Result<Session> session =
      Session::create(*model, int8_ops(), Session::split({memory, sizeof memory}, *needs));
  if (!session) return session.error();
  ITG_TRY(write_frame(model->image(0), session->input(), frame_at(0), scratch));
  session->run();
  const TensorView output = session->output();
  crc = crc32(0, static_cast<const uint8_t*>(output.data), output.info.bytes());
  return kNoError;
}

// Commands, and what they take and give. Whatever is not one of them is refused.
void serve(const Calibrator& calibrator) {
  uint32_t words[2] = {};
  memcpy(words, message.bytes, sizeof words);
  switch (message.head.command) {
    case 's':  // offset, size: bytes of the state; fewer at its end
      return answer(kGood,
                    save_piece(calibrator, {words[0], words[1] < kPieceBytes ? words[1] : kPieceBytes}));
    case 'b': {  // size and CRC-32 of the model that comes: how much of it is there already
      if (inbox().size != words[0] || inbox().crc != words[1]) inbox() = {words[0], words[1], 0};
      memcpy(message.bytes, &inbox().arrived, sizeof(uint32_t));
      return answer(kGood, sizeof(uint32_t));
    }
    case 'm': {  // offset, bytes: what comes next of it
      const size_t size = message.head.size - sizeof(uint32_t);
      if (message.head.size <= sizeof(uint32_t) || words[0] != inbox().arrived ||
          size > inbox().size - words[0])
        return answer(kRefused, 0);
      memcpy(inbox_bytes() + words[0], message.bytes + sizeof(uint32_t), size);
      inbox().arrived += static_cast<uint32_t>(size);
      return answer(kGood, 0);
    }
    case 'c': {  // after so many units of flash power fails: the model is stored
      units_left = words[0];
      const bool is_whole = crc32(0, inbox_bytes(), inbox().size) == inbox().crc;
      return answer(is_whole && store_model(flash(), {inbox_bytes(), inbox().size}) ? kGood : kRefused, 0);
    }
    case 'r': {  // the stored model runs; the calibration is over then
      uint32_t found[2] = {static_cast<uint32_t>(stored_model(flash()).size), 0};
      const bool is_good = run_stored(found[1]).ok();
      memcpy(message.bytes, found, sizeof found);
      return answer(is_good ? kGood : kRefused, sizeof found);
    }
    case 'x':
      reset_board();
  }
  answer(kRefused, 0);
}

}  // namespace

extern "C" int main(int, char**) {
  uart().divider = 16;
  uart().control = 3;  // both directions
  const Result<Model> model = Model::open(part(kNetworkAt));
  if (!model) return print_line("FAILED: ", "the network is refused"), 1;
  const CalibratorOptions options = CalibratorOptions::device();
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model, options);
  if (!needs) return print_line("FAILED: ", "the network cannot be calibrated"), 1;
  print_number("bytes that the calibrator takes: ", static_cast<uint32_t>(needs->total()));
  Result<Calibrator> calibrator = Calibrator::create(*model, {memory, sizeof memory}, options);
  if (!calibrator) return print_line("FAILED: ", "memory"), 1;
  const Error error = observe_all(*calibrator);
  if (!error.ok()) return print_number("FAILED: status ", static_cast<uint32_t>(error.status)), 1;
  for (;;)
    if (get_message())
      serve(*calibrator);
    else
      answer(kDamaged, 0);
}
