// The flash store under power cuts: each erase and each unit of programming is interrupted, in several ways.
#include "intaglio/model_store.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "runtime/crc32.h"
#include "tests/support/model_builder.h"
#include "tests/support/model_checks.h"
#include "tests/support/random.h"

namespace intaglio::test::model_store_test {
namespace {

// How the step that power fails in leaves the unit it works on.
enum class Torn { kUntouched, kSomeBits, kFirstHalf, kAllButOneBit, kDone };
constexpr Torn kTorn[] = {Torn::kUntouched, Torn::kSomeBits, Torn::kFirstHalf, Torn::kAllButOneBit,
                          Torn::kDone};

// NOR flash: programming clears bits, erasing sets them, sector by sector.
struct FakeFlash {
  static constexpr size_t kSector = 256;

  explicit FakeFlash(size_t slot, size_t unit) : slot_bytes(slot), program_bytes(unit) {
    for (auto& s : slots) s.assign(slot, 0xff);
  }

  Flash device() {
    Flash flash;
    for (size_t i = 0; i < 2; ++i) flash.slots[i] = slots[i].data();
    flash.slot_bytes = slot_bytes;
    flash.program_bytes = program_bytes;
    flash.context = this;
    flash.erase = [](void* context, int32_t slot) {
      auto& self = *static_cast<FakeFlash*>(context);
      auto& bytes = self.slots[static_cast<size_t>(slot)];
      for (size_t at = 0; at < bytes.size(); at += kSector)
        if (!self.step(bytes.data() + at, std::vector<uint8_t>(std::min(kSector, bytes.size() - at), 0xff)))
          return false;
      return true;
    };
    flash.program = [](void* context, int32_t slot, size_t offset, const uint8_t* data, size_t size) {
      auto& self = *static_cast<FakeFlash*>(context);
      auto& bytes = self.slots[static_cast<size_t>(slot)];
      REQUIRE(offset % self.program_bytes == 0);
      REQUIRE(size % self.program_bytes == 0);
      REQUIRE(offset + size <= bytes.size());
      for (size_t at = offset; at < offset + size; at += self.program_bytes) {
        std::vector<uint8_t> unit(data + (at - offset), data + (at - offset) + self.program_bytes);
        for (size_t i = 0; i < unit.size(); ++i) {
          REQUIRE(bytes[at + i] == 0xff);  // once after each erase
          unit[i] &= bytes[at + i];
        }
        if (!self.step(bytes.data() + at, unit)) return false;
      }
      return true;
    };
    return flash;
  }

  // One unit becomes `to`; false once power has failed.
  bool step(uint8_t* unit, const std::vector<uint8_t>& to) {
    if (off) return false;
    const bool cut = steps++ == cut_at;
    if (cut && torn != Torn::kDone) {
      off = true;
      if (torn == Torn::kUntouched) return false;
      for (size_t i = 0; i < to.size(); ++i) {
        const uint8_t changed = static_cast<uint8_t>(unit[i] ^ to[i]);
        const bool last = i + 1 == to.size();
        uint8_t bits = 0;
        if (torn == Torn::kSomeBits) bits = static_cast<uint8_t>(random.between(0, 255));
        if (torn == Torn::kFirstHalf) bits = i < to.size() / 2 ? 0xff : 0;
        if (torn == Torn::kAllButOneBit) bits = last ? static_cast<uint8_t>(changed & (changed - 1)) : 0xff;
        unit[i] = static_cast<uint8_t>(unit[i] ^ (changed & bits));
      }
      return false;
    }
    memcpy(unit, to.data(), to.size());
    if (cut) off = true;
    return true;
  }

  size_t slot_bytes, program_bytes;
  std::vector<uint8_t> slots[2];
  int32_t steps = 0, cut_at = -1;
  Torn torn = Torn::kDone;
  bool off = false;
  Random random{3};
};

// A file's last byte is the sum of the others: stands for a signature. `asked` counts.
struct SignedFlash : FakeFlash {
  using FakeFlash::FakeFlash;

  Flash device() {
    Flash flash = FakeFlash::device();
    flash.verify = [](void* context, const uint8_t* bytes, size_t size) {
      auto& self = *static_cast<SignedFlash*>(static_cast<FakeFlash*>(context));
      ++self.asked;
      if (self.answer != 0) return self.answer;
      if (size < 2) return size_t{0};
      return bytes[size - 1] == sum_of(bytes, size - 1) ? size - 1 : size_t{0};
    };
    return flash;
  }
  static uint8_t sum_of(const uint8_t* bytes, size_t size) {
    uint8_t sum = 17;
    for (size_t i = 0; i < size; ++i) sum = static_cast<uint8_t>(sum + bytes[i]);
    return sum;
  }
  static std::vector<uint8_t> sign(std::vector<uint8_t> file) {
    file.push_back(sum_of(file.data(), file.size()));
    return file;
  }

  int32_t asked = 0;
  size_t answer = 0;  // what it says of everything
};

std::vector<uint8_t> model_of(size_t size, uint32_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random.between(0, 255));
  return bytes;
}

Span<const uint8_t> span(const std::vector<uint8_t>& v) { return {v.data(), v.size()}; }

bool holds(const Flash& flash, const std::vector<uint8_t>& model) {
  const Span<const uint8_t> found = stored_model(flash);
  return found.size == model.size() && memcmp(found.data, model.data(), model.size()) == 0;
}

}  // namespace

TEST_CASE("models follow one another") {
  for (const size_t unit : {size_t{1}, size_t{4}, size_t{8}, size_t{32}, size_t{64}}) {
    FakeFlash fake(1024, unit);
    const Flash flash = fake.device();
    CHECK(stored_model(flash).empty());
    for (uint32_t i = 0; i < 5; ++i) {
      const std::vector<uint8_t> model = model_of(300 + 37 * i, i);
      REQUIRE(store_model(flash, span(model)));
      REQUIRE(holds(flash, model));
    }
    const std::vector<uint8_t> last = model_of(300 + 37 * 4, 4);
    CHECK(store_model(flash, span(model_of(1024 - kModelStoreOverhead, 9))));
    CHECK(store_model(flash, span(last)));
    CHECK(!store_model(flash, span(model_of(1025 - kModelStoreOverhead, 9))));
    CHECK(holds(flash, last));
  }
}

TEST_CASE("sequence numbers wrap around") {
  FakeFlash fake(1024, 1);
  const Flash flash = fake.device();
  REQUIRE(store_model(flash, span(model_of(300, 0))));
  // As after 2^32 - 2 models: words of the header are magic, sequence, bytes, CRC of the model, CRC of the header.
  for (auto& slot : fake.slots) {
    uint32_t header[5];
    memcpy(header, slot.data(), sizeof header);
    if (header[1] != 1) continue;
    header[1] = 0xfffffffe;
    header[4] = crc32(0, reinterpret_cast<const uint8_t*>(header), 16);
    memcpy(slot.data(), header, sizeof header);
  }
  REQUIRE(holds(flash, model_of(300, 0)));
  for (uint32_t i = 1; i < 6; ++i) {
    CAPTURE(i);
    REQUIRE(store_model(flash, span(model_of(300, i))));
    CHECK(holds(flash, model_of(300, i)));
  }
}

TEST_CASE("whenever power fails, the old or the new model is whole, and the next attempt succeeds") {
  const std::vector<uint8_t> oldest = model_of(700, 1), old = model_of(611, 2), next = model_of(653, 3);
  for (const size_t unit : {size_t{1}, size_t{4}, size_t{16}}) {
    for (const bool worn : {false, true}) {  // the slot written to is empty, or holds the oldest model
      FakeFlash start(1024, unit);
      if (worn) REQUIRE(store_model(start.device(), span(oldest)));
      REQUIRE(store_model(start.device(), span(old)));
      FakeFlash whole = start;
      whole.steps = 0;
      REQUIRE(store_model(whole.device(), span(next)));
      const int32_t steps = whole.steps;
      int32_t kept = 0, replaced = 0;
      for (int32_t cut = 0; cut < steps; ++cut) {
        for (const Torn torn : kTorn) {
          CAPTURE(cut);
          CAPTURE(static_cast<int>(torn));
          FakeFlash fake = start;
          fake.steps = 0;
          fake.cut_at = cut;
          fake.torn = torn;
          const bool is_stored = store_model(fake.device(), span(next));
          // Power comes back.
          const bool is_old = holds(fake.device(), old), is_next = holds(fake.device(), next);
          REQUIRE(is_old != is_next);
          REQUIRE(is_stored == is_next);  // also where the word was in, and the unit behind it was not
          kept += is_old ? 1 : 0;
          replaced += is_next ? 1 : 0;
          // It fails once more in the next attempt, somewhere else.
          fake.off = false;
          fake.steps = 0;
          fake.cut_at = (cut * 7 + 3) % steps;
          store_model(fake.device(), span(oldest));
          REQUIRE((holds(fake.device(), old) || holds(fake.device(), next) || holds(fake.device(), oldest)));
          fake.off = false;
          fake.cut_at = -1;
          REQUIRE(store_model(fake.device(), span(next)));
          REQUIRE(holds(fake.device(), next));
        }
      }
      CHECK(kept > 5 * (steps - 2));
      CHECK(replaced >= 1);
    }
  }
}

TEST_CASE("rotten bits in the newer model: the older one is found") {
  const std::vector<uint8_t> old = model_of(200, 1), next = model_of(210, 2);
  FakeFlash start(512, 4);
  REQUIRE(store_model(start.device(), span(old)));
  REQUIRE(store_model(start.device(), span(next)));
  for (size_t bit = 0; bit < 8 * (kModelStoreOverhead + next.size()); ++bit) {
    FakeFlash fake = start;
    fake.slots[1][bit / 8] = static_cast<uint8_t>(fake.slots[1][bit / 8] ^ (1u << bit % 8));
    const bool counts = bit / 8 < 20 || (bit / 8 >= 64 && bit / 8 < 68) || bit / 8 >= kModelStoreOverhead;
    REQUIRE(holds(fake.device(), counts ? old : next));
  }
}

TEST_CASE("flash that fails, or does not keep what it was given") {
  const std::vector<uint8_t> old = model_of(200, 1), next = model_of(210, 2);
  FakeFlash fake(512, 4);
  REQUIRE(store_model(fake.device(), span(old)));
  Flash broken = fake.device();
  broken.program = [](void*, int32_t, size_t, const uint8_t*, size_t) { return true; };
  CHECK(!store_model(broken, span(next)));
  CHECK(holds(fake.device(), old));
  broken.program = [](void*, int32_t, size_t, const uint8_t*, size_t) { return false; };
  CHECK(!store_model(broken, span(next)));
  CHECK(holds(fake.device(), old));
  // A driver that reports a failure of what it has done: the word is in.
  broken = fake.device();
  broken.program = [](void* context, int32_t slot, size_t offset, const uint8_t* data, size_t size) {
    return static_cast<FakeFlash*>(context)->device().program(context, slot, offset, data, size) &&
           offset != 64;
  };
  CHECK(store_model(broken, span(next)));
  CHECK(holds(fake.device(), next));
  broken = fake.device();
  broken.program_bytes = 3;
  CHECK(!store_model(broken, span(next)));
  broken.program_bytes = 4;
  broken.slot_bytes = 64;
  CHECK(!store_model(broken, span(next)));
  CHECK(stored_model(broken).empty());
}

TEST_CASE("a file whose signature is not good is not stored, and a slot that holds one does not count") {
  SignedFlash fake(1024, 4);
  const Flash flash = fake.device(), open = fake.FakeFlash::device();
  const std::vector<uint8_t> first = model_of(300, 1), second = model_of(310, 2);
  CHECK(!store_model(flash, span(first)));
  CHECK(fake.steps == 0);  // nothing was erased
  REQUIRE(store_model(flash, span(SignedFlash::sign(first))));
  CHECK(holds(flash, first));
  CHECK(holds(open, SignedFlash::sign(first)));
  std::vector<uint8_t> forged = SignedFlash::sign(second);
  ++forged[40];
  CHECK(!store_model(flash, span(forged)));
  CHECK(holds(flash, first));
  // Somebody else writes it, with good sums: the older model runs, and its slot is not the one that comes next.
  REQUIRE(store_model(open, span(forged)));
  CHECK(holds(open, forged));
  CHECK(holds(flash, first));
  REQUIRE(store_model(flash, span(SignedFlash::sign(second))));
  CHECK(holds(flash, second));
  REQUIRE(store_model(open, span(forged)));
  REQUIRE(store_model(open, span(forged)));
  CHECK(stored_model(flash).empty());
  // More than the file has is no answer.
  fake.answer = 312;
  CHECK(!store_model(flash, span(SignedFlash::sign(second))));
  fake.answer = 311;
  CHECK(store_model(flash, span(SignedFlash::sign(second))));
}

TEST_CASE("update_model refuses what the machine cannot run within the ceiling, and says why") {
  // An int8 layer, with a ceiling and a signature.
  const auto model = [](uint32_t ceiling, int32_t outputs = 8, Op op = Op::kFullyConnected) {
    ModelBuilder b;
    const int32_t in = b.tensor("in", DType::kS8, {1, 16}, 0.5f, 1),
                  out = b.tensor("out", DType::kS8, {1, outputs}, 9.0f);
    const auto codes = Random(3).codes(static_cast<size_t>(16 * outputs));
    const int32_t w = b.constant<int8_t>("w", DType::kS8, {outputs, 16}, codes, {0.01f});
    b.node(op, {in, w}, {out});
    b.input(in);
    b.output(out);
    b.graph().memory_ceiling = ceiling;
    AlignedBytes made = b.finish();
    return SignedFlash::sign({made.data(), made.data() + made.size()});
  };
  SignedFlash fake(4096, 4);
  const Flash flash = fake.device();
  const auto update = [&](const std::vector<uint8_t>& file) {
    const AlignedBytes aligned({file.data(), file.size()});
    return update_model(flash, aligned.view(), int8_ops());
  };
  const auto need_of = [&](const std::vector<uint8_t>& file) {
    const AlignedBytes aligned({file.data(), file.size() - 1});
    return static_cast<uint32_t>(
        Session::measure_anywhere(*Model::open(aligned.view()), int8_ops())->total());
  };
  const uint32_t need = need_of(model(0)), larger = need_of(model(0, 100));
  REQUIRE(larger > need + 1);

  std::vector<uint8_t> wrong = model(0);
  ++wrong[0];
  check_error(update(wrong), {Status::kNotVerified});
  check_error(update({}), {Status::kNotVerified});
  check_error(update(SignedFlash::sign(std::vector<uint8_t>(200, 7))), {Status::kNotAModel});
  check_error(update(SignedFlash::sign(std::vector<uint8_t>(5000, 7))),
              {Status::kSlotTooSmall, -1, -1, 5001, 4096 - kModelStoreOverhead});
  CHECK(!update(model(0, 8, Op::kMean)).ok());  // no session runs it
  check_error(update(model(need - 1)), {Status::kAboveCeiling, -1, -1, need, need - 1});
  CHECK(fake.steps == 0);
  CHECK(stored_model(flash).empty());

  REQUIRE(update(model(0)).ok());  // nothing bounds what follows
  REQUIRE(update(model(larger, 100)).ok());
  REQUIRE(update(model(need)).ok());  // a lower ceiling
  const Span<const uint8_t> kept = stored_model(flash);
  const int32_t steps = fake.steps;
  check_error(update(model(0, 100)), {Status::kAboveCeiling, -1, -1, larger, need});
  check_error(update(model(larger, 100)), {Status::kAboveCeiling, -1, -1, larger, need});
  check_error(update(model(0)), {Status::kCeilingRaised, -1, -1, 0, need});
  check_error(update(model(need + 1)), {Status::kCeilingRaised, -1, -1, need + 1, need});
  CHECK(fake.steps == steps);
  CHECK(stored_model(flash).data == kept.data);
  REQUIRE(update(model(need)).ok());
  REQUIRE(store_model(flash, span(model(0))));  // who decides that by itself
  CHECK(update(model(larger, 100)).ok());
  fake.cut_at = fake.steps;
  check_error(update(model(larger)), {Status::kFlashFailed});
}

}  // namespace intaglio::test::model_store_test
