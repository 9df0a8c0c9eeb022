// Files: read, mapped, and written so that a reader finds the old one or the new one, never a part.
#pragma once

#include <sys/types.h>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "calibrator/host/system/outcome.h"
#include "intaglio/span.h"

namespace intaglio {

// Whole files, read with plain errors and written all or nothing.

// Bytes on the heap that start where a model or a session's memory may start; of any value at first.
// Megabytes stand in large pages where the system has them: streaming packed weights through pages of 4 KB
// costs up to a tenth of a layer.
class FileBytes {
 public:
  FileBytes() = default;
  explicit FileBytes(size_t size);

  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  Span<const uint8_t> span() const { return {data(), size_}; }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(uint8_t* bytes) const { ::operator delete(bytes, alignment); }
  };
  std::unique_ptr<uint8_t, Free> bytes_;
  size_t size_ = 0;
};

// Owns the descriptor of a file that is read, of so many bytes when it was opened.
class ReadHandle {
 public:
  ReadHandle(int file, uint64_t size) : file_(file), size_(size) {}
  ~ReadHandle();
  ReadHandle(ReadHandle&& other) noexcept : file_(other.release()), size_(other.size_) {}
  ReadHandle& operator=(ReadHandle&&) = delete;
  int get() const { return file_; }
  uint64_t size() const { return size_; }
  int release() { return std::exchange(file_, -1); }
  void reset(int file) { file_ = file; }  // of one that holds none

 private:
  int file_;
  uint64_t size_;
};

// Only regular files of 1 to max_bytes bytes.
Outcome<ReadHandle> open_regular_file(const std::string& path, uint64_t max_bytes);
Outcome<FileBytes> read_file(const std::string& path, uint64_t max_bytes);
// `size` bytes from `offset` on; fewer are an error.
Outcome<FileBytes> read_file_part(const std::string& path, uint64_t offset, size_t size);
Outcome<uint64_t> file_size(const std::string& path);

// The calls by which a file is written; a test puts failing ones in their place.
struct FileCalls {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*write)(int file, const void* data, size_t size);
  int (*sync)(int file);
  int (*close)(int file);
  int (*rename)(const char* from, const char* to);
};
extern const FileCalls kSystemFileCalls;

// Looks at the bytes as read back from the disk, before they take the old file's place.
using VerifyFile = std::function<Outcome<Done>(Span<const uint8_t>)>;

// Writes a temporary file in the same folder, syncs it, reads it back, compares, asks `verify`, renames it
// over `path` and syncs the folder. Whatever fails before the rename, the old file stays as it was. A link is
// followed: what it names is written or replaced, also where nothing is there yet, and the link stays. A process
// that is killed leaves its temporary file (.intaglio-PID-N.tmp); the next write to the folder removes it.
Outcome<Done> write_file_atomically(const std::string& path, Span<const uint8_t> bytes,
                                    const VerifyFile& verify = {}, const FileCalls& calls = kSystemFileCalls);

// Which file stood at a path, and as of when; none where nothing did.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t changed_s = 0, changed_ns = 0;

  bool operator==(const FileStamp& other) const;
};
FileStamp stamp_of(const std::string& path);

// A file that a program is going to write. Make it before you look at what stands there, or read it: if another program writes it
// while this one works, write() is refused, and what that one wrote stays. Whoever writes so looks and replaces alone.
class OutputFile {
 public:
  OutputFile(std::string path) : path_(std::move(path)), before_(stamp_of(path_)) {}  // NOLINT: a path is one

  const std::string& path() const { return path_; }
  const FileStamp& before() const { return before_; }
  bool was_there() const { return !(before_ == FileStamp()); }
  // As write_file_atomically().
  Outcome<Done> write(Span<const uint8_t> bytes) const;

 private:
  std::string path_;
  FileStamp before_;
};

struct NewFile {
  OutputFile file;
  Span<const uint8_t> bytes;
};
// Files of one folder. All of them are whole on the disk before the first takes its place: a full disk leaves what was there, and
// so does another program that wrote one of them.
Outcome<Done> write_files_together(Span<const NewFile> files, const FileCalls& calls = kSystemFileCalls);

// For the handler of a signal that ends the program: removes the temporary files that are being written. One thread writes
// files at a time.
void remove_unfinished_file();

// A file under a name of its own until it is whole; it then takes the name that was asked for.

// Named .intaglio-PID-N.tmp, locked (flock) while its process lives, and removed with its object unless it was given
// its final name. Messages name `shown`, the file as the user knows it.
class TemporaryFile {
 public:
  TemporaryFile(std::string folder, std::string shown, const FileCalls& calls);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

  // Removes those of dead processes from the folder, too. `exact_mode`: whatever the umask says.
  Outcome<Done> create(mode_t mode, bool exact_mode);
  Outcome<Done> write_and_close(Span<const uint8_t> bytes);
  Outcome<Done> rename_to(const std::string& path);

 private:
  Failure failed(const char* what) const;
  bool lock();

  std::string folder_, shown_, path_;
  const FileCalls& calls_;
  int file_ = -1;
  int lock_ = -1;  // of the same file, open until the end
  bool exists_ = false;
  volatile std::sig_atomic_t* unfinished_ = nullptr;  // what a signal's handler asks
};

// A file's bytes where the system keeps them: a read-only, private mapping, so that a model's weights cost
// memory only while they are looked at, and are shared between processes.
//
// A change of the file in place changes what is mapped, and cutting it off ends a program that then looks
// there (SIGBUS): map what is replaced by renaming, as write_file_atomically does (the old bytes then stay),
// and read_file where the bytes must be those that were checked.
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
