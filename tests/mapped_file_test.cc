#include "calibrator/host/system/files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/support/temporary_folder.h"

namespace intaglio::test::mapped_file_test {

using intaglio::test::TemporaryFolder;

namespace {

std::string text_of(const MappedFile& file) { return {file.span().begin(), file.span().end()}; }

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a mapped file has the bytes, aligned for a model, also after they were given back") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100000; ++i) text += static_cast<char>(int64_t{i} * i % 251);
  auto file = MappedFile::open(folder.put("a", text), text.size());
  REQUIRE(file);
  CHECK(file->size() == text.size());
  CHECK(reinterpret_cast<uintptr_t>(file->span().data) % 64 == 0);
  REQUIRE(text_of(*file) == text);
  file->release({file->span().data + 5000, 50000});
  REQUIRE(text_of(*file) == text);
  file->release({file->span().data + 10, 20});  // no whole page
  file->release(file->span());
  REQUIRE(text_of(*file) == text);
  file->release({});
}

TEST_CASE("what replaces a mapped file by renaming leaves it as it was; a moved mapping lives on") {
  const TemporaryFolder folder;
  const std::string path = folder.put("a", std::string("before"));
  MappedFile kept;
  {
    auto file = MappedFile::open(path, 100);
    REQUIRE(file);
    kept = std::move(*file);
  }
  const std::string after = "after it";
  REQUIRE(write_file_atomically(path, {reinterpret_cast<const uint8_t*>(after.data()), after.size()}));
  CHECK(text_of(kept) == "before");
  const MappedFile moved(std::move(kept));
  CHECK(text_of(moved) == "before");
  CHECK(kept.size() == 0);  // NOLINT(bugprone-use-after-move): what is left is empty
}

TEST_CASE("what cannot be mapped is told apart, or read") {
  const TemporaryFolder folder;
  CHECK(says(MappedFile::open(folder / "none", 10).message(), "no such file"));
  CHECK(says(MappedFile::open(folder.path(), 10).message(), "is a folder"));
  CHECK(says(MappedFile::open(folder.put("empty", std::string()), 10).message(), "is empty"));
  CHECK(says(MappedFile::open(folder.put("eleven", std::string(11, 'a')), 10).message(),
             "has 11 bytes, more than the 10"));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(says(MappedFile::open(folder / "fifo", 10).message(), "is not a regular file"));
  FileBytes bytes(3);
  memcpy(bytes.data(), "abc", 3);
  const MappedFile read(std::move(bytes));
  read.release(read.span());
  CHECK(text_of(read) == "abc");
}

}  // namespace intaglio::test::mapped_file_test
