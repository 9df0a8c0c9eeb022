#include "cli/inspection.h"

#include <algorithm>
#include <map>
#include <set>

#include "calibrator/host/system/real_text.h"
#include "cli/pair_safety.h"
#include "cli/streamed_view.h"
#include "intaglio/describe.h"
#include "tools/input_text.h"
#include "tools/model_json.h"

namespace intaglio::cli {
namespace {

// The nodes from the one that writes a tensor to the last that reads it.
struct Life {
  int32_t first = -1, last = -1;
};

std::vector<Life> lives_of(const Model& model) {
  std::vector<Life> lives(static_cast<size_t>(model.tensor_count()));
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    for (const int32_t t : node.inputs) {
      if (t >= 0) lives[static_cast<size_t>(t)].last = n;
    }
    for (const int32_t t : node.outputs) lives[static_cast<size_t>(t)] = {n, n};
  }
  for (const int32_t t : model.outputs()) lives[static_cast<size_t>(t)].last = model.node_count();
  return lives;
}

std::vector<int32_t> activations_of(const Model& model) {
  std::vector<int32_t> tensors;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    if (!model.tensor(t).is_constant()) tensors.push_back(t);
  }
  return tensors;
}

std::string hex(Span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

std::string scale_text(float scale) { return general_text(static_cast<double>(scale), 9); }

std::pair<float, float> scale_range(const Quantization& quantization) {
  const auto [least, most] = std::minmax_element(quantization.scales.begin(), quantization.scales.end());
  return {*least, *most};
}

Json json_of_session(const SessionReport& session) {
  if (!session.problem.empty()) return nullptr;
  return {{"target", session.target},
          {"threads", session.threads},
          {"persistent_bytes", session.needs.persistent_bytes},
          {"activation_bytes", session.needs.activation_bytes},
          {"scratch_bytes", session.needs.scratch_bytes},
          {"packed_bytes", session.needs.packed_bytes},
          {"in_place_bytes", session.needs.in_place_bytes},
          {"total_bytes", session.needs.total()},
          {"streamed_bytes", session.streamed_bytes == 0 ? Json(nullptr) : Json(session.streamed_bytes)},
          {"planned_bytes", session.planned_bytes == 0 ? Json(nullptr) : Json(session.planned_bytes)}};
}

Json json_of_calibration(const CalibrationInfo& info) {
  if (info.samples == 0) return nullptr;
  return {{"method", info.method},
          {"options", info.options},
          {"samples", info.samples},
          {"samples_digest", hex(info.samples_digest)},
          {"library_version", info.library_version}};
}

Json json_of_ops(const Model& model) {
  Json list = Json::array();
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    list.push_back({{"node", n},
                    {"name", node.name},
                    {"op", op_name(node.op)},
                    {"inputs", std::vector<int32_t>(node.inputs.begin(), node.inputs.end())},
                    {"outputs", std::vector<int32_t>(node.outputs.begin(), node.outputs.end())},
                    {"dtype", dtype_name(model.tensor(node.outputs[0]).dtype)},
                    {"shape", dims_of(model.tensor(node.outputs[0]).shape)}});
    if (const auto share = safe_pairs(model, node)) list.back()["safe_pairs"] = *share;
  }
  return list;
}

Json json_of_plan(const Model& model) {
  const std::vector<Life> lives = lives_of(model);
  Json list = Json::array();
  for (const int32_t t : activations_of(model)) {
    const Life life = lives[static_cast<size_t>(t)];
    list.push_back({{"tensor", t},
                    {"name", model.tensor(t).name},
                    {"offset", model.activation_offset(t)},
                    {"bytes", model.tensor(t).bytes()},
                    {"first_node", life.first},
                    {"last_node", life.last}});
  }
  return list;
}

Json json_of_quant(const Model& model) {
  Json list = Json::array();
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    const Quantization& q = info.quantization;
    if (q.scales.empty()) continue;
    list.push_back({{"tensor", t},
                    {"name", info.name},
                    {"dtype", dtype_name(info.dtype)},
                    {"scales", std::vector<float>(q.scales.begin(), q.scales.end())},
                    {"zero_point", q.zero_point},
                    {"axis", q.axis}});
  }
  return list;
}

void print_ops(const Model& model) {
  Table table({"node", "operator", "name", "type", "output", "inputs", "safe pairs"}, 6);
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    std::string inputs;
    for (const int32_t t : node.inputs) {
      if (t >= 0 && !model.tensor(t).is_constant())
        inputs += (inputs.empty() ? "" : ", ") + std::string(model.tensor(t).name);
    }
    const TensorInfo output = model.tensor(node.outputs[0]);
    const auto share = safe_pairs(model, node);
    const std::string percent = share ? fixed_text(100 * *share, 1) + " %" : "";
    table.add({std::to_string(n), op_name(node.op), node.name, dtype_name(output.dtype),
               shape_text(output.shape), inputs, percent});
  }
  table.print();
}

void print_plan(const Model& model) {
  const std::vector<Life> lives = lives_of(model);
  Table table({"tensor", "offset", "bytes", "from node", "to node"}, 1);
  for (const int32_t t : activations_of(model)) {
    const Life life = lives[static_cast<size_t>(t)];
    table.add({model.tensor(t).name, grouped(model.activation_offset(t)), grouped(model.tensor(t).bytes()),
               life.first < 0 ? "input" : std::to_string(life.first),
               life.last == model.node_count() ? "output" : std::to_string(life.last)});
  }
  table.print();
}

void print_quant(const Model& model) {
  Table table({"tensor", "type", "scale", "zero point", "range"}, 2);
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    const Quantization& q = info.quantization;
    if (q.scales.empty()) continue;
    const auto [least, most] = scale_range(q);
    std::string range;
    if (q.scales.size == 1 && info.dtype == DType::kS8) {
      const auto scale = static_cast<double>(q.scales[0]);
      range = general_text(scale * (-128 - q.zero_point), 5) + ".." +
              general_text(scale * (127 - q.zero_point), 5);
    }
    table.add({info.name, dtype_name(info.dtype),
               least == most ? scale_text(least) : scale_text(least) + "..." + scale_text(most),
               std::to_string(q.zero_point),
               q.axis < 0 ? range : std::to_string(q.scales.size) + " channels"});
  }
  table.print();
}

void print_tensors(const char* title, const Model& model, Span<const int32_t> tensors) {
  for (const int32_t t : tensors) {
    const TensorInfo info = model.tensor(t);
    print("  %-14s %s  %s %s", title, safe(info.name).c_str(), shape_text(info.shape).c_str(),
          dtype_name(info.dtype));
    if (info.quantization.scales.size == 1)
      print("  scale %s, zero point %d", scale_text(info.quantization.scales[0]).c_str(),
            info.quantization.zero_point);
    print("\n");
  }
}

void print_images(const Model& model) {
  for (int32_t i = 0; i < model.image_count(); ++i)
    print("  %-14s %s\n", "preprocessing", safe(input_text(model, model.image(i).input)).c_str());
}

void print_calibration(const Model& model) {
  const CalibrationInfo info = model.calibration();
  if (info.samples == 0) {
    print("  %-14s none\n", "calibration");
    return;
  }
  print("  %-14s %s; %s; %u samples, intaglio %s\n", "calibration", safe(info.method).c_str(),
        safe(info.options).c_str(), info.samples, safe(info.library_version).c_str());
}

// What a session packs when it starts, and what became of the weights that the file holds packed.
void print_packing(const Model& model, const SessionReport& session) {
  std::map<std::string, size_t> packs;
  bool other_layout = false;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const PackInfo pack = model.pack(n);
    if (pack.data.empty()) continue;
    packs[pack.kernel] += pack.data.size;
    other_layout = other_layout || pack.layout != kPackLayout;
  }
  print("  %-14s %s bytes of weights when a session starts", "packs",
        grouped(session.needs.packed_bytes).c_str());
  if (packs.empty()) return print("\n");
  print(", %s in the file used in place\n", grouped(session.needs.in_place_bytes).c_str());
  for (const auto& [kernel, bytes] : packs)
    print("  %-14s %s bytes for %s\n", "", grouped(bytes).c_str(), safe(kernel.c_str()).c_str());
  if (other_layout)
    print("  %-14s passed over: packed by another version of the library; pack the file again\n", "");
  else if (session.needs.in_place_bytes == 0)
    print("  %-14s passed over: %s takes other kernels\n", "", session.target.c_str());
}

std::string dot_text(const char* name) {
  std::string text;
  for (const char c : safe(name)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

Json inspection_json(const InspectArguments& arguments, const LoadedModel& file,
                     const SessionReport& session) {
  const Model& model = file.model();
  Json json{{"format_version", model.format_version()},
            {"nodes", model.node_count()},
            {"weight_bytes", weight_bytes(model)},
            {"left_out_channels", channels_left_out(model)},
            {"arena_bytes", model.activation_bytes()},
            {"arena_lower_bound", model.activation_lower_bound()},
            {"streamed", json_of_streamed(model, arguments.plan)},
            {"inputs", json_of_tensors(model, model.inputs())},
            {"outputs", json_of_tensors(model, model.outputs())},
            {"session", json_of_session(session)},
            {"calibration", json_of_calibration(model.calibration())},
            {"preprocessing", json_of_images(model)}};
  if (arguments.ops) json["ops"] = json_of_ops(model);
  if (arguments.plan) json["plan"] = json_of_plan(model);
  if (arguments.quant) json["quant"] = json_of_quant(model);
  return json;
}

void print_inspection(const InspectArguments& arguments, const LoadedModel& file,
                      const SessionReport& session) {
  const Model& model = file.model();
  print("%s: %s bytes, format %u\n", safe(file.path()).c_str(), grouped(file.file_bytes()).c_str(),
        static_cast<unsigned>(model.format_version()));
  print_tensors("input", model, model.inputs());
  print_tensors("output", model, model.outputs());
  print_images(model);
  print_calibration(model);
  print("  %-14s %d\n", "nodes", model.node_count());
  print("  %-14s %s bytes\n", "weights", grouped(weight_bytes(model)).c_str());
  if (const int64_t gone = channels_left_out(model); gone > 0)
    print("  %-14s %s channels of one code are left out, which 'import --keep-dead' keeps\n", "constants",
          grouped(static_cast<size_t>(gone)).c_str());
  print("  %-14s %s bytes, lower bound %s\n", "arena", grouped(model.activation_bytes()).c_str(),
        grouped(model.activation_lower_bound()).c_str());
  print_streamed_summary(model);
  if (session.problem.empty()) {
    print("  %-14s %s bytes on %s with %d %s:\n  %-14s %s persistent, %s activations, %s scratch\n",
          "session", grouped(session.needs.total()).c_str(), session.target.c_str(), session.threads,
          session.threads == 1 ? "thread" : "threads", "", grouped(session.needs.persistent_bytes).c_str(),
          grouped(session.needs.activation_bytes).c_str(), grouped(session.needs.scratch_bytes).c_str());
    if (session.streamed_bytes > 0)
      print("  %-14s %s bytes by rows (--streamed, export-c)\n", "", grouped(session.streamed_bytes).c_str());
    if (session.planned_bytes > 0)
      print("  %-14s %s bytes of memory (export-c --planned)\n", "planned",
            grouped(session.planned_bytes).c_str());
    print_packing(model, session);
  }
  if (arguments.ops) print("\n"), print_ops(model);
  if (arguments.plan) print("\n"), print_plan(model), print_streamed_plan(model);
  if (arguments.quant) print("\n"), print_quant(model);
}

void print_dot(const Model& model) {
  print("digraph model {\n  rankdir=TB; node [shape=box, fontname=\"sans\"];\n");
  for (const int32_t t : model.inputs())
    print("  t%d [shape=ellipse, label=\"%s\\n%s\"];\n", t, dot_text(model.tensor(t).name).c_str(),
          shape_text(model.tensor(t).shape).c_str());
  std::map<int32_t, int32_t> writer;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    print("  n%d [label=\"%s\\n%s\"];\n", n, op_name(node.op), dot_text(node.name).c_str());
    for (const int32_t t : node.inputs) {
      if (t < 0 || model.tensor(t).is_constant()) continue;
      const auto from = writer.find(t);
      print("  %c%d -> n%d [label=\"%s\"];\n", from == writer.end() ? 't' : 'n',
            from == writer.end() ? t : from->second, n, shape_text(model.tensor(t).shape).c_str());
    }
    for (const int32_t t : node.outputs) writer[t] = n;
  }
  for (const int32_t t : model.outputs()) {
    const auto from = writer.find(t);
    print("  o%d [shape=ellipse, label=\"%s\"];\n", t, dot_text(model.tensor(t).name).c_str());
    print("  %c%d -> o%d;\n", from == writer.end() ? 't' : 'n', from == writer.end() ? t : from->second, t);
  }
  print("}\n");
}

}  // namespace intaglio::cli
