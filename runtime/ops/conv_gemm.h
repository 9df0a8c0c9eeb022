// Convolutions and fully connected layers over the gemm families: what is left of a node when its operator
// has checked it and knows its geometry.
#pragma once

#include "kernels/gemm/gemm_s8_windows.h"
#include "runtime/ops/conv_lines.h"

namespace intaglio {

// A fully connected layer, and whether its int8 version that writes reals packs no weights.
ConvGeometry fully_connected_geometry(const NodeView& node);
bool reads_weights_in_place(const ConvGeometry& g);

Error plan_gemm_s8(const NodeView& node, const ConvGeometry& g, const PlanContext& context, NodePlan* plan);
void prepare_gemm_s8(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);

// One call of a kernel: a tile's columns of one group.
struct GemmItem {
  int32_t pixel, pixels;
  int32_t group;
  int32_t column, columns;  // within the group
  LineWalk walk;            // the slot's
};

// The part of a convolution that a fully connected layer does not have, and does not link. `fill` and `fill_lines` are for
// kernels that pack: nullptr where this build lists none.
struct GemmVariantS8 {
  // Sets rows[t * mr + p] for a tile's pixels [first, first + count). `x` starts at the group's channels.
  void (*fill)(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first, int32_t count,
               int32_t mr, int8_t* patches, const int8_t** rows);
  decltype(&fill_line_rows<int8_t>) fill_lines;  // where a LineLayout is used
  const GemmS8Windows* windows;  // of a kernel that does not pack; nullptr: rows are at one distance
  GemmS8WindowsFunction* run_windows;
  const int8_t* residual;  // nullptr: none
  const AddS8* add;
};
void fill_conv_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first,
                       int32_t count, int32_t mr, int8_t* patches, const int8_t** rows);
void point_at_rows_s8(const ConvGeometry& g, const int8_t* x, const int8_t* padding, int32_t first,
                      int32_t count, int32_t mr, int8_t* patches, const int8_t** rows);

void run_gemm_s8(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                 const GemmVariantS8& variant);
const char* gemm_s8_name(uint16_t kernel);

// int8 codes to reals. Of the variant residual, add and run_windows are not read.
Error plan_gemm_s8_f32(const NodeView& node, const ConvGeometry& g, const PlanContext& context,
                       NodePlan* plan);
void prepare_gemm_s8_f32(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);
void run_gemm_s8_f32(const NodeView& node, const ConvGeometry& g, const NodeRun& run,
                     const GemmVariantS8& variant);
const char* gemm_s8_f32_name(uint16_t kernel);

// int16 activations: rows in place or merged lines, no residual. The geometry allows no im2col.
Error plan_gemm_s16(const NodeView& node, const ConvGeometry& g, const PlanContext& context, NodePlan* plan);
void prepare_gemm_s16(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);
void run_gemm_s16(const NodeView& node, const ConvGeometry& g, const NodeRun& run);
const char* gemm_s16_name(uint16_t kernel);

Error plan_gemm_f32(const NodeView& node, const ConvGeometry& g, const PlanContext& context, NodePlan* plan);
void prepare_gemm_f32(const NodeView& node, const ConvGeometry& g, uint16_t kernel, uint8_t* persistent);
void run_gemm_f32(const NodeView& node, const ConvGeometry& g, const NodeRun& run);
const char* gemm_f32_name(uint16_t kernel);

// How a product [pixels, k] x [k, n] of each group is cut among threads: into ranges of pixels, parts of the
// columns at panel borders, or both, whichever leaves the least to the busiest thread. A cut of columns has to save a
// sixteenth: its threads read all pixels, of which others have written the most.
struct GemmSplit {
  int32_t ranges, range_pixels, parts, part_columns;
};

inline GemmSplit gemm_split(const ConvGeometry& g, int32_t nr, int32_t width) {
  constexpr int32_t kTileRows = 7;  // about what a kernel holds in registers: it pays for whole tiles
  const int32_t columns = g.oc / g.groups;
  GemmSplit best = {1, g.pixels(), 1, columns};
  int32_t least = INT32_MAX;
  for (int32_t parts = 1; width > 1 && parts <= width; ++parts) {
    const int32_t ranges = width / parts < g.pixels() ? width / parts : g.pixels();
    const int32_t part_columns = ((columns + nr - 1) / nr + parts - 1) / parts * nr;
    const int32_t range_pixels = (g.pixels() + ranges - 1) / ranges;
    const int32_t cost = part_columns / nr * ((range_pixels + kTileRows - 1) / kTileRows);
    if (cost >= least) continue;
    // A board has one core.
    least = kPacksWeights && parts == 1 && ranges > 1 ? cost - cost / 16 : cost;
    best = {ranges, range_pixels, (columns + part_columns - 1) / part_columns, part_columns};
  }
  return best;
}

// Calls body(slot, item) for each, row tiles of mr pixels, a slot's in order; a slot as in for_ranges().
template <typename Body>
void for_gemm_items(const Executor& executor, const ConvGeometry& g, const GemmSplit& split, int32_t mr,
                    Body body) {
  const int32_t slots = split.ranges * split.parts;
  parallel_for(executor, slots, [&](int32_t slot) {
    GemmItem item;
    item.pixel = slot / split.parts * split.range_pixels;
    const int32_t end = item.pixel + split.range_pixels, past = end < g.pixels() ? end : g.pixels();
    item.column = slot % split.parts * split.part_columns;
    const int32_t left = g.oc / g.groups - item.column;
    item.columns = left < split.part_columns ? left : split.part_columns;
    for (; item.pixel < past; item.pixel += mr) {
      item.pixels = past - item.pixel < mr ? past - item.pixel : mr;
      for (item.group = 0; item.group < g.groups; ++item.group) body(slot, item);
    }
  });
}

}  // namespace intaglio
