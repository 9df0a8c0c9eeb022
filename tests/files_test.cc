#include "calibrator/host/system/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "calibrator/host/system/text_lines.h"
#include "tests/support/temporary_folder.h"

namespace intaglio::test::files_test {

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
  // To where nothing is yet, through another link and a folder.
  REQUIRE(::mkdir((folder / "sub").c_str(), 0700) == 0);
  REQUIRE(::symlink("../third", (folder / "sub/second").c_str()) == 0);
  REQUIRE(::symlink("sub/second", (folder / "first").c_str()) == 0);
  REQUIRE(write_file_atomically(folder / "first", bytes_of("there")));
  CHECK(folder.get("third") == "there");
  CHECK(std::filesystem::is_symlink(folder / "first"));
  CHECK(std::filesystem::is_symlink(folder / "sub/second"));
  REQUIRE(::symlink("circle", (folder / "circle").c_str()) == 0);
  CHECK(says(write_file_atomically(folder / "circle", bytes_of("a")).message(), std::strerror(ELOOP)));
  REQUIRE(::symlink("none/file", (folder / "astray").c_str()) == 0);
  CHECK(says(write_file_atomically(folder / "astray", bytes_of("a")).message(), "astray: the folder "));
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

TEST_CASE("what another program wrote since a file was read stays") {
  const TemporaryFolder folder;
  const std::string path = folder.put("state", std::string("old"));
  const OutputFile first(path), second(path);
  CHECK(first.was_there());
  REQUIRE(first.write(bytes_of("mine")));
  CHECK(folder.get("state") == "mine");
  const auto late = second.write(bytes_of("late"));
  REQUIRE_FALSE(late);
  CHECK(says(late.message(), path + ": another program has written it"));
  CHECK(folder.get("state") == "mine");
  // Nothing stood there, and something does now; and the other way round.
  const OutputFile one(folder.path() + "/new"), other(folder.path() + "/new");
  CHECK_FALSE(one.was_there());
  REQUIRE(one.write(bytes_of("first")));
  CHECK_FALSE(other.write(bytes_of("second")));
  CHECK(folder.get("new") == "first");
  const OutputFile mine(path);
  REQUIRE(::unlink(path.c_str()) == 0);
  CHECK_FALSE(mine.write(bytes_of("again")));
  CHECK(folder.names() == std::vector<std::string>{"new"});
}

TEST_CASE("of many programs that read, add and replace at once, none loses what another has added") {
  const TemporaryFolder folder;
  const std::string path = folder.put("count", std::string("0"));
  constexpr int kPrograms = 8, kRounds = 20;
  for (int i = 0; i < kPrograms; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) continue;
    int added = 0;
    for (int round = 0; round < kRounds; ++round) {
      const OutputFile file(path);
      const auto read = read_file(path, 64);
      if (!read) continue;
      const std::string text(reinterpret_cast<const char*>(read->data()), read->size());
      added += file.write(bytes_of(std::to_string(std::stoi(text) + 1))) ? 1 : 0;
    }
    ::_exit(added);
  }
  int added = 0;
  for (int i = 0; i < kPrograms; ++i) {
    int status = 0;
    REQUIRE(::wait(&status) > 0);
    REQUIRE(WIFEXITED(status));
    added += WEXITSTATUS(status);
  }
  CHECK(added >= kRounds);
  CHECK(folder.get("count") == std::to_string(added));
}

TEST_CASE("of files that are written together all are new, or none is") {
  const std::string new_a = "new a", new_b = "new b";
  for (int failing = 1; failing <= 10;
       ++failing) {  // open, write, sync, close of each; then the first rename
    const TemporaryFolder folder;
    const std::string a = folder.put("a", std::string("old a")), b = folder.path() + "/b";
    const NewFile files[] = {{a, bytes_of(new_a)}, {b, bytes_of(new_b)}};
    CAPTURE(failing);
    calls_left = failing;
    const auto done = write_files_together({files, 2}, kBrokenCalls);
    calls_left = 0;
    if (failing > 9) continue;  // the folder's own sync: both stand there
    CHECK_FALSE(done);
    CHECK(folder.get("a") == "old a");
    CHECK(folder.names() == std::vector<std::string>{"a"});
  }
  const TemporaryFolder folder;
  const std::string a = folder.put("a", std::string("old a")), b = folder.path() + "/b";
  const NewFile files[] = {{a, bytes_of(new_a)}, {b, bytes_of(new_b)}};
  REQUIRE(write_files_together({files, 2}));
  CHECK(folder.get("a") == new_a);
  CHECK(folder.get("b") == new_b);
}

TEST_CASE("of files that are written together none is replaced where another program wrote one of them") {
  const TemporaryFolder folder;
  const std::string a = folder.put("a", std::string("old a")), b = folder.path() + "/b";
  const std::string new_a = "new a", new_b = "new b";
  const NewFile files[] = {{a, bytes_of(new_a)}, {b, bytes_of(new_b)}};
  REQUIRE(OutputFile(b).write(bytes_of("another")));
  const auto done = write_files_together({files, 2});
  REQUIRE_FALSE(done);
  CHECK(says(done.message(), b + ": another program has written it"));
  CHECK(folder.get("a") == "old a");
  CHECK(folder.get("b") == "another");
  CHECK(folder.names().size() == 2);
}

TEST_CASE("places that cannot hold a file") {
  const TemporaryFolder folder;
  CHECK(says(write_file_atomically(folder.path(), bytes_of("a")).message(), "is a folder"));
  CHECK(says(write_file_atomically(folder / "none/out", bytes_of("a")).message(), "does not exist"));
  CHECK(says(write_file_atomically("/dev/null", bytes_of("a")).message(), "not a regular file"));
  CHECK_FALSE(write_file_atomically("", bytes_of("a")));
}

TEST_CASE("temporary files of dead processes go at the next write; those of living ones and of users stay") {
  const TemporaryFolder folder;
  const std::string path = folder.put("model", std::string("old"));
  int from_child[2], to_child[2];
  REQUIRE(::pipe(from_child) == 0);
  REQUIRE(::pipe(to_child) == 0);
  const auto begin = [&](bool waits) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child > 0) return child;
    const auto written = write_file_atomically(path, bytes_of("of a child"), [&](Span<const uint8_t>) {
      char byte = 0;
      if (::write(from_child[1], &byte, 1) != 1) ::_exit(3);
      if (!waits) ::raise(SIGKILL);
      if (::read(to_child[0], &byte, 1) != 1) ::_exit(4);
      return Outcome<Done>(Done{});
    });
    ::_exit(written ? 0 : 1);
  };
  const auto await = [&] {
    char byte;
    REQUIRE(::read(from_child[0], &byte, 1) == 1);
  };
  const auto ended = [](pid_t child) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
  };
  const pid_t living = begin(true);
  await();
  for (int i = 0; i < 3; ++i) {
    const pid_t killed = begin(false);
    await();
    CHECK(WIFSIGNALED(ended(killed)));
    CHECK(folder.names().size() == 3);  // each removed what the one before it had left
  }
  for (const char* name :
       {".intaglio-notes.tmp", ".intaglio-1.tmpx", "intaglio-1-2.tmp", ".intaglio-.tmp.tmp"}) {
    folder.put(name, std::string("a user's"));
  }
  REQUIRE(::symlink("model", (folder / ".intaglio-5-6.tmp").c_str()) == 0);
  REQUIRE(write_file_atomically(path, bytes_of("new")));
  CHECK(folder.get("model") == "new");
  CHECK(folder.names().size() == 7);
  REQUIRE(::write(to_child[1], "", 1) == 1);
  CHECK(ended(living) == 0);
  CHECK(folder.get("model") == "of a child");
  CHECK(folder.names().size() == 6);
  for (const int file : {from_child[0], from_child[1], to_child[0], to_child[1]}) ::close(file);
}

TEST_CASE("a file larger than the process may write is an error, not the process's end") {
  const TemporaryFolder folder;
  const std::string path = folder.put("model", std::string("old"));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const struct rlimit limit = {1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    const auto written = write_file_atomically(path, bytes_of(std::string(5000, 'a')));
    const bool named = written.message() == path + ": cannot be written: " + std::strerror(EFBIG);
    // The signal is neither pending nor blocked afterwards.
    sigset_t pending, blocked;
    ::sigpending(&pending);
    ::sigprocmask(SIG_BLOCK, nullptr, &blocked);
    ::_exit(!written && named && !::sigismember(&pending, SIGXFSZ) && !::sigismember(&blocked, SIGXFSZ) ? 0
                                                                                                        : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(folder.names() == std::vector<std::string>{"model"});
  CHECK(folder.get("model") == "old");
}

TEST_CASE("names as long as the system has them; messages name the user's file alone") {
  const TemporaryFolder folder;
  const std::string longest(NAME_MAX, 'n');
  REQUIRE(write_file_atomically(folder / longest, bytes_of("a")));
  CHECK(folder.get(longest) == "a");
  const auto longer = write_file_atomically(folder / (longest + "n"), bytes_of("a"));
  CHECK(says(longer.message(), std::strerror(ENAMETOOLONG)));
  CHECK(folder.names().size() == 1);
  for (int failing = 1; failing <= 7; ++failing) {
    calls_left = failing;
    const auto done = write_file_atomically(folder / "out", bytes_of("a"), {}, kBrokenCalls);
    calls_left = 0;
    CHECK(says(done.message(), folder / "out" + ": cannot be "));
    CHECK(done.message().find(".tmp") == std::string::npos);
  }
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

}  // namespace intaglio::test::files_test
