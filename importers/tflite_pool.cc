// TFLite operators that reduce height and width.
#include <algorithm>

#include "importers/tflite_handlers.h"

namespace intaglio::importers {
namespace {

void import_pool(TfliteOp& op, Op kind) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const auto& options = op.options<tflite::Pool2DOptions>();
  const Shape shape = op.draft().tensor(x).shape;
  if (shape.size() != 4) fail("its input has the shape ", shape_text(shape), "; rank 4 is expected");
  WindowAxis h{options.kernel_h(), options.stride_h()}, w{options.kernel_w(), options.stride_w()};
  if (options.padding() == tflite::Padding::Same) {
    pad_same(h, shape[1], false);
    pad_same(w, shape[2], false);
  }
  const Shape out{shape[0], window_output(h, shape[1]), window_output(w, shape[2]), shape[3]};
  const int32_t y = kind == Op::kMaxPool2d ? op.output_same(x, out) : op.output(out);
  if (op.draft().tensor(y).dtype != op.draft().tensor(x).dtype)
    fail("its output has another element type than its input");
  DraftNode& node = op.add(kind, {x}, y);
  node.window = {h.kernel, w.kernel, h.stride, w.stride, 1, 1, h.before, w.before, h.after, w.after, false};
  set_activation(node, options.activation(), op.draft().tensor(y));
  op.finish_same();
}

}  // namespace

void import_tflite_average_pool_2d(TfliteOp& op) { import_pool(op, Op::kAvgPool2d); }
void import_tflite_max_pool_2d(TfliteOp& op) { import_pool(op, Op::kMaxPool2d); }

void import_tflite_mean(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const std::vector<int32_t> axes = normal_axes(op.integers(1), shape.size());
  if (axes.empty()) fail("it reduces no axis");
  const bool keep = op.options<tflite::ReducerOptions>().keep_dims();
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int32_t>(i));
    if (!reduced) out.push_back(shape[i]);
    if (reduced && keep) out.push_back(1);
  }
  const int32_t y = op.output(out);
  if (op.draft().tensor(y).dtype != op.draft().tensor(x).dtype)
    fail("its output has another element type than its input");
  op.add(Op::kMean, {x}, y).axes = axes;
}

}  // namespace intaglio::importers
