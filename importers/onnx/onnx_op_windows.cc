// What a node's view says and makes of pictures and volumes.
#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

int32_t OnnxOp::nhwc(int32_t tensor) {
  const Shape& shape = draft().tensor(tensor).shape;
  if (shape.size() != 4)
    fail("its input has the shape ", shape_text(shape), "; [batch, channels, height, width] is expected");
  return add_transpose(draft(), draft().tensor(tensor).name, source(), tensor, kToNhwc);
}

int32_t OnnxOp::nhwc_or_line(int32_t tensor) {
  const Shape shape = draft().tensor(tensor).shape;
  if (shape.size() != 3) return nhwc(tensor);
  axes_ = 1;
  return nhwc(add_reshape(draft(), draft().tensor(tensor).name + "/row", source(), tensor,
                          {shape[0], shape[1], 1, shape[2]}));
}

int32_t OnnxOp::ndhwc(int32_t tensor) {
  axes_ = 3;
  return add_transpose(draft(), draft().tensor(tensor).name, source(), tensor, {0, 2, 3, 4, 1});
}

std::vector<int64_t> OnnxOp::spatial(const char* name, size_t count, int64_t of_line) const {
  std::vector<int64_t> values = integers(name);
  if (values.empty()) return values;
  if (values.size() != axes_ * count)
    fail("attribute ", name, " has ", values.size(), " values; ", axes_ * count, " are expected");
  if (axes_ == 1)  // in front of each, the height's
    for (size_t i = 0; i < count; ++i)
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(2 * i), of_line);
  return values;
}

void OnnxOp::set_nhwc_output(int32_t tensor) {
  const int32_t nchw = add_transpose(draft(), output_name(), source(), tensor, kToNchw);
  const Shape shape = draft().tensor(nchw).shape;
  set_output(axes_ == 1 ? add_reshape(draft(), output_name(), source(), nchw, {shape[0], shape[1], shape[3]})
                        : nchw);
}

}  // namespace intaglio::importers
