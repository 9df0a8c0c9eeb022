#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

using Pass = bool (*)(Draft&);

constexpr Pass kPasses[] = {
    drop_repeats,             // an operand repeated by hand goes in as it is
    fold_dilation,            // a convolution between SpaceToBatch and BatchToSpace is a dilated one
    spell_out_batches,        // what is left of these two becomes Pad, Reshape, Transpose and slices
    slice_shuffled_channels,  // a channel shuffle that is taken apart at once becomes slices
    make_inputs_nhwc,         // pictures come in as NHWC
    push_transposes,          // Transpose sinks through everything that minds no layout, inverse pairs vanish
    simplify_reshapes,        // Transpose that moves nothing becomes Reshape, Reshape chains become one
    permute_fully_connected,  // a Transpose before a flattening goes into the weights behind it
    fold_pad,                 // Pad goes into the window of what follows
    fold_bias,                // a constant added to each channel goes into the bias before it
    fold_batch_norm,          // BatchNormalization goes into weights and bias before it
    fuse_clamp,               // Relu, Relu6, Clip go into the node before them
    fuse_swish,               // Swish, HardSigmoid, HardSwish, Mish spelled out become one node
    fuse_gelu,                // GELU too, by Erf and by Tanh
    fuse_l2_normalize,        // x divided by its norm is one node
    merge_quantizers,         // a tensor that is quantized several times in one way is quantized once
    quantize_nodes,           // what stands between Dequantize and Quantize becomes int8
    replace_batch_norm,       // what could not be folded is a 1 x 1 depthwise convolution
    tabulate_clamp,           // an int8 Clamp, Sigmoid, PRelu, ... is a table
};

// A pass can make room for another, so that a few rounds are usual; the bound only stops what would be a
// fault.
constexpr int kMaxRounds = 64;

}  // namespace

void run_passes(Draft& draft) {
  bool changed = true;
  for (int round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    for (const Pass pass : kPasses) {
      changed |= pass(draft);
      remove_dead_nodes(draft);
    }
  }
  note_float_nodes(draft);
}

}  // namespace intaglio::importers
