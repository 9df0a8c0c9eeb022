#include "calibrator/host/system/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "calibrator/host/system/temporary_file.h"

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

// Where a link leads, also if nothing is there yet.
Outcome<std::string> follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system has it
  fs::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(at, error))) return at.string();
    const fs::path next = fs::read_symlink(at, error);
    if (error) return Failure{path + ": cannot be followed: " + error.message()};
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return failed(path, "followed", ELOOP);
}

Outcome<Done> sync_folder(const std::string& folder, const std::string& path, const FileCalls& calls) {
  constexpr const char* kWhat = "kept for sure in its folder";
  const int file = calls.open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) return failed(path, kWhat, errno);
  const int synced = calls.sync(file);
  const int error = errno;
  calls.close(file);
  // Some file systems cannot sync a folder, and say so.
  if (synced != 0 && error != EINVAL) return failed(path, kWhat, error);
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

Outcome<Done> write_file_atomically(const std::string& path, Span<const uint8_t> bytes,
                                    const VerifyFile& verify, const FileCalls& calls) {
  const auto followed = follow_links(path);
  if (!followed) return followed.failure();
  const fs::path target = *followed;
  mode_t mode = 0666;
  bool replaces = false;
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return Failure{path + ": is a folder, not a file"};
    if (!S_ISREG(status.st_mode)) return Failure{path + ": is not a regular file and is not replaced"};
    mode = status.st_mode & 07777;
    replaces = true;
  }
  if (!target.has_filename()) return Failure{path + ": is no file name"};
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Failure{path + ": the folder " + folder + " does not exist"};

  TemporaryFile temporary(folder, path, calls);
  if (auto step = temporary.create(mode, replaces); !step) return step;
  if (auto step = temporary.write_and_close(bytes); !step) return step;

  const ReadHandle reopened(::open(temporary.path().c_str(), O_RDONLY | O_CLOEXEC), bytes.size);
  if (reopened.get() < 0) return failed(path, "read back", errno);
  auto back = read_at(reopened, path, 0, bytes.size);
  if (!back) return back.failure();
  struct stat written {};
  if (::fstat(reopened.get(), &written) != 0 || written.st_size != static_cast<off_t>(bytes.size) ||
      (bytes.size != 0 && std::memcmp(back->data(), bytes.data, bytes.size) != 0)) {
    return Failure{path + ": what was written does not read back the same; the disk may be failing"};
  }
  if (verify) {
    if (auto step = verify(back->span()); !step) return step;
  }
  if (auto step = temporary.rename_to(target.string()); !step) return step;
  return sync_folder(folder, path, calls);
}

}  // namespace intaglio
