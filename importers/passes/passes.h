// The passes over every imported model: a list, run until none finds anything more to do.
#pragma once

#include <functional>
#include <optional>

#include "importers/draft/composites.h"

namespace intaglio::importers {

struct Pass {
  const char* name;           // of its function
  const char* sentence;       // what it does
  bool (*run)(Draft& draft);  // whether it changed something
  bool comes_last = false;    // it runs only in a round in which no pass before it changed anything
};

// All of them, in their order; the list stands in pass_list.cc.
Span<const Pass> passes();

// Called after each run of a pass; rounds count from 1.
using PassObserver = std::function<void(const Pass& pass, int32_t round, bool changed, const Draft& draft)>;

inline constexpr int32_t kMaxRounds = 64;  // a few are usual: a pass can make room for another

// Runs the passes in order, and again until a round changes nothing. Nodes that nothing needs are removed after
// each pass. A pass that alone goes back and forth is left out where there are fewest nodes. Throws where kMaxRounds rounds do not end:
// two passes then undo each other, which is a fault of theirs.
void run_to_rest(Span<const Pass> list, Draft& draft, const PassObserver& observer = {});

// At the end: notes which nodes between Dequantize and Quantize did not become int8.
void note_float_nodes(Draft& draft);

// The passes' functions.
bool add_masks(Draft& draft);
bool decompose_space_to_batch(Draft& draft);
bool drop_repeats(Draft& draft);
bool fold_channel_scales(Draft& draft);
bool fold_channels(Draft& draft);
bool fold_dilation(Draft& draft);
bool fold_pad(Draft& draft);
bool fold_product_scale(Draft& draft);
bool fold_space_to_depth(Draft& draft);
bool fuse_clamp(Draft& draft);
bool fuse_gelu(Draft& draft);
bool fuse_l2_normalize(Draft& draft);
bool fuse_normalize(Draft& draft);
bool fuse_group_normalize(Draft& draft);
bool fuse_softmax(Draft& draft);
bool fuse_prelu(Draft& draft);
bool fuse_swish(Draft& draft);
bool join_lookups(Draft& draft);
bool lower_to_lookup(Draft& draft);
bool make_inputs_nhwc(Draft& draft);
bool merge_quantizers(Draft& draft);
bool permute_fully_connected(Draft& draft);
bool push_transposes(Draft& draft);
bool quantize_answers(Draft& draft);
bool quantize_nodes(Draft& draft);
bool replace_batch_norm(Draft& draft);
bool replace_depthwise(Draft& draft);
bool simplify_reshapes(Draft& draft);
bool sink_reshapes(Draft& draft);
bool slice_shuffled_channels(Draft& draft);
bool split_answers(Draft& draft);
bool split_leaky_relu(Draft& draft);

// `import --stream`: from a network over a whole sequence to one of a step.

// Takes one row along Draft::time_axis of the first input in the place of all. What convolutions and pools look back on
// becomes states. Throws, with the node's name, where a step does not hang on this row and earlier ones alone.
void make_steps(Draft& draft);

// Nodes in their order. `rewrite` adds others to the draft in a node's place and says so, or leaves it. Whether it did with any.
template <typename Rewrite>
bool rewrite_nodes(Draft& draft, Rewrite rewrite) {
  std::deque<DraftNode> old;
  old.swap(draft.nodes);
  bool changed = false;
  for (DraftNode& node : old) {
    if (rewrite(node))
      changed = true;
    else
      draft.nodes.push_back(std::move(node));
  }
  return changed;
}

// Parts that the passes on weights share.

// A convolution or fully connected node in FP32 with constant weights and bias.
bool has_float_weights(const Draft& draft, const DraftNode& node);
int32_t output_channels(const Draft& draft, const DraftNode& node);
// Elements of the weights that belong to output channel c, as a first index, a step and a count.
struct ChannelWeights {
  size_t first, step, count;
};
ChannelWeights channel_weights(const Draft& draft, const DraftNode& node, int32_t channel);
bool has_clamp(const DraftNode& node);
// clamp(clamp(x, inner), outer) is one clamp: to the inner bounds, each brought into the outer ones.
void join_clamps(Clamp& inner, const Clamp& outer);
// Whether the constant holds one real for each of the channels, which are the last axis, or one for all.
bool is_per_channel(const DraftTensor& constant, int32_t channels);

// New constants for the weights and the bias of a node with float weights, since the old ones may be shared: the
// weights of output channel c times factors[c], in double and rounded once, and this bias. A grid that the weights lie
// on is stretched with them.
void set_channels(Draft& draft, DraftNode& node, const std::vector<double>& factors,
                  const std::vector<float>& bias);

// The node writes `tensor` from now on, in place of its own output: a node between them has been folded.
void take_over_output(Draft& draft, DraftNode& node, int32_t tensor);
// Node `writer` writes the output of `folded`, which is dead.
void take_place(Draft& draft, Links& links, int32_t writer, DraftNode& folded);

// A Reshape of a transposed tensor, as a Reshape of the tensor itself.

// Axis k of what the Reshape of `base` gives is axis order[k] of the result.
struct ReshapedView {
  Permutation before;  // a Transpose of `base` in front of the Reshape; the identity: none is needed
  Permutation order;
};

// reshape(transpose(base, permutation), to), where it can be had as transpose(reshape(base), ...): axes that are split or
// joined stand together in `base`, as those of a channel shuffle do. `wanted` is an order of the result's axes that its
// readers take, or empty. If elements must move in any case, they move to that order at once. None: transpose first.
std::optional<ReshapedView> reshaped_view(const Shape& base, const Permutation& permutation, const Shape& to,
                                          const Permutation& wanted);

}  // namespace intaglio::importers
