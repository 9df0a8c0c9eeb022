#include "exporters/onnx/onnx_export.h"

#include <algorithm>
#include <memory>
#include <new>

#include "exporters/onnx/onnx_graph.h"
#include "exporters/onnx/onnx_steps.h"
#include "exporters/onnx/quantizers.h"
#include "exporters/readback.h"
#include "importers/draft/import_error.h"
#include "importers/import.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio {
namespace exporters {
namespace {

using importers::fail;
using importers::text;

void set_version(onnx_file::ModelProto& file, const std::string& domain, int64_t version) {
  auto& entry = file.opset_import.add();
  entry.domain = domain;
  entry.version = version;
}

// `result` gets its bytes.
void finish_file(onnx_file::ModelProto& file, int64_t opset, OnnxForm form, int32_t add_bits,
                 OnnxExport& result) {
  set_version(file, "", opset);
  if (form == OnnxForm::kQOperator) set_version(file, kCodeOperatorsDomain, 1);
  if (form == OnnxForm::kFakeQuantize) set_version(file, "org.openvinotoolkit", 1);
  // The oldest that has the operator set.
  file.ir_version = opset < 19 ? 7 : opset < 21 ? 9 : 10;
  auto& bits = file.metadata_props.add();
  bits.key = importers::kAddBitsKey;
  bits.value = text(add_bits);
  if (byte_size(file) > onnx_file::kMaxFileBytes) fail("the file would be too large for ONNX: 2 GB at most");
  result.bytes = serialize(file);
}

// Bits of the larger multiplier of the model's int8 sums.
int32_t add_bits_of(const Model& model) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    if (node.options.get<AddOptions>() != nullptr) return node.options.as<AddOptions>().add_bits;
    if (const auto* const conv = node.options.get<Conv2dOptions>())
      if (conv->intermediate.scale != 0.0f) return conv->add_bits;
  }
  return AddOptions().add_bits;
}

void export_steps(const Model& model, OnnxForm form, const OnnxEnds* ends, OnnxExport& result) {
  onnx_file::ModelProto file;
  file.producer_name = "intaglio";
  const int64_t opset = opset_of(model);
  file.graph.make().name = "model";
  write_model_graph(file.graph.make(), model, form, opset, ends, result);
  for (int32_t i = 0; i < model.state_count(); ++i) {
    const StateInfo state = model.state(i);
    const std::vector<float> first = first_values(model, state);
    const bool is_zero = std::all_of(first.begin(), first.end(), [](float value) { return value == 0.0f; });
    result.notes.push_back(text("the input ", importers::quoted(model.tensor(state.input).name),
                                " is a state: it takes what the output ",
                                importers::quoted(model.tensor(state.output).name), " gave in the run before",
                                is_zero ? "" : ", and does not begin with zeros"));
  }
  finish_file(file, opset, form, add_bits_of(model), result);
}

}  // namespace
}  // namespace exporters

namespace {

OnnxEnd end_of(const onnx_file::ValueInfoProto& declared) {
  OnnxEnd end;
  end.name = declared.name;
  if (!declared.type.has() || !declared.type->tensor_type.has()) return end;
  const auto& tensor = *declared.type->tensor_type;
  end.type = tensor.elem_type;
  end.has_shape = tensor.shape.has();
  if (end.has_shape)
    for (const auto& dim : tensor.shape->dim)
      end.dims.push_back(std::max<int64_t>(dim.dim_value.value_or(0), 0));
  return end;
}

}  // namespace

Outcome<OnnxEnds> read_onnx_ends(Span<const uint8_t> network, const std::string& path) {
  OnnxEnds ends;
  ends.path = path;
  try {
    importers::ImportBudget budget;
    budget.add_file(network.size);
    const auto file =
        onnx_file::parse_model(onnx_file::text_of(network.data, network.size), [&](uint64_t taken) {
          budget.spend_memory(taken, "what the file holds beside its weights");
        });
    if (!file || !file->graph.has())
      return Failure{path + ": is no ONNX file, or a damaged one; give the ONNX network that the model was imported from"};
    for (const auto& input : file->graph->input) ends.inputs.push_back(end_of(input));
    for (const auto& output : file->graph->output) ends.outputs.push_back(end_of(output));
  } catch (const importers::OverBudget& error) {
    return Failure{path + ": " + error.what()};
  }
  return ends;
}

Outcome<OnnxExport> export_onnx(const Model& model, const std::string& path, OnnxForm form,
                                const OnnxEnds* ends) {
  if (auto step = exporters::check_model(model, path); !step) return step.failure();
  OnnxExport result;
  try {
    exporters::export_steps(model, form, ends, result);
  } catch (const importers::ImportError& error) {
    return Failure{path + ": " + error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{path + ": out of memory"};
  } catch (const std::exception& error) {
    note_unforeseen();
    return Failure{path + ": " + error.what()};
  }
  if (auto step = exporters::read_back(result, model, path, form); !step) return step.failure();
  return result;
}

}  // namespace intaglio
