#include "cli/imported_network.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/text_lines.h"
#include "intaglio/describe.h"
#include "intaglio/session.h"
#include "runtime/op_search.h"

namespace intaglio::cli {
namespace {

// Every node that no operator can run, one line each, and the numbers of the first; no message where all can.
Failure unsupported_nodes(const std::string& network, const Model& model) {
  Failure all;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeView node{n, model.node(n), &model};
    const OpDef* const def = find_op(all_ops(), model, node.info);
    NodePlan plan;
    const Error error = def == nullptr
                            ? node.error(Status::kOperatorMissing, static_cast<int64_t>(node.info.op))
                            : def->plan(node, {}, &plan);
    if (error.ok()) continue;
    if (all.message.empty()) {
      all = failure_in(network, error, &model);
      all.message = network + ": this version cannot run";
    }
    all.message += "\n  " + error_text(error, &model);
  }
  return all;
}

// Whether the file begins as a network does, or is called one: what 'intaglio import' takes, and no model.
bool is_network_file(const std::string& path) {
  constexpr size_t kMost = 64;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error || size == 0) return false;  // who opens it says so
  const auto begin = read_file_part(path, 0, std::min<size_t>(kMost, static_cast<size_t>(size)));
  if (!begin || is_model_file(begin->span())) return false;
  // An ONNX file begins with the number of its version; no text does.
  return is_tflite_file(begin->span()) || is_openvino_file(begin->span()) || begin->data()[0] == 0x08 ||
         std::filesystem::path(path).extension() == ".onnx";
}

}  // namespace

Outcome<ImportedNetwork> import_network(const NetworkFile& network, const ImportOptions& options) {
  HostArena memory;
  auto imported = network.import(options, memory);
  if (!imported) return imported.failure();
  const auto bytes = finish_model(imported->graph, all_ops(), memory.arena());
  if (!bytes) return failure_in(network.path(), bytes.error());
  const auto model = Model::open(*bytes);
  if (!model) return failure_in(network.path(), model.error());
  if (const Failure missing = unsupported_nodes(network.path(), *model); !missing.message.empty())
    return missing;
  const auto needs = Session::measure(*model, all_ops());
  if (!needs) return failure_in(network.path(), needs.error(), &*model);
  ImportedNetwork made{FileBytes(bytes->size), std::move(imported->report.notes), imported->report.cost};
  std::memcpy(made.bytes.data(), bytes->data, bytes->size);
  return made;
}

Outcome<LoadedModel> open_or_import(const std::string& path, const ImportChoices& choices,
                                    std::vector<std::string>& notes) {
  if (!is_network_file(path)) {
    auto file = LoadedModel::open(path);
    const std::string option = first_given(choices);
    if (file && !option.empty())
      return Failure{
          option + ": " + path +
          " is a model, which holds what its import was told; give the file that it was imported from"};
    return file;
  }
  const auto options = import_options(choices);
  if (!options) return options.failure();
  const auto network = NetworkFile::open(path);
  if (!network) return network.failure();
  auto made = import_network(*network, *options);
  if (!made) return made.failure();
  notes = std::move(made->notes);
  return LoadedModel::of_import(path, std::move(made->bytes));
}

}  // namespace intaglio::cli
