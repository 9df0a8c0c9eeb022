// Blocks of SHA-256: every kernel against the standard's vectors and the scalar one.
#include "kernels/digest/sha256.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/random.h"

namespace intaglio::test::sha256_test {

using test::Random;

namespace {

template <typename Look>
void with_every_kernel(Look&& look) {
  for (int32_t i = 0; i < sha256_count(); ++i) {
    const Sha256Kernel& kernel = sha256_kernel(i);
    CAPTURE(kernel.name);
    if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0) look(kernel);
  }
}

std::vector<uint32_t> first_state() {
  return {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
          0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
}

// A text of less than 120 bytes with its padding.
std::vector<uint8_t> padded(const std::string& text) {
  std::vector<uint8_t> bytes(text.size() < 56 ? 64 : 128);
  std::memcpy(bytes.data(), text.data(), text.size());
  bytes[text.size()] = 0x80;
  bytes[bytes.size() - 2] = static_cast<uint8_t>(8 * text.size() >> 8);
  bytes[bytes.size() - 1] = static_cast<uint8_t>(8 * text.size());
  return bytes;
}

std::vector<uint32_t> state_after(const Sha256Kernel& kernel, const std::string& text) {
  std::vector<uint32_t> state = first_state();
  const std::vector<uint8_t> bytes = padded(text);
  kernel.blocks(state.data(), bytes.data(), bytes.size() / kSha256BlockBytes);
  return state;
}

}  // namespace

TEST_CASE("one block and two: the standard's own vectors") {
  with_every_kernel([](const Sha256Kernel& kernel) {
    CHECK(state_after(kernel, "abc") == std::vector<uint32_t>{0xba7816bfu, 0x8f01cfeau, 0x414140deu,
                                                              0x5dae2223u, 0xb00361a3u, 0x96177a9cu,
                                                              0xb410ff61u, 0xf20015adu});
    CHECK(state_after(kernel, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          std::vector<uint32_t>{0x248d6a61u, 0xd20638b8u, 0xe5c02693u, 0x0c3e6039u, 0xa33ce459u, 0x64ff2167u,
                                0xf6ecedd4u, 0x19db06c1u});
  });
}

TEST_CASE("any state, any bytes, at any address: the scalar kernel's words") {
  Random random(43);
  const Sha256Kernel& scalar = sha256_best(isa::kScalar);
  for (size_t count = 0; count < 9; ++count)
    for (size_t offset = 0; offset < 8; ++offset) {
      CAPTURE(count);
      CAPTURE(offset);
      std::vector<uint8_t> bytes(offset + count * kSha256BlockBytes);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.between(0, 255));
      std::vector<uint32_t> state = first_state();
      for (uint32_t& word : state) word ^= static_cast<uint32_t>(random.between(0, 1 << 30));
      std::vector<uint32_t> expected = state;
      scalar.blocks(expected.data(), bytes.data() + offset, count);
      with_every_kernel([&](const Sha256Kernel& kernel) {
        std::vector<uint32_t> found = state;
        kernel.blocks(found.data(), bytes.data() + offset, count);
        CHECK(found == expected);
      });
    }
}

}  // namespace intaglio::test::sha256_test
