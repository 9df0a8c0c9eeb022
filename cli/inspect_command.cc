// intaglio inspect: what a model file holds and what it needs, as text, JSON or a graph.
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrator/host/system/real_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "intaglio/describe.h"
#include "tools/answer_kind.h"
#include "tools/measure_model.h"
#include "tools/model_contents.h"

namespace intaglio::cli {
namespace {

struct InspectArguments {
  std::string model;
  InspectChoice choice;
  InspectLists lists;
  bool json = false, dot = false;
};

constexpr const char* kInspectFooter =
    "Sizes are in bytes.\n"
    "  arena        the memory of activations, as planned in the file. Its lower bound is the largest set of tensors\n"
    "               alive at once\n"
    "  session      the memory that running the model needs. It is exact: one byte less is refused\n"
    "  safe pairs   weights whose products AVX2 cannot saturate. They run at full speed, the others at half of it.\n"
    "               3 x 3 layers that AVX2 computes by Winograd's tiles do not depend on them\n"
    "  time         an estimate, layer by layer; with --ops or --json of each node, too. By rows a run takes longer\n\n"
    "Examples:\n"
    "  intaglio inspect net.int8.itg\n"
    "  intaglio inspect net.int8.itg --target x86-avx2 --threads 4 --json\n"
    "  intaglio inspect net.int8.itg --target cortex-m4 --clock 120 --chip stm32l4r5\n"
    "  intaglio inspect net.itg --dot | dot -Tsvg -o net.svg";

std::string scale_text(float scale) { return general_text(static_cast<double>(scale), 9); }

void print_ops(const Model& model, const std::optional<CycleEstimate>& cycles) {
  std::vector<std::string> titles{"node", "operator", "name", "type", "output", "inputs", "safe pairs"};
  if (cycles) titles.insert(titles.end(), {"cycles", "ms"});
  Table table(titles, 6);
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
    std::vector<std::string> row{
        std::to_string(n),        op_name(node.op), node.name, dtype_name(output.dtype),
        shape_text(output.shape), inputs,           percent};
    if (cycles) {
      const std::optional<double>& of_node = cycles->nodes[static_cast<size_t>(n)].cycles;
      row.push_back(of_node ? grouped(static_cast<uint64_t>(std::llround(*of_node))) : "");
      row.push_back(of_node ? fixed_text(cycles->ms(*of_node), 3) : "");
    }
    table.add(row);
  }
  table.print();
}

void print_plan(const Model& model) {
  Table table({"tensor", "offset", "bytes", "from node", "to node"}, 1);
  for (const PlacedTensor& placed : placed_tensors(model)) {
    const TensorInfo info = model.tensor(placed.tensor);
    table.add({info.name, grouped(model.activation_offset(placed.tensor)), grouped(info.bytes()),
               placed.first_node < 0 ? "input" : std::to_string(placed.first_node),
               placed.last_node == model.node_count() ? "output" : std::to_string(placed.last_node)});
  }
  table.print();
}

// A line about the activations by rows and layer by layer.
void print_streamed_summary(const Model& model) {
  const auto plan = streamed_plan(model);
  if (!plan) return print("  %-14s %s\n", "by rows", error_text(plan.error(), &model).c_str());
  if (!*plan) return;
  const size_t segments = (**plan).segments.size();
  print("  %-14s %s bytes of arena with --streamed, in %zu %s; layer by layer %s\n", "by rows",
        grouped((**plan).arena_bytes).c_str(), segments, segments == 1 ? "segment" : "segments",
        grouped(model.activation_bytes()).c_str());
}

// Which part of a tensor's rows stand in memory: "###.............", 16 characters.
std::string drawn_rows(int32_t rows, int32_t all) {
  constexpr int32_t kWidth = 16;
  const int32_t filled = std::max(1, static_cast<int32_t>(int64_t{rows} * kWidth / all));
  return std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kWidth - filled), '.');
}

void print_streamed_plan(const Model& model) {
  const auto plan = streamed_plan(model);
  if (!plan || !*plan) return;
  for (const StreamedPlan::Segment& segment : (**plan).segments) {
    print("\nby rows: nodes %d to %d, %d %s at a step%s\n", segment.first_node, segment.last_node,
          segment.band, segment.band == 1 ? "row" : "rows",
          segment.overwritten < 0 ? "" : ", over rows of the input that are read");
    Table table({"tensor", "in memory", "offset", "bytes", "rows", "of", "node"}, 2);
    for (const LineBuffer& buffer : segment.buffers)
      table.add({model.tensor(buffer.tensor).name, drawn_rows(buffer.rows, buffer.height),
                 grouped(buffer.offset), grouped(buffer.bytes), grouped(static_cast<uint64_t>(buffer.rows)),
                 grouped(static_cast<uint64_t>(buffer.height)),
                 buffer.node >= 0     ? std::to_string(buffer.node)
                 : segment.feeds_rows ? "fed"
                                      : "input"});
    table.print();
  }
}

void print_quant(const Model& model) {
  Table table({"tensor", "type", "scale", "zero point", "range"}, 2);
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    const Quantization& q = info.quantization;
    if (q.scales.empty()) continue;
    const auto [least, most] = std::minmax_element(q.scales.begin(), q.scales.end());
    std::string range;
    if (q.scales.size == 1 && info.dtype == DType::kS8) {
      const auto scale = static_cast<double>(q.scales[0]);
      range = general_text(scale * (-128 - q.zero_point), 5) + ".." +
              general_text(scale * (127 - q.zero_point), 5);
    }
    table.add({info.name, dtype_name(info.dtype),
               *least == *most ? scale_text(*least) : scale_text(*least) + "..." + scale_text(*most),
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

void print_answers(const Model& model) {
  for (size_t i = 0; i < model.outputs().size; ++i)
    print("  %-14s %s  %s\n", "answer", safe(model.tensor(model.outputs()[i]).name).c_str(),
          answer_text(model, i).c_str());
}

void print_images(const Model& model) {
  for (int32_t i = 0; i < model.image_count(); ++i)
    print("  %-14s %s\n", "preprocessing", safe(input_text(model, model.image(i).input)).c_str());
}

// By how much a session is below the model's ceiling, or above it.
void print_ceiling(const Model& model, const SessionReport& session) {
  const size_t ceiling = model.memory_ceiling(), needed = session.needs.total();
  if (ceiling == 0) return;
  print("  %-14s %s bytes, %s %s than that session\n", "ceiling", grouped(ceiling).c_str(),
        grouped(needed > ceiling ? needed - ceiling : ceiling - needed).c_str(),
        needed > ceiling ? "fewer" : "more");
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

// The weights that a session packs when it starts, and what became of those that the file holds packed.
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

// How long a run takes, of the nodes that have a figure, and which have none.
void print_cycles(const CycleEstimate& estimate, bool streams) {
  const auto percent = [](double value) { return (value < 0 ? "" : "+") + fixed_text(value, 1) + " %"; };
  print("  %-14s %s%s cycles on %s%s: %s ms at %s MHz\n", "time", estimate.unknown() > 0 ? "at least " : "",
        grouped(static_cast<uint64_t>(std::llround(estimate.cycles()))).c_str(), estimate.target.c_str(),
        estimate.chip.empty() ? " without wait states" : (" with the flash of " + estimate.chip).c_str(),
        fixed_text(estimate.ms(estimate.cycles()), 2).c_str(), general_text(estimate.clock_mhz, 6).c_str());
  print("  %-14s estimated%s%s, at most %s %% off counted networks\n", "", streams ? " layer by layer" : "",
        estimate.timed_as == estimate.target ? "" : (" by the timings of " + estimate.timed_as).c_str(),
        fixed_text(estimate.table_error, 1).c_str());
  if (estimate.has_known_errors)
    print("  %-14s counts of programs whose cycles are published are %s to %s off\n", "",
          percent(estimate.least_known_error).c_str(), percent(estimate.most_known_error).c_str());
  if (estimate.slow_cycles)
    print(
        "  %-14s %s cycles more for activations in the large one behind a data cache; %s if all were there\n",
        "two memories", grouped(static_cast<uint64_t>(std::llround(*estimate.slow_cycles))).c_str(),
        grouped(static_cast<uint64_t>(std::llround(*estimate.all_slow_cycles))).c_str());
  std::map<std::string, std::vector<size_t>> unknown;
  for (size_t n = 0; n < estimate.nodes.size(); ++n)
    if (!estimate.nodes[n].cycles) unknown[estimate.nodes[n].kernel].push_back(n);
  for (const auto& [kernel, nodes] : unknown)
    print("  %-14s %s: %zu %s, the first is node %zu\n", "no figure", kernel.c_str(), nodes.size(),
          nodes.size() == 1 ? "node" : "nodes", nodes.front());
}

std::string dot_text(const char* name) {
  std::string text;
  for (const char c : safe(name)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

void print_inspection(const InspectArguments& arguments, const LoadedModel& file,
                      const SessionReport& session) {
  const Model& model = file.model();
  print("%s: %s bytes, format %u\n", safe(file.path()).c_str(), grouped(file.file_bytes()).c_str(),
        static_cast<unsigned>(model.format_version()));
  print_tensors("input", model, model.inputs());
  print_tensors("output", model, model.outputs());
  print_answers(model);
  print_images(model);
  if (session.frame)
    print("  %-14s %s: %s bytes, and %s of scratch memory for write_frame()\n", "frame",
          frame_text(session.frame->info).c_str(), grouped(frame_bytes(session.frame->info)).c_str(),
          grouped(session.frame->scratch_bytes).c_str());
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
    if (session.fast_bytes > 0)
      print(
          "  %-14s %s bytes in a fast one (activations), %s in the other: %s persistent, %s activations, %s scratch\n",
          "two memories", grouped(session.fast_bytes).c_str(), grouped(session.in_two.total()).c_str(),
          grouped(session.in_two.persistent_bytes).c_str(), grouped(session.in_two.activation_bytes).c_str(),
          grouped(session.in_two.scratch_bytes).c_str());
    if (session.planned_bytes > 0)
      print("  %-14s %s bytes of memory (export-c --planned)\n", "planned",
            grouped(session.planned_bytes).c_str());
    if (session.cycles) print_cycles(*session.cycles, session.streamed_bytes > 0);
    print_packing(model, session);
    print_ceiling(model, session);
  }
  if (arguments.lists.ops) print("\n"), print_ops(model, session.cycles);
  if (arguments.lists.plan) print("\n"), print_plan(model), print_streamed_plan(model);
  if (arguments.lists.quant) print("\n"), print_quant(model);
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

Outcome<Done> run_inspect(const InspectArguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto session = measure_session(*file, arguments.choice);
  if (!session) return session.failure();
  if (arguments.dot) {
    print_dot(file->model());
  } else if (arguments.json) {
    print_json(json_of(*session, file->model(), arguments.lists));
  } else {
    print_inspection(arguments, *file, *session);
  }
  if (!session->problem.empty()) return Failure{arguments.model + ": cannot be run: " + session->problem};
  return Done{};
}

}  // namespace

Command add_inspect_command(CLI::App& parent) {
  const auto arguments = std::make_shared<InspectArguments>();
  CLI::App* app =
      add_subcommand(parent, "inspect", "show what a model file holds and what it needs", kInspectFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_flag(*app, "--ops", arguments->lists.ops, "list the nodes");
  add_flag(*app, "--plan", arguments->lists.plan, "show where each activation lies in the arena, and when");
  add_flag(*app, "--quant", arguments->lists.quant, "list scales and zero points");
  add_option(*app, "--target", arguments->choice.target,
             "show what a session needs on this target: " + target_names())
      .checked(readable_by(find_target))
      .type_name("NAME");
  add_isa_option(*app, arguments->choice.execution);
  add_compact_option(*app, arguments->choice.execution);
  add_option(*app, "--threads", arguments->choice.execution.threads,
             "show what a session needs with so many threads")
      .range(1, Executor::kMaxWidth)
      .type_name("N")
      .show_default();
  add_option(
      *app, "--frame", arguments->choice.frame,
      "show what a camera's frames of this size and order of pixels need, e.g. 640x480:yuyv. Orders: " +
          frame_order_names() + "; gray and bayer may have the bits of a sample behind them (gray10)")
      .checked(readable_by(frame_of))
      .type_name("WxH:ORDER");
  add_option(*app, "--clock", arguments->choice.cycles.clock_mhz,
             "estimate how long a run takes on the target at this clock, in megahertz")
      .type_name("MHZ");
  add_option(*app, "--chip", arguments->choice.cycles.chip,
             "count the wait states of this chip's flash, too; else memory has none: " + chip_names())
      .checked(find_chip)
      .type_name("NAME");
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {format_version, nodes, weight_bytes, arena_bytes, "
      "arena_lower_bound, left_out_channels, streamed, inputs, outputs, session, calibration, preprocessing}, and what "
      "--frame, --clock and the lists ask for");
  add_flag(*app, "--dot", arguments->dot, "print the graph in Graphviz' language");
  return make_command(app, arguments, run_inspect);
}

}  // namespace intaglio::cli
