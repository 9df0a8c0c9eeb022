// Which activations may be shifted, channel by channel, if a model is to compute the same.
//
// From channel c of a tensor any number s[c] may be taken away where the bias that makes it is less by s[c],
// and whatever reads it adds w s[c] to its own bias. Between them stand operators through which a shift goes
// as it is: additions, pools, means. A layer that pads cannot take one in: a border of zeros would have to be
// -s[c].
#pragma once

#include "calibrator/recover/channels/channel_groups.h"

namespace intaglio {

struct ChannelShifts {
  static constexpr size_t kNone = SIZE_MAX;

  Span<size_t> first;   // of each tensor: its first channel among those of all; kNone: it stays as it is
  Span<bool> sources;   // of each tensor: a layer's bias makes it, so that its shift can be chosen
  size_t channels = 0;  // of all tensors that may be shifted

  bool is_free(int32_t tensor) const { return first[static_cast<size_t>(tensor)] != kNone; }
  size_t first_of(int32_t tensor) const { return first[static_cast<size_t>(tensor)]; }
};

ChannelShifts find_shifts(const Model& fp32, Arena& arena);
size_t channel_shift_bytes(const Model& fp32);

}  // namespace intaglio
