// Finds constants of the same bytes, so that weights which several nodes use stand in a file once.
#pragma once

#include <cstring>

#include "calibrator/bake/graph.h"
#include "calibrator/workspace/arena.h"
#include "runtime/crc32.h"

namespace intaglio {

class SharedConstants {
 public:
  // Room for `most` constants of the graph; an exhausted arena gives an object that must not be used.
  SharedConstants(const Graph& graph, Arena& arena, size_t most) : graph_(graph) {
    size_t places = 1;
    while (places < 2 * most) places *= 2;
    places_ = arena.make<int32_t>(places);
    for (int32_t& place : places_) place = -1;
  }

  // The first of the constants asked for so far that has the same bytes: `tensor` itself where none has.
  int32_t first_with_bytes_of(int32_t tensor) {
    // Few places are looked at: time stays linear in the constants' size, whatever the bytes.
    constexpr uint32_t kMostPlaces = 16;
    const Span<const uint8_t> bytes = constant(tensor);
    const uint32_t hash = crc32(0, bytes.data, bytes.size);
    for (uint32_t i = 0; i < kMostPlaces; ++i) {
      int32_t& place = places_[(hash + i) & (places_.size - 1)];
      if (place < 0) place = tensor;
      const Span<const uint8_t> other = constant(place);
      if (other.size == bytes.size && memcmp(other.data, bytes.data, bytes.size) == 0) return place;
    }
    return tensor;
  }

 private:
  Span<const uint8_t> constant(int32_t tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)].constant;
  }

  const Graph& graph_;
  Span<int32_t> places_;  // by hash: a tensor, or -1; a power of two
};

}  // namespace intaglio
