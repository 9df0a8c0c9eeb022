#include "exporters/onnx/onnx_export.h"

#include <algorithm>
#include <memory>
#include <new>

#include "exporters/onnx/onnx_graph.h"
#include "exporters/onnx/onnx_steps.h"
#include "exporters/onnx/quantizers.h"
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
  if (form != OnnxForm::kFakeQuantize) set_version(file, "", std::max(opset, kQuantizedOpset));
  if (form == OnnxForm::kQOperator) set_version(file, kCodeOperatorsDomain, 1);
  if (form == OnnxForm::kFakeQuantize) set_version(file, "org.openvinotoolkit", 1);
  file.ir_version = std::max<int64_t>(file.ir_version, 7);
  auto& bits = file.metadata_props.add();
  bits.key = importers::kAddBitsKey;
  bits.value = text(int32_t{AddOptions().add_bits});
  if (byte_size(file) > onnx_file::kMaxFileBytes) fail("the file would be too large for ONNX: 2 GB at most");
  result.bytes = serialize(file);
}

}  // namespace
}  // namespace exporters

Outcome<OnnxExport> export_onnx(Span<const uint8_t> network, const std::string& path,
                                const ExternalData& external, const Model& model,
                                const std::string& model_path, OnnxForm form, const ImportLimits& limits) {
  // A network that the importer refuses is not rewritten.
  exporters::Reimported fp32;
  if (auto step = exporters::check_network(network, path, external, model, model_path, limits, fp32); !step)
    return step.failure();
  OnnxExport result;
  try {
    exporters::export_steps(network, external, model, fp32.model, form, limits, result);
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
  if (auto step = exporters::read_back(result, model, fp32.model, model_path, form); !step)
    return step.failure();
  return result;
}

}  // namespace intaglio
