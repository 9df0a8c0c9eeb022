// An Arena on a host: chunks from the heap, freed together.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "calibrator/workspace/arena.h"

namespace intaglio {

// Stays where it is made: the Arena holds its address. What comes from the arena lives as long as this does.
class HostArena {
 public:
  HostArena() : arena_({}, &HostArena::refill, this) {}
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  Arena& arena() { return arena_; }

 private:
  struct Free {
    void operator()(uint8_t* chunk) const { std::free(chunk); }
  };

  static Span<uint8_t> refill(void* context, size_t bytes) {
    auto& self = *static_cast<HostArena*>(context);
    const size_t size = std::max(bytes, self.next_bytes_);
    self.next_bytes_ = std::min(2 * self.next_bytes_, kMostChunkBytes);
    std::unique_ptr<uint8_t, Free> chunk(static_cast<uint8_t*>(std::malloc(size)));
    if (chunk == nullptr) return {};
    self.chunks_.push_back(std::move(chunk));
    return {self.chunks_.back().get(), size};
  }

  // Small at first: malloc maps large chunks anew each time, and a small network needs little.
  static constexpr size_t kFirstChunkBytes = size_t{1} << 16, kMostChunkBytes = size_t{1} << 20;

  size_t next_bytes_ = kFirstChunkBytes;
  std::vector<std::unique_ptr<uint8_t, Free>> chunks_;
  Arena arena_;
};

}  // namespace intaglio
