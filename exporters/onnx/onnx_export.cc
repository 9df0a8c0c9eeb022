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

int64_t standard_version(const onnx_file::ModelProto& file) {
  for (const auto& entry : file.opset_import)
    if (importers::is_standard_onnx(entry.domain)) return entry.version;
  return 0;
}

void set_version(onnx_file::ModelProto& file, const std::string& domain, int64_t version) {
  for (auto& entry : file.opset_import)
    if (entry.domain == domain || (domain.empty() && importers::is_standard_onnx(entry.domain))) {
      entry.version = version;
      return;
    }
  auto& entry = file.opset_import.add();
  entry.domain = domain;
  entry.version = version;
}

importers::OnnxConstants constants_of(Span<const uint8_t> network, const ExternalData& external,
                                      const Model& model, const ImportLimits& limits,
                                      const onnx_file::GraphProto& graph) {
  const auto budget = std::make_shared<importers::ImportBudget>(limits);
  budget->add_file(network.size);
  return importers::onnx_constants(network, network_options(graph, external, model, limits), {}, budget);
}

// `result` gets its bytes.
void finish_file(onnx_file::ModelProto& file, int64_t opset, OnnxForm form, int32_t add_bits,
                 OnnxExport& result) {
  if (opset > 0) set_version(file, "", opset);
  if (form == OnnxForm::kQOperator) set_version(file, kCodeOperatorsDomain, 1);
  if (form == OnnxForm::kFakeQuantize) set_version(file, "org.openvinotoolkit", 1);
  // The oldest that has the operator set.
  file.ir_version = std::max<int64_t>(file.ir_version, opset < 19 ? 7 : opset < 21 ? 9 : 10);
  auto& bits = file.metadata_props.add();
  bits.key = importers::kAddBitsKey;
  bits.value = text(add_bits);
  if (byte_size(file) > onnx_file::kMaxFileBytes) fail("the file would be too large for ONNX: 2 GB at most");
  result.bytes = serialize(file);
}

void export_steps(Span<const uint8_t> network, const ExternalData& external, const Model& model,
                  const Model& fp32, OnnxForm form, const ImportLimits& limits, OnnxExport& result) {
  auto parsed = onnx_file::parse_model(onnx_file::text_of(network.data, network.size));  // as it was imported
  if (!parsed || !parsed->graph.has()) fail("is no ONNX file");
  onnx_file::ModelProto& file = *parsed;
  if (!external.folder.empty()) {
    importers::ImportBudget budget(limits);
    importers::load_external_data(file, external, budget);
  }
  make_plain(file.graph.make(), constants_of(network, external, model, limits, *file.graph), result.notes);
  const int64_t opset = standard_version(file);
  quantize_graph(file.graph.make(), model, fp32, form, opset, result);
  finish_file(file, form == OnnxForm::kFakeQuantize ? opset : std::max(opset, kQuantizedOpset), form,
              AddOptions().add_bits, result);
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

void export_own_steps(const Model& model, OnnxForm form, OnnxExport& result) {
  onnx_file::ModelProto file;
  file.producer_name = "intaglio";
  const int64_t opset = opset_of(model);
  file.graph.make().name = "model";
  write_model_graph(file.graph.make(), model, form, opset, result);
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

// What the steps throw becomes a failure that begins with `path`.
template <typename Steps>
Outcome<OnnxExport> exported(const std::string& path, const Steps& steps) {
  OnnxExport result;
  try {
    steps(result);
  } catch (const importers::ImportError& error) {
    return Failure{path + ": " + error.what()};
  } catch (const importers::OverBudget& error) {
    return Failure{path + ": " + error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{path + ": out of memory"};
  } catch (const std::exception& error) {
    note_unforeseen();
    return Failure{path + ": " + error.what()};
  }
  return result;
}

}  // namespace

Outcome<OnnxExport> export_onnx(Span<const uint8_t> network, const std::string& path,
                                const ExternalData& external, const Model& model,
                                const std::string& model_path, OnnxForm form, const ImportLimits& limits) {
  // A network that the importer refuses is not rewritten.
  if (auto step = exporters::check_model(model, model_path); !step) return step.failure();
  exporters::Reimported fp32;
  if (auto step = exporters::check_network(network, path, external, model, model_path, limits, fp32); !step)
    return step.failure();
  auto made = exported(path, [&](OnnxExport& result) {
    exporters::export_steps(network, external, model, fp32.model, form, limits, result);
  });
  if (!made) return made;
  if (auto step = exporters::read_back(*made, model, &fp32.model, model_path, form); !step)
    return step.failure();
  return made;
}

Outcome<OnnxExport> export_onnx(const Model& model, const std::string& path, OnnxForm form) {
  if (auto step = exporters::check_model(model, path); !step) return step.failure();
  auto made = exported(path, [&](OnnxExport& result) { exporters::export_own_steps(model, form, result); });
  if (!made) return made;
  if (auto step = exporters::read_back(*made, model, nullptr, path, form); !step) return step.failure();
  return made;
}

}  // namespace intaglio
