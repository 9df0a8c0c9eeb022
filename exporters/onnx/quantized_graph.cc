#include "exporters/onnx/onnx_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "exporters/onnx/onnx_graph.h"
#include "exporters/onnx/quantizers.h"
#include "exporters/readback.h"
#include "importers/draft/import_error.h"
#include "importers/draft/names.h"
#include "importers/params/params_layers.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {
namespace {

using importers::clean_name;
using importers::fail;
using importers::quoted;
using importers::text;

template <typename T>
std::vector<T> in_order(const TensorInfo& constant, const std::vector<size_t>& order) {
  const auto* const values = reinterpret_cast<const T*>(constant.constant.data);
  std::vector<T> list;
  list.reserve(order.size());
  for (const size_t i : order) list.push_back(values[i]);
  return list;
}

bool bears_weights(const OnnxNode& node) {
  const std::string& op = node.op_type;
  return op == "Conv" || op == "Gemm" || op == "MatMul" || op == "BatchNormalization";
}

// One export. Layers first, while the graph is the user's; then what lies between them.
class Export {
 public:
  Export(onnx_file::GraphProto& graph, const Model& model, const Model& network, OnnxForm form, int64_t opset,
         OnnxExport& result)
      : graph_(graph),
        form_(form),
        quantizers_(graph_, form),
        model_(model),
        network_(network),
        result_(result) {
    note_16_bits(model, result.notes);
    for (int32_t t = 0; t < model.tensor_count(); ++t) tensors_[model.tensor(t).name] = t;
    for (int32_t n = 0; n < model.node_count(); ++n) {
      model_nodes_[model.node(n).name] = n;
      for (const int32_t output : model.node_outputs(n)) writers_[model.tensor(output).name] = n;
    }
    for (OnnxNode* const node : graph_.nodes()) {
      refuse_quantized(*node);
      if (node->name.empty() && node->output.count() > 0)
        node->name = node->output[0];  // as the import calls it
      // Without either it is no layer, and nothing needs it.
      if (node->input.count() > 0 && node->output.count() > 0) nodes_[name_of(*node)].push_back(node);
      for (const std::string& output : node->output) values_[clean_name(output)] = output;
    }
    for (const auto& output : graph.output)
      if (const std::string name = name_in_f32(output); name != output.name)
        values_[clean_name(output.name)] = name;
    for (const auto& input : graph.input) {
      if (!graph_.is_input(input.name)) continue;
      values_[clean_name(input.name)] = name_in_f32(input);
      const int32_t type = input.type->tensor_type->elem_type;
      if (type != OnnxTensor::FLOAT && type != OnnxTensor::FLOAT16 && type != OnnxTensor::DOUBLE &&
          type != OnnxTensor::BFLOAT16)
        code_inputs_.insert(input.name);
    }
    if (form != OnnxForm::kFakeQuantize) raise_opset(graph_, opset);
  }

  void run() {
    for (OnnxNode* const node : graph_.nodes()) split_sum(*node);
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      if (node.op == Op::kGroupedLookup)
        write_tables(node);
      else if (const QuantRule* const rule = layer_rule(model_, all_ops(), node))
        write_layer(n, node, *rule);
      else {
        drop_folded_behind(node);
        write_constants(node);
        write_factors(node);
      }
    }
    for (const auto& [value, grid] : sums_)
      quantizers_.round(
          value, grid, [](const OnnxUse&) { return true; }, false);
    for (int32_t t = 0; t < model_.tensor_count(); ++t) round_tensor(t);
    for (int32_t n = 0; n < model_.node_count(); ++n) requantize(model_.node(n));
    if (form_ == OnnxForm::kQOperator) to_qoperators(graph_);
    graph_.finish();
  }

 private:
  static std::string name_of(const OnnxNode& node) {
    return clean_name(!node.name.empty() ? node.name : node.output.count() > 0 ? node.output[0] : "");
  }

  static void refuse_quantized(const OnnxNode& node) {
    for (const char* const op : {"QuantizeLinear", "DequantizeLinear", "FakeQuantize"})
      if (node.op_type == op)
        fail("node ", quoted(node.name), " (", op,
             "): the network is quantized already; give the one in FP32 that the model was calibrated from");
  }

  // The file's value that a tensor of the model is; nullptr: the import made it up.
  const std::string* value_of(const std::string& tensor) const {
    const auto found = values_.find(tensor);
    return found == values_.end() ? nullptr : &found->second;
  }

  // ---- layers

  // A name without what the import put behind it to make it unique.
  static std::string base_of(const std::string& name) {
    const size_t mark = name.rfind('~');
    const bool is_number = mark != std::string::npos && mark + 1 < name.size() &&
                           name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
    return is_number ? name.substr(0, mark) : name;
  }

  // The node of a layer's name: among several the one with its weights, and of those the first that is left.
  OnnxNode* find_layer(const NodeInfo& layer, const QuantRule& rule) {
    auto found = nodes_.find(layer.name);
    if (found == nodes_.end()) found = nodes_.find(base_of(layer.name));
    if (found == nodes_.end()) return nullptr;
    const std::string weights =
        base_of(model_.tensor(layer.inputs[static_cast<size_t>(rule.weight_input)]).name);
    OnnxNode* chosen = nullptr;
    for (OnnxNode* const node : found->second) {
      if (!bears_weights(*node) || taken_.count(node) != 0) continue;
      const bool has_weights = node->input.count() > 1 && base_of(clean_name(node->input[1])) == weights;
      if (chosen == nullptr || has_weights) chosen = node;
      if (has_weights) break;
    }
    taken_.insert(chosen);
    return chosen;
  }

  // The model adds two at a time, with codes between, also where a layer does it: a sum of more operands becomes as
  // many nodes. What the import makes of it are tensors of the sum's name, numbered where they are several.
  void split_sum(OnnxNode& sum) {
    const int terms = sum.input.count();
    if (sum.op_type != "Sum" || terms < 3 || sum.output.count() != 1) return;
    const std::string output = sum.output[0];
    std::vector<int32_t> partial;  // nodes of the model, in order
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      const TensorInfo written = model_.tensor(node.outputs[0]);
      const QuantRule* const rule = layer_rule(model_, all_ops(), node);
      if ((node.op == Op::kAdd || (rule != nullptr && rule->residual_input >= 0)) &&
          written.dtype == DType::kS8 && base_of(written.name) == clean_name(output))
        partial.push_back(n);
    }
    if (static_cast<int>(partial.size()) != terms - 1) return;  // read_back() says what comes back in FP32
    const auto written = [&](int i) {
      return model_.tensor(model_.node_outputs(partial[static_cast<size_t>(i)])[0]);
    };
    const auto take_name = [&](OnnxNode& node, int i) {
      const NodeInfo own = model_.node(partial[static_cast<size_t>(i)]);
      if (own.op != Op::kAdd) return;
      node.name = own.name;
      nodes_[own.name] = {&node};
    };
    std::string so_far = sum.input[0];
    for (int i = 0; i < terms - 2; ++i) {
      const std::string value = graph_.unused_name(text(output, "/sum", i + 1));
      take_name(graph_.add_node("Add", value, {so_far, sum.input[i + 1]}, value), i);
      values_[written(i).name] = value;
      so_far = value;
    }
    const std::string last = sum.input[terms - 1];
    for (int i = 0; i < terms; ++i) graph_.set_input(sum, i, i == 0 ? so_far : i == 1 ? last : "");
    while (sum.input.count() > 2) sum.input.pop_back();
    sum.op_type = "Add";
    take_name(sum, terms - 2);
    // Where the model's output is a transposed one, that one has the value's name.
    if (values_.at(clean_name(output)) != output || tensors_.count(clean_name(output)) == 0)
      values_[written(terms - 2).name] = output;
  }

  // Whether another node of the model computes this value.
  bool is_written_elsewhere(const std::string& value, int32_t layer) const {
    const auto found = writers_.find(clean_name(value));
    if (found == writers_.end() || found->second == layer) return false;
    const Op op = model_.node(found->second).op;
    return op != Op::kReshape && op != Op::kTranspose && op != Op::kStridedSlice && op != Op::kGather &&
           op != Op::kConcat;
  }

  // Whether the node computes with a constant on what its input `activation` is.
  bool has_channel_numbers(const OnnxUse& use) const {
    const OnnxNode& node = *use.node;
    const std::string& op = node.op_type;
    if (op == "BatchNormalization") return use.input == 0;
    const bool is_binary = op == "Add" || op == "Sub" || op == "Mul" || (op == "Div" && use.input == 0);
    return is_binary && node.input.count() == 2 && graph_.constant(node.input[1 - use.input]) != nullptr;
  }

  // Whether a node may stand between a layer and the numbers that were folded into it.
  static bool is_passed(const OnnxNode& node) {
    for (const char* const op : {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity",
                                 "Concat", "Gather", "Slice", "DepthToSpace", "SpaceToDepth", "Relu"})
      if (node.op_type == op) return node.output.count() == 1;
    return false;
  }

  // Numbers for each channel behind a layer, which the import has folded into it: they go, and what stands before them writes
  // what they wrote. Whether there were any.
  bool drop_folded(OnnxNode& node, int32_t layer) {
    const std::string written = model_.tensor(model_.node_outputs(layer)[0]).name;
    std::vector<std::pair<OnnxNode*, OnnxNode*>> folded;  // what stands before each, and it
    // Behind another node: as far as the one that the layer's tensor is named by.
    size_t sure = 0;
    OnnxNode* last = &node;
    bool has_moved = false;
    for (int step = 0; step < kMostSteps; ++step) {
      const std::string output = last->output[0];
      if ((!has_moved && clean_name(output) == written) || graph_.is_output(output)) break;
      const std::vector<OnnxUse> uses = graph_.uses(output);
      if (uses.size() != 1) break;
      OnnxNode& next = *uses[0].node;
      if (has_channel_numbers(uses[0])) {
        if (is_written_elsewhere(next.output[0], layer)) break;
        folded.push_back({last, &next});
        if (!has_moved || base_of(written) == base_of(clean_name(next.output[0]))) sure = folded.size();
      } else if (is_passed(next)) {
        has_moved = true;
      } else {
        break;
      }
      last = &next;
    }
    for (size_t i = sure; i-- > 0;) {  // the last first: what stands before one may be one
      const auto [before, gone] = folded[i];
      const std::string output = gone->output[0];
      graph_.remove(*gone);
      graph_.rename_output(*before, before->output[0], output);
    }
    return sure > 0;
  }

  // The same behind a node that only moves: where the import has brought the numbers past it, its tensor in the model has the name of the
  // value behind them, which no node computes.
  void drop_folded_behind(const NodeInfo& move) {
    for (const Op op : {Op::kStridedSlice, Op::kConcat, Op::kReshape, Op::kTranspose, Op::kGather})
      if (move.op == op) return drop_between(move);
  }
  void drop_between(const NodeInfo& move) {
    const std::string name = base_of(move.name);  // of the node, or of what it writes
    const auto named = nodes_.find(name);
    const std::string* const own = value_of(name);
    OnnxNode* const before = named != nodes_.end() ? named->second[0]
                             : own != nullptr      ? graph_.writer(*own)
                                                   : nullptr;
    const std::string* const value = value_of(model_.tensor(move.outputs[0]).name);
    if (before == nullptr || value == nullptr) return;
    const std::string written = *value;
    std::vector<OnnxNode*> folded;
    std::string at = written;
    while (at != before->output[0]) {
      OnnxNode* const node = graph_.writer(at);
      if (node == nullptr || node->input.count() == 0 || folded.size() >= kMostSteps) return;
      const std::string& from = operand_of(graph_, *node);
      const std::vector<OnnxUse> uses = graph_.uses(from);
      if (uses.size() != 1 || graph_.is_output(from) || !has_channel_numbers(uses[0])) return;
      folded.push_back(node);
      at = from;
    }
    if (folded.empty()) return;
    for (OnnxNode* const node : folded) graph_.remove(*node);
    graph_.rename_output(*before, before->output[0], written);
  }

  void write_layer(int32_t index, const NodeInfo& layer, const QuantRule& rule) {
    const TensorInfo weights = model_.tensor(layer.inputs[static_cast<size_t>(rule.weight_input)]);
    OnnxNode* const node = find_layer(layer, rule);
    if (node == nullptr) {
      if (weights.dtype == DType::kS8)
        result_.notes.push_back(
            text("layer ", quoted(layer.name),
                 " of the model is no Conv, Gemm or MatMul of the network: its node keeps "
                 "the network's own FP32 weights"));
      return;
    }
    const LayerLayout layout = layer_layout(graph_, *node, model_, layer, network_);
    if (layout.has_own_window) take_window(*node, layer);
    const bool folded = drop_folded(*node, index);
    if (node->op_type == "BatchNormalization") become_depthwise(*node, layout.dims[0]);
    if (node->op_type == "Gemm")
      for (const char* const factor : {"alpha", "beta"}) remove_attribute(*node, factor);
    const std::string own =
        node->input.count() > 1 && !node->input[1].empty() ? node->input[1] : name_of(*node) + "/weights";
    const auto bias = static_cast<size_t>(rule.bias_input);
    const bool has_bias = rule.bias_input >= 0 && bias < layer.inputs.size && layer.inputs[bias] >= 0;
    if (has_bias) write_bias(*node, layer, weights, model_.tensor(layer.inputs[bias]), own, folded);
    if (weights.dtype == DType::kS8) {
      ++result_.layers;
      quantizers_.set_codes(*node, 1, own, layout.dims, in_order<int8_t>(weights, layout.order),
                            weights.quantization.scales, layout.axis);
    } else {
      quantizers_.set_floats(*node, 1, own, layout.dims, in_order<float>(weights, layout.order));
    }
    const auto residual = static_cast<size_t>(rule.residual_input);
    if (rule.residual_input < 0 || residual >= layer.inputs.size || layer.inputs[residual] < 0) return;
    const auto& sum = layer.options.as<Intermediate>();
    sums_[node->output[0]] = {sum.scale, sum.zero_point};
    for (const OnnxUse& use : graph_.uses(node->output[0])) readers_[index].push_back(use.node);
  }

  // The import has taken moves of pixels into the window: the Conv reads what stood before them.
  void take_window(OnnxNode& node, const NodeInfo& layer) {
    const std::string* const source = value_of(name_of_reals(model_.tensor(layer.inputs[0]).name));
    if (source == nullptr)
      fail(
          "node ", quoted(node.name),
          ": its window has taken in moves of pixels, and the network has no value of what stands before them; use "
          "export-tflite");
    const auto& window = layer.options.as<Window2d>();
    remove_attribute(node, "auto_pad");
    set_attribute(node, "kernel_shape", std::vector<int64_t>{window.kernel_h, window.kernel_w});
    set_attribute(node, "strides", std::vector<int64_t>{window.stride_h, window.stride_w});
    set_attribute(node, "pads",
                  std::vector<int64_t>{window.pad_top, window.pad_left, window.pad_bottom, window.pad_right});
    graph_.set_input(node, 0, *source);
  }

  void become_depthwise(OnnxNode& node, int64_t channels) {
    for (int i = node.input.count() - 1; i > 0; --i) graph_.set_input(node, i, "");
    while (node.input.count() > 1) node.input.pop_back();
    node.attribute.clear();
    node.op_type = "Conv";
    set_attribute(node, "group", channels);
  }

  void write_bias(OnnxNode& node, const NodeInfo& layer, const TensorInfo& weights, const TensorInfo& bias,
                  const std::string& own_weights, bool folded) {
    const bool has_own = node.input.count() > 2 && !node.input[2].empty();
    const auto count = static_cast<size_t>(bias.shape.elements());
    const bool is_zero =
        std::all_of(bias.constant.begin(), bias.constant.end(), [](uint8_t b) { return b == 0; });
    if (is_zero && !has_own && !folded) return;
    const std::string name = has_own ? node.input[2] : own_weights + "/bias";
    OnnxNode* reader = &node;
    int input = 2;
    if (node.op_type == "MatMul") {  // which has no bias
      const std::string output = node.output[0], product = graph_.unused_name(output + "/product");
      graph_.rename_output(node, output, product);
      reader = &graph_.add_node("Add", name_of(node) + "/add_bias", {product, ""}, output);
      input = 1;
    }
    if (bias.dtype == DType::kF32) {
      const auto* const values = reinterpret_cast<const float*>(bias.constant.data);
      quantizers_.set_floats(*reader, input, name, {static_cast<int64_t>(count)}, {values, values + count});
      return;
    }
    std::vector<float> scales;
    for (const float scale : weights.quantization.scales)
      scales.push_back(scale * model_.tensor(layer.inputs[0]).quantization.scales[0]);
    quantizers_.set_bias(*reader, input, name, {reinterpret_cast<const int32_t*>(bias.constant.data), count},
                         scales);
  }

  // The name of the tensor whose reals codes stand for: their own, or that before their Quantize where the file has no such value.
  std::string name_of_reals(const std::string& codes) const {
    constexpr const char* kOfCodes = "/s8";
    const bool has_own = codes.size() > 3 && codes.compare(codes.size() - 3, 3, kOfCodes) == 0;
    return value_of(codes) == nullptr && has_own ? codes.substr(0, codes.size() - 3) : codes;
  }

  static constexpr int kMostSteps = 64;  // of a walk through the graph

  // Whether an element of what a node writes is made of the elements at its place, with numbers of its channel.
  static bool keeps_places(const OnnxNode& node) {
    for (const char* const op : {"Add",
                                 "BatchNormalization",
                                 "Cast",
                                 "Celu",
                                 "Clip",
                                 "Div",
                                 "Elu",
                                 "Erf",
                                 "Gelu",
                                 "GroupNormalization",
                                 "HardSigmoid",
                                 "HardSwish",
                                 "Identity",
                                 "InstanceNormalization",
                                 "LayerNormalization",
                                 "LeakyRelu",
                                 "LpNormalization",
                                 "Mish",
                                 "Mul",
                                 "PRelu",
                                 "Pow",
                                 "RMSNormalization",
                                 "Relu",
                                 "Selu",
                                 "Sigmoid",
                                 "SimplifiedLayerNormalization",
                                 "Softplus",
                                 "Sub",
                                 "Swish",
                                 "Tanh"})
      if (node.op_type == op) return node.input.count() > 0 && node.output.count() > 0;
    return false;
  }

  static const std::string& operand_of(const OnnxGraph& graph, const OnnxNode& node) {
    const bool first = node.input.count() == 1 || graph.constant(node.input[0]) == nullptr;
    return node.input[first ? 0 : 1];
  }
  static bool is_transpose(const OnnxNode* node) {
    return node != nullptr && node->op_type == "Transpose" && node->input.count() == 1;
  }

  // The value from which nodes that keep places make `value`, and whose elements are those of `x`: as they are, or moved by
  // Transposes. "": none.
  std::string value_read(std::string value, const std::string& x) const {
    for (int step = 0; step < kMostSteps; ++step) {
      std::string from = value;
      for (int moves = 0; moves < kMostSteps && from != x && is_transpose(graph_.writer(from)); ++moves)
        from = graph_.writer(from)->input[0];
      if (from == x) return value;
      const OnnxNode* const writer = graph_.writer(value);
      if (writer == nullptr || !keeps_places(*writer)) return "";
      value = operand_of(graph_, *writer);
    }
    return "";
  }

  // The axis of a value's channels, as the convolution that makes it says; -1: none does.
  int64_t channel_axis(std::string value, int64_t rank) const {
    std::vector<const OnnxNode*> moves;  // the last first
    for (int step = 0; step < kMostSteps; ++step) {
      const OnnxNode* const writer = graph_.writer(value);
      if (writer == nullptr) return -1;
      if (writer->op_type == "Conv" || writer->op_type == "ConvTranspose") {
        int64_t axis = 1;
        for (size_t i = moves.size(); i-- > 0;) {
          const auto* const perm = find_attribute(*moves[i], "perm");
          int64_t place = perm == nullptr ? rank - 1 - axis : -1;
          for (int64_t to = 0; perm != nullptr && to < static_cast<int64_t>(perm->ints.count()); ++to)
            if (perm->ints[static_cast<int>(to)] == axis) place = to;
          if (place < 0 || place >= rank) return -1;
          axis = place;
        }
        return axis;
      }
      if (is_transpose(writer))
        moves.push_back(writer);
      else if (!keeps_places(*writer))
        return -1;
      value = is_transpose(writer) ? writer->input[0] : operand_of(graph_, *writer);
    }
    return -1;
  }

  // A function with tables for groups of channels, whose input and output have factors in the model: the file looks up the
  // reals that the codes stand for.
  void write_tables(const NodeInfo& node) {
    const TensorInfo in = model_.tensor(node.inputs[0]), tables = model_.tensor(node.inputs[1]),
                     groups = model_.tensor(node.inputs[2]), out = model_.tensor(node.outputs[0]);
    const std::string* const x = value_of(name_of_reals(in.name));
    const std::string* const y = value_of(out.name);
    OnnxNode* const writer = y == nullptr ? nullptr : graph_.writer(*y);
    const std::string from = x == nullptr || writer == nullptr ? "" : value_read(*y, *x);
    const int64_t axis = from.empty() ? -1 : channel_axis(from, in.shape.rank);
    if (y == nullptr || writer == nullptr || from == *y || axis < 0)
      fail(
          "node ", quoted(node.name),
          ": it has tables for groups of channels, and the network's nodes do not show what it reads and which axis its channels "
          "are; calibrate with '--recover method,bias', or use export-tflite");
    const std::string to = *y, name = to + "/tables";
    const ActivationGrid own = grid_of(in), made = grid_of(out);
    std::vector<float> starts, reals;
    for (const uint8_t group : groups.constant)
      starts.push_back(static_cast<float>(256 * group + 128 + own.zero_point) + 0.5f);  // Cast rounds down
    for (const uint8_t code : tables.constant)
      reals.push_back(made.scale * static_cast<float>(static_cast<int8_t>(code) - made.zero_point));
    std::vector<int64_t> dims(static_cast<size_t>(in.shape.rank - axis), 1);
    dims[0] = static_cast<int64_t>(starts.size());
    const auto constant = [&](const char* suffix, const std::vector<int64_t>& shape,
                              const std::vector<float>& values) {
      std::string unused = graph_.unused_name(name + suffix);
      graph_.add_constant(unused, OnnxTensor::FLOAT, shape, values.data(), sizeof(float) * values.size());
      return unused;
    };
    graph_.rename_output(*writer, to, graph_.unused_name(to + "/replaced"));
    const std::string steps = graph_.unused_name(name + "/steps");
    graph_.add_node("Div", steps, {from, constant("/scale", {}, {own.scale})}, steps);
    const std::string places = graph_.unused_name(name + "/places");
    graph_.add_node("Add", node.name, {steps, constant("/starts", dims, starts)},
                    places);  // by the model's name: no numbers of a layer
    const std::string indices = graph_.unused_name(name + "/indices");
    set_attribute(graph_.add_node("Cast", indices, {places}, indices), "to", OnnxTensor::INT32);
    graph_.add_node("Gather", name,
                    {constant("/reals", {static_cast<int64_t>(reals.size())}, reals), indices}, to);
  }

  // A normalization in whose factors and summands the model has factors a channel: the file multiplies its result by them.
  void write_factors(const NodeInfo& node) {
    const OpDef* const def = find_op(all_ops(), model_, node);
    if (def == nullptr || def->quant.real_inputs < 0) return;
    int32_t n = 0;
    while (n < network_.node_count() && std::string(network_.node(n).name) != node.name) ++n;
    if (n == network_.node_count()) return;
    std::vector<float> factors(static_cast<size_t>(model_.tensor(node.outputs[0]).shape.back(0)), 1.0f);
    // The summands first: where a factor is 0, it says nothing.
    for (size_t i = node.inputs.size; i-- > static_cast<size_t>(def->quant.real_inputs);) {
      const auto reals = [i](const Model& model, const NodeInfo& of) {
        return reinterpret_cast<const float*>(model.tensor(of.inputs[i]).constant.data);
      };
      const float *const made = reals(model_, node), *const given = reals(network_, network_.node(n));
      for (size_t c = 0; c < factors.size(); ++c)
        if (given[c] != 0.0f) factors[c] = made[c] / given[c];
    }
    if (std::all_of(factors.begin(), factors.end(), [](float factor) { return factor == 1.0f; })) return;
    const TensorInfo out = model_.tensor(node.outputs[0]);
    const std::string* const found = value_of(name_of_reals(out.name));
    OnnxNode* const writer = found == nullptr ? nullptr : graph_.writer(*found);
    const int64_t axis = writer == nullptr ? -1 : channel_axis(*found, out.shape.rank);
    if (axis < 0)
      fail(
          "node ", quoted(node.name),
          ": it has a factor for each channel in the model, and the network's nodes do not show which axis its "
          "channels are; calibrate with '--recover method,bias', or use export-tflite");
    const std::string value = *found, name = graph_.unused_name(value + "/factors"),
                      plain = graph_.unused_name(value + "/plain");
    std::vector<int64_t> dims(static_cast<size_t>(out.shape.rank - axis), 1);
    dims[0] = static_cast<int64_t>(factors.size());
    graph_.add_constant(name, OnnxTensor::FLOAT, dims, factors.data(), sizeof(float) * factors.size());
    graph_.rename_output(*writer, value, plain);
    graph_.add_node("Mul", plain, {plain, name}, value);
  }

  // Constant operands that the model has as codes.
  void write_constants(const NodeInfo& node) {
    const auto found = nodes_.find(node.name);
    if (found == nodes_.end() || node.op == Op::kLookup) return;
    for (const int32_t input : node.inputs) {
      if (input < 0) continue;
      const TensorInfo info = model_.tensor(input);
      if (!info.is_constant() || info.dtype != DType::kS8) continue;
      for (OnnxNode* const own : found->second)
        for (int i = 0; i < own->input.count(); ++i)
          if (clean_name(own->input[i]) == info.name) write_constant(*own, i, info, node.op);
    }
  }

  void write_constant(OnnxNode& node, int input, const TensorInfo& info, Op op) {
    const OnnxTensor* const own = graph_.constant(node.input[input]);
    if (own == nullptr) return;
    const auto count = static_cast<size_t>(info.shape.elements());
    const std::vector<int64_t> dims(own->dims.begin(), own->dims.end());
    int64_t elements = 1, longest = 1;
    for (const int64_t dim : dims) {
      elements *= dim;
      longest = std::max(longest, dim);
    }
    if (elements != info.shape.elements() || longest != elements) {  // its axes may have another order here
      result_.notes.push_back(text("node ", quoted(node.name), " (", node.op_type, "): its constant ",
                                   quoted(node.input[input]), " keeps its FP32 values"));
      return;
    }
    // A division by a constant is a product with its reciprocal in the model.
    if (node.op_type == "Div" && op == Op::kMul) node.op_type = "Mul";
    if (node.op_type == "Sub" && op == Op::kAdd) node.op_type = "Add";
    const auto* const codes = reinterpret_cast<const int8_t*>(info.constant.data);
    const std::string name = node.input[input];
    quantizers_.set_codes(node, input, name, dims, {codes, codes + count}, info.quantization.scales, -1,
                          info.quantization.zero_point);
  }

  // ---- activations

  // An int8 activation under its own name is rounded for everybody; behind a Quantize of its own, for those who
  // read it there.
  void round_tensor(int32_t index) {
    const TensorInfo info = model_.tensor(index);
    if (info.is_constant() || info.dtype != DType::kS8) return;
    const std::string name = name_of_reals(info.name);
    const std::string* const value = value_of(name);
    const auto found = tensors_.find(name);
    const int32_t real = name == info.name || found == tensors_.end() ? -1 : found->second;
    if (value == nullptr || graph_.constant(*value) != nullptr) return;
    if (graph_.writer(*value) == nullptr && !graph_.is_input(*value)) return;  // it went into a layer
    if (form_ == OnnxForm::kFakeQuantize && is_padded(index)) return;
    if (code_inputs_.count(*value) != 0)
      fail(
          "input ", quoted(*value),
          ": holds integers in the network, which cannot be quantized there; export-tflite takes the model alone");
    const auto reads_codes = [&](const OnnxUse& use) { return real < 0 || !reads(*use.node, real); };
    ActivationGrid grid = grid_of(info);
    const auto writer = writers_.find(info.name);
    if (writer != writers_.end() && model_.node(writer->second).op != Op::kLookup)
      std::tie(grid.lo, grid.hi) = codes_written(model_, model_.node(writer->second));
    rounded_[name] = quantizers_.round(*value, grid, reads_codes, real < 0);
    ++result_.activations;
  }

  // Whether a Pad with another number than 0 alone reads the tensor, behind other moves or not: its result is rounded on the same grid,
  // and OpenVINO computes such a Pad behind a FakeQuantize wrongly (2026.4).
  bool is_padded(int32_t tensor) const {
    for (int step = 0; step < kMostSteps; ++step) {
      int32_t reader = -1, readers = 0;
      for (int32_t n = 0; n < model_.node_count(); ++n)
        for (const int32_t input : model_.node_inputs(n))
          if (input == tensor) {
            ++readers;
            reader = n;
          }
      for (const int32_t output : model_.outputs()) readers += output == tensor ? 1 : 0;
      if (readers != 1 || reader < 0) return false;
      const NodeInfo node = model_.node(reader);
      if (node.op == Op::kPad && node.options.as<PadOptions>().value != 0.0f) return true;
      constexpr Op kMoves[] = {Op::kPad, Op::kReshape, Op::kTranspose, Op::kStridedSlice};
      if (std::find(std::begin(kMoves), std::end(kMoves), node.op) == std::end(kMoves)) return false;
      tensor = node.outputs[0];
    }
    return false;
  }

  // Whether the node of this name in the model reads this tensor.
  bool reads(const OnnxNode& node, int32_t tensor) const {
    const auto found = model_nodes_.find(name_of(node));
    if (found == model_nodes_.end()) return false;
    const Span<const int32_t> inputs = model_.node_inputs(found->second);
    return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
  }

  // One reader that wants other scales: a Lookup in the model, a second rounding in the file.
  void requantize(const NodeInfo& lookup) {
    const TensorInfo info = model_.tensor(lookup.outputs[0]);
    const std::string name = info.name;
    const size_t end = name.rfind("/requantized");
    if (lookup.op != Op::kLookup || end == std::string::npos) return;
    const std::string codes = name.substr(0, end);
    const auto source = rounded_.find(rounded_.count(codes) == 0 ? name_of_reals(codes) : codes);
    if (source == rounded_.end()) return;
    std::vector<const OnnxNode*> wanting;
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      if (std::find(node.inputs.begin(), node.inputs.end(), lookup.outputs[0]) == node.inputs.end()) continue;
      const auto own = nodes_.find(node.name);
      if (own != nodes_.end()) wanting.insert(wanting.end(), own->second.begin(), own->second.end());
      const auto others = readers_.find(n);
      if (others != readers_.end())
        wanting.insert(wanting.end(), others->second.begin(), others->second.end());
    }
    quantizers_.round(
        source->second, grid_of(info),
        [&](const OnnxUse& use) {
          return std::find(wanting.begin(), wanting.end(), use.node) != wanting.end();
        },
        false);
  }

  OnnxGraph graph_;
  OnnxForm form_;
  Quantizers quantizers_;
  const Model &model_, &network_;
  OnnxExport& result_;
  std::map<std::string, int32_t> tensors_, model_nodes_, writers_;
  std::set<const OnnxNode*> taken_;                      // by layers
  std::map<std::string, std::vector<OnnxNode*>> nodes_;  // by the names that the import gave them
  std::map<std::string, std::string> values_;            // by the same
  std::set<std::string> code_inputs_;                    // of integers
  std::map<std::string, ActivationGrid> sums_;           // of values before an Add that the model has fused
  std::map<int32_t, std::vector<const OnnxNode*>> readers_;  // of a layer's fused residual
  std::map<std::string, std::string> rounded_;               // the name of what a tensor's readers read
};

}  // namespace

void quantize_graph(onnx_file::GraphProto& graph, const Model& model, const Model& network, OnnxForm form,
                    int64_t opset, OnnxExport& result) {
  Export(graph, model, network, form, opset, result).run();
}

}  // namespace intaglio::exporters
