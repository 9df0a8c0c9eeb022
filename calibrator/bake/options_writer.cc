#include "calibrator/bake/options_writer.h"

namespace intaglio {
namespace {

template <typename T>
using Offset = flatbuffers::Offset<T>;

template <typename T>
WrittenOptions written(schema::Options type, Offset<T> table) {
  return {type, table.Union()};
}

// Tables all of whose fields have their defaults are left out.
class OptionsWriter {
 public:
  explicit OptionsWriter(flatbuffers::FlatBufferBuilder& builder) : builder_(builder) {}

  WrittenOptions write(const GraphNode& node) {
    const NodeOptions& o = node.options;
    switch (node.op) {
      case Op::kConv2d: {
        const auto of_clamp = clamp(o);
        const auto of_window = window(o.window);
        const auto of_requantization = requantization(o);
        Offset<schema::Intermediate> intermediate;
        if (o.intermediate_scale != 0.0f)
          intermediate =
              schema::CreateIntermediate(builder_, o.intermediate_scale, o.intermediate_zero_point);
        if (of_clamp.IsNull() && of_window.IsNull() && of_requantization.IsNull() && intermediate.IsNull() &&
            o.groups == 1 && o.add_bits == 15)
          return {};
        return written(schema::Options::Conv2DOptions,
                       schema::CreateConv2DOptions(builder_, of_clamp, of_window, of_requantization, o.groups,
                                                   intermediate, static_cast<uint8_t>(o.add_bits)));
      }
      case Op::kDepthwiseConv2d: {
        const auto of_clamp = clamp(o);
        const auto of_window = window(o.window);
        const auto of_requantization = requantization(o);
        if (of_clamp.IsNull() && of_window.IsNull() && of_requantization.IsNull()) return {};
        return written(
            schema::Options::DepthwiseConv2DOptions,
            schema::CreateDepthwiseConv2DOptions(builder_, of_clamp, of_window, of_requantization));
      }
      case Op::kFullyConnected: {
        const auto of_clamp = clamp(o);
        const auto of_requantization = requantization(o);
        if (of_clamp.IsNull() && of_requantization.IsNull()) return {};
        return written(schema::Options::FullyConnectedOptions,
                       schema::CreateFullyConnectedOptions(builder_, of_clamp, of_requantization));
      }
      case Op::kAvgPool2d:
      case Op::kMaxPool2d: {
        const auto of_clamp = clamp(o);
        const auto of_window = window(o.window);
        if (of_clamp.IsNull() && of_window.IsNull()) return {};
        return written(schema::Options::Pool2DOptions,
                       schema::CreatePool2DOptions(builder_, of_clamp, of_window));
      }
      case Op::kAdd:
      case Op::kSub: {
        const auto of_clamp = clamp(o);
        if (of_clamp.IsNull() && o.add_bits == 15) return {};
        return written(schema::Options::AddOptions,
                       schema::CreateAddOptions(builder_, of_clamp, static_cast<uint8_t>(o.add_bits)));
      }
      case Op::kMul:
      case Op::kDiv:
      case Op::kMaximum:
      case Op::kMinimum:
      case Op::kClamp:
      case Op::kQuantize: {
        const auto of_clamp = clamp(o);
        if (of_clamp.IsNull()) return {};
        return written(schema::Options::ElementwiseOptions,
                       schema::CreateElementwiseOptions(builder_, of_clamp));
      }
      case Op::kMean: {
        const auto of_clamp = clamp(o);
        const auto axes = vector(o.axes);
        if (of_clamp.IsNull() && axes.IsNull()) return {};
        return written(schema::Options::ReduceOptions, schema::CreateReduceOptions(builder_, of_clamp, axes));
      }
      case Op::kTranspose: {
        const auto permutation = vector(o.axes);
        if (permutation.IsNull()) return {};
        return written(schema::Options::TransposeOptions,
                       schema::CreateTransposeOptions(builder_, permutation));
      }
      case Op::kConcat:
        if (o.axis == 0) return {};
        return written(schema::Options::ConcatOptions, schema::CreateConcatOptions(builder_, o.axis));
      case Op::kGather:
        if (o.axis == 0) return {};
        return written(schema::Options::GatherOptions, schema::CreateGatherOptions(builder_, o.axis));
      case Op::kPad: {
        const auto before = vector(o.begin);
        if (before.IsNull() && o.pad_value == 0.0f) return {};
        return written(schema::Options::PadOptions, schema::CreatePadOptions(builder_, before, o.pad_value));
      }
      case Op::kStridedSlice: {
        const auto begin = vector(o.begin);
        const auto strides = vector(o.strides);
        if (begin.IsNull() && strides.IsNull()) return {};
        return written(schema::Options::StridedSliceOptions,
                       schema::CreateStridedSliceOptions(builder_, begin, strides));
      }
      case Op::kResize:
        if (o.resample.interpolation == Interpolation::kNearest &&
            o.resample.coordinates == Coordinates::kHalfPixel &&
            o.resample.rounding == NearestRounding::kFloor)
          return {};
        return written(schema::Options::ResizeOptions,
                       schema::CreateResizeOptions(
                           builder_, static_cast<schema::Interpolation>(o.resample.interpolation),
                           static_cast<schema::Coordinates>(o.resample.coordinates),
                           static_cast<schema::NearestRounding>(o.resample.rounding)));
      case Op::kLeakyRelu:
      case Op::kHardSigmoid:
      case Op::kElu:
        if (o.alpha == 0.0f && o.beta == 0.0f) return {};
        return written(schema::Options::UnaryOptions, schema::CreateUnaryOptions(builder_, o.alpha, o.beta));
      case Op::kL2Normalize:
        if (o.alpha == 0.0f) return {};
        return written(schema::Options::L2NormalizeOptions,
                       schema::CreateL2NormalizeOptions(builder_, o.alpha));
      default:
        return {};
    }
  }

 private:
  template <typename T>
  Offset<flatbuffers::Vector<T>> vector(Span<const T> values) {
    return values.empty() ? Offset<flatbuffers::Vector<T>>()
                          : builder_.CreateVector(values.data, values.size);
  }

  Offset<schema::Window2D> window(const Window2d& w) {
    const bool one_tap = w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 &&
                         w.dilation_h == 1 && w.dilation_w == 1;
    const bool pads = (w.pad_top | w.pad_left | w.pad_bottom | w.pad_right) != 0;
    if (one_tap && !pads && !w.count_include_pad) return {};
    return schema::CreateWindow2D(builder_, w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                                  w.dilation_w, w.pad_top, w.pad_left, w.pad_bottom, w.pad_right,
                                  w.count_include_pad);
  }

  Offset<schema::Clamp> clamp(const NodeOptions& o) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (o.clamp_min == -kInfinity && o.clamp_max == kInfinity && o.clamp_lo == -128 && o.clamp_hi == 127)
      return {};
    return schema::CreateClamp(builder_, o.clamp_min, o.clamp_max, o.clamp_lo, o.clamp_hi);
  }

  Offset<schema::Requantization> requantization(const NodeOptions& o) {
    if (o.multiplier.empty()) return {};
    const auto multiplier = vector(o.multiplier);    // one by one, here as all over the file:
    const auto folded_bias = vector(o.folded_bias);  // arguments have no order of their own
    return schema::CreateRequantization(builder_, multiplier, folded_bias);
  }

  flatbuffers::FlatBufferBuilder& builder_;
};

}  // namespace

WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const GraphNode& node) {
  return OptionsWriter(builder).write(node);
}

}  // namespace intaglio
