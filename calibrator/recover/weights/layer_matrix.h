// A layer with weights as what it is to algebra: for each group of channels a matrix product,
// outputs [rows] = weights [rows, depth] * inputs [depth], once a position of the output.
#pragma once

#include "intaglio/session.h"

namespace intaglio {

struct LayerMatrix {
  int32_t groups = 0;    // of channels that read the same inputs; a depthwise layer's input channels
  int32_t rows = 0;      // outputs of a group
  int32_t taps = 0;      // places of the window; 1 where there is none
  int32_t channels = 0;  // of the input in a group
  size_t stride = 1;     // between the weights of one output that are neighbours in depth

  int32_t depth() const { return taps * channels; }  // tap by tap, within it channel by channel
  int32_t outputs() const { return groups * rows; }
  // Index of an output's first weight in the weights' own layout.
  size_t first(int32_t output) const {
    return stride == 1 ? static_cast<size_t>(output) * static_cast<size_t>(depth())
                       : static_cast<size_t>(output);
  }
};

// Of a convolution, depthwise convolution or fully connected node.
LayerMatrix layer_matrix(const Model& model, const NodeInfo& node);

// Positions of the node's output over which a sample's inputs are taken.
int64_t layer_positions(const Model& model, const NodeInfo& node);

// The int8 inputs of `group` that the output positions [first, first + count) read, less their zero point,
// padding as 0: columns [depth, count].
void copy_patches(const Session& session, const NodeInfo& node, const LayerMatrix& matrix, int32_t group,
                  int64_t first, int32_t count, int16_t* columns);

}  // namespace intaglio
