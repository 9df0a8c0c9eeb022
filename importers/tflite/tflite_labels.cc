#include "importers/tflite/tflite_labels.h"

#include <cstring>
#include <string>

#include "importers/tflite/tflite_generated.h"
#include "importers/tflite/tflite_reader.h"

namespace intaglio::importers {
namespace {

using Found = std::optional<Span<const uint8_t>>;

// What lies past the end reads as 0, so that no record is found there.
uint32_t little_endian(Span<const uint8_t> file, size_t at, size_t bytes) {
  if (at > file.size || bytes > file.size - at) return 0;
  uint32_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | file[at + i];
  return value;
}

Failure damaged(const std::string& name) {
  return {"its label file " + shown(name) + " cannot be read: the archive behind the network is damaged"};
}

// PKWARE's APPNOTE 6.3: the end record (4.3.16) leads to the directory (4.3.12), and that to each file (4.3.7). The directory
// lies before the end record. Where it says another place, offsets count from the archive's own start: by the difference.
Outcome<Found> file_in_archive(Span<const uint8_t> file, const std::string& name) {
  constexpr uint32_t kEnd = 0x06054b50, kEntry = 0x02014b50, kFile = 0x04034b50;
  constexpr size_t kEndBytes = 22, kEntryBytes = 46, kFileBytes = 30, kMostComment = 65535;
  constexpr uint32_t kEncrypted = 1;  // bit 0 of the flags
  const Failure none{"its metadata names the label file " + shown(name) +
                     ", and the file does not hold it; give the text file itself"};
  if (file.size < kEndBytes) return none;
  size_t end = file.size - kEndBytes;
  const size_t first = end > kMostComment ? end - kMostComment : 0;
  while (end > first && little_endian(file, end, 4) != kEnd) --end;
  if (little_endian(file, end, 4) != kEnd) return none;
  const uint32_t count = little_endian(file, end + 10, 2);
  const size_t directory_bytes = little_endian(file, end + 12, 4), stated = little_endian(file, end + 16, 4);
  if (directory_bytes > end || stated > end - directory_bytes) return damaged(name);
  size_t at = end - directory_bytes;
  const size_t start_of_all = at - stated;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t name_bytes = little_endian(file, at + 28, 2);
    if (little_endian(file, at, 4) != kEntry || at + kEntryBytes + name_bytes > file.size)
      return damaged(name);
    const bool is_it =
        name_bytes == name.size() && std::memcmp(file.data + at + kEntryBytes, name.data(), name_bytes) == 0;
    if (!is_it) {
      at += kEntryBytes + name_bytes + little_endian(file, at + 30, 2) + little_endian(file, at + 32, 2);
      continue;
    }
    const size_t bytes = little_endian(file, at + 20, 4),
                 here = start_of_all + little_endian(file, at + 42, 4);
    if ((little_endian(file, at + 8, 2) & kEncrypted) != 0)
      return Failure{"its label file " + shown(name) +
                     " is encrypted, which is not read; unpack it (unzip) and give the text file"};
    if (little_endian(file, at + 10, 2) != 0)
      return Failure{"its label file " + shown(name) +
                     " is compressed, which is not read; unpack it (unzip) and give the text file"};
    if (little_endian(file, here, 4) != kFile) return damaged(name);
    const size_t start =
        here + kFileBytes + little_endian(file, here + 26, 2) + little_endian(file, here + 28, 2);
    if (start > file.size || bytes > file.size - start) return damaged(name);
    return Found({file.data + start, bytes});
  }
  return none;
}

}  // namespace

Outcome<Found> tflite_labels(Span<const uint8_t> file) {
  flatbuffers::Verifier verifier(file.data, file.size, 64, 1u << 26);
  if (!is_tflite(file) || !tflite::VerifyModelBuffer(verifier)) return Failure{"is no whole TFLite file"};
  const std::string name = label_file_name(*tflite::GetModel(file.data));
  return name.empty() ? Outcome<Found>(Found()) : file_in_archive(file, name);
}

}  // namespace intaglio::importers
