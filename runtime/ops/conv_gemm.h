// Convolutions and fully connected layers over the gemm families: what is left of a node when its operator
// has checked it and knows its geometry.
#pragma once

#include "kernels/requant.h"
#include "runtime/ops/conv_geometry.h"

namespace intaglio {

Error plan_gemm_s8(const NodeView& node, const ConvGeometry& g, const PlanContext& context, NodePlan* plan);
void prepare_gemm_s8(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);

// What sets a convolution apart from a fully connected layer, which links nothing of it.
struct GemmFormS8 {
  // Sets rows[t * mr + p] for a tile's pixels [first, first + count). `x` starts at the group's channels.
  void (*fill)(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first, int32_t count,
               int32_t mr, int8_t* patches, const int8_t** rows);
  const int8_t* residual;  // nullptr: none
  const AddS8* add;
};
void fill_conv_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first,
                       int32_t count, int32_t mr, int8_t* patches, const int8_t** rows);
void point_at_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first,
                      int32_t count, int32_t mr, int8_t* patches, const int8_t** rows);

void run_gemm_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run, const GemmFormS8& form);
const char* gemm_s8_name(uint16_t kernel);

Error plan_gemm_f32(const NodeView& node, const ConvGeometry& g, const PlanContext& context, NodePlan* plan);
void prepare_gemm_f32(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);
void run_gemm_f32(const NodeView& node, const ConvGeometry& g, const NodeRun& run);
const char* gemm_f32_name(uint16_t kernel);

// How a product [pixels, k] x [k, n] of each group is cut: row tiles of mr pixels; where these are too few
// for the executor's width, columns too, at panel borders. An item is one tile's columns of one group.
struct GemmSplit {
  int32_t tiles, parts, part_columns;

  int64_t items(int32_t groups) const { return int64_t{tiles} * groups * parts; }
};

inline GemmSplit gemm_split(const ConvGeometry& g, int32_t mr, int32_t nr, int32_t width) {
  GemmSplit s;
  s.tiles = (g.pixels() + mr - 1) / mr;
  const int32_t columns = g.oc / g.groups, panels = (columns + nr - 1) / nr;
  const int64_t whole = int64_t{s.tiles} * g.groups;
  const auto few = static_cast<int32_t>(whole < width ? whole : width);
  const int32_t wanted = (width + few - 1) / few;
  const int32_t part_panels = (panels + wanted - 1) / wanted;
  s.parts = (panels + part_panels - 1) / part_panels;
  s.part_columns = part_panels * nr;
  return s;
}

// One item of a split, decoded.
struct GemmItem {
  int32_t pixel, pixels;  // of its tile
  int32_t group;
  int32_t column, columns;  // within the group
};

inline GemmItem gemm_item(const ConvGeometry& g, const GemmSplit& s, int32_t mr, int32_t index) {
  const int32_t part = index % s.parts, rest = index / s.parts, columns = g.oc / g.groups;
  GemmItem item;
  item.group = rest % g.groups;
  item.pixel = rest / g.groups * mr;
  item.pixels = g.pixels() - item.pixel < mr ? g.pixels() - item.pixel : mr;
  item.column = part * s.part_columns;
  item.columns = columns - item.column < s.part_columns ? columns - item.column : s.part_columns;
  return item;
}

}  // namespace intaglio
