// A model that is replaced in the field only where its publisher has signed it: Ed25519, by libsodium.
//
//   signed_update key NAME                        NAME.key, which stays with the publisher, and NAME.pub, for the devices
//   signed_update sign NAME.key NET.itg NET.signed   the model with its signature behind it
//   signed_update FLASH NAME.pub store NET.signed    writes it into the slot that is not used
//   signed_update FLASH NAME.pub show             which model would run
//
// Nothing of a file is read before its signature is known to be good. That holds for a slot of the flash as well.
#include <sodium.h>

#include "examples/file_flash.h"

using example::fail;
using example::Memory;

namespace {

// A chip that holds no file without a good signature.
class SignedFlash : public example::FileFlash {
 public:
  SignedFlash(const std::string& path, const std::string& key)
      : FileFlash(path), key_(example::read_file(key)) {
    if (key_.span().size != crypto_sign_PUBLICKEYBYTES) fail(key + ": is no public key");
  }

  intaglio::Flash flash() {
    intaglio::Flash flash = FileFlash::flash();
    flash.verify = [](void* context, const uint8_t* bytes, size_t size) {
      return static_cast<SignedFlash*>(static_cast<FileFlash*>(context))->model_bytes(bytes, size);
    };
    return flash;
  }

 private:
  size_t model_bytes(const uint8_t* bytes, size_t size) {
    if (size < crypto_sign_BYTES) return 0;
    const size_t model = size - crypto_sign_BYTES;
    return crypto_sign_verify_detached(bytes + model, bytes, model, key_.span().data) == 0 ? model : 0;
  }

  Memory key_;
};

void write(const std::string& path, intaglio::Span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data), static_cast<std::streamsize>(bytes.size));
  file.close();
  if (!file) fail(path + ": cannot be written");
}

void make_key(const std::string& name) {
  uint8_t open[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
  crypto_sign_keypair(open, secret);
  write(name + ".pub", {open, sizeof open});
  write(name + ".key", {secret, sizeof secret});
  std::filesystem::permissions(name + ".key", std::filesystem::perms::owner_read);
}

void sign(const std::string& key, const std::string& path, const std::string& to) {
  Memory secret = example::read_file(key), file = example::read_file(path);
  if (secret.span().size != crypto_sign_SECRETKEYBYTES) fail(key + ": is no secret key");
  Memory both(file.span().size + crypto_sign_BYTES);
  std::memcpy(both.span().data, file.span().data, file.span().size);
  crypto_sign_detached(both.span().data + file.span().size, nullptr, file.span().data, file.span().size,
                       secret.span().data);
  write(to, both.span());
}

}  // namespace

int main(int argc, char** argv) {
  if (sodium_init() < 0) fail("libsodium cannot be used here");
  const std::string first = argc > 1 ? argv[1] : "", action = argc > 3 ? argv[3] : "";
  if (first == "key" && argc == 3) {
    make_key(argv[2]);
  } else if (first == "sign" && argc == 5) {
    sign(argv[2], argv[3], argv[4]);
  } else if ((action == "store" && argc == 5) || (action == "show" && argc == 4)) {
    SignedFlash chip(first, argv[2]);
    if (action == "store") example::store(chip, chip.flash(), argv[4]);
    example::show(chip.flash());
  } else {
    fail(
        "give key NAME, sign NAME.key NET.itg NET.signed, FLASH NAME.pub store NET.signed, or FLASH NAME.pub show");
  }
}
