#include "importers/import.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>

#include "calibrator/bake/bake.h"
#include "calibrator/bake/dead_channels.h"
#include "calibrator/host/system/wording.h"
#include "importers/draft/draft.h"
#include "importers/draft/read_options.h"
#include "importers/image_recipe.h"
#include "importers/onnx/onnx_reader.h"
#include "importers/openvino/ir_file.h"
#include "importers/passes/passes.h"
#include "importers/tflite/tflite_reader.h"
#include "importers/wide_weights.h"

namespace intaglio {
namespace {

using namespace importers;

constexpr Pass kReadPass = {"read", "The network as the file has it.", nullptr};

class PassDump {
 public:
  explicit PassDump(const ImportOptions& options) : options_(options) {
    if (options.dump_after.empty()) return;
    std::string names;
    for (const ImportPass& pass : import_passes()) {
      if (pass.name == options.dump_after) return;
      names += (names.empty() ? "" : ", ") + pass.name;
    }
    fail("there is no pass ", quoted(options.dump_after), "; there are ", names);
  }

  // The first time in any case, later where the pass changed something.
  void show(const Pass& pass, int32_t round, bool changed, const Draft& draft) {
    if (!options_.dump || options_.dump_after != pass.name || (!changed && shown_)) return;
    shown_ = true;
    options_.dump(text("after ", pass.name, ", round ", round, changed ? "" : ", which changed nothing", ": ",
                       draft.nodes.size(), " nodes\n", draft_text(draft)));
  }

 private:
  const ImportOptions& options_;
  bool shown_ = false;
};

void remove_dead_channels(ImportedModel& model, Arena& arena) {
  const RemovedChannels removed = remove_constant_channels(model.graph, arena);
  if (removed.channels == 0) return;
  model.report.notes.push_back(text(removed.channels, " of ", removed.of_channels,
                                    " channels hold one code whatever the input is: they are left out, with ",
                                    removed.weight_bytes, " bytes of weights; --keep-dead keeps them"));
}

// Files of other tools that are no network here: what they are, and what to give in their place.
void check_kind(Span<const uint8_t> bytes) {
  struct Kind {
    std::string_view start;
    const char* text;
  };
  static constexpr char kEspdl[] =
      "an .espdl file, ESP-DL's own format, which is not read; ESP-PPQ exports the same graph as ONNX with QuantizeLinear, "
      "and its scales as JSON ('intaglio params import')";
  static constexpr char kTorch[] =
      "a ZIP archive, as PyTorch and Keras save networks; export it as ONNX (torch.onnx.export) or TFLite";
  static constexpr char kHdf5[] = "an HDF5 file, as Keras saves networks; convert it to TFLite or ONNX";
  static constexpr char kNcnn[] =
      "a .param file of ncnn, which is not read; give the ONNX file that it was made from";
  static constexpr Kind kKinds[] = {{"EDL1", kEspdl},  {"EDL2", kEspdl},   {"PDL1", kEspdl},
                                    {"PDL2", kEspdl},  {"PK\3\4", kTorch}, {"\x89HDF\r\n", kHdf5},
                                    {"7767517", kNcnn}};
  const std::string_view start(reinterpret_cast<const char*>(bytes.data), std::min<size_t>(bytes.size, 8));
  for (const Kind& kind : kKinds)
    if (start.substr(0, kind.start.size()) == kind.start) fail(kind.text);
}

// Steps throw for a problem that ends them; what can be collected goes to `problems`.
ImportedModel import_steps(Span<const uint8_t> bytes, const ImportOptions& options,
                           const std::shared_ptr<ImportBudget>& budget, Arena& arena, Problems& problems) {
  ImportedModel model;
  PassDump dump(options);
  if (bytes.size < 8)
    fail("the file has ", bytes.size, " bytes: too few for a TFLite or ONNX model or an OpenVINO IR");
  if (bytes.size > kMaxModelBytes)
    fail("the file has ", bytes.size, " bytes, more than the limit of ", kMaxModelBytes);
  check_kind(bytes);
  if (options.batch < 1) fail("batch ", options.batch, " is not possible; it must be at least 1");
  if (!options.constants.empty() && (is_tflite(bytes) || is_openvino(bytes)))
    fail("--constant is for ONNX networks");
  budget->add_file(bytes.size + options.weights.size);
  Draft draft = is_tflite(bytes)     ? read_tflite(bytes, options, budget, problems)
                : is_openvino(bytes) ? read_openvino(bytes, options, budget, problems)
                                     : read_onnx(bytes, options, options.constants, budget, problems);
  if (!problems.empty()) return model;
  join_states(options.states, options.starts, draft);
  draft.time_axis = options.stream.value_or(-1);
  if (!options.outputs.empty()) drop_unread_inputs(draft);
  if (draft.inputs.size() <= draft.states.size())
    fail("no input is left for the caller: the outputs are constants, or follow from states alone");
  dump.show(kReadPass, 1, true, draft);
  const auto show = [&](const Pass& pass, int32_t round, bool changed, const Draft& after) {
    dump.show(pass, round, changed, after);
  };
  run_to_rest(passes(), draft, show);
  if (options.stream) {
    make_steps(draft);
    run_to_rest(passes(), draft, show);
  }
  if (options.focus) add_focus(draft, options.image ? options.image->input : std::string());
  note_float_nodes(draft);
  model.graph = draft_to_graph(draft, arena, problems);
  if (!problems.empty()) return model;
  model.report.notes = draft.notes;
  if (const auto split = split_wide_weights(model.graph, arena, wide_layers(model.graph));
      !split.note.empty())
    model.report.notes.push_back(split.note);
  if (!options.keep_dead) remove_dead_channels(model, arena);
  fuse_residual(model.graph, arena);  // of what is int8 already: the sum then stands where its operand stood
  model.report.cost = budget->spent();
  add_image_inputs(options.image, draft.pictures, model.graph, arena, model.report.notes);
  return model;
}

}  // namespace

std::vector<ImportPass> import_passes() {
  std::vector<ImportPass> list{{kReadPass.name, kReadPass.sentence}};
  for (const Pass& pass : passes()) list.push_back({pass.name, pass.sentence});
  return list;
}

namespace {

std::atomic<int64_t> unforeseen{0};

}  // namespace

int64_t unforeseen_exceptions() { return unforeseen; }
void note_unforeseen() { ++unforeseen; }

bool is_tflite_file(Span<const uint8_t> bytes) { return is_tflite(bytes); }
bool is_openvino_file(Span<const uint8_t> bytes) { return is_openvino(bytes); }

Outcome<ImportedModel> import_model(Span<const uint8_t> bytes, const std::string& path,
                                    const ImportOptions& options, HostArena& memory) {
  Problems problems;
  const auto budget = std::make_shared<ImportBudget>(options.limits);
  try {
    ImportedModel model = import_steps(bytes, options, budget, memory.arena(), problems);
    if (problems.empty()) return model;
  } catch (const OverBudget& error) {
    problems.add(error.what());
  } catch (const ImportError& error) {
    problems.add(error.what());
  } catch (const std::bad_alloc&) {
    problems.add("out of memory");
  } catch (const std::exception& error) {
    note_unforeseen();
    problems.add(text("internal error: ", error.what()));
  }
  return problems.failure(path);
}

namespace fs = std::filesystem;

Outcome<NetworkFile> NetworkFile::open(const std::string& path) {
  NetworkFile network;
  network.path_ = path;
  auto bytes = read_file(path, kMaxModelBytes);
  if (!bytes) return bytes.failure();
  network.bytes_ = std::move(*bytes);
  if (!is_openvino_file(network.bytes())) return network;
  const std::string beside = fs::path(path).replace_extension(".bin").string();
  std::error_code error;
  if (fs::file_size(beside, error) == 0 && !error) return network;  // it has no constants
  auto weights = read_file(beside, kMaxModelBytes);
  if (!weights)
    return Failure{weights.message() + "; the weights of an OpenVINO IR lie in a .bin file beside its .xml"};
  network.weights_ = std::move(*weights);
  return network;
}

Outcome<NetworkFile> NetworkFile::of_bytes(const std::string& name, FileBytes bytes,
                                           std::optional<FileBytes> weights) {
  NetworkFile network;
  network.path_ = name;
  network.bytes_ = std::move(bytes);
  if (is_openvino_file(network.bytes()) && !weights)
    return Failure{name + ": the weights of an OpenVINO IR lie in a .bin file; give it with " +
                   option_word("weights")};
  if (weights) network.weights_ = std::move(*weights);
  return network;
}

Outcome<ImportedModel> NetworkFile::import(ImportOptions options, HostArena& memory) const {
  options.external_data.folder = folder();
  options.weights = weights_.span();
  return import_model(bytes(), path_, options, memory);
}

std::string NetworkFile::folder() const {
  const fs::path parent = fs::path(path_).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace intaglio
