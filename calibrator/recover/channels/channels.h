// Which channels of a network may be scaled or shifted together.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/calibrator.h"
#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

// Which activations must be scaled together, channel by channel, if a model is to compute the same.
//
// Channel c of a tensor may be divided by any s[c] > 0 where the weights that make it are divided by s[c],
// those that read it are multiplied by s[c], and everything between keeps channels apart and is homogeneous:
// additions, pools, ReLU. Tensors that such operators join form one set with one s.
struct ChannelGroups {
  Span<int32_t> root;   // of each tensor's set; -1: its channels stay as they are
  Span<size_t> first;   // of a root: its first channel among those of all sets
  size_t channels = 0;  // of all sets

  bool is_free(int32_t tensor) const { return root[static_cast<size_t>(tensor)] >= 0; }
  size_t first_of(int32_t tensor) const {
    return first[static_cast<size_t>(root[static_cast<size_t>(tensor)])];
  }
};

// Which sets there are.
enum class ChannelSets : uint8_t {
  kAll,
  kDepthwise,  // those that a depthwise layer reads
};

// `functions`: of each node, whether takes_factors(); empty: no node does.
ChannelGroups group_channels(const Model& fp32, Arena& arena, ChannelSets sets = ChannelSets::kAll,
                             Span<const bool> functions = {});
size_t channel_group_bytes(const Model& fp32);
// The most channels of all sets: each begins with a tensor that a layer, factors or a function make.
uint64_t most_group_channels(const Model& fp32);

// A function of one variable that the int8 model looks up by codes of 8 bits: with tables for groups of channels its input and its
// output may have factors of their own.
bool takes_factors(const Model& fp32, int32_t node, const CalibratorOptions& options);
// A layer whose every output channel reads the input channel of the same number alone.
bool is_depthwise(const Model& model, const NodeInfo& node, const QuantRule& rule);
// A layer whose weights hold the input's channels along their last axis, or which is depthwise.
bool reads_channels(const Model& model, const NodeInfo& node, const QuantRule& rule);
// A constant whose values no other input of a node shares.
bool is_own_constant(const Model& model, int32_t tensor);
// Whether channel c of the output of a node without weights is made of channel c of its inputs, by its
// operator and these shapes.
bool keeps_channels(const Model& model, const NodeInfo& node, const QuantRule& rule);

// Which activations may be shifted, channel by channel, if a model is to compute the same.
//
// From channel c of a tensor any number s[c] may be taken away where the bias that makes it is less by s[c],
// and whatever reads it adds w s[c] to its own bias. Between them stand operators through which a shift goes
// as it is: additions, pools, means. A layer that pads cannot take one in: a border of zeros would have to be
// -s[c].
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
