// What a segment of a streamed plan costs: its clock, and the rows of its line buffers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "intaglio/model.h"
#include "runtime/op.h"
#include "runtime/streaming/row_access.h"

namespace intaglio {

// A network as the planner of segments sees it.
class RowNetwork {
 public:
  RowNetwork(const Model& model, OpList ops);

  struct Input {
    int32_t tensor = -1;
    int32_t writer = -1;   // node that writes it; -1: a source of the model
    bool by_rows = false;  // and not whole
    RowAccess window;
  };
  struct Node {
    RowAccess access;
    std::vector<Input> inputs;  // activations
    int32_t output = -1;
    int32_t height = 0;      // rows that its walk counts
    uint64_t row_bytes = 0;  // of the output
    bool in_place = false;   // run alone it may stand where its input stands
  };
  struct Tensor {
    uint64_t bytes = 0;  // aligned; 0: a constant
    int32_t writer = -1, last_use = -1;
  };

  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  const Node& node(int32_t n) const { return nodes_[static_cast<size_t>(n)]; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Bytes of what was there before node `first` and is needed at it or later.
  uint64_t bytes_around(int32_t first) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Tensor> tensors_;
};

// Nodes [first, first + strides.size()) by rows.
struct PlannedSegment {
  int32_t first = 0, band = 1;
  std::vector<int32_t> strides, leads, rows;
  std::vector<uint64_t> places;  // bytes at each output's place, aligned
  uint64_t bytes = 0;            // of all places
  uint64_t calls = 0;            // how often a node is run for a band
};

// The least line buffers for these nodes; nothing where they cannot run together by rows.
std::optional<PlannedSegment> plan_segment(const RowNetwork& network, int32_t first, int32_t past,
                                           int32_t band);

}  // namespace intaglio
