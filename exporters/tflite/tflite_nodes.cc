#include "exporters/tflite/tflite_operands.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "importers/draft/import_error.h"
#include "importers/params/params_layers.h"
#include "intaglio/describe.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {
namespace {

using importers::fail;
using importers::quoted;
using tflite::Activation;
using tflite::Builtin;
using Kind = tflite::Options;
using Fill = TfliteOperands::Fill;

// Functions of one activation in FP32, without options or bounds.
constexpr std::pair<Op, Builtin> kFloatFunctions[] = {
    {Op::kSigmoid, Builtin::LOGISTIC}, {Op::kTanh, Builtin::TANH}, {Op::kHardSwish, Builtin::HARD_SWISH},
    {Op::kExp, Builtin::EXP},          {Op::kAbs, Builtin::ABS},   {Op::kSqrt, Builtin::SQRT},
    {Op::kRsqrt, Builtin::RSQRT},      {Op::kLog, Builtin::LOG},   {Op::kFloor, Builtin::FLOOR},
    {Op::kCeil, Builtin::CEIL},        {Op::kSin, Builtin::SIN},   {Op::kCos, Builtin::COS},
    {Op::kRound, Builtin::ROUND}};

class Writer {
 public:
  Writer(const Model& model, TfliteFile& file, TfliteOperands& operands, TfliteExport& result)
      : model_(model), file_(file), operands_(operands), result_(result) {}

  void write(const NodeInfo& node) {
    // First of the node's tensors: below, in what order arguments add theirs would be the compiler's choice.
    output(node);
    switch (node.op) {
      case Op::kConv2d:
      case Op::kDepthwiseConv2d:
      case Op::kFullyConnected:
        return layer(node);
      case Op::kAdd:
        return binary<tflite::AddOptions>(node, Builtin::ADD, Kind::AddOptions);
      case Op::kSub:
        return binary<tflite::SubOptions>(node, Builtin::SUB, Kind::SubOptions);
      case Op::kMul:
        return binary<tflite::MulOptions>(node, Builtin::MUL, Kind::MulOptions);
      case Op::kDiv:
        return divide(node);
      case Op::kMaximum:
      case Op::kMinimum:
        return plain(node, node.op == Op::kMaximum ? Builtin::MAXIMUM : Builtin::MINIMUM, 2);
      case Op::kMaxPool2d:
      case Op::kAvgPool2d:
        return pool(node);
      case Op::kMean:
        return mean(node, node.options.as<ReduceOptions>().axes);
      case Op::kSoftmax:
        return on_grid(node, 0x1p-8f, -128, Builtin::SOFTMAX, Kind::SoftmaxOptions,
                       tflite::CreateSoftmaxOptions(builder(), 1.0f).Union());
      case Op::kL2Normalize:
        if (node.options.as<L2NormalizeOptions>().min_norm > 1e-6f)
          fail("TFLite's least norm is 0.000001, and the model's is larger");
        return on_grid(node, 0x1p-7f, 0, Builtin::L2_NORMALIZATION, Kind::L2NormOptions,
                       tflite::CreateL2NormOptions(builder()).Union());
      case Op::kNormalize:
        if (out(node).dtype != DType::kS8) return write_normalize(file_, operands_, node, output(node));
        return in_reals(node, [&](int32_t y) { write_normalize(file_, operands_, node, y); });
      case Op::kReshape:
        return file_.add_operator(Builtin::RESHAPE, 1, {input(node), dims_constant(node)}, output(node));
      case Op::kTranspose: {
        const Span<const int32_t> order = node.options.as<TransposeOptions>().permutation;
        return file_.add_operator(Builtin::TRANSPOSE, version(node),
                                  {input(node), numbers(node, "/order", order)}, output(node));
      }
      case Op::kQuantize:
        return quantize(node);
      case Op::kDequantize:
        return file_.add_operator(Builtin::DEQUANTIZE, 2, {input(node)}, output(node));
      case Op::kLookup:
      case Op::kGroupedLookup:
        return write_lookup(model_, file_, operands_, node);
      case Op::kClamp:
        return clamp(node);
      case Op::kConcat: {
        std::vector<int32_t> inputs;
        for (const int32_t i : node.inputs) inputs.push_back(operands_.tensor(i));
        return file_.add_operator(
            Builtin::CONCATENATION, version(node), inputs, output(node), Kind::ConcatenationOptions,
            tflite::CreateConcatenationOptions(builder(), node.options.as<ConcatOptions>().axis).Union());
      }
      case Op::kPad:
        return pad(node);
      case Op::kStridedSlice:
        return slice(node);
      case Op::kGather:
        return file_.add_operator(
            Builtin::GATHER, version(node), {input(node), input(node, 1)}, output(node), Kind::GatherOptions,
            tflite::CreateGatherOptions(builder(), node.options.as<GatherOptions>().axis).Union());
      case Op::kResize:
        return resize(node);
      case Op::kLeakyRelu:
        return file_.add_operator(
            Builtin::LEAKY_RELU, 1, {input(node)}, output(node), Kind::LeakyReluOptions,
            tflite::CreateLeakyReluOptions(builder(), node.options.as<UnaryOptions>().alpha).Union());
      case Op::kGelu:
      case Op::kGeluTanh:
        return file_.add_operator(Builtin::GELU, 1, {input(node)}, output(node), Kind::GeluOptions,
                                  tflite::CreateGeluOptions(builder(), node.op == Op::kGeluTanh).Union());
      case Op::kBatchMatMul:
        return batch_product(node);
      default:
        for (const auto& [op, code] : kFloatFunctions)
          if (op == node.op) return plain(node, code, 1);
        fail("TFLite has no such operator, or none that is written here");
    }
  }

 private:
  flatbuffers::FlatBufferBuilder& builder() { return file_.builder(); }
  TensorInfo in(const NodeInfo& node) const { return operands_.info(node.inputs[0]); }
  TensorInfo out(const NodeInfo& node) const { return operands_.info(node.outputs[0]); }
  int32_t input(const NodeInfo& node, size_t i = 0) { return operands_.tensor(node.inputs[i]); }
  int32_t output(const NodeInfo& node) { return operands_.tensor(node.outputs[0]); }
  int32_t version(const NodeInfo& node) const { return usual_version(in(node)); }
  int32_t numbers(const NodeInfo& node, const char* end, Span<const int32_t> values) {
    return file_.add_numbers(out(node).name + std::string(end), {values.begin(), values.end()});
  }
  int32_t dims_constant(const NodeInfo& node) {
    const Shape shape = out(node).shape;
    return numbers(node, "/shape", {shape.dims, static_cast<size_t>(shape.rank)});
  }

  void plain(const NodeInfo& node, Builtin code, size_t inputs) {
    std::vector<int32_t> list;
    for (size_t i = 0; i < inputs; ++i) list.push_back(input(node, i));
    operands_.with_bounds_behind(node,
                                 [&](int32_t to) { file_.add_operator(code, version(node), list, to); });
  }

  template <typename Options>
  void binary(const NodeInfo& node, Builtin code, Kind kind) {
    operands_.with_bounds(node, [&](Activation activation, int32_t to) {
      typename Options::Builder options(builder());
      options.add_activation(activation);
      const flatbuffers::Offset<void> made = options.Finish().Union();
      file_.add_operator(code, version(node), {input(node), input(node, 1)}, to, kind, made);
    });
  }

  // LiteRT's quotient of int8 codes is another one: 7 dB of the real one.
  void divide(const NodeInfo& node) {
    if (out(node).dtype != DType::kS8)
      return binary<tflite::DivOptions>(node, Builtin::DIV, Kind::DivOptions);
    in_reals(node, [&](int32_t y) {
      file_.add_operator(Builtin::DIV, 1, {operands_.real(node.inputs[0]), operands_.real(node.inputs[1])}, y,
                         Kind::DivOptions, tflite::CreateDivOptions(builder()).Union());
    });
  }

  // Calls write(y) of a node on codes that the file has in FP32. A Quantize follows.
  template <typename Write>
  void in_reals(const NodeInfo& node, Write write) {
    ++result_.functions_in_float;
    const int32_t y = file_.add_tensor(
        {out(node).name + std::string("/real"), DType::kF32, file_.tensor(output(node)).shape, {}});
    write(y);
    operands_.with_bounds_behind(node,
                                 [&](int32_t to) { file_.add_operator(Builtin::QUANTIZE, 1, {y}, to); });
  }

  void quantize(const NodeInfo& node) {
    if (out(node).dtype != DType::kF32)
      return operands_.with_bounds_behind(
          node, [&](int32_t to) { file_.add_operator(Builtin::QUANTIZE, 1, {input(node)}, to); });
    // 16 bits in the model.
    if (in(node).dtype != DType::kF32)
      return file_.add_operator(Builtin::DEQUANTIZE, 2, {input(node)}, output(node));
    file_.add_operator(Builtin::RESHAPE, 1, {input(node), dims_constant(node)}, output(node));
  }

  void clamp(const NodeInfo& node) {
    operands_.with_bounds(node, [&](Activation activation, int32_t to) {
      constexpr Builtin kCodes[] = {Builtin::RESHAPE, Builtin::RELU, Builtin::RELU_N1_TO_1, Builtin::RELU6};
      std::vector<int32_t> inputs{input(node)};
      if (activation == Activation::None) inputs.push_back(dims_constant(node));
      file_.add_operator(kCodes[static_cast<size_t>(activation)],
                         activation == Activation::None ? 1 : version(node), inputs, to);
    });
  }

  // ---- layers with weights
  void layer(const NodeInfo& node) {
    const QuantRule* const found = layer_rule(model_, all_ops(), node);
    if (found == nullptr) fail("it is no operator of this library");
    const QuantRule& rule = *found;
    const int32_t w = node.inputs[static_cast<size_t>(rule.weight_input)];
    const int32_t b =
        has_input(node, rule.bias_input) ? node.inputs[static_cast<size_t>(rule.bias_input)] : -1;
    const TensorInfo weights = model_.tensor(w);
    if (weights.dtype == DType::kS8 && out(node).dtype == DType::kF32) {  // which TFLite does not have
      ++result_.in_float;
      const int32_t x = operands_.real(node.inputs[0]);
      std::vector<int32_t> inputs{x, operands_.real_weights(node, w)};
      if (b >= 0) inputs.push_back(operands_.real_bias(b, in(node), weights));
      return operands_.with_bounds(
          node, [&](Activation activation, int32_t to) { add_layer(node, inputs, activation, to, false); });
    }
    const bool is_int8 = weights.dtype == DType::kS8;
    result_.layers += is_int8;
    std::vector<int32_t> inputs{input(node), operands_.weights(node, w)};
    if (b >= 0) {
      inputs.push_back(operands_.bias(b, in(node), weights));
    } else if (is_int8 && node.op == Op::kDepthwiseConv2d) {
      inputs.push_back(zero_bias(out(node).name, out(node).shape.back(0), bias_scales(in(node), weights)));
    }
    if (!has_input(node, rule.residual_input))
      return operands_.with_bounds(
          node, [&](Activation activation, int32_t to) { add_layer(node, inputs, activation, to, is_int8); });
    const int32_t sum = add_sum(node);
    add_layer(node, inputs, Activation::None, sum, is_int8);
    const int32_t residual = operands_.tensor(node.inputs[static_cast<size_t>(rule.residual_input)]);
    operands_.with_bounds(node, [&](Activation activation, int32_t to) {
      file_.add_operator(Builtin::ADD, usual_version(out(node)), {sum, residual}, to, Kind::AddOptions,
                         tflite::CreateAddOptions(builder(), activation).Union());
    });
  }
  // LiteRT's depthwise layer of codes ends the program where it has no bias.
  int32_t zero_bias(const std::string& name, int32_t channels, std::vector<float> scales) {
    TfliteTensor bias{name + "/bias", DType::kS32, {channels}, std::move(scales)};
    bias.data.assign(static_cast<size_t>(channels) * sizeof(int32_t), 0);
    bias.is_constant = true;
    return file_.add_tensor(std::move(bias));
  }

  // A convolution's own result, which the model adds to its residual at once.
  int32_t add_sum(const NodeInfo& node) {
    TfliteTensor sum = file_.tensor(output(node));
    sum.name += "/sum";
    if (sum.dtype == DType::kS8) {
      sum.scales = {node.options.as<Intermediate>().scale};
      sum.zero_point = node.options.as<Intermediate>().zero_point;
    }
    return file_.add_tensor(std::move(sum));
  }

  void add_layer(const NodeInfo& node, std::vector<int32_t> inputs, Activation activation, int32_t to,
                 bool is_int8) {
    if (node.op == Op::kFullyConnected) {
      const bool keeps = out(node).shape.rank == in(node).shape.rank && out(node).shape.rank != 2;
      const bool per_channel = is_int8 && file_.tensor(inputs[1]).scales.size() > 1;
      return file_.add_operator(Builtin::FULLY_CONNECTED,
                                per_channel ? 12
                                : is_int8   ? 4
                                            : 1,
                                inputs, to, Kind::FullyConnectedOptions,
                                tflite::CreateFullyConnectedOptions(builder(), activation, 0, keeps).Union());
    }
    const auto& window = node.options.as<Window2d>();
    const auto padded = operands_.pad(node, inputs[0], Fill::kZero);
    inputs[0] = padded.x;
    if (node.op == Op::kConv2d)
      return file_.add_operator(
          Builtin::CONV_2D, is_int8 ? 3 : 1, inputs, to, Kind::Conv2DOptions,
          tflite::CreateConv2DOptions(builder(), padded.mode, window.stride_w, window.stride_h, activation,
                                      window.dilation_w, window.dilation_h)
              .Union());
    add_depthwise(node, inputs, padded.mode, activation, to);
  }

  void add_depthwise(const NodeInfo& node, const std::vector<int32_t>& inputs, tflite::Padding mode,
                     Activation activation, int32_t to) {
    const auto& window = node.options.as<Window2d>();
    const int32_t multiplier = out(node).shape.back(0) / in(node).shape.back(0);
    file_.add_operator(
        Builtin::DEPTHWISE_CONV_2D, file_.tensor(inputs[0]).dtype == DType::kS8 ? 3 : 1, inputs, to,
        Kind::DepthwiseConv2DOptions,
        tflite::CreateDepthwiseConv2DOptions(builder(), mode, window.stride_w, window.stride_h, multiplier,
                                             activation, window.dilation_w, window.dilation_h)
            .Union());
  }

  // ---- what reads several elements
  // TFLite allows the int8 result of these one grid. With another one they compute in FP32, and a Quantize follows.
  void on_grid(const NodeInfo& node, float scale, int32_t zero_point, Builtin code, Kind kind,
               flatbuffers::Offset<void> options) {
    const Quantization own = out(node).quantization;
    const bool in_codes = out(node).dtype == DType::kS8;
    if (!in_codes || (own.scales[0] == scale && own.zero_point == zero_point))
      return file_.add_operator(code, version(node), {input(node)}, output(node), kind, options);
    in_reals(node, [&](int32_t y) {
      file_.add_operator(code, 1, {operands_.real(node.inputs[0])}, y, kind, options);
    });
  }

  // A factor of the product is one more operator. In codes the product itself has another scale, and the factor is the code 1.
  void batch_product(const NodeInfo& node) {
    const auto& options = node.options.as<BatchMatMulOptions>();
    const int32_t result = output(node);
    int32_t y = result;
    TfliteTensor product = file_.tensor(result);
    const std::string name = product.name;
    if (options.scale != 1.0f) {
      product.name += "/product";
      for (float& scale : product.scales) scale /= options.scale;
      y = file_.add_tensor(std::move(product));
    }
    file_.add_operator(Builtin::BATCH_MATMUL, version(node), {input(node), input(node, 1)}, y,
                       Kind::BatchMatMulOptions,
                       tflite::CreateBatchMatMulOptions(builder(), false, options.transpose_b).Union());
    if (y == result) return;
    const bool in_codes = out(node).dtype == DType::kS8;
    const int32_t factor =
        in_codes ? file_.add_tensor({name + "/factor", DType::kS8, {}, {options.scale}, 0, 0, {1}, true})
                 : operands_.add_reals(name + "/factor", {}, {options.scale});
    file_.add_operator(Builtin::MUL, version(node), {y, factor}, result, Kind::MulOptions,
                       tflite::CreateMulOptions(builder()).Union());
  }

  void mean(const NodeInfo& node, Span<const int32_t> axes) {
    const bool keeps = out(node).shape.rank == in(node).shape.rank;
    const bool leaves_codes = in(node).dtype == DType::kS8 && out(node).dtype == DType::kF32;
    const int32_t x = leaves_codes ? operands_.real(node.inputs[0]) : input(node);
    operands_.with_bounds_behind(node, [&](int32_t to) {
      file_.add_operator(Builtin::MEAN, leaves_codes ? 1 : version(node), {x, numbers(node, "/axes", axes)},
                         to, Kind::ReducerOptions, tflite::CreateReducerOptions(builder(), keeps).Union());
    });
  }

  void pool(const NodeInfo& node) {
    const auto& window = node.options.as<Window2d>();
    const Shape shape = in(node).shape;
    const bool is_max = node.op == Op::kMaxPool2d;
    const bool is_padded = window.pad_top + window.pad_left + window.pad_bottom + window.pad_right > 0;
    if (window.dilation_h != 1 || window.dilation_w != 1) fail("TFLite's pools have no dilation");
    if (!is_max && !is_padded && window.kernel_h == shape[1] && window.kernel_w == shape[2]) {
      constexpr int32_t kAxes[] = {1, 2};
      return mean(node, {kAxes, 2});
    }
    const Quantization from = in(node).quantization, own = out(node).quantization;
    const bool same = out(node).dtype == DType::kF32 ||
                      (from.scales[0] == own.scales[0] && from.zero_point == own.zero_point);
    const bool counts = !is_max && is_padded && window.count_include_pad;
    if (!is_max && out(node).dtype == DType::kS8 && (counts || (!same && !is_padded)))
      return average_by_layer(node);
    if (counts) fail("TFLite's average pool does not count padding");
    if (!is_max && is_padded && !operands_.has_plain_padding(node))
      fail("TFLite's average pool has no padding of this size");
    const auto padded = operands_.pad(node, input(node), is_max ? Fill::kLowest : Fill::kZero);
    const auto write = [&](Activation activation, int32_t to) {
      file_.add_operator(is_max ? Builtin::MAX_POOL_2D : Builtin::AVERAGE_POOL_2D, version(node), {padded.x},
                         to, Kind::Pool2DOptions,
                         tflite::CreatePool2DOptions(builder(), padded.mode, window.stride_w, window.stride_h,
                                                     window.kernel_w, window.kernel_h, activation)
                             .Union());
    };
    if (same) return operands_.with_bounds(node, write);
    // TFLite's pools keep the scale: a second rounding behind.
    TfliteTensor small = file_.tensor(input(node));
    small.name = std::string(out(node).name) + "/pool";
    small.shape = file_.tensor(output(node)).shape;
    const int32_t pooled = file_.add_tensor(std::move(small));
    write(Activation::None, pooled);
    operands_.with_bounds_behind(
        node, [&](int32_t result) { file_.add_operator(Builtin::QUANTIZE, 1, {pooled}, result); });
  }

  // An average with a scale of its own, or one that counts padding: a depthwise convolution whose weights are 1.
  void average_by_layer(const NodeInfo& node) {
    const auto& window = node.options.as<Window2d>();
    const int32_t channels = in(node).shape.back(0);
    const std::string name = out(node).name;
    const float share = 1.0f / static_cast<float>(window.kernel_h * window.kernel_w);
    const auto count = static_cast<size_t>(window.kernel_h) * static_cast<size_t>(window.kernel_w) *
                       static_cast<size_t>(channels);
    TfliteTensor weights{
        name + "/ones", DType::kS8, {1, window.kernel_h, window.kernel_w, channels}, {share}};
    weights.data.assign(count, 1);
    weights.is_constant = true;
    const int32_t zeros = zero_bias(name, channels, {in(node).quantization.scales[0] * share});
    const int32_t ones = file_.add_tensor(std::move(weights));
    const auto padded = operands_.pad(node, input(node), Fill::kZero);
    operands_.with_bounds(node, [&](Activation activation, int32_t to) {
      add_depthwise(node, {padded.x, ones, zeros}, padded.mode, activation, to);
    });
  }

  // ---- what moves elements
  void pad(const NodeInfo& node) {
    const auto& options = node.options.as<PadOptions>();
    const Shape from = in(node).shape, to = out(node).shape;
    std::vector<int32_t> pads;
    for (int32_t axis = 0; axis < from.rank; ++axis) {
      const int32_t before = options.before[static_cast<size_t>(axis)];
      pads.push_back(before);
      pads.push_back(to[axis] - from[axis] - before);
    }
    const int32_t list = file_.add_numbers(out(node).name + std::string("/pads"), pads, {from.rank, 2});
    if (options.value == 0.0f)
      return file_.add_operator(Builtin::PAD, version(node), {input(node), list}, output(node));
    file_.add_operator(Builtin::PADV2, version(node),
                       {input(node), list, operands_.value(node, options.value)}, output(node));
  }

  void slice(const NodeInfo& node) {
    const auto& options = node.options.as<StridedSliceOptions>();
    const Shape shape = out(node).shape;
    std::vector<int32_t> end;
    int32_t open_ends = 0;
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      const auto i = static_cast<size_t>(axis);
      const int32_t last = options.begin[i] + options.strides[i] * (shape[axis] - 1);
      end.push_back(options.strides[i] > 0 ? last + 1 : last - 1);
      if (end.back() < 0) open_ends |= 1 << axis;  // -1 would be the last element
    }
    file_.add_operator(
        Builtin::STRIDED_SLICE, version(node),
        {input(node), numbers(node, "/begin", options.begin), numbers(node, "/end", {end.data(), end.size()}),
         numbers(node, "/strides", options.strides)},
        output(node), Kind::StridedSliceOptions,
        tflite::CreateStridedSliceOptions(builder(), 0, open_ends).Union());
  }

  void resize(const NodeInfo& node) {
    auto options = node.options.as<ResizeOptions>();
    const Shape from = in(node).shape, to = out(node).shape;
    const bool is_whole = to[1] % from[1] == 0 && to[2] % from[2] == 0;
    if (options.interpolation == Interpolation::kNearest && is_whole &&
        options.coordinates == Coordinates::kHalfPixel && options.rounding != NearestRounding::kFloor &&
        options.rounding != NearestRounding::kCeil) {  // each element as often as the others
      options.coordinates = Coordinates::kAsymmetric;
      options.rounding = NearestRounding::kFloor;
    }
    const bool half = options.coordinates == Coordinates::kHalfPixel,
               corners = options.coordinates == Coordinates::kAlignCorners;
    const int32_t size = file_.add_numbers(out(node).name + std::string("/size"), {to[1], to[2]});
    const int32_t least = half ? 3 : version(node);
    if (options.interpolation == Interpolation::kBilinear)
      return file_.add_operator(Builtin::RESIZE_BILINEAR, least, {input(node), size}, output(node),
                                Kind::ResizeBilinearOptions,
                                tflite::CreateResizeBilinearOptions(builder(), corners, half).Union());
    if (options.rounding != (half || corners ? NearestRounding::kHalfUp : NearestRounding::kFloor))
      fail("TFLite does not round to nearest neighbours in this way");
    file_.add_operator(Builtin::RESIZE_NEAREST_NEIGHBOR, least, {input(node), size}, output(node),
                       Kind::ResizeNearestNeighborOptions,
                       tflite::CreateResizeNearestNeighborOptions(builder(), corners, half).Union());
  }

  const Model& model_;
  TfliteFile& file_;
  TfliteOperands& operands_;
  TfliteExport& result_;
};

}  // namespace

void write_nodes(const Model& model, TfliteFile& file, TfliteOperands& operands, TfliteExport& result) {
  Writer writer(model, file, operands, result);
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    try {
      writer.write(node);
    } catch (const importers::ImportError& error) {
      fail("node ", quoted(node.name), " (", op_name(node.op), "): ", error.what());
    }
  }
}

}  // namespace intaglio::exporters
