// The input that boards and the build machine give to a model: the same codes everywhere.
#pragma once

#include "intaglio/tensor.h"

struct BoardInput {
  uint32_t state = 1;
  uint8_t next() {
    state = state * 1664525u + 1013904223u;
    return static_cast<uint8_t>(state >> 24);
  }
};

inline void fill_board_input(const intaglio::TensorView& input) {
  auto* const bytes = static_cast<uint8_t*>(input.data);
  BoardInput from;
  for (size_t i = 0; i < input.info.bytes(); ++i) bytes[i] = from.next();
}
