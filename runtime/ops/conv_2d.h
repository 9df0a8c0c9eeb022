// Parts that all variants of a convolution share.
#pragma once

#include "runtime/add_params.h"
#include "runtime/ops/conv_checks.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {

static ConvGeometry conv_2d_geometry(const NodeView& node) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  ConvGeometry g;
  g.images = in[0];
  g.h = in[1];
  g.w = in[2];
  g.ic = in[3];
  g.oh = out[1];
  g.ow = out[2];
  g.oc = out[3];
  const Conv2dOptions& options = node.options<Conv2dOptions>();
  g.groups = options.groups;
  g.window = options.window;
  return g;
}

// The residual of a node that has one.
[[maybe_unused]] static void set_conv_2d_addition(const NodeView& node, AddS8* add) {
  const Conv2dOptions& o = node.options<Conv2dOptions>();
  const Quantization residual = node.input(kResidualInput).quantization, out = node.output().quantization;
  *add = {o.intermediate.zero_point, residual.zero_point, 0, 0, 0, out.zero_point, o.clamp.lo, o.clamp.hi};
  set_add_multipliers(o.intermediate.scale, residual.scales[0], out.scales[0], add, o.add_bits);
}

constexpr QuantRule conv_2d_rule() {
  QuantRule rule;
  rule.weight_input = kWeightInput;
  rule.weight_axis = 0;
  rule.bias_input = kBiasInput;
  rule.residual_input = kResidualInput;
  return rule;
}

}  // namespace intaglio
