#include "tools/networks.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"
#include "intaglio/describe.h"
#include "intaglio/session.h"
#include "runtime/op_search.h"
#include "tools/class_scores.h"
#include "tools/model_contents.h"
#include "tools/text.h"

namespace intaglio::tools {
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

// Kinds of outputs to store: what was told, else classes where the file names them and the network's end does not
// say it.
Outcome<std::vector<uint8_t>> stored_answers(const NetworkFile& network, const ImportOptions& options,
                                             const Model& model) {
  if (!options.answers.empty()) return answers_to_store(options.answers, model);
  const auto known = class_output(model);
  const int32_t row = model.outputs().size == 1 ? row_length(model, 0) : 0;
  const bool is_named = (!known || known->is_presumed) && row > 1 && is_tflite_file(network.bytes()) &&
                        ClassNames::of_file(network.path(), network.bytes(), static_cast<size_t>(row));
  if (is_named) return answers_to_store({AnswerKind::kClasses}, model);
  return std::vector<uint8_t>();
}

// Options that nothing of this network asks for, and names that it has.
void add_notes(const NetworkFile& network, const ImportOptions& options, const Model& model,
               std::vector<std::string>& notes) {
  const Span<const int32_t> inputs = model.inputs();
  if (options.batch > 1 && std::none_of(inputs.begin(), inputs.end(), [&](int32_t t) {
        const Shape& shape = model.tensor(t).shape;
        return shape.rank > 0 && shape[0] == options.batch;
      }))
    notes.push_back(option_word("batch") +
                    " has no effect: no input of the network has an open batch size, or one of 1");
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const TensorInfo input = model.tensor(inputs[static_cast<size_t>(model.image(i).input)]);
    if (input.shape[0] > 1)
      notes.push_back(
          "the input '" + std::string(input.name) + "' takes " + std::to_string(input.shape[0]) +
          " pictures a run: this command fills it, and on a device the program does, since write_image() "
          "and the C interface take a batch of 1");
  }
  if (!is_tflite_file(network.bytes())) return;
  if (options.external_data.below)
    notes.push_back(option_word("external-data") + ": a TFLite network holds its weights itself");
  if (!ClassNames::of_file(network.path(), network.bytes(), model)) return;
  if (wording_here() == Wording::kPython) return;
  const std::string word = pasted_word(network.path());
  notes.push_back("the file names its classes; " +
                  (word.empty() ? "with it 'intaglio run --names'" : "'intaglio run --names " + word + "'") +
                  " shows them");
}

}  // namespace

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

Outcome<ImportedNetwork> import_network(const NetworkFile& network, const ImportOptions& options) {
  HostArena memory;
  auto imported = network.import(options, memory);
  if (!imported) return imported.failure();
  auto bytes = finish_model(imported->graph, all_ops(), memory.arena());
  if (!bytes) return failure_in(network.path(), bytes.error());
  auto model = Model::open(*bytes);
  if (!model) return failure_in(network.path(), model.error());
  const auto answers = stored_answers(network, options, *model);
  if (!answers) return answers.failure();
  if (!answers->empty()) {
    imported->graph.answers = {answers->data(), answers->size()};
    bytes = write_model(imported->graph, memory.arena());
    if (!bytes) return failure_in(network.path(), bytes.error());
    model = Model::open(*bytes);
    if (!model) return failure_in(network.path(), model.error());
  }
  if (const Failure missing = unsupported_nodes(network.path(), *model); !missing.message.empty())
    return missing;
  const auto needs = Session::measure(*model, all_ops());
  if (!needs) return failure_in(network.path(), needs.error(), &*model);
  ImportedNetwork made{FileBytes(bytes->size), std::move(imported->report.notes), imported->report.cost};
  std::memcpy(made.bytes.data(), bytes->data, bytes->size);
  add_notes(network, options, *model, made.notes);
  return made;
}

const char* network_format(Span<const uint8_t> bytes) {
  if (is_tflite_file(bytes)) return "tflite";
  return is_openvino_file(bytes) ? "openvino" : "onnx";
}

std::vector<int32_t> states_of(const Model& model) {
  std::vector<int32_t> states;
  states.reserve(static_cast<size_t>(model.state_count()));
  for (int32_t i = 0; i < model.state_count(); ++i) states.push_back(model.state(i).input);
  return states;
}

Json json_of(const ImportedNetwork& made, const Model& model) {
  const std::vector<int32_t> states = states_of(model);
  return {{"inputs", json_of_tensors(model, model.inputs())},
          {"outputs", json_of_outputs(model)},
          {"states", json_of_tensors(model, {states.data(), states.size()})},
          {"preprocessing", json_of_images(model)},
          {"nodes", model.node_count()},
          {"weight_bytes", weight_bytes(model)},
          {"arena_bytes", model.activation_bytes()},
          {"bytes", model.bytes().size},
          {"work", made.cost.work},
          {"memory_bytes", made.cost.memory},
          {"notes", json_lines(made.notes)}};
}

std::vector<std::string> onnx_form_names() {
  std::vector<std::string> names;
  for (const OnnxFormName& known : kOnnxForms) names.emplace_back(known.name);
  return names;
}

Outcome<OnnxForm> onnx_form_of(const std::string& name) {
  std::string names;
  for (const OnnxFormName& known : kOnnxForms) {
    if (name == known.name) return known.form;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return Failure{option_word("form", name) + ": is none of " + names};
}

Outcome<OnnxExport> export_onnx(const LoadedModel& file, const NetworkFile* network, OnnxForm form) {
  if (network == nullptr) return intaglio::export_onnx(file.model(), file.path(), form);
  const auto ends = read_onnx_ends(network->bytes(), network->path());
  if (!ends) return ends.failure();
  return intaglio::export_onnx(file.model(), file.path(), form, &*ends);
}

Outcome<TfliteExport> export_tflite(const LoadedModel& file) {
  return intaglio::export_tflite(file.model(), file.path());
}

Outcome<Done> check_onnx_output(const std::string& output) {
  // Such a file begins with the number of its version; no text does, no picture and no array.
  return check_replaceable(output, 0, "\x08", "ONNX file");
}

Outcome<Done> check_tflite_output(const std::string& output) {
  return check_replaceable(output, 4, "TFL3", "TFLite file");
}

Json json_of(const OnnxExport& made, OnnxForm form) {
  std::string name;
  for (const OnnxFormName& known : kOnnxForms)
    if (form == known.form) name = known.name;
  return {{"bytes", made.bytes.size()},
          {"form", name},
          {"layers", made.layers},
          {"activations", made.activations},
          {"notes", json_lines(made.notes)}};
}

Json json_of(const TfliteExport& made) {
  return {{"bytes", made.bytes.size()}, {"layers", made.layers}, {"notes", json_lines(made.notes)}};
}

}  // namespace intaglio::tools
