#include "calibrator/host/system/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

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

}  // namespace intaglio
