// A file's bytes where the system keeps them: a read-only, private mapping, so that a model's weights cost
// memory only while they are looked at, and are shared between processes.
//
// What changes the file in place changes what is mapped, and cutting it off ends a program that then looks
// there (SIGBUS): map what is replaced by renaming, as write_file_atomically does (the old bytes then stay),
// and read_file where the bytes must be those that were checked.
#pragma once

#include "calibrator/host/system/files.h"

namespace intaglio {

class MappedFile {
 public:
  // Only regular files of 1 to max_bytes bytes. Where the file system maps nothing the bytes are read.
  static Outcome<MappedFile> open(const std::string& path, uint64_t max_bytes);

  MappedFile() = default;
  explicit MappedFile(FileBytes bytes) : read_(std::move(bytes)) {}  // nothing mapped
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  Span<const uint8_t> span() const { return mapped_.data != nullptr ? mapped_ : read_.span(); }
  size_t size() const { return span().size; }

  // These bytes of span() are not needed for now: their memory is given back, and their next reader waits for
  // the system's cache or the disk. No effect where they were read.
  void release(Span<const uint8_t> bytes) const;

 private:
  Span<const uint8_t> mapped_;  // data is nullptr: read_ holds the bytes
  FileBytes read_;
};

}  // namespace intaglio
