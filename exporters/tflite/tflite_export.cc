#include "exporters/tflite/tflite_export.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "exporters/readback.h"
#include "exporters/tflite/tflite_operands.h"
#include "importers/draft/import_error.h"
#include "importers/params/params_layers.h"
#include "intaglio/ops.h"

namespace intaglio {
namespace exporters {
namespace {

using importers::fail;
using importers::quoted;
using importers::text;

// Whether any tensor of the model has codes.
bool holds_codes(const Model& model) {
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (const DType dtype = model.tensor(t).dtype; dtype == DType::kS8 || dtype == DType::kS16) return true;
  return false;
}

// Notes how many nodes compute sums and a Softmax in 16 bits, which the file has in FP32. Throws where other nodes do.
void note_16_bits(const Model& model, std::vector<std::string>& notes) {
  constexpr Op kInFloat[] = {Op::kAdd, Op::kSub, Op::kSoftmax, Op::kReshape, Op::kTranspose, Op::kQuantize};
  int32_t count = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    int32_t wide = -1;
    const auto look_at = [&](Span<const int32_t> tensors) {
      for (const int32_t t : tensors)
        if (t >= 0 && model.tensor(t).dtype == DType::kS16) wide = t;
    };
    look_at(node.inputs);
    look_at(node.outputs);
    if (wide < 0) continue;
    if (std::find(std::begin(kInFloat), std::end(kInFloat), node.op) == std::end(kInFloat))
      fail("tensor ", quoted(model.tensor(wide).name),
           " has codes of 16 bits, which are not exported but for sums before a Softmax; calibrate with 8 "
           "bits alone");
    count += node.op != Op::kQuantize ? 1 : 0;
  }
  if (count > 0)
    notes.push_back(
        text(count, " nodes (sums, Softmax) compute in 16 bits in the model, and in FP32 in the file"));
}

void export_steps(const Model& model, TfliteExport& result) {
  if (model.state_count() > 0)
    fail(
        "has states, which TFLite keeps in another way; 'intaglio import' without them gives their next values as outputs");
  if (!holds_codes(model)) fail("is FP32 throughout; 'intaglio calibrate' makes an int8 model");
  note_16_bits(model, result.notes);
  TfliteFile file;
  TfliteOperands operands(model, file);
  std::vector<int32_t> inputs, outputs;
  for (const int32_t input : model.inputs()) inputs.push_back(operands.tensor(input));
  write_nodes(model, file, operands, result);
  for (const int32_t output : model.outputs()) outputs.push_back(operands.tensor(output));
  if (result.in_float > 0)
    result.notes.push_back(
        text(result.in_float, " of ", result.layers + result.in_float,
             " layers have FP32 weights in the file, since they read codes and give FP32, which TFLite "
             "does not have; 'intaglio calibrate --int8-answers' makes them int8"));
  if (result.functions_in_float > 0)
    result.notes.push_back(text(
        result.functions_in_float,
        " nodes (Div, L2Normalize, Normalize, Softmax) compute in FP32 in the file, since LiteRT has no right int8 form of them, or "
        "one for another scale, which 'intaglio calibrate --int8-answers' keeps"));
  if (operands.narrower > 0)
    result.notes.push_back(
        text(operands.narrower, " nodes saturate at the code -127 in the model, and at -128 in the file"));
  result.bytes = file.finish(inputs, outputs);
}

// ---- read back

struct Layer {
  NodeInfo node;
  TensorInfo in, out, weights;
  Span<const int32_t> bias;
};

// Those with int8 weights that give codes, in order.
std::vector<Layer> layers_of(const Model& model) {
  std::vector<Layer> layers;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const QuantRule* const rule = layer_rule(model, all_ops(), node);
    if (rule == nullptr) continue;
    Layer layer{node,
                model.tensor(node.inputs[0]),
                model.tensor(node.outputs[0]),
                weights_of(model, node, *rule),
                {}};
    if (layer.weights.dtype != DType::kS8 || layer.out.dtype != DType::kS8) continue;
    if (has_input(node, rule->bias_input)) {
      const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule->bias_input)]);
      layer.bias = {reinterpret_cast<const int32_t*>(info.constant.data),
                    static_cast<size_t>(info.shape.elements())};
    }
    layers.push_back(layer);
  }
  return layers;
}

template <typename T>
bool same(Span<const T> a, Span<const T> b) {
  return a.size == b.size && (a.empty() || std::memcmp(a.data, b.data, a.size * sizeof(T)) == 0);
}
bool same_grid(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && same(a.quantization.scales, b.quantization.scales) &&
         a.quantization.zero_point == b.quantization.zero_point;
}

std::string difference(const Layer& a, const Layer& b) {
  if (!same(a.weights.constant, b.weights.constant)) return "the codes of its weights";
  if (!same(a.weights.quantization.scales, b.weights.quantization.scales)) return "the scales of its weights";
  if (!same(a.bias, b.bias)) return "its bias";
  if (!same_grid(a.in, b.in)) return "the scale of its input";
  const auto own = a.node.options.value<Intermediate>(), back = b.node.options.value<Intermediate>();
  if (own.scale != 0.0f) return "";
  // A sum behind the layer, which the model computes apart, may be in it when the file is read.
  const bool is_same = back.scale == 0.0f ? same_grid(a.out, b.out)
                                          : a.out.quantization.scales[0] == back.scale &&
                                                a.out.quantization.zero_point == back.zero_point;
  if (!is_same) return "the scale of its output";
  return "";
}

Outcome<Done> read_back(TfliteExport& result, const Model& model, const std::string& path) {
  Reimported file;
  ImportOptions options;
  options.limits = kNoImportLimits;
  if (auto step = import_again({result.bytes.data(), result.bytes.size()}, path + ": the exported file",
                               options, file);
      !step)
    return step.failure();
  const std::vector<Layer> own = layers_of(model), back = layers_of(file.model);
  // Averages may have become layers, which stand between these.
  size_t at = 0;
  for (const Layer& layer : own) {
    std::string first = "it";
    for (bool is_first = true; at < back.size(); ++at, is_first = false) {
      const std::string found = difference(layer, back[at]);
      if (is_first || found.empty()) first = found;
      if (found.empty()) break;
    }
    if (!first.empty())
      return Failure{text(path, ": layer ", quoted(layer.node.name), " cannot be written as TFLite: ", first,
                          " would not come back; keep it in FP32 with 'intaglio calibrate --keep-float'")};
    ++at;
  }
  return compare_runs(model, file.model, path, result.notes);
}

}  // namespace
}  // namespace exporters

Outcome<TfliteExport> export_tflite(const Model& model, const std::string& path) {
  TfliteExport result;
  if (auto step = exporters::check_model(model, path); !step) return step.failure();
  try {
    exporters::export_steps(model, result);
  } catch (const importers::ImportError& error) {
    return Failure{path + ": " + error.what()};
  }
  if (auto step = exporters::read_back(result, model, path); !step) return step.failure();
  return result;
}

}  // namespace intaglio
