// A file under a name of its own until it is whole; it then takes the name that was asked for.
#pragma once

#include <csignal>
#include <string>

#include "calibrator/host/system/files.h"

namespace intaglio {

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

}  // namespace intaglio
