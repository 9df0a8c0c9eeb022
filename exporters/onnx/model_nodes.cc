// A model's nodes as nodes of an ONNX graph, one after the other.
#include <algorithm>
#include <iterator>
#include <utility>

#include "exporters/onnx/model_values.h"
#include "exporters/onnx/onnx_steps.h"
#include "exporters/table_function.h"
#include "importers/draft/import_error.h"
#include "importers/params/params_layers.h"
#include "intaglio/describe.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {
namespace {

using importers::fail;
using importers::quoted;
using Dims = std::vector<int64_t>;

struct Named {
  Op op;
  const char* name;
};
// Operators that need nothing but their inputs.
constexpr Named kPlain[] = {{Op::kAdd, "Add"},    {Op::kSub, "Sub"},     {Op::kMul, "Mul"},
                            {Op::kDiv, "Div"},    {Op::kMaximum, "Max"}, {Op::kMinimum, "Min"},
                            {Op::kPRelu, "PRelu"}};
constexpr Named kComparisons[] = {
    {Op::kEqual, "Equal"}, {Op::kLess, "Less"}, {Op::kLessOrEqual, "LessOrEqual"}};

class Writer {
 public:
  Writer(onnx_file::GraphProto& file, const Model& model, OnnxForm form, int64_t opset, const OnnxEnds* ends,
         OnnxExport& result)
      : model_(model), values_(file, model, form, opset, ends, result.notes), result_(result) {}

  void run(OnnxForm form) {
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      try {
        write(node);
      } catch (const importers::ImportError& error) {
        fail("node ", quoted(node.name), " (", op_name(node.op), "): ", error.what());
      }
    }
    for (int32_t t = 0; t < model_.tensor_count(); ++t)
      result_.activations += has_codes(model_.tensor(t)) && !model_.tensor(t).is_constant();
    if (form == OnnxForm::kQOperator) to_qoperators(values_.graph());
    values_.finish_graph();
  }

 private:
  TensorInfo in(const NodeInfo& node, size_t i = 0) const { return model_.tensor(node.inputs[i]); }
  TensorInfo out(const NodeInfo& node) const { return model_.tensor(node.outputs[0]); }
  // Whether the node gives the numbers that it reads as the same codes, or as FP32.
  bool has_one_grid(const NodeInfo& node) const {
    const TensorInfo x = in(node), y = out(node);
    if (x.dtype != y.dtype || !has_codes(x)) return x.dtype == y.dtype;
    return x.quantization.scales[0] == y.quantization.scales[0] &&
           x.quantization.zero_point == y.quantization.zero_point;
  }
  std::string value(const NodeInfo& node, size_t i = 0, ChannelOrder order = kChannelsLast) {
    return values_.value(node.inputs[i], order);
  }

  // Of a node that takes either: as what it reads is there.
  ChannelOrder order_of(const NodeInfo& node) const {
    bool is_first = out(node).shape.rank == 4;
    bool has_first = false;
    for (const int32_t t : node.inputs) {
      if (t < 0 || model_.tensor(t).is_constant()) continue;
      const Shape shape = model_.tensor(t).shape;
      is_first &= shape.rank == 4 || shape.elements() == 1;
      has_first |= values_.is_first(t);
    }
    return is_first && has_first ? kChannelsFirst : kChannelsLast;
  }

  void write(const NodeInfo& node) {
    for (const auto& [op, name] : kPlain)
      if (op == node.op) return (void)plain(node, name);
    for (const auto& [op, name] : kComparisons)
      if (op == node.op) return compare(node, name);
    switch (node.op) {
      case Op::kConv2d:
      case Op::kDepthwiseConv2d:
      case Op::kFullyConnected:
        return layer(node);
      case Op::kWhere:
        return choose(node);
      case Op::kConcat:
        return set_attribute(plain(node, "Concat"), "axis",
                             axis(node, node.options.as<ConcatOptions>().axis));
      case Op::kMaxPool2d:
      case Op::kAvgPool2d:
        return pool(node);
      case Op::kMaxUnpool2d:
        return unpool(node);
      case Op::kMean:
        return mean(node);
      case Op::kSoftmax: {  // of codes with a table, which stays behind
        const ChannelOrder order = order_of(node);
        OnnxNode& made = values_.add(node, "Softmax", {value(node, 0, order)});
        set_attribute(made, "axis", axis(node, out(node).shape.rank - 1));
        return values_.finish(node, made.output[0], order);
      }
      case Op::kReshape:
        return reshape(node);
      case Op::kTranspose:
        return transpose(node);
      case Op::kQuantize:
        if (has_codes(in(node))) return function(node, Op::kQuantize, node.options);
        [[fallthrough]];
      case Op::kClamp: {
        const ChannelOrder order = order_of(node);
        return values_.finish(node, value(node, 0, order), order, false);
      }
      case Op::kDequantize:
        return values_.set_same(node.outputs[0], node.inputs[0]);
      case Op::kLookup: {
        const TableFunction found = function_of_table(in(node, 1).constant, in(node), out(node));
        if (found.op != Op::kNone) return function(node, found.op, found.options);
        if (in(node).dtype != DType::kS8) fail("its table of 16 bits is none of a known function");
        return values_.finish(node, write_table(values_, model_, node));
      }
      case Op::kGroupedLookup:
        return values_.finish(node, write_table(values_, model_, node));
      case Op::kPad:
        return pad(node);
      case Op::kStridedSlice:
        return slice(node);
      case Op::kGather:
        return gather(node);
      case Op::kGatherElements:
        return set_attribute(plain(node, "GatherElements"), "axis",
                             axis(node, node.options.as<GatherOptions>().axis));
      case Op::kResize:
        return resize(node);
      case Op::kL2Normalize:
        return l2_normalize(node);
      case Op::kNormalize:
        return values_.finish(node, write_normalize(values_, model_, node));
      case Op::kBatchMatMul:
        return batch_product(node);
      case Op::kTopK:
        return top_k(node);
      case Op::kOneHot:
        return one_hot(node);
      case Op::kCast: {
        const ChannelOrder order = order_of(node);
        OnnxNode& cast = values_.add(node, "Cast", {value(node, 0, order)});
        set_attribute(cast, "to", out(node).dtype == DType::kF32 ? OnnxTensor::FLOAT : OnnxTensor::INT32);
        return values_.finish(node, cast.output[0], order);
      }
      default:
        return function(node, node.op, node.options);
    }
  }

  void function(const NodeInfo& node, Op op, const NodeOptions& options) {
    const ChannelOrder order = order_of(node);
    values_.finish(node, write_function(values_, node, op, options, value(node, 0, order)), order);
  }

  // An axis of what the node reads, in the order of plain().
  int64_t axis(const NodeInfo& node, int32_t of) const {
    return axis_in(order_of(node), of, in(node).shape.rank);
  }

  std::vector<std::string> inputs(const NodeInfo& node, ChannelOrder order) {
    std::vector<std::string> list;
    for (size_t i = 0; i < node.inputs.size; ++i) list.push_back(value(node, i, order));
    return list;
  }
  OnnxNode& plain(const NodeInfo& node, const std::string& op) {
    const ChannelOrder order = order_of(node);
    OnnxNode& made = values_.add(node, op, inputs(node, order));
    values_.finish(node, made.output[0], order);
    return made;
  }

  // Truth values are numbers in the model.
  void compare(const NodeInfo& node, const std::string& op) {
    const ChannelOrder order = order_of(node);
    OnnxNode& truth = values_.add(node, op, inputs(node, order));
    OnnxNode& cast = values_.add(node, "Cast", {truth.output[0]}, "/number");
    set_attribute(cast, "to", OnnxTensor::FLOAT);
    values_.finish(node, cast.output[0], order);
  }
  void choose(const NodeInfo& node) {
    const ChannelOrder order = order_of(node);
    std::vector<std::string> list = inputs(node, order);
    OnnxNode& cast = values_.add(node, "Cast", {list[0]}, "/truth");
    set_attribute(cast, "to", OnnxTensor::BOOL);
    list[0] = cast.output[0];
    values_.finish(node, values_.add(node, "Where", list).output[0], order);
  }

  // ---- layers with weights
  // Element i of the file's weights [oc, ic, taps] is this one of the model's.
  static std::vector<size_t> order_of_weights(int64_t oc, int64_t ic, int64_t taps, bool is_depthwise) {
    std::vector<size_t> order;
    for (int64_t o = 0; o < oc; ++o)
      for (int64_t i = 0; i < ic; ++i)
        for (int64_t t = 0; t < taps; ++t)
          order.push_back(static_cast<size_t>(is_depthwise ? t * oc + o : (o * taps + t) * ic + i));
    return order;
  }

  void layer(const NodeInfo& node) {
    const QuantRule* const found = layer_rule(model_, all_ops(), node);
    if (found == nullptr) fail("it is no operator of this library");
    const QuantRule& rule = *found;
    const int32_t w = node.inputs[static_cast<size_t>(rule.weight_input)];
    const TensorInfo weights = model_.tensor(w);
    result_.layers += weights.dtype == DType::kS8;
    const bool is_conv = node.op != Op::kFullyConnected;
    std::vector<std::string> list{is_conv ? value(node, 0, kChannelsFirst) : rows(node)};
    if (is_conv) {
      const bool is_depthwise = node.op == Op::kDepthwiseConv2d;
      const auto& window = node.options.as<Window2d>();
      const Shape shape = weights.shape;
      const int64_t oc = is_depthwise ? shape.back(0) : shape[0], ic = is_depthwise ? 1 : shape[3];
      list.push_back(values_.weights(
          w, {oc, ic, window.kernel_h, window.kernel_w},
          order_of_weights(oc, ic, int64_t{window.kernel_h} * window.kernel_w, is_depthwise)));
    } else {
      list.push_back(values_.weights(w, dims_of(weights.shape)));
    }
    if (has_input(node, rule.bias_input))
      list.push_back(bias(node, node.inputs[static_cast<size_t>(rule.bias_input)], weights));
    OnnxNode& made = values_.add(node, is_conv ? "Conv" : "Gemm", list);
    if (!is_conv) {
      set_attribute(made, "transB", 1);
      return finish_rows(node, made.output[0]);
    }
    set_window(made, node);
    if (node.op == Op::kDepthwiseConv2d)
      set_attribute(made, "group", in(node).shape[3]);
    else
      set_attribute(made, "group", node.options.as<Conv2dOptions>().groups);
    std::string y = made.output[0];
    if (has_input(node, rule.residual_input)) {
      if (has_codes(out(node))) {
        const auto& sum = node.options.as<Intermediate>();
        ActivationGrid grid = grid_of(out(node));
        grid.scale = sum.scale;
        grid.zero_point = sum.zero_point;
        const std::string product = values_.graph().reserve_name(y + "/rounded");
        values_.quantizers().add_rounding(y, product, grid);
        y = product;
      }
      y = values_
              .add(node, "Add", {y, value(node, static_cast<size_t>(rule.residual_input), kChannelsFirst)},
                   "/sum")
              .output[0];
    }
    values_.finish(node, y, kChannelsFirst);
  }

  std::string bias(const NodeInfo& node, int32_t tensor, const TensorInfo& weights) {
    const TensorInfo info = model_.tensor(tensor);
    if (info.dtype != DType::kS32) return values_.weights(tensor, {info.shape.elements()});
    std::string name = values_.constant_name(tensor);
    values_.quantizers().add_bias(
        name,
        {reinterpret_cast<const int32_t*>(info.constant.data), static_cast<size_t>(info.shape.elements())},
        bias_scales(in(node), weights));
    return name;
  }

  // A Gemm reads and writes matrices.
  std::string rows(const NodeInfo& node) {
    const TensorInfo x = in(node);
    const int64_t k = in(node, 1).shape[1];
    const Dims dims{x.shape.elements() / k, k};
    return dims == dims_of(x.shape) ? value(node)
                                    : reshaped(node, values_.flat(node.inputs[0]), dims, "/rows");
  }
  std::string reshaped(const NodeInfo& node, const std::string& x, const Dims& dims,
                       const std::string& suffix) {
    const std::string y =
        values_.add(node, "Reshape", {x, values_.integers(node, suffix + "/shape", dims)}, suffix).output[0];
    return values_.rounded(node, y, node.inputs[0], suffix + "/rounded");
  }
  void finish_rows(const NodeInfo& node, const std::string& y) {
    const Shape shape = out(node).shape;
    if (shape.rank == 2) return values_.finish(node, y);
    const std::string codes = values_.rounded(node, y, node.outputs[0], "/matrix");
    values_.finish(
        node,
        values_.add(node, "Reshape", {codes, values_.integers(node, "/shape", dims_of(shape))}, "/elements")
            .output[0]);
  }

  static void set_window(OnnxNode& made, const NodeInfo& node) {
    const auto& window = node.options.as<Window2d>();
    set_attribute(made, "kernel_shape", Dims{window.kernel_h, window.kernel_w});
    set_attribute(made, "strides", Dims{window.stride_h, window.stride_w});
    set_attribute(made, "pads", Dims{window.pad_top, window.pad_left, window.pad_bottom, window.pad_right});
    if (window.dilation_h != 1 || window.dilation_w != 1)
      set_attribute(made, "dilations", Dims{window.dilation_h, window.dilation_w});
  }

  // ---- what reads several elements
  void pool(const NodeInfo& node) {
    const auto& window = node.options.as<Window2d>();
    const bool is_max = node.op == Op::kMaxPool2d;
    if (!is_max && (window.dilation_h != 1 || window.dilation_w != 1))
      fail("ONNX's average pool has no dilation in this opset");
    OnnxNode& made = values_.add(node, is_max ? "MaxPool" : "AveragePool", {value(node, 0, kChannelsFirst)});
    set_window(made, node);
    if (!is_max && window.count_include_pad) set_attribute(made, "count_include_pad", 1);
    values_.finish(node, made.output[0], kChannelsFirst);
  }

  // Its places are those of a pool of the map, whose own result nothing reads.
  void unpool(const NodeInfo& node) {
    const Shape windows = in(node).shape, whole = out(node).shape;
    const Dims kernel{whole[1] / windows[1], whole[2] / windows[2]};
    OnnxNode& made = values_.add(node, "MaxPool", {value(node, 1, kChannelsFirst)}, "/greatest");
    const std::string places = values_.graph().reserve_name(made.output[0] + "/places");
    values_.graph().add_output(made, places);
    OnnxNode& back = values_.add(node, "MaxUnpool", {value(node, 0, kChannelsFirst), places});
    for (OnnxNode* const windowed : {&made, &back}) {
      set_attribute(*windowed, "kernel_shape", kernel);
      set_attribute(*windowed, "strides", kernel);
    }
    values_.finish(node, back.output[0], kChannelsFirst);
  }

  void mean(const NodeInfo& node) {
    const Span<const int32_t> axes = node.options.as<ReduceOptions>().axes;
    const bool keeps = out(node).shape.rank == in(node).shape.rank;
    const bool has_channels = std::find(axes.begin(), axes.end(), 3) != axes.end();
    const auto places = std::count_if(axes.begin(), axes.end(), [](int32_t a) { return a == 1 || a == 2; });
    // Without the axes, what is left stands in the same order in both.
    const ChannelOrder order = values_.is_first(node.inputs[0]) && (keeps || has_channels || places == 2)
                                   ? kChannelsFirst
                                   : kChannelsLast;
    const std::string x = value(node, 0, order);
    if (order == kChannelsFirst && keeps && places == 2 && axes.size == 2)
      return values_.finish(node, values_.add(node, "GlobalAveragePool", {x}).output[0], order);
    Dims own;
    for (const int32_t a : axes) own.push_back(axis_in(order, a, in(node).shape.rank));
    std::sort(own.begin(), own.end());
    values_.finish(node, values_.add_reduction(node, "ReduceMean", x, own, keeps),
                   keeps ? order : kChannelsLast);
  }

  void l2_normalize(const NodeInfo& node) {
    const ChannelOrder order = order_of(node);
    const std::string x = value(node, 0, order);
    const auto last = static_cast<int64_t>(axis_in(order, in(node).shape.rank - 1, in(node).shape.rank));
    std::string norm = values_.add_reduction(node, "ReduceL2", x, {last}, true);
    // A row of zeros is divided by something, or it is no number. Of codes any other norm is at least a step; FakeQuantize gives what
    // is nearly 0 for the code of 0.
    const Quantization& codes = in(node).quantization;
    const float shortest = codes.scales.empty() ? 0x1p-120f : codes.scales[0] / 2;
    const float least = std::max(node.options.as<L2NormalizeOptions>().min_norm, shortest);
    norm = values_.add(node, "Clip", {norm, values_.reals(node, "/least", {least})}, "/norm").output[0];
    values_.finish(node, values_.add(node, "Div", {x, norm}, "/quotient").output[0], order);
  }

  void batch_product(const NodeInfo& node) {
    const auto& options = node.options.as<BatchMatMulOptions>();
    std::string b = value(node, 1);
    if (options.transpose_b) {
      OnnxNode& turned = values_.add(node, "Transpose", {b}, "/transposed");
      Dims axes;
      for (int32_t a = 0; a < in(node, 1).shape.rank; ++a) axes.push_back(a);
      std::swap(axes.back(), axes[axes.size() - 2]);
      set_attribute(turned, "perm", axes);
      b = values_.rounded(node, turned.output[0], node.inputs[1], "/transposed/rounded");
    }
    std::string y = values_.add(node, "MatMul", {value(node), b}).output[0];
    if (options.scale != 1.0f)
      y = values_.add(node, "Mul", {y, values_.reals(node, "/factor", {options.scale})}, "/scaled").output[0];
    values_.finish(node, y);
  }

  void top_k(const NodeInfo& node) {
    const auto& options = node.options.as<TopKOptions>();
    const int64_t count = out(node).shape[options.axis];
    std::string indices;
    if (count == 1) {
      OnnxNode& made = values_.add(node, options.smallest ? "ArgMin" : "ArgMax", {value(node)});
      set_attribute(made, "axis", options.axis);
      if (options.last_of_equal) set_attribute(made, "select_last_index", 1);
      indices = made.output[0];
    } else {
      if (options.last_of_equal) fail("ONNX's TopK takes the first of equal elements");
      OnnxNode& made =
          values_.add(node, "TopK", {value(node), values_.integers(node, "/count", {count})}, "/values");
      set_attribute(made, "axis", options.axis);
      set_attribute(made, "largest", options.smallest ? 0 : 1);
      indices = values_.graph().reserve_name(made.output[0] + "/indices");
      values_.graph().add_output(made, indices);
    }
    OnnxNode& cast = values_.add(node, "Cast", {indices}, "/numbers");
    set_attribute(cast, "to", OnnxTensor::INT32);
    values_.finish(node, cast.output[0]);
  }

  void one_hot(const NodeInfo& node) {
    const auto& options = node.options.as<OneHotOptions>();
    if (!options.from_end) fail("ONNX's OneHot counts indices below 0 from the end");
    const std::string depth =
        values_.reals(node, "/depth", {static_cast<float>(out(node).shape[options.axis])});
    OnnxNode& made = values_.add(
        node, "OneHot", {value(node), depth, values_.reals(node, "/values", {options.off, options.on})});
    set_attribute(made, "axis", options.axis);
    values_.finish(node, made.output[0]);
  }

  // ---- what moves elements
  void reshape(const NodeInfo& node) {
    const std::string x = values_.flat(node.inputs[0]);
    const std::string shape = values_.integers(node, "/shape", dims_of(out(node).shape));
    values_.finish(node, values_.add(node, "Reshape", {x, shape}).output[0]);
  }

  void transpose(const NodeInfo& node) {
    const ChannelOrder order = values_.is_first(node.inputs[0]) ? kChannelsFirst : kChannelsLast;
    Dims axes;
    for (const int32_t a : node.options.as<TransposeOptions>().permutation)
      axes.push_back(axis_in(order, a, in(node).shape.rank));
    if (std::is_sorted(axes.begin(), axes.end()) && has_one_grid(node))
      return values_.set_value(node.outputs[0], value(node, 0, order));
    OnnxNode& made = values_.add(node, "Transpose", {value(node, 0, order)});
    set_attribute(made, "perm", axes);
    values_.finish(node, made.output[0]);
  }

  void pad(const NodeInfo& node) {
    const auto& options = node.options.as<PadOptions>();
    const ChannelOrder order = order_of(node);
    const Shape from = in(node).shape, to = out(node).shape;
    const auto rank = static_cast<size_t>(from.rank);
    Dims pads(2 * rank);
    for (int32_t a = 0; a < from.rank; ++a) {
      const auto place = static_cast<size_t>(axis_in(order, a, from.rank));
      const int32_t before = options.before[static_cast<size_t>(a)];
      pads[place] = before;
      pads[rank + place] = to[a] - from[a] - before;
    }
    std::vector<std::string> list{value(node, 0, order), values_.integers(node, "/pads", pads)};
    if (options.value != 0.0f) {
      // OpenVINO 2026.4 takes codes through moves to such a Pad, and computes it wrongly or refuses it. What changes nothing stops it.
      if (values_.quantizers().form() == OnnxForm::kFakeQuantize && has_codes(in(node))) {
        const Quantization& codes = in(node).quantization;
        const float least = codes.scales[0] * static_cast<float>(-128 - codes.zero_point);
        list[0] =
            values_.add(node, "Max", {list[0], values_.reals(node, "/least", {least})}, "/same").output[0];
      }
      list.push_back(values_.reals(node, "/fill", {options.value}));
    }
    values_.finish(node, values_.add(node, "Pad", list).output[0], order);
  }

  void slice(const NodeInfo& node) {
    const auto& options = node.options.as<StridedSliceOptions>();
    const ChannelOrder order = order_of(node);
    const Shape from = in(node).shape, to = out(node).shape;
    Dims begins, ends, axes, steps;
    for (int32_t a = 0; a < from.rank; ++a) {
      const int64_t begin = options.begin[static_cast<size_t>(a)],
                    step = options.strides[static_cast<size_t>(a)];
      if (begin == 0 && step == 1 && to[a] == from[a]) continue;
      const int64_t last = begin + step * (to[a] - 1), end = step > 0 ? last + 1 : last - 1;
      begins.push_back(begin);
      ends.push_back(end < 0 ? end - from[a] : end);  // -1 would be the last element
      axes.push_back(axis_in(order, a, from.rank));
      steps.push_back(step);
    }
    if (axes.empty()) return values_.finish(node, value(node, 0, order), order, false);
    values_.finish(node,
                   values_
                       .add(node, "Slice",
                            {value(node, 0, order), values_.integers(node, "/begin", begins),
                             values_.integers(node, "/end", ends), values_.integers(node, "/axes", axes),
                             values_.integers(node, "/steps", steps)})
                       .output[0],
                   order);
  }

  void gather(const NodeInfo& node) {
    const bool is_first = values_.is_first(node.inputs[0]) && in(node, 1).shape.rank == 1;
    const ChannelOrder order = is_first ? kChannelsFirst : kChannelsLast;
    OnnxNode& made = values_.add(node, "Gather", {value(node, 0, order), value(node, 1)});
    set_attribute(made, "axis", axis_in(order, node.options.as<GatherOptions>().axis, in(node).shape.rank));
    values_.finish(node, made.output[0], order);
  }

  void resize(const NodeInfo& node) {
    const auto& options = node.options.as<ResizeOptions>();
    constexpr const char* kCoordinates[] = {"half_pixel", "align_corners", "asymmetric"};
    constexpr const char* kRoundings[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
    const std::string sizes = values_.integers(node, "/sizes", dims_of(out(node).shape, kChannelsFirst));
    OnnxNode& made = values_.add(node, "Resize", {value(node, 0, kChannelsFirst), "", "", sizes});
    const bool is_nearest = options.interpolation == Interpolation::kNearest;
    set_words(made, "mode", is_nearest ? "nearest" : "linear");
    set_words(made, "coordinate_transformation_mode", kCoordinates[static_cast<size_t>(options.coordinates)]);
    if (is_nearest) set_words(made, "nearest_mode", kRoundings[static_cast<size_t>(options.rounding)]);
    values_.finish(node, made.output[0], kChannelsFirst);
  }

  const Model& model_;
  ModelValues values_;
  OnnxExport& result_;
};

}  // namespace

int64_t opset_of(const Model& model) {
  int64_t opset = kQuantizedOpset;
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (model.tensor(t).dtype == DType::kS16) opset = 21;  // codes of 16 bits
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const Op op = model.node(n).op;
    if (op == Op::kNormalize) opset = std::max<int64_t>(opset, 17);  // LayerNormalization
    if (op == Op::kHardSwish || op == Op::kLookup) opset = std::max<int64_t>(opset, 14);
  }
  return opset;
}

void write_model_graph(onnx_file::GraphProto& graph, const Model& model, OnnxForm form, int64_t opset,
                       const OnnxEnds* ends, OnnxExport& result) {
  Writer(graph, model, form, opset, ends, result).run(form);
}

}  // namespace intaglio::exporters
