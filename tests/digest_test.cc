#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/digest_text.h"

namespace intaglio::test::digest_test {

using intaglio::test::hex;

namespace {

Digest digest_of(const std::string& text, size_t step) {
  Sha256 hash;
  for (size_t i = 0; i < text.size(); i += step)
    hash.update(text.data() + i, std::min(step, text.size() - i));
  return hash.finish();
}

}  // namespace

TEST_CASE("the standard's own vectors") {
  CHECK(hex(Sha256().finish()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(digest_of("abc", 3)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56)) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(digest_of(
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
            "nopqrsmnopqrstnopqrstu",
            112)) == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(hex(digest_of(std::string(1000000, 'a'), 1000)) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the steps in which bytes come do not matter, at any length") {
  for (size_t size = 0; size < 200; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(i * 31);
    const Digest whole = digest_of(text, 1000);
    for (const size_t step : {1, 3, 63, 64, 65}) CHECK(digest_of(text, step) == whole);
  }
}

TEST_CASE("digests compare first byte first") {
  Digest a, b;
  CHECK(a == b);
  CHECK_FALSE(a < b);
  a.bytes[31] = 255;
  b.bytes[0] = 1;
  CHECK(a < b);
  CHECK_FALSE(b < a);
  CHECK_FALSE(a == b);
}

TEST_CASE("a fingerprint sees every byte, its place, and where pieces end") {
  std::vector<uint8_t> bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  std::set<uint64_t> seen;
  for (size_t size = 0; size <= bytes.size(); ++size) seen.insert(fingerprint(0, bytes.data(), size));
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ (1 << bit));
      seen.insert(fingerprint(0, bytes.data(), bytes.size()));
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ (1 << bit));
    }
  CHECK(seen.size() == 101 + 800);
  CHECK(fingerprint(fingerprint(0, bytes.data(), 40), bytes.data() + 40, 60) !=
        fingerprint(0, bytes.data(), 100));
}

}  // namespace intaglio::test::digest_test
