#include "calibrator/host/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "calibrator/host/text_lines.h"
#include "tests/support/temporary_folder.h"

using namespace intaglio;
using intaglio::test::TemporaryFolder;

namespace {

bool says(const std::string& message, const std::string& part) {
  const bool found = message.find(part) != std::string::npos;
  if (!found) MESSAGE(message << " lacks " << part);
  return found;
}

Span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Calls counted together; the one with this number fails (0: none does).
int calls_left = 0;
bool write_in_pieces = false;
bool write_lies = false;

bool fails() { return calls_left > 0 && --calls_left == 0; }
int fail_with(int error) {
  errno = error;
  return -1;
}

const FileCalls kBrokenCalls = {
    [](const char* path, int flags, mode_t mode) {
      return fails() ? fail_with(EACCES) : ::open(path, flags, mode);
    },
    [](int file, const void* data, size_t size) -> ssize_t {
      if (fails()) return fail_with(ENOSPC);
      if (write_lies) {
        const std::string wrong(size, 'x');
        return ::write(file, wrong.data(), size);
      }
      return ::write(file, data, write_in_pieces ? std::min<size_t>(size, 3) : size);
    },
    [](int file) { return fails() ? fail_with(EIO) : ::fsync(file); },
    [](int file) {
      const int closed = ::close(file);
      return fails() ? fail_with(EIO) : closed;
    },
    [](const char* from, const char* to) { return fails() ? fail_with(EPERM) : ::rename(from, to); },
};

}  // namespace

TEST_CASE("reading gives the bytes, aligned for a model") {
  const TemporaryFolder folder;
  const std::string path = folder.put("a", std::string("hello\0world", 11));
  const auto file = read_file(path, 11);
  REQUIRE(file);
  CHECK(std::string(file->span().begin(), file->span().end()) == std::string("hello\0world", 11));
  CHECK(reinterpret_cast<uintptr_t>(file->data()) % 64 == 0);
  const auto part = read_file_part(path, 6, 3);
  REQUIRE(part);
  CHECK(std::string(part->span().begin(), part->span().end()) == "wor");
  CHECK(*file_size(path) == 11);
}

TEST_CASE("what cannot be read is told apart") {
  const TemporaryFolder folder;
  CHECK(says(read_file(folder / "none", 10).message(), "no such file"));
  CHECK(says(read_file(folder.path(), 10).message(), "is a folder"));
  CHECK(says(read_file(folder.put("empty", std::string()), 10).message(), "is empty"));
  const std::string path = folder.put("eleven", std::string(11, 'a'));
  CHECK(says(read_file(path, 10).message(), "has 11 bytes, more than the 10"));
  CHECK(says(read_file_part(path, 9, 3).message(), "ends early"));
  CHECK(says(read_file_part(path, UINT64_MAX, 3).message(), "ends early"));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(says(read_file(folder / "fifo", 10).message(), "is not a regular file"));
}

TEST_CASE("a file is written whole and keeps its permissions") {
  const TemporaryFolder folder;
  const std::string path = folder / "out";
  REQUIRE(write_file_atomically(path, bytes_of("one")));
  CHECK(folder.get("out") == "one");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  std::string seen;
  REQUIRE(write_file_atomically(path, bytes_of("two"), [&](Span<const uint8_t> bytes) -> Outcome<Done> {
    seen.assign(bytes.begin(), bytes.end());
    CHECK(folder.get("out") == "one");
    return Done{};
  }));
  CHECK(seen == "two");
  CHECK(folder.get("out") == "two");
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  CHECK(folder.names().size() == 1);
  REQUIRE(write_file_atomically(folder / "nothing", {}));
  CHECK(*file_size(folder / "nothing") == 0);
}

TEST_CASE("a link stays, its target is replaced") {
  const TemporaryFolder folder;
  folder.put("real", std::string("old"));
  REQUIRE(::symlink("real", (folder / "link").c_str()) == 0);
  REQUIRE(write_file_atomically(folder / "link", bytes_of("new")));
  CHECK(folder.get("real") == "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
}

TEST_CASE("every call may fail: the old file stays, nothing else is left") {
  for (const bool pieces : {false, true}) {
    write_in_pieces = pieces;
    // open, writes, sync, close, rename; then the folder is opened and synced, when the new file is in place.
    const int before_rename = pieces ? 8 : 5;
    for (int failing = 1; failing <= before_rename + 2; ++failing) {
      const TemporaryFolder folder;
      const std::string path = folder.put("out", std::string("old content"));
      calls_left = failing;
      const auto done = write_file_atomically(path, bytes_of("new content"), {}, kBrokenCalls);
      calls_left = 0;
      CAPTURE(failing);
      CHECK_FALSE(done);
      CHECK(says(done.message(), folder.path()));
      CHECK(folder.get("out") == (failing <= before_rename ? "old content" : "new content"));
      CHECK(folder.names().size() == 1);
    }
  }
  write_in_pieces = false;
}

TEST_CASE("a disk that keeps other bytes, and a check that refuses, keep the old file") {
  const TemporaryFolder folder;
  const std::string path = folder.put("out", std::string("old"));
  write_lies = true;
  CHECK(says(write_file_atomically(path, bytes_of("new"), {}, kBrokenCalls).message(), "read back"));
  write_lies = false;
  const auto refused = write_file_atomically(
      path, bytes_of("new"), [](Span<const uint8_t>) -> Outcome<Done> { return Failure{"not good enough"}; });
  CHECK(refused.message() == "not good enough");
  CHECK(folder.get("out") == "old");
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a signal that ends the program while a file is written leaves the old one alone") {
  const TemporaryFolder folder;
  const std::string path = folder.put("model", std::string("old"));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGINT, [](int) {
      remove_unfinished_file();
      ::_exit(7);
    });
    const auto written = write_file_atomically(path, bytes_of("new"), [](Span<const uint8_t>) {
      ::raise(SIGINT);
      return Outcome<Done>(Done{});
    });
    ::_exit(written ? 1 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(folder.names() == std::vector<std::string>{"model"});
  CHECK(folder.get("model") == "old");
  // Nothing is begun: nothing is removed.
  REQUIRE(write_file_atomically(path, bytes_of("new")));
  remove_unfinished_file();
  CHECK(folder.get("model") == "new");
}

TEST_CASE("places that cannot hold a file") {
  const TemporaryFolder folder;
  CHECK(says(write_file_atomically(folder.path(), bytes_of("a")).message(), "is a folder"));
  CHECK(says(write_file_atomically(folder / "none/out", bytes_of("a")).message(), "does not exist"));
  CHECK(says(write_file_atomically("/dev/null", bytes_of("a")).message(), "not a regular file"));
  CHECK_FALSE(write_file_atomically("", bytes_of("a")));
}

TEST_CASE("a temporary file that was left behind is no obstacle") {
  const TemporaryFolder folder;
  folder.put(".out." + std::to_string(::getpid()) + ".tmp", std::string("left"));
  REQUIRE(write_file_atomically(folder / "out", bytes_of("new")));
  CHECK(folder.get("out") == "new");
}

TEST_CASE("lines of any system") {
  const TemporaryFolder folder;
  const auto lines = read_lines(folder.put("list", std::string("\xef\xbb\xbf"
                                                               "a b\r\n\n  c\t\n\r\nd")),
                                100);
  REQUIRE(lines);
  REQUIRE(lines->size() == 3);
  CHECK((*lines)[0].text == "a b");
  CHECK((*lines)[1].text == "c");
  CHECK((*lines)[1].number == 3);
  CHECK((*lines)[2].text == "d");
  CHECK((*lines)[2].number == 5);
}
