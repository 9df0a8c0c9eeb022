#include "exporters/onnx/onnx_graph.h"

#include <cstring>
#include <string>
#include <unordered_map>

#include "importers/draft/import_error.h"
#include "importers/onnx/onnx_stored.h"

namespace intaglio::exporters {
namespace {

using importers::fail;
using importers::quoted;

[[noreturn]] void does_not_fit(const OnnxNode& node) {
  fail(
      "node ", quoted(node.name), " (", node.op_type,
      "): its weights have another size than the model's; was the model made from another network, or imported "
      "without --keep-dead?");
}

const OnnxTensor* weights_of(const OnnxGraph& graph, const OnnxNode& node) {
  return node.input.count() > 1 ? graph.constant(node.input[1]) : nullptr;
}

LayerLayout conv_layout(const OnnxGraph& graph, const OnnxNode& node, const Shape& weights,
                        bool is_depthwise) {
  LayerLayout layout;
  const OnnxTensor* const own = weights_of(graph, node);
  if (own == nullptr || own->dims.count() < 3) does_not_fit(node);
  layout.dims.assign(own->dims.begin(), own->dims.end());
  const int64_t channels = is_depthwise ? weights.back(0) : weights[0];
  if (!is_depthwise && layout.dims.size() == 4 && weights.rank == 4 && layout.dims[1] != weights[3]) {
    const int64_t elements = layout.dims[0] * layout.dims[1] * layout.dims[2] * layout.dims[3];
    if (elements != weights.elements()) does_not_fit(node);
    layout.dims = {channels, weights[3], weights[1], weights[2]};
    layout.has_own_window = true;
  }
  int64_t taps = 1;
  for (size_t d = 2; d < layout.dims.size(); ++d) taps *= layout.dims[d];
  const int64_t oc = layout.dims[0], ic = layout.dims[1];
  if (oc * ic * taps != weights.elements() || channels != oc || (is_depthwise && ic != 1)) does_not_fit(node);
  for (int64_t o = 0; o < oc; ++o)
    for (int64_t i = 0; i < ic; ++i)
      for (int64_t t = 0; t < taps; ++t)
        layout.order.push_back(static_cast<size_t>(is_depthwise ? t * oc + o : (o * taps + t) * ic + i));
  return layout;
}

// Whether the file itself turns pictures to NHWC before it flattens them for this node.
bool is_turned(const OnnxGraph& graph, const OnnxNode& node) {
  for (const OnnxNode* at = graph.writer(node.input[0]); at != nullptr; at = graph.writer(at->input[0])) {
    const std::string& op = at->op_type;
    if (op == "Transpose") return true;
    if (op != "Flatten" && op != "Reshape" && op != "Squeeze" && op != "Identity" && op != "Dropout")
      return false;
    if (at->input.count() == 0) return false;
  }
  return false;
}

// The picture [n, h, w, c] whose elements are a row of a layer's input; a Shape of rank 0 where it reads none.
Shape flattened_picture(const Model& model, const NodeInfo& layer) {
  int32_t tensor = layer.inputs[0];
  for (int32_t n = model.node_count() - 1; n >= 0 && model.tensor(tensor).shape.rank != 4; --n) {
    const NodeInfo before = model.node(n);
    if (before.outputs[0] != tensor) continue;
    if (before.op != Op::kReshape && before.op != Op::kDequantize && before.op != Op::kQuantize &&
        before.op != Op::kLookup)
      return {};
    tensor = before.inputs[0];
  }
  const Shape shape = model.tensor(tensor).shape;
  return shape.rank == 4 ? shape : Shape{};
}

// For each column of the file's matrix, that of the model's: the import may have brought them from the order of channels first into that of
// channels last. The network says it by its own weights, where nothing was folded into them; empty elsewhere.
std::vector<size_t> matched_columns(const std::vector<float>& own, bool rows, size_t n, size_t k,
                                    const Model& network, const char* name) {
  int32_t found = network.node_count() - 1;
  while (found >= 0 && std::strcmp(network.node(found).name, name) != 0) --found;
  if (found < 0 || network.node(found).op != Op::kFullyConnected) return {};
  const TensorInfo weights = network.tensor(network.node_inputs(found)[1]);
  if (weights.dtype != DType::kF32 || weights.constant.size != n * k * sizeof(float)) return {};
  std::unordered_map<std::string, std::vector<size_t>> places;  // of a column's bytes, the last first
  std::string column(n * sizeof(float), '\0');
  for (size_t j = k; j-- > 0;) {
    for (size_t i = 0; i < n; ++i)
      std::memcpy(&column[i * sizeof(float)], weights.constant.data + (i * k + j) * sizeof(float),
                  sizeof(float));
    places[column].push_back(j);
  }
  std::vector<size_t> columns;
  for (size_t j = 0; j < k; ++j) {
    for (size_t i = 0; i < n; ++i)
      std::memcpy(&column[i * sizeof(float)], &own[rows ? i * k + j : j * n + i], sizeof(float));
    std::vector<size_t>& of = places[column];
    if (of.empty()) return {};
    columns.push_back(of.back());
    of.pop_back();
  }
  return columns;
}

LayerLayout matrix_layout(const OnnxGraph& graph, const OnnxNode& node, const Model& model,
                          const NodeInfo& layer, const Shape& weights, const Model& network) {
  const onnx_file::AttributeProto* const transposed = find_attribute(node, "transB");
  const bool rows = transposed != nullptr && transposed->i.value_or(0) != 0;
  const int64_t n = weights[0], k = weights.elements() / n;
  std::vector<size_t> column(static_cast<size_t>(k));
  for (size_t i = 0; i < column.size(); ++i) column[i] = i;
  LayerLayout layout;
  layout.dims = rows ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
  layout.axis = rows ? 0 : 1;
  const OnnxTensor* const own = weights_of(graph, node);
  if (own == nullptr || own->dims.count() != 2 || own->dims[0] != layout.dims[0] ||
      own->dims[1] != layout.dims[1])
    does_not_fit(node);
  const std::vector<float> reals =
      importers::stored_onnx_floats(*own, importers::stored_onnx_shape(*own), static_cast<uint64_t>(n * k))
          .values;
  const std::vector<size_t> matched =
      matched_columns(reals, rows, static_cast<size_t>(n), static_cast<size_t>(k), network, layer.name);
  if (!matched.empty()) column = matched;
  const Shape picture = flattened_picture(model, layer);
  if (matched.empty() && picture.rank == 4 && picture.elements(1, 4) == k && !is_turned(graph, node)) {
    const auto places = static_cast<size_t>(picture[1]) * static_cast<size_t>(picture[2]);
    const auto channels = static_cast<size_t>(picture[3]);
    for (size_t c = 0; c < channels; ++c)
      for (size_t p = 0; p < places; ++p) column[c * places + p] = p * channels + c;
  }
  const auto width = static_cast<size_t>(k), height = static_cast<size_t>(n);
  for (size_t i = 0; i < (rows ? height : width); ++i)
    for (size_t j = 0; j < (rows ? width : height); ++j)
      layout.order.push_back(rows ? i * width + column[j] : j * width + column[i]);
  return layout;
}

}  // namespace

LayerLayout layer_layout(const OnnxGraph& graph, const OnnxNode& node, const Model& model,
                         const NodeInfo& layer, const Model& network) {
  const Shape weights = model.tensor(layer.inputs[1]).shape;
  const bool is_depthwise = layer.op == Op::kDepthwiseConv2d;
  if (node.op_type == "Conv") return conv_layout(graph, node, weights, is_depthwise);
  if (node.op_type == "Gemm" || node.op_type == "MatMul") {
    if (layer.op != Op::kFullyConnected) does_not_fit(node);
    return matrix_layout(graph, node, model, layer, weights, network);
  }
  LayerLayout layout;
  const int64_t channels = weights.elements();
  if (!is_depthwise || weights.back(0) != channels || model.tensor(layer.outputs[0]).shape.rank != 4)
    does_not_fit(node);
  int32_t rank = 4;  // of the network's value, which the model may have as a map
  for (int32_t t = 0; t < network.tensor_count(); ++t)
    if (const TensorInfo info = network.tensor(t); node.output[0] == std::string(info.name))
      rank = info.shape.rank;
  if (rank < 3) does_not_fit(node);
  layout.dims.assign(static_cast<size_t>(rank), 1);
  layout.dims[0] = channels;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) layout.order.push_back(c);
  return layout;
}

}  // namespace intaglio::exporters
