#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

constexpr Pass kPasses[] = {
    {"drop_repeats", "An operand that is repeated for an operator which repeats it itself goes in as it is.",
     drop_repeats},
    {"fold_dilation", "A convolution between SpaceToBatch and BatchToSpace is a dilated one.", fold_dilation},
    {"decompose_space_to_batch",
     "SpaceToBatch and BatchToSpace that are left become Pad, Reshape, Transpose and slices.",
     decompose_space_to_batch},
    {"slice_shuffled_channels", "A channel shuffle that is taken apart at once becomes slices.",
     slice_shuffled_channels},
    {"make_inputs_nhwc", "Pictures come in as NHWC.", make_inputs_nhwc},
    {"fuse_normalize",
     "A normalization that is made of small operators becomes one node, with factors and summands.",
     fuse_normalize},
    {"push_transposes", "Transpose sinks through operators of any order of axes, and inverse pairs vanish.",
     push_transposes},
    {"fuse_group_normalize",
     "A normalization over other axes that is made of small operators becomes one node.",
     fuse_group_normalize},
    {"fuse_softmax", "A Softmax that is made of small operators becomes one node.", fuse_softmax},
    {"simplify_reshapes",
     "Transpose that moves nothing becomes Reshape, and a chain of Reshapes becomes one.", simplify_reshapes},
    {"sink_reshapes", "A Reshape of a picture to fewer axes goes behind what computes element by element.",
     sink_reshapes},
    {"permute_fully_connected", "A Transpose before a flattening goes into the weights behind it.",
     permute_fully_connected},
    {"fold_space_to_depth", "Slices or SpaceToDepth in front of a convolution go into its window.",
     fold_space_to_depth},
    {"fold_pad", "Pad goes into the window of what follows.", fold_pad},
    {"fold_product_scale", "A factor of a product of two activations, or of its operands, goes into it.",
     fold_product_scale},
    {"fold_channels",
     "Numbers for each channel go into the weights and the bias before them, through moves too.",
     fold_channels},
    {"fuse_clamp", "Relu, Relu6 and Clip go into the node before them, also through what moves elements.",
     fuse_clamp},
    {"fold_channel_scales",
     "A scale for each channel at the border of codes goes into the weights on both sides.",
     fold_channel_scales},
    {"fuse_swish", "Swish, HardSigmoid, HardSwish and Mish that are made of small operators become one node.",
     fuse_swish},
    {"fuse_prelu", "PRelu and LeakyRelu that are made of small operators become one node.", fuse_prelu},
    {"fuse_gelu", "GELU that is made of small operators, by Erf or by Tanh, becomes one node.", fuse_gelu},
    {"fuse_l2_normalize", "A tensor divided by its norm becomes one node.", fuse_l2_normalize},
    {"split_answers", "A layer whose channels are taken apart for the caller becomes a layer for each part.",
     split_answers},
    {"add_masks",
     "A choice between scores and a number far below them, in front of a Softmax, becomes a sum.", add_masks},
    {"merge_quantizers", "A tensor that is quantized several times is quantized once, and then converted.",
     merge_quantizers},
    {"quantize_nodes", "What stands between Dequantize and Quantize becomes int8.", quantize_nodes},
    {"replace_batch_norm", "BatchNormalization that is left becomes a 1 x 1 depthwise convolution.",
     replace_batch_norm},
    {"replace_depthwise", "A depthwise convolution of one channel becomes an ordinary one.",
     replace_depthwise},
    {"split_leaky_relu", "A LeakyRelu or Abs of 16 bits becomes its two straight lines and their sum.",
     split_leaky_relu},
    {"lower_to_lookup", "An int8 function of one value becomes a Lookup.", lower_to_lookup},
    {"join_lookups", "Int8 nodes that compute a function of one tensor become one Lookup.", join_lookups},
    // Behind all else: what another pass would fold into the layer's weights, or a Quantize behind it, comes first.
    {"quantize_answers", "A layer or mean on codes whose result is not quantized reads them and gives FP32.",
     quantize_answers, true},
};

}  // namespace

Span<const Pass> passes() { return kPasses; }

// A pass asks each node for its writers and readers.
static constexpr uint64_t kWorkOfNode = 100;

// Rounds in which one pass alone changes the draft, with no fewer nodes than before, until it is left out: what it moves has readers that
// want it in different orders, and each round it takes another's.
static constexpr int32_t kMostRoundsAlone = 4;

void run_to_rest(Span<const Pass> list, Draft& draft, const PassObserver& observer) {
  std::string restless, alone;
  int32_t rounds_alone = 0;
  size_t fewest = 0;  // nodes in these
  for (int32_t round = 1; round <= kMaxRounds; ++round) {
    const std::string before = restless;
    restless.clear();
    for (const Pass& pass : list) {
      if (pass.name == alone || (pass.comes_last && !restless.empty())) continue;
      draft.budget->spend_work(kWorkOfNode * draft.nodes.size() + draft.tensors.size(),
                               "a pass over its nodes");
      const bool changed = pass.run(draft);
      remove_dead_nodes(draft);
      if (observer) observer(pass, round, changed, draft);
      if (changed) restless += (restless.empty() ? "" : ", ") + std::string(pass.name);
    }
    if (restless.empty()) return;
    const bool is_fewer = restless != before || draft.nodes.size() < fewest;
    rounds_alone = is_fewer ? 0 : rounds_alone + 1;
    if (is_fewer) fewest = draft.nodes.size();
    if (rounds_alone >= kMostRoundsAlone && draft.nodes.size() == fewest) alone = restless;
  }
  fail("the passes of the import do not come to rest: after ", kMaxRounds,
       " rounds these still change the draft: ", restless);
}

}  // namespace intaglio::importers
