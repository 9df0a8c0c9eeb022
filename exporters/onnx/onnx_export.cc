#include "exporters/onnx/onnx_export.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>

#include "exporters/onnx/onnx_opset.h"
#include "exporters/onnx/onnx_readback.h"
#include "exporters/onnx/qoperators.h"
#include "exporters/onnx/quantized_graph.h"
#include "importers/draft/import_error.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio {
namespace exporters {
namespace {

using importers::fail;
using importers::text;

constexpr int kMaxMessageDepth = 32;

int64_t standard_version(const onnx_file::ModelProto& file) {
  for (const auto& entry : file.opset_import())
    if (importers::is_standard_onnx(entry.domain())) return entry.version();
  return 0;
}

void set_version(onnx_file::ModelProto& file, const std::string& domain, int64_t version) {
  for (auto& entry : *file.mutable_opset_import())
    if (entry.domain() == domain || (domain.empty() && importers::is_standard_onnx(entry.domain())))
      return entry.set_version(version);
  auto& entry = *file.add_opset_import();
  entry.set_domain(domain);
  entry.set_version(version);
}

// Deterministic: maps of attributes are in no fixed order otherwise.
std::string bytes_of(const onnx_file::ModelProto& file) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!file.SerializeToCodedStream(&coded)) fail("the file would be too large for ONNX: 2 GB at most");
  coded.Trim();
  return bytes;
}

void export_steps(Span<const uint8_t> network, const std::string& folder, const Model& model, OnnxForm form,
                  OnnxExport& result) {
  onnx_file::ModelProto file;
  google::protobuf::io::CodedInputStream stream(network.data, static_cast<int>(network.size));
  stream.SetRecursionLimit(kMaxMessageDepth);
  if (!file.ParseFromCodedStream(&stream) || !file.has_graph()) fail("is no ONNX file");
  if (!folder.empty()) importers::load_external_data(file, folder);
  const int64_t opset = standard_version(file);
  quantize_graph(*file.mutable_graph(), model, form, opset, result);
  if (form != OnnxForm::kFakeQuantize) set_version(file, "", std::max(opset, kQuantizedOpset));
  if (form == OnnxForm::kQOperator) set_version(file, kCodeOperatorsDomain, 1);
  if (form == OnnxForm::kFakeQuantize) set_version(file, "org.openvinotoolkit", 1);
  file.set_ir_version(std::max<int64_t>(file.ir_version(), 7));
  auto& bits = *file.add_metadata_props();
  bits.set_key(importers::kAddBitsKey);
  bits.set_value(text(int32_t{AddOptions().add_bits}));
  result.bytes = bytes_of(file);
}

}  // namespace
}  // namespace exporters

Outcome<OnnxExport> export_onnx(Span<const uint8_t> network, const std::string& path,
                                const std::string& folder, const Model& model, const std::string& model_path,
                                OnnxForm form) {
  // What the importer refuses is not rewritten.
  if (auto step = exporters::check_network(network, path, folder, model, model_path); !step)
    return step.failure();
  OnnxExport result;
  try {
    exporters::export_steps(network, folder, model, form, result);
  } catch (const importers::ImportError& error) {
    return Failure{path + ": " + error.what()};
  } catch (const std::exception& error) {
    return Failure{path + ": " + error.what()};
  }
  if (auto step = exporters::read_back(result, model, model_path, form); !step) return step.failure();
  return result;
}

}  // namespace intaglio
