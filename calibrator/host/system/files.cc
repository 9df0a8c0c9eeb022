#include "calibrator/host/system/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace intaglio {

namespace {

constexpr const char* kStart = ".intaglio-";
constexpr const char* kEnd = ".tmp";

// The temporary files that are there, for a signal's handler, which can ask no object. More at once stay until the next write to
// their folder.
struct Unfinished {
  char path[PATH_MAX];
  volatile std::sig_atomic_t is_there;
};
Unfinished unfinished[8];

Unfinished* note_unfinished(const std::string& path) {
  for (Unfinished& place : unfinished) {
    if (place.is_there != 0 || path.size() >= sizeof place.path)
      continue;  // a name so long cannot be opened either
    memcpy(place.path, path.c_str(), path.size() + 1);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    place.is_there = 1;
    return &place;
  }
  return nullptr;
}

bool is_temporary_name(const std::string& name) {
  const size_t start = std::strlen(kStart), end = std::strlen(kEnd);
  return name.size() > start + end && name.compare(0, start, kStart) == 0 &&
         name.compare(name.size() - end, end, kEnd) == 0 &&
         name.find_first_not_of("0123456789-", start) == name.size() - end;
}

// Its lock is free: the process that made it is gone. A file system without locks keeps it.
void remove_if_abandoned(const std::string& path) {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int file = ::open(path.c_str(), O_RDWR | kFlags);
  if (file < 0) file = ::open(path.c_str(), O_RDONLY | kFlags);
  if (file < 0) return;
  struct stat opened {
  }, named{};
  if (::fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) && ::flock(file, LOCK_EX | LOCK_NB) == 0 &&
      ::lstat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev) {
    ::unlink(path.c_str());
  }
  ::close(file);
}

void remove_abandoned(const std::string& folder) {
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* const entry = ::readdir(entries)) {
    if (is_temporary_name(entry->d_name)) remove_if_abandoned(folder + "/" + entry->d_name);
  }
  ::closedir(entries);
}

// A file that grows past the process's limit is an error of write, not the process's end.
class FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~FileSizeSignalBlocked() {
    const int error = errno;
    if (::sigismember(&before_, SIGXFSZ) == 0) {
      const timespec now{};
      ::sigtimedwait(&signals_, nullptr, &now);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace

TemporaryFile::TemporaryFile(std::string folder, std::string shown, const FileCalls& calls)
    : folder_(std::move(folder)), shown_(std::move(shown)), calls_(calls) {}

TemporaryFile::~TemporaryFile() {
  if (file_ >= 0) calls_.close(file_);
  if (exists_) ::unlink(path_.c_str());
  if (lock_ >= 0) ::close(lock_);
  if (unfinished_ != nullptr) *unfinished_ = 0;
}

Failure TemporaryFile::failed(const char* what) const {
  return {shown_ + ": cannot be " + what + ": " + std::strerror(errno)};
}

// False: whoever removes abandoned files took the new one for such, before it was locked.
bool TemporaryFile::lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  if (::fstat(file_, &status) == 0 && status.st_nlink == 0) return false;
  lock_ = ::fcntl(file_, F_DUPFD_CLOEXEC, 0);
  return true;
}

Outcome<Done> TemporaryFile::create(mode_t mode, bool exact_mode) {
  remove_abandoned(folder_);
  // A name that is taken is another's, who counts processes by itself: a container, another machine.
  static std::atomic<uint32_t> count{0};
  for (int i = 0; i < 1000 && file_ < 0; ++i) {
    path_ = folder_ + "/" + kStart + std::to_string(::getpid()) + "-" + std::to_string(count++) + kEnd;
    file_ = calls_.open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file_ < 0 && errno != EEXIST) break;
    if (file_ >= 0 && !lock()) {
      calls_.close(std::exchange(file_, -1));
      errno = EEXIST;
    }
  }
  if (file_ < 0) return failed("created");
  exists_ = true;
  if (Unfinished* const noted = note_unfinished(path_)) unfinished_ = &noted->is_there;
  if (exact_mode && ::fchmod(file_, mode) != 0) return failed("created");
  return Done{};
}

Outcome<Done> TemporaryFile::write_and_close(Span<const uint8_t> bytes) {
  const FileSizeSignalBlocked blocked;
  size_t done = 0;
  while (done < bytes.size) {
    const ssize_t put = calls_.write(file_, bytes.data + done, bytes.size - done);
    if (put < 0 && errno == EINTR) continue;
    // A write of nothing would loop for ever.
    if (put == 0) errno = ENOSPC;
    if (put <= 0) return failed("written");
    done += static_cast<size_t>(put);
  }
  if (calls_.sync(file_) != 0) return failed("written");
  if (calls_.close(std::exchange(file_, -1)) != 0) return failed("written");
  return Done{};
}

Outcome<Done> TemporaryFile::rename_to(const std::string& path) {
  if (calls_.rename(path_.c_str(), path.c_str()) != 0) return failed("put in place");
  exists_ = false;
  return Done{};
}

void remove_unfinished_file() {
  for (const Unfinished& place : unfinished)
    if (place.is_there != 0) ::unlink(place.path);
}

Outcome<MappedFile> MappedFile::open(const std::string& path, uint64_t max_bytes) {
  auto file = open_regular_file(path, max_bytes);
  if (!file) return file.failure();
  MappedFile result;
  const auto size = static_cast<size_t>(file->size());
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->get(), 0);
  if (mapped != MAP_FAILED) {
    result.mapped_ = {static_cast<const uint8_t*>(mapped), size};
    return result;
  }
  auto bytes = read_file(path, max_bytes);
  if (!bytes) return bytes.failure();
  return MappedFile(std::move(*bytes));
}

MappedFile::~MappedFile() {
  if (mapped_.data != nullptr) ::munmap(const_cast<uint8_t*>(mapped_.data), mapped_.size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})), read_(std::move(other.read_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(read_, other.read_);
  return *this;
}

void MappedFile::release(Span<const uint8_t> bytes) const {
  if (mapped_.data == nullptr) return;
  // Whole pages inside `bytes`: what shares a page with others stays.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data);
  const uintptr_t first = (address + page - 1) / page * page;
  // The file's last page may be half a page.
  const bool whole = bytes.data + bytes.size == mapped_.data + mapped_.size;
  const uintptr_t end = whole ? address + bytes.size : (address + bytes.size) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

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

namespace {

// A file that is whole under a name of its own.
class StagedFile {
 public:
  StagedFile(const std::string& path, const FileCalls& calls) : path_(path), calls_(calls) {}

  Outcome<Done> write(Span<const uint8_t> bytes, const VerifyFile& verify);
  // Locks the folder among those that look before they replace. A file system without locks has none: then looking is all
  // there is.
  Outcome<Done> look(const FileStamp& before, ReadHandle& lock) const;
  Outcome<Done> place();

 private:
  const std::string path_;
  const FileCalls& calls_;
  std::string target_, folder_;
  std::unique_ptr<TemporaryFile> temporary_;
};

Outcome<Done> StagedFile::write(Span<const uint8_t> bytes, const VerifyFile& verify) {
  const std::string& path = path_;
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

  target_ = target.string();
  folder_ = folder;
  temporary_ = std::make_unique<TemporaryFile>(folder, path, calls_);
  if (auto step = temporary_->create(mode, replaces); !step) return step;
  if (auto step = temporary_->write_and_close(bytes); !step) return step;

  const ReadHandle reopened(::open(temporary_->path().c_str(), O_RDONLY | O_CLOEXEC), bytes.size);
  if (reopened.get() < 0) return failed(path, "read back", errno);
  auto back = read_at(reopened, path, 0, bytes.size);
  if (!back) return back.failure();
  struct stat written {};
  if (::fstat(reopened.get(), &written) != 0 || written.st_size != static_cast<off_t>(bytes.size) ||
      (bytes.size != 0 && std::memcmp(back->data(), bytes.data, bytes.size) != 0)) {
    return Failure{path + ": what was written does not read back the same; the disk may be failing"};
  }
  return verify ? verify(back->span()) : Done{};
}

Outcome<Done> StagedFile::look(const FileStamp& before, ReadHandle& lock) const {
  if (lock.get() < 0) {
    const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && ::flock(folder, LOCK_EX) != 0 && errno == EINTR) continue;
    lock.reset(folder);
  }
  if (stamp_of(target_) == before) return Done{};
  return Failure{
      path_ +
      ": another program has written it since this one read it, and it stays as that one wrote it; run "
      "this command again, and one at a time"};
}

Outcome<Done> StagedFile::place() {
  if (auto step = temporary_->rename_to(target_); !step) return step;
  return sync_folder(folder_, path_, calls_);
}

}  // namespace

bool FileStamp::operator==(const FileStamp& other) const {
  return std::tie(device, inode, size, changed_s, changed_ns) ==
         std::tie(other.device, other.inode, other.size, other.changed_s, other.changed_ns);
}

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

Outcome<Done> write_file_atomically(const std::string& path, Span<const uint8_t> bytes,
                                    const VerifyFile& verify, const FileCalls& calls) {
  StagedFile file(path, calls);
  if (auto step = file.write(bytes, verify); !step) return step;
  return file.place();
}

Outcome<Done> OutputFile::write(Span<const uint8_t> bytes) const {
  const NewFile file{*this, bytes};
  return write_files_together({&file, 1});
}

Outcome<Done> write_files_together(Span<const NewFile> files, const FileCalls& calls) {
  std::vector<std::unique_ptr<StagedFile>> staged;
  for (const NewFile& file : files) {
    staged.push_back(std::make_unique<StagedFile>(file.file.path(), calls));
    if (auto step = staged.back()->write(file.bytes, {}); !step) return step;
  }
  ReadHandle lock(-1, 0);
  for (size_t i = 0; i < files.size; ++i)
    if (auto step = staged[i]->look(files[i].file.before(), lock); !step) return step;
  for (const auto& file : staged)
    if (auto step = file->place(); !step) return step;
  return Done{};
}

}  // namespace intaglio
