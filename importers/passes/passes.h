// What is done to every imported model. Each pass stands in a file of its own; pass_list.cc has their order.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Each returns whether it changed something.
bool push_transposes(Draft& draft);
bool simplify_reshapes(Draft& draft);
bool make_inputs_nhwc(Draft& draft);
bool permute_fully_connected(Draft& draft);
bool fold_pad(Draft& draft);
bool fold_batch_norm(Draft& draft);
bool fold_bias(Draft& draft);
bool fuse_clamp(Draft& draft);
bool fuse_swish(Draft& draft);
bool fuse_gelu(Draft& draft);
bool fuse_l2_normalize(Draft& draft);
bool drop_repeats(Draft& draft);
bool fold_dilation(Draft& draft);
bool spell_out_batches(Draft& draft);
bool slice_shuffled_channels(Draft& draft);
bool merge_quantizers(Draft& draft);
bool quantize_nodes(Draft& draft);
bool replace_batch_norm(Draft& draft);
bool tabulate_clamp(Draft& draft);

// Not one of them: says at the end which nodes between Dequantize and Quantize did not become int8.
void note_float_nodes(Draft& draft);

// All of them, in order, until none finds anything more to do.
void run_passes(Draft& draft);

}  // namespace intaglio::importers
