// The cost of a segment of a streamed plan: its clock, and the rows of its line buffers.
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
  // `feeds_rows`: the model's first input may come by rows.
  RowNetwork(const Model& model, OpList ops, bool feeds_rows);

  struct Input {
    int32_t tensor = -1;
    int32_t writer = -1;   // node that writes it; -1: a source of the model
    bool by_rows = false;  // and not whole
    RowAccess window;
    uint64_t row_bytes = 0;  // where it is read by rows
  };
  struct Node {
    RowAccess access;
    std::vector<Input> inputs;  // activations
    int32_t output = -1;
    int32_t height = 0;      // rows that its walk counts
    uint64_t row_bytes = 0;  // of the output
    uint64_t call_cost = 1;  // of running it for a band: what comes to each call, however few its rows
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
  // The picture that nodes [first, past) can take by rows, as a node in front of them that writes it; nullptr: none.
  const Node* picture_of(int32_t first, int32_t past) const;

 private:
  std::optional<Node> picture_;
  std::vector<Node> nodes_;
  std::vector<Tensor> tensors_;
};

// Nodes [first, first + strides.size()) by rows.
struct PlannedSegment {
  int32_t first = 0, band = 1;
  std::vector<int32_t> strides, leads, rows;
  int32_t picture_stride = 0, picture_lead = 0, picture_rows = 0;  // 0: not fed
  uint64_t picture_place = 0;                                      // bytes at its place, aligned
  std::vector<uint64_t> places;                                    // bytes at each output's place, aligned
  int32_t under = -1;  // of a single node: the input on whose rows the output may stand; -1: none
  uint64_t below = 0;  // from so many bytes on below that input, aligned
  uint64_t bytes =
      0;  // of all places; less those of a picture that is fed and has no other, and those upon `under`
  uint64_t calls = 0;  // for bands, by their call_cost
};

// The least line buffers for these nodes; nothing where they cannot run together by rows. `fed`: they take the picture by rows.
std::optional<PlannedSegment> plan_segment(const RowNetwork& network, int32_t first, int32_t past,
                                           int32_t band, bool fed);

}  // namespace intaglio
