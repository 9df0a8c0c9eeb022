#include "calibrator/host/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace intaglio {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargePage = size_t{1} << 21;

Failure failed(const std::string& path, const char* what, int error) {
  return {path + ": cannot be " + what + ": " + std::strerror(error)};
}

// Opens a regular file. Not blocking, so that a FIFO is refused and not waited for.
Outcome<ReadHandle> open_regular(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) return Failure{path + ": no such file"};
    return failed(path, "opened", errno);
  }
  ReadHandle handle(file, 0);
  struct stat status {};
  if (::fstat(file, &status) != 0) return failed(path, "read", errno);
  if (S_ISDIR(status.st_mode)) return Failure{path + ": is a folder, not a file"};
  if (!S_ISREG(status.st_mode)) return Failure{path + ": is not a regular file"};
  return ReadHandle(handle.release(), static_cast<uint64_t>(status.st_size));
}

Outcome<FileBytes> read_at(const ReadHandle& file, const std::string& path, uint64_t offset, size_t size) {
  FileBytes bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, "read", errno);
    if (got == 0) return Failure{path + ": ends early, after " + std::to_string(offset + done) + " bytes"};
    done += static_cast<size_t>(got);
  }
  return bytes;
}

int system_open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }

// The temporary file that is there, for a signal's handler, which can ask no object.
char unfinished_path[PATH_MAX];
volatile std::sig_atomic_t has_unfinished = 0;

void note_unfinished(const std::string& path) {
  has_unfinished = 0;
  if (path.size() >= sizeof unfinished_path) return;  // a name so long cannot be opened either
  memcpy(unfinished_path, path.c_str(), path.size() + 1);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  has_unfinished = 1;
}

// A file that removes itself unless it was given its final name.
class TemporaryFile {
 public:
  TemporaryFile(std::string path, const FileCalls& calls) : path_(std::move(path)), calls_(calls) {}
  ~TemporaryFile() {
    if (file_ >= 0) calls_.close(file_);
    if (exists_) ::unlink(path_.c_str());
    has_unfinished = 0;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

  Outcome<Done> create(mode_t mode, bool exact_mode) {
    // A name that is taken was left behind by a process that was killed.
    const std::string first_name = path_;
    for (int i = 1; i < 100 && file_ < 0; ++i) {
      note_unfinished(path_);
      file_ = calls_.open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (file_ < 0 && errno != EEXIST) break;
      if (file_ < 0) path_ = first_name + std::to_string(i);
    }
    if (file_ < 0) return failed(path_, "created", errno);
    exists_ = true;
    if (exact_mode && ::fchmod(file_, mode) != 0) return failed(path_, "created", errno);
    return Done{};
  }

  Outcome<Done> write_and_close(Span<const uint8_t> bytes) {
    size_t done = 0;
    while (done < bytes.size) {
      const ssize_t put = calls_.write(file_, bytes.data + done, bytes.size - done);
      if (put < 0 && errno == EINTR) continue;
      // A write of nothing would loop for ever.
      if (put <= 0) return failed(path_, "written", put < 0 ? errno : ENOSPC);
      done += static_cast<size_t>(put);
    }
    if (calls_.sync(file_) != 0) return failed(path_, "written", errno);
    if (calls_.close(std::exchange(file_, -1)) != 0) return failed(path_, "written", errno);
    return Done{};
  }

  Outcome<Done> rename_to(const std::string& path) {
    if (calls_.rename(path_.c_str(), path.c_str()) != 0) return failed(path, "replaced", errno);
    exists_ = false;
    return Done{};
  }

 private:
  std::string path_;
  const FileCalls& calls_;
  int file_ = -1;
  bool exists_ = false;
};

Outcome<Done> sync_folder(const std::string& folder, const FileCalls& calls) {
  const int file = calls.open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) return failed(folder, "synced", errno);
  const int synced = calls.sync(file);
  const int error = errno;
  calls.close(file);
  // Some file systems cannot sync a folder, and say so.
  if (synced != 0 && error != EINVAL) return failed(folder, "synced", error);
  return Done{};
}

}  // namespace

FileBytes::FileBytes(size_t size) : size_(size) {
  const auto alignment = static_cast<std::align_val_t>(size < kLargePage ? 64 : kLargePage);
  bytes_ = {static_cast<uint8_t*>(::operator new(size, alignment)), Free{alignment}};
#ifdef MADV_HUGEPAGE
  // Whole ones: no byte of memory more. May be refused.
  if (size >= kLargePage) ::madvise(bytes_.get(), size / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

const FileCalls kSystemFileCalls = {system_open, ::write, ::fsync, ::close, ::rename};

ReadHandle::~ReadHandle() {
  if (file_ >= 0) ::close(file_);
}

Outcome<ReadHandle> open_regular_file(const std::string& path, uint64_t max_bytes) {
  auto file = open_regular(path);
  if (!file) return file;
  if (file->size() == 0) return Failure{path + ": is empty"};
  if (file->size() > max_bytes) {
    return Failure{path + ": has " + std::to_string(file->size()) + " bytes, more than the " +
                   std::to_string(max_bytes) + " that are allowed here"};
  }
  return file;
}

Outcome<FileBytes> read_file(const std::string& path, uint64_t max_bytes) {
  auto file = open_regular_file(path, max_bytes);
  if (!file) return file.failure();
  return read_at(*file, path, 0, static_cast<size_t>(file->size()));
}

Outcome<FileBytes> read_file_part(const std::string& path, uint64_t offset, size_t size) {
  auto file = open_regular(path);
  if (!file) return file.failure();
  const uint64_t total = file->size();
  if (offset > total || total - offset < size) {
    return Failure{path + ": ends early, after " + std::to_string(total) + " bytes"};
  }
  return read_at(*file, path, offset, size);
}

Outcome<uint64_t> file_size(const std::string& path) {
  auto file = open_regular(path);
  if (!file) return file.failure();
  return file->size();
}

void remove_unfinished_file() {
  if (has_unfinished != 0) ::unlink(unfinished_path);
}

Outcome<Done> write_file_atomically(const std::string& path, Span<const uint8_t> bytes,
                                    const VerifyFile& verify, const FileCalls& calls) {
  // A link's target is replaced, not the link.
  std::error_code error;
  fs::path target = path;
  mode_t mode = 0666;
  bool replaces = false;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return Failure{path + ": is a folder, not a file"};
    if (!S_ISREG(status.st_mode)) return Failure{path + ": is not a regular file and is not replaced"};
    target = fs::canonical(path, error);
    if (error) return Failure{path + ": cannot be replaced: " + error.message()};
    mode = status.st_mode & 07777;
    replaces = true;
  }
  if (!target.has_filename()) return Failure{path + ": is no file name"};
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return Failure{path + ": the folder " + folder.string() + " does not exist"};

  const std::string hidden_name =
      "." + target.filename().string() + "." + std::to_string(::getpid()) + ".tmp";
  TemporaryFile temporary((folder / hidden_name).string(), calls);
  if (auto step = temporary.create(mode, replaces); !step) return step;
  if (auto step = temporary.write_and_close(bytes); !step) return step;

  auto reopened = open_regular(temporary.path());
  if (!reopened) return reopened.failure();
  auto back = read_at(*reopened, temporary.path(), 0, static_cast<size_t>(reopened->size()));
  if (!back) return back.failure();
  if (back->size() != bytes.size ||
      (bytes.size != 0 && std::memcmp(back->data(), bytes.data, bytes.size) != 0)) {
    return Failure{path + ": what was written does not read back the same; the disk may be failing"};
  }
  if (verify) {
    if (auto step = verify(back->span()); !step) return step;
  }
  if (auto step = temporary.rename_to(target.string()); !step) return step;
  return sync_folder(folder.string(), calls);
}

}  // namespace intaglio
