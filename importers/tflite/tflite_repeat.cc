// TFLite operators that repeat elements or move them between batches, channels and pixels.
#include <algorithm>

#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// x, each axis as often as `repeats` says, as the node's output.
void add_repeats(TfliteOp& op, int32_t x, const std::vector<int64_t>& repeats) {
  Shape shape = op.draft().tensor(x).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] < 1 || repeats[d] > kMaxTensorBytes / shape[d])
      fail("it repeats axis ", d, " ", repeats[d], " times");
    shape[d] = static_cast<int32_t>(shape[d] * repeats[d]);
    check_shape(shape, op.draft().tensor(x).dtype);
  }
  const int32_t y = op.output_same(x, shape);
  int32_t repeated = x;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] == 1) continue;
    std::vector<int32_t> indices;
    for (int32_t i = 0; i < shape[d]; ++i) indices.push_back(i % op.draft().tensor(x).shape[d]);
    repeated = add_gather(op.draft(), op.name() + "/repeated", op.source(), repeated, static_cast<int32_t>(d),
                          indices);
  }
  op.add(Op::kReshape, {repeated}, y);
  op.finish_same();
}

// What moves data, of its input's scale, as the node's output.
void finish_moved(TfliteOp& op, int32_t x, int32_t moved) {
  const int32_t y = op.output_same(x, op.draft().tensor(moved).shape);
  op.add(Op::kReshape, {moved}, y);
  op.finish_same();
}

struct Blocks {
  std::vector<int32_t> size, before, after;
};

// Block sizes of height and width, and what is padded or cropped there.
Blocks read_blocks(TfliteOp& op, const char* what) {
  op.check_inputs(3, 3);
  const std::vector<int64_t> size = op.integers(1), ends = op.integers(2);
  if (size.size() != 2 || ends.size() != 4)
    fail("it has ", size.size(), " block sizes and ", ends.size(), " ", what, "; 2 and 4 are expected");
  Blocks blocks;
  for (const int64_t block : size) {
    if (block < 1 || block > 4096) fail("its block size ", block, " is not allowed (1 to 4096)");
    blocks.size.push_back(static_cast<int32_t>(block));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (ends[i] < 0 || ends[i] > 1 << 20) fail(what, " ", ends[i], " is not allowed (0 to ", 1 << 20, ")");
    (i % 2 == 0 ? blocks.before : blocks.after).push_back(static_cast<int32_t>(ends[i]));
  }
  return blocks;
}

Shape picture(const Draft& draft, int32_t x) {
  const Shape shape = draft.tensor(x).shape;
  if (shape.size() != 4) fail("its input has the shape ", shape_text(shape), "; rank 4 is expected");
  return shape;
}

void add_blocks(TfliteOp& op, Op kind, int32_t x, const Blocks& blocks, const Shape& shape) {
  const int32_t y = op.output_same(x, shape);
  DraftNode& node = op.add(kind, {x}, y);
  node.options.as<StridedSliceOptions>().strides = op.draft().list(blocks.size);
  node.options.as<StridedSliceOptions>().begin = op.draft().list(blocks.before);
  node.pads_after = blocks.after;
  op.finish_same();
}

int32_t checked_block(int32_t block) {
  if (block < 1 || block > 4096) fail("its block size ", block, " is not allowed (1 to 4096)");
  return block;
}

void import_tile(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const std::vector<int64_t> repeats = op.integers(1);
  const size_t rank = op.draft().tensor(x).shape.size();
  if (repeats.size() != rank) fail("it has ", repeats.size(), " repeats for an input of rank ", rank);
  add_repeats(op, x, repeats);
}

void import_broadcast_to(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t input = op.activation(0);
  const std::vector<int64_t> to = op.integers(1);
  Shape from = op.draft().tensor(input).shape;
  if (to.size() < from.size() || to.size() > static_cast<size_t>(kMaxRank))
    fail("it makes ", shape_text(from), " to a tensor of rank ", to.size());
  from.insert(from.begin(), to.size() - from.size(), 1);
  std::vector<int64_t> repeats(from.size(), 1);
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] != from[d] && from[d] != 1) fail("it makes ", shape_text(from), " to a dimension of ", to[d]);
    if (from[d] == 1) repeats[d] = to[d];
  }
  add_repeats(op, add_reshape(op.draft(), op.name() + "/aligned", op.source(), input, from), repeats);
}

void import_mirror_pad(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int8_t mode = op.options<tflite::MirrorPadOptions>().mode();
  if (mode != 0 && mode != 1) fail("mode ", int{mode}, " is not known");
  const int32_t x = op.activation(0);
  const size_t rank = op.draft().tensor(x).shape.size();
  const std::vector<int64_t> pads = op.integers(1);
  if (pads.size() != 2 * rank) fail("its paddings hold ", pads.size(), " values for rank ", rank);
  std::vector<int32_t> before, after;
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || pads[i] > 1 << 20) fail("padding ", pads[i], " is not allowed (0 to ", 1 << 20, ")");
    (i % 2 == 0 ? before : after).push_back(static_cast<int32_t>(pads[i]));
  }
  const Mirror mirror = mode == 0 ? Mirror::kReflect : Mirror::kSymmetric;
  finish_moved(op, x,
               add_mirror_pad(op.draft(), op.name() + "/padded", op.source(), x, before, after, mirror));
}

void import_reverse(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  std::vector<int32_t> begin(shape.size(), 0), strides(shape.size(), 1);
  for (const int32_t axis : normal_axes(op.integers(1), shape.size())) {
    const auto d = static_cast<size_t>(axis);
    begin[d] = shape[d] - 1;
    strides[d] = -1;
  }
  finish_moved(op, x, add_slice(op.draft(), op.name() + "/reversed", op.source(), x, begin, strides, shape));
}

void import_depth_to_space(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t block = checked_block(op.options<tflite::DepthToSpaceOptions>().block_size());
  finish_moved(op, x, add_depth_to_space(op.draft(), op.name() + "/moved", op.source(), x, block, false));
}

void import_space_to_depth(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t block = checked_block(op.options<tflite::SpaceToDepthOptions>().block_size());
  finish_moved(op, x, add_space_to_depth(op.draft(), op.name() + "/moved", op.source(), x, block));
}

void import_space_to_batch(TfliteOp& op) {
  const Blocks blocks = read_blocks(op, "paddings");
  const int32_t x = op.activation(0);
  Shape shape = picture(op.draft(), x);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t padded = shape[i + 1] + blocks.before[i] + blocks.after[i], block = blocks.size[i];
    if (padded % block != 0)
      fail("a side of ", padded, " with padding does not divide into blocks of ", block);
    shape[i + 1] = padded / block;
    shape[0] = narrow(int64_t{shape[0]} * block, "batch");
  }
  add_blocks(op, kSpaceToBatch, x, blocks, shape);
}

void import_batch_to_space(TfliteOp& op) {
  const Blocks blocks = read_blocks(op, "crops");
  const int32_t x = op.activation(0);
  Shape shape = picture(op.draft(), x);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t block = blocks.size[i];
    if (shape[0] % block != 0) fail("a batch of ", shape[0], " does not divide into blocks of ", block);
    shape[0] /= block;
    const int64_t side = int64_t{shape[i + 1]} * block - blocks.before[i] - blocks.after[i];
    if (side < 1) fail("its crops leave nothing of a side of ", int64_t{shape[i + 1]} * block);
    shape[i + 1] = narrow(side, "side");
  }
  add_blocks(op, kBatchToSpace, x, blocks, shape);
}

constexpr TfliteOperator kTfliteRepeatOperators[] = {
    {Builtin::BATCH_TO_SPACE_ND,
     import_batch_to_space,
     {Op::kReshape, Op::kTranspose, Op::kStridedSlice},
     "Pictures; blocks and crops are constants. Around a convolution it becomes dilation."},
    {Builtin::BROADCAST_TO, import_broadcast_to, {Op::kGather}, "The shape is a constant."},
    {Builtin::DEPTH_TO_SPACE, import_depth_to_space, {Op::kReshape, Op::kTranspose}, ""},
    {Builtin::MIRROR_PAD, import_mirror_pad, {Op::kGather}, "Paddings are constants."},
    {Builtin::REVERSE_V2, import_reverse, {Op::kStridedSlice}, "Axes are constants."},
    {Builtin::SPACE_TO_BATCH_ND,
     import_space_to_batch,
     {Op::kPad, Op::kReshape, Op::kTranspose},
     "Pictures; blocks and paddings are constants. Around a convolution it becomes dilation."},
    {Builtin::SPACE_TO_DEPTH, import_space_to_depth, {Op::kReshape, Op::kTranspose}, ""},
    {Builtin::TILE, import_tile, {Op::kGather}, "Repeats are constants."},
};

}  // namespace

Span<const TfliteOperator> tflite_repeat_operators() { return kTfliteRepeatOperators; }

}  // namespace intaglio::importers
