// Each layer of the IR by its handler to ONNX nodes, and these by the ONNX importer to a draft.
#include "importers/openvino/ir_file.h"

#include <algorithm>

#include "importers/draft/read_options.h"
#include "importers/onnx/onnx_reader.h"
#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kOpset = 21;  // whose forms of operators the handlers write

// How to end the network before a layer that chooses boxes, whose number a run decides.
std::string before_boxes(IrOp& op) {
  const std::string& type = op.layer().type;
  if (type.find("NonMaxSuppression") == std::string::npos && type != "DetectionOutput" && type != "NonZero" &&
      type.find("Nms") == std::string::npos)
    return "";
  std::vector<std::string> names;
  for (size_t i = 0; i < op.input_count(); ++i)
    if (op.has_input(i) && !op.is_constant(op.source(i)) && op.writer(i).type != "Parameter")
      names.push_back(op.input(i));
  return cut_before(names);
}

// Takes what a layer with a problem had written by then out of the graph, where chosen outputs would find it.
class Written {
 public:
  explicit Written(onnx_file::GraphProto& graph)
      : graph_(graph),
        nodes_(graph.node.size()),
        inputs_(graph.input.size()),
        outputs_(graph.output.size()) {}
  void take_back() {
    graph_.node.cut(nodes_);
    graph_.input.cut(inputs_);
    graph_.output.cut(outputs_);
  }

 private:
  onnx_file::GraphProto& graph_;
  size_t nodes_, inputs_, outputs_;
};

// The file's own variables become states. Where the user chose outputs, those whose end is left out are plain inputs.
void join_variables(const IrGraph& file, Draft& draft) {
  const auto has = [&](const std::vector<int32_t>& ends, const std::string& name) {
    return std::any_of(ends.begin(), ends.end(), [&](int32_t end) { return draft.tensor(end).name == name; });
  };
  std::vector<StateWords> words;
  std::vector<StateStart> starts;
  for (const auto& [variable, state] : file.states) {
    if (!has(draft.inputs, state.input) || !has(draft.outputs, state.output)) continue;
    words.push_back(state.input + "=" + state.output);
    if (!state.first.empty()) starts.push_back({state.input, state.first});
  }
  if (!words.empty()) join_states(words, starts, draft);
}

}  // namespace

static std::string words_of(const IrLayer& layer) {
  return text("layer ", quoted(layer.name), " (", shown(layer.type), "): ");
}

void import_ir_layer(IrGraph& file, int32_t index) {
  IrOp op(file, index);
  const IrOperator* const known = find_ir_operator(op.layer().type);
  if (known == nullptr) fail("this layer is not supported", before_boxes(op));
  known->import(op);
  op.check_all_read();
}

Draft read_openvino(Span<const uint8_t> bytes, const ReadOptions& options,
                    const std::shared_ptr<ImportBudget>& budget, Problems& problems) {
  onnx_file::ModelProto model;
  model.ir_version = 8;
  auto& opset = model.opset_import.add();
  opset.version = kOpset;
  IrGraph file;
  file.shared->budget = budget.get();
  file.layers = read_ir_file(bytes, *budget);
  file.weights = options.weights;
  file.graph = &model.graph.make();
  // Layers that chosen outputs do not depend on may be anything: the ONNX reader says whether they are there.
  std::vector<std::string> of_layers;
  for (int32_t i = 0; i < static_cast<int32_t>(file.layers.size()); ++i) {
    const IrLayer& layer = file.layers[static_cast<size_t>(i)];
    Written written(*file.graph);
    try {
      import_ir_layer(file, i);
      continue;
    } catch (const OverBudget& error) {
      throw OverBudget(words_of(layer) + error.what());
    } catch (const ImportError& error) {
      of_layers.push_back(words_of(layer) + error.what());
    } catch (const ReadsFailed&) {
    }
    written.take_back();
    file.failed.insert(i);
  }
  const auto add_problems_of_layers = [&] {
    for (const std::string& problem : of_layers) problems.add(problem);
  };
  if (options.outputs.empty()) add_problems_of_layers();
  if (!options.outputs.empty() && file.graph->output.count() == 0)
    file.graph->output.add();  // a graph has one; those that were chosen take its place
  for (const auto& [variable, state] : file.states)
    if (options.outputs.empty() && problems.empty() && (state.input.empty() || state.output.empty()))
      problems.add(text("variable ", quoted(variable), " is ",
                        state.input.empty() ? "assigned and never read" : "read and never assigned"));
  if (!problems.empty()) return {};
  if (byte_size(model) > onnx_file::kMaxFileBytes) fail("the network is larger than 2 GB");
  budget->spend_memory(byte_size(model), "the network's ONNX nodes");
  const std::string made = serialize(model);
  file.layers.clear();
  model = {};
  Draft draft;
  try {
    draft = read_onnx({reinterpret_cast<const uint8_t*>(made.data()), made.size()}, options, {}, budget,
                      problems);
  } catch (const ImportError& error) {
    problems.add(error.what());
  }
  if (!problems.empty()) {  // an output that is not there may be one of these layers'
    add_problems_of_layers();
    return {};
  }
  join_variables(file, draft);
  draft.notes.insert(draft.notes.end(), file.shared->notes.begin(), file.shared->notes.end());
  return draft;
}

}  // namespace intaglio::importers
