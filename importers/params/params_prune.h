// Takes channels out of a model, as a record of AMCT's says (prune_record).
#pragma once

#include "calibrator/bake/graph.h"
#include "importers/params/params_table.h"

namespace intaglio {

struct PruneSummary {
  int32_t layers = 0;    // that lose output channels
  int64_t channels = 0;  // that they lose
};

// A graph in `arena` with the content of an FP32 model, less the output channels that table.pruned takes from its
// producers, and all that is computed from these alone: the channels of what follows, and the inputs' weights of the next
// layers. It computes what the model computes with these channels set to 0, in the same order, so to the bit. A depthwise
// layer loses its channel with the bias.
//
// Fails, naming the node and the channel, where a channel cannot be taken out: it reaches an output of the model, meets a
// channel that stays, is not 0 where its layer's is, or passes an operator that mixes channels. Also where a producer is no
// layer of the model, or the record's consumers do not fit it. The model outlives the graph.
Outcome<PruneSummary> prune_model(const Model& model, const ParamsTable& table, const std::string& path,
                                  Graph& graph, Arena& arena);

}  // namespace intaglio
