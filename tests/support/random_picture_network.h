// Random int8 networks of pictures for the tests of streamed plans: strides, pads, dilations, branches that join again.
#pragma once

#include <string>
#include <vector>

#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

class RandomPictureNetwork {
 public:
  explicit RandomPictureNetwork(uint32_t seed) : random_(seed) {
    made_.push_back({add({1, random_.between(3, 21), random_.between(2, 9), random_.between(1, 6)})});
    b_.input(made_[0].tensor);
    const int32_t nodes = random_.between(2, 12);
    for (int32_t n = 0; n < nodes; ++n) add_node();
    if (random_.one_in(3)) add_mean();
    for (size_t i = 1; i < made_.size(); ++i)
      if (!made_[i].is_read || i + 1 == made_.size() || random_.one_in(12)) b_.output(made_[i].tensor);
  }

  AlignedBytes finish() { return b_.finish(); }

 private:
  using Dims = std::vector<int32_t>;
  struct Made {
    int32_t tensor;
    bool is_read = false;
  };

  static constexpr float kScale = 0.05f;
  static constexpr int32_t kZeroPoint = -7;

  std::string name() { return "t" + std::to_string(b_.graph().tensors.size()); }
  int32_t add(const Dims& dims) { return b_.tensor(name(), DType::kS8, dims, kScale, kZeroPoint); }
  Dims dims_of(int32_t tensor) {
    const Shape shape = b_.graph().tensors[static_cast<size_t>(tensor)].shape;
    return {shape.dims, shape.dims + shape.rank};
  }
  // Mostly one of the last: chains.
  int32_t any() {
    const auto count = static_cast<int32_t>(made_.size());
    const int32_t back = random_.one_in(3) ? random_.between(1, count) : 1;
    made_[static_cast<size_t>(count - back)].is_read = true;
    return made_[static_cast<size_t>(count - back)].tensor;
  }
  int32_t finish_node(Op op, const std::vector<int32_t>& inputs, const Dims& out, NodeOptions** options) {
    const int32_t tensor = add(out);
    *options = &b_.node(op, inputs, {tensor}).options;
    made_.push_back({tensor});
    return tensor;
  }

  bool make_window(const Dims& in, Window2d* w, Dims* out) {
    w->kernel_h = random_.between(1, 4);
    w->kernel_w = random_.between(1, 3);
    w->dilation_h = random_.one_in(5) ? 2 : 1;
    w->stride_h = random_.one_in(3) ? random_.between(2, 3) : 1;
    w->stride_w = random_.one_in(4) ? 2 : 1;
    const int32_t extent_h = (w->kernel_h - 1) * w->dilation_h + 1;
    w->pad_top = random_.between(0, extent_h - 1);
    w->pad_bottom = random_.between(0, extent_h - 1);
    w->pad_left = random_.between(0, w->kernel_w - 1);
    w->pad_right = random_.between(0, w->kernel_w - 1);
    const int32_t room_h = in[1] + w->pad_top + w->pad_bottom - extent_h;
    const int32_t room_w = in[2] + w->pad_left + w->pad_right - w->kernel_w;
    if (room_h < 0 || room_w < 0) return false;
    *out = {1, room_h / w->stride_h + 1, room_w / w->stride_w + 1, in[3]};
    return true;
  }

  void add_window(Op op) {
    const int32_t x = any();
    const Dims in = dims_of(x);
    Window2d w;
    Dims out;
    if (!make_window(in, &w, &out)) return;
    std::vector<int32_t> inputs = {x};
    const auto constant = [&](const Dims& dims, int32_t channels, int32_t axis) {
      size_t count = 1;
      for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
      return b_.constant(name(), DType::kS8, dims, random_.codes(count),
                         std::vector<float>(static_cast<size_t>(channels), 0.01f), axis);
    };
    if (op == Op::kConv2d) {
      out[3] = random_.between(1, 9);
      inputs.push_back(constant({out[3], w.kernel_h, w.kernel_w, in[3]}, out[3], 0));
      // A residual of the output's shape, where there is one.
      for (const Made& other : made_)
        if (dims_of(other.tensor) == out && random_.one_in(2)) {
          inputs.push_back(-1);
          inputs.push_back(other.tensor);
          break;
        }
    }
    if (op == Op::kDepthwiseConv2d) inputs.push_back(constant({w.kernel_h, w.kernel_w, in[3]}, in[3], 2));
    NodeOptions* options = nullptr;
    finish_node(op, inputs, out, &options);
    options->as<Window2d>() = w;
    if (op == Op::kAvgPool2d) options->as<Window2d>().count_include_pad = random_.one_in(2);
    if (inputs.size() == 4) options->as<Intermediate>() = {0.04f, 5};
  }

  void add_pair(Op op) {
    const int32_t a = any();
    const Dims dims = dims_of(a);
    std::vector<int32_t> fitting;
    for (const Made& other : made_) {
      const Dims d = dims_of(other.tensor);
      if (d[1] == dims[1] && d[2] == dims[2] && (op == Op::kConcat || d[3] == dims[3]))
        fitting.push_back(other.tensor);
    }
    const int32_t second =
        fitting[static_cast<size_t>(random_.between(0, static_cast<int32_t>(fitting.size()) - 1))];
    Dims out = dims;
    if (op == Op::kConcat) out[3] += dims_of(second)[3];
    NodeOptions* options = nullptr;
    finish_node(op, {a, second}, out, &options);
    if (op == Op::kConcat) options->as<ConcatOptions>().axis = 3;
  }

  void add_pad() {
    const int32_t x = any();
    Dims out = dims_of(x);
    const int32_t top = random_.between(0, 4), left = random_.between(0, 2);
    out[1] += top + random_.between(0, 4);
    out[2] += left;
    NodeOptions* options = nullptr;
    finish_node(Op::kPad, {x}, out, &options);
    options->as<PadOptions>().before = b_.keep({0, top, left, 0});
    options->as<PadOptions>().value = 0.5f;
  }

  // To any height, and mostly by a whole factor.
  void add_resize() {
    const int32_t x = any();
    Dims out = dims_of(x);
    const int32_t factor = random_.between(1, 3);
    out[1] = random_.one_in(3) ? random_.between(1, 40) : out[1] * factor;
    out[2] = random_.one_in(3) ? random_.between(1, 12) : out[2] * factor;
    if (out[1] > 64 || out[2] > 24) return;
    NodeOptions* options = nullptr;
    finish_node(Op::kResize, {x}, out, &options);
    auto& resize = options->as<ResizeOptions>();
    resize.interpolation = random_.one_in(2) ? Interpolation::kNearest : Interpolation::kBilinear;
    resize.coordinates = random_.one_in(2) ? Coordinates::kHalfPixel : Coordinates::kAsymmetric;
    if (random_.one_in(3)) resize.coordinates = Coordinates::kAlignCorners;
    resize.rounding = static_cast<NearestRounding>(random_.between(0, 3));
  }

  void add_lookup() {
    const int32_t x = any();
    const int32_t table = b_.constant(name(), DType::kS8, {256}, random_.codes(256));
    NodeOptions* options = nullptr;
    finish_node(Op::kLookup, {x, table}, dims_of(x), &options);
  }

  void add_mean() {
    const int32_t x = any();
    const Dims in = dims_of(x);
    NodeOptions* options = nullptr;
    if (random_.one_in(2)) {
      finish_node(Op::kAvgPool2d, {x}, {1, 1, 1, in[3]}, &options);
      options->as<Window2d>().kernel_h = in[1];
      options->as<Window2d>().kernel_w = in[2];
    } else if (random_.one_in(2)) {
      finish_node(Op::kMean, {x}, {1, in[3]}, &options);
      options->as<ReduceOptions>().axes = b_.keep({1, 2});
    } else {
      const int32_t reals = b_.tensor(name(), DType::kF32, {1, in[3]});
      b_.node(Op::kMean, {x}, {reals}).options.as<ReduceOptions>().axes = b_.keep({1, 2});
      made_.push_back({reals});
    }
  }

  void add_node() {
    constexpr Op kOps[] = {Op::kConv2d,          Op::kConv2d,    Op::kConv2d, Op::kDepthwiseConv2d,
                           Op::kDepthwiseConv2d, Op::kAvgPool2d, Op::kAdd,    Op::kMul,
                           Op::kMaxPool2d,       Op::kConcat,    Op::kPad,    Op::kLookup,
                           Op::kMaximum,         Op::kSub,       Op::kResize, Op::kResize};
    const Op op = kOps[random_.between(0, static_cast<int32_t>(sizeof kOps / sizeof kOps[0]) - 1)];
    switch (op) {
      case Op::kPad:
        return add_pad();
      case Op::kLookup:
        return add_lookup();
      case Op::kResize:
        return add_resize();
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMaximum:
      case Op::kConcat:
        return add_pair(op);
      default:
        return add_window(op);
    }
  }

  Random random_;
  ModelBuilder b_;
  std::vector<Made> made_;
};

}  // namespace intaglio::test
