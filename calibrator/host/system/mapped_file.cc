#include "calibrator/host/system/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace intaglio {

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

}  // namespace intaglio
