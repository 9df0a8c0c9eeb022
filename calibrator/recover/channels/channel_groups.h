// Which activations must be scaled together, channel by channel, if a model is to compute the same.
//
// Channel c of a tensor may be divided by any s[c] > 0 where the weights that make it are divided by s[c],
// those that read it are multiplied by s[c], and everything between keeps channels apart and is homogeneous:
// additions, pools, ReLU. Tensors that such operators join form one set with one s.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

struct ChannelGroups {
  Span<int32_t> root;   // of each tensor's set; -1: its channels stay as they are
  Span<size_t> first;   // of a root: its first channel among those of all sets
  size_t channels = 0;  // of all sets

  bool is_free(int32_t tensor) const { return root[static_cast<size_t>(tensor)] >= 0; }
  size_t first_of(int32_t tensor) const {
    return first[static_cast<size_t>(root[static_cast<size_t>(tensor)])];
  }
};

ChannelGroups group_channels(const Model& fp32, Arena& arena);
size_t channel_group_bytes(const Model& fp32);

// A layer whose every output channel reads the input channel of the same number alone.
bool is_depthwise(const Model& model, const NodeInfo& node, const QuantRule& rule);
// A layer whose weights hold the input's channels along their last axis, or which is depthwise.
bool reads_channels(const Model& model, const NodeInfo& node, const QuantRule& rule);
// A constant whose values no other input of a node shares.
bool is_own_constant(const Model& model, int32_t tensor);
// Whether channel c of the output of a node without weights is made of channel c of its inputs, by its
// operator and these shapes.
bool keeps_channels(const Model& model, const NodeInfo& node, const QuantRule& rule);

}  // namespace intaglio
