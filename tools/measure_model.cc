#include "tools/measure_model.h"

#include <algorithm>
#include <chrono>

#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "intaglio/describe.h"
#include "intaglio/streaming.h"
#include "intaglio/two_memories.h"
#include "runtime/liveness.h"
#include "runtime/streaming/streamed_model.h"
#include "tools/model_contents.h"

namespace intaglio::tools {

Outcome<SessionReport> measure_session(const LoadedModel& file, const InspectChoice& choice) {
  const Model& model = file.model();
  SessionReport report;
  const int32_t threads = choice.execution.threads;
  report.threads = threads;
  ExecutionOptions serial = choice.execution;
  serial.threads = 1;
  const auto of_this_cpu = session_options(serial);
  if (!of_this_cpu) return of_this_cpu.failure();
  SessionOptions options = *of_this_cpu;
  const OpList ops = ops_of(choice.execution);
  // Only sized, never called.
  options.executor.width = threads;
  if (threads > 1) options.executor.parallel_for = [](void*, int32_t, void (*)(void*, int32_t), void*) {};
  report.target = choice.target;
  if (choice.target.empty()) {
    report.target =
        "this CPU" + (choice.execution.isa.empty() ? "" : ", no more than " + choice.execution.isa);
  } else {
    const auto found = find_target(choice.target);
    if (!found) return found.failure();
    options.isa = found->isa;
    if (threads == 1) {
      const auto planned = measure_planned(model, found->plan_target());
      if (planned) report.planned_bytes = planned->total();
    }
  }
  if (choice.cycles.clock_mhz) {
    const auto cycles = estimate_cycles(file, choice.target, *choice.cycles.clock_mhz, choice.cycles.chip);
    if (!cycles) return cycles.failure();
    report.cycles = *cycles;
  }
  if (!choice.frame.empty()) {
    const auto named = frame_of(choice.frame);
    if (!named) return named.failure();
    const auto frame = frame_for(model, *named);
    if (!frame) return Failure{file.path() + ": " + frame.failure().message};
    report.frame = *frame;
  }
  const auto needs = Session::measure_anywhere(model, ops, options, choice.target.empty());
  if (const auto streamed = stream_rows(model); streamed && model.has_streamed_plan()) {
    const auto by_rows = Session::measure_anywhere(*streamed, ops, options, choice.target.empty());
    if (by_rows) report.streamed_bytes = by_rows->total();
  }
  if (const auto deployed = stream_rows(model); deployed && deployed->fast_bytes() > 0) {
    const auto in_two = TwoMemories::measure_anywhere(*deployed, ops, options, choice.target.empty());
    if (in_two) {
      report.in_two = *in_two;
      report.fast_bytes = deployed->fast_bytes();
    }
  }
  if (needs) {
    report.needs = *needs;
  } else {
    report.problem = error_text(needs.error(), &model);
  }
  return report;
}

std::vector<PlacedTensor> placed_tensors(const Model& model) {
  std::vector<PlacedTensor> lives;
  lives.reserve(static_cast<size_t>(model.tensor_count()));
  for (int32_t t = 0; t < model.tensor_count(); ++t) lives.push_back({t, -1, -1});
  const auto life = [&lives](int32_t t) -> PlacedTensor& { return lives[static_cast<size_t>(t)]; };
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    for (const int32_t t : node.inputs)
      if (t >= 0) life(t).last_node = n;
    for (const int32_t t : node.outputs) life(t) = {t, n, n};
  }
  for (const int32_t t : model.outputs()) life(t).last_node = model.node_count();
  std::vector<PlacedTensor> placed;
  for (const PlacedTensor& one : lives)
    if (!model.tensor(one.tensor).is_constant()) placed.push_back(one);
  return placed;
}

namespace {

// Whether two activations share bytes.
bool stands_on(const Model& model, int32_t tensor, int32_t other) {
  if (model.tensor(other).is_constant()) return false;
  const uint64_t begin = model.activation_offset(tensor), other_begin = model.activation_offset(other);
  return begin < other_begin + model.tensor(other).bytes() &&
         other_begin < begin + model.tensor(tensor).bytes();
}

}  // namespace

Result<std::optional<StreamedPlan>> streamed_plan(const Model& model) {
  if (!model.has_streamed_plan()) return std::optional<StreamedPlan>();
  const Result<Model> streamed = StreamedModel::open(model);
  if (!streamed) return streamed.error();
  StreamedPlan plan;
  plan.arena_bytes = streamed->activation_bytes();
  for (int32_t s = 0; s < StreamedModel::segment_count(*streamed); ++s) {
    const SegmentInfo segment = StreamedModel::segment(*streamed, s);
    const bool feeds_rows = segment.picture_rows != 0;
    StreamedPlan::Segment lines{
        segment.first, segment.first + segment.count - 1, segment.band, feeds_rows, {}};
    const auto add = [&](int32_t tensor, int32_t node, int32_t rows) {
      const Shape shape = streamed->tensor(tensor).shape;
      const int32_t height = shape.rank == 4 ? shape[1] : 1;
      lines.buffers.push_back({tensor, node, rows > 0 ? rows : height, height,
                               streamed->activation_offset(tensor),
                               StreamedModel::place_bytes(*streamed, tensor, node)});
    };
    if (segment.count == 1)
      for (const int32_t input : streamed->node_inputs(segment.first))
        if (input >= 0 && stands_on(*streamed, StreamedModel::outputs(*streamed, segment.first)[0], input))
          lines.overwritten = input;
    if (lines.overwritten >= 0) add(lines.overwritten, writer_of(*streamed, lines.overwritten), 0);
    if (feeds_rows) add(streamed->inputs()[0], -1, walk_of(segment, kPictureWalk).rows);
    for (int32_t i = 0; i < segment.count; ++i)
      add(StreamedModel::outputs(*streamed, segment.first + i)[0], segment.first + i,
          walk_of(segment, i).rows);
    plan.segments.push_back(std::move(lines));
  }
  return std::optional<StreamedPlan>(std::move(plan));
}

namespace {

std::string hex(Span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

Json json_of_session(const SessionReport& session) {
  if (!session.problem.empty()) return nullptr;
  return {
      {"target", session.target},
      {"threads", session.threads},
      {"persistent_bytes", session.needs.persistent_bytes},
      {"activation_bytes", session.needs.activation_bytes},
      {"scratch_bytes", session.needs.scratch_bytes},
      {"packed_bytes", session.needs.packed_bytes},
      {"in_place_bytes", session.needs.in_place_bytes},
      {"total_bytes", session.needs.total()},
      {"streamed_bytes", session.streamed_bytes == 0 ? Json(nullptr) : Json(session.streamed_bytes)},
      {"planned_bytes", session.planned_bytes == 0 ? Json(nullptr) : Json(session.planned_bytes)},
      {"two_memories", session.fast_bytes == 0 ? Json(nullptr)
                                               : Json{{"fast_bytes", session.fast_bytes},
                                                      {"activation_bytes", session.in_two.activation_bytes},
                                                      {"persistent_bytes", session.in_two.persistent_bytes},
                                                      {"total_bytes", session.in_two.total()}}}};
}

Json json_of_frame(const ModelFrame& frame) {
  return {{"frame", frame_text(frame.info)},
          {"row_bytes", frame_row_bytes(frame.info)},
          {"bytes", frame_bytes(frame.info)},
          {"scratch_bytes", frame.scratch_bytes}};
}

Json json_of_calibration(const CalibrationInfo& info) {
  if (info.samples == 0) return nullptr;
  return {{"method", info.method},
          {"options", info.options},
          {"samples", info.samples},
          {"samples_digest", hex(info.samples_digest)},
          {"library_version", info.library_version}};
}

Json json_of_streamed(const Model& model, bool with_tensors) {
  const auto plan = streamed_plan(model);
  if (!plan) return {{"problem", error_text(plan.error(), &model)}};
  if (!*plan) return nullptr;
  Json segments = Json::array();
  for (const StreamedPlan::Segment& segment : (**plan).segments) {
    Json json{{"first_node", segment.first_node},
              {"last_node", segment.last_node},
              {"band", segment.band},
              {"feeds_rows", segment.feeds_rows},
              {"overwrites",
               segment.overwritten < 0 ? Json(nullptr) : Json(model.tensor(segment.overwritten).name)}};
    for (const LineBuffer& buffer : segment.buffers)
      if (with_tensors)
        json["tensors"].push_back({{"name", model.tensor(buffer.tensor).name},
                                   {"offset", buffer.offset},
                                   {"bytes", buffer.bytes},
                                   {"rows", buffer.rows},
                                   {"all_rows", buffer.height}});
    segments.push_back(std::move(json));
  }
  return {{"arena_bytes", (**plan).arena_bytes}, {"segments", segments}};
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
  Json list = Json::array();
  for (const PlacedTensor& placed : placed_tensors(model)) {
    const TensorInfo info = model.tensor(placed.tensor);
    list.push_back({{"tensor", placed.tensor},
                    {"name", info.name},
                    {"offset", model.activation_offset(placed.tensor)},
                    {"bytes", info.bytes()},
                    {"first_node", placed.first_node},
                    {"last_node", placed.last_node}});
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

}  // namespace

Json json_of(const SessionReport& session, const Model& model, const InspectLists& lists) {
  Json json{{"format_version", model.format_version()},
            {"nodes", model.node_count()},
            {"weight_bytes", weight_bytes(model)},
            {"left_out_channels", channels_left_out(model)},
            {"arena_bytes", model.activation_bytes()},
            {"fast_bytes", model.fast_bytes()},
            {"arena_lower_bound", model.activation_lower_bound()},
            {"streamed", json_of_streamed(model, lists.plan)},
            {"inputs", json_of_tensors(model, model.inputs())},
            {"outputs", json_of_outputs(model)},
            {"session", json_of_session(session)},
            {"memory_ceiling", model.memory_ceiling() == 0 ? Json(nullptr) : Json(model.memory_ceiling())},
            {"calibration", json_of_calibration(model.calibration())},
            {"preprocessing", json_of_images(model)}};
  if (session.frame) json["frame"] = json_of_frame(*session.frame);
  if (session.cycles) json["estimate"] = json_of(*session.cycles);
  if (lists.ops) json["ops"] = json_of_ops(model);
  if (lists.plan) json["plan"] = json_of_plan(model);
  if (lists.quant) json["quant"] = json_of_quant(model);
  return json;
}

namespace {

constexpr int32_t kWarmUpRuns = 3;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The same values on every machine, over the whole range of an input.
void fill_with_noise(const Session& session) {
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
  for (size_t i = 0; i < session.model().inputs().size; ++i) {
    const TensorView input = session.input(static_cast<int32_t>(i));
    if (input.info.dtype == DType::kF32) {
      for (float& x : input.as<float>()) x = static_cast<float>(static_cast<int32_t>(next()) - 128) / 128.0f;
    } else {
      auto* const bytes = static_cast<uint8_t*>(input.data);
      for (size_t k = 0; k < input.info.bytes(); ++k) bytes[k] = static_cast<uint8_t>(next());
    }
  }
}

std::vector<double> time_runs(Session& session, int32_t repeats) {
  std::vector<double> times;
  for (int32_t r = -kWarmUpRuns; r < repeats; ++r) {
    fill_with_noise(session);
    const double start = now_ms();
    session.run();
    if (r >= 0) times.push_back(now_ms() - start);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// The fastest of `repeats` for each node.
std::vector<double> time_layers(Session& session, int32_t repeats) {
  std::vector<double> fastest(static_cast<size_t>(session.model().node_count()));
  for (int32_t r = 0; r < repeats; ++r) {
    fill_with_noise(session);
    for (int32_t n = 0; n < session.model().node_count(); ++n) {
      const double start = now_ms();
      session.run_nodes(n, n + 1);
      const double elapsed = now_ms() - start;
      double& best = fastest[static_cast<size_t>(n)];
      best = r == 0 ? elapsed : std::min(best, elapsed);
    }
  }
  return fastest;
}

double median_of(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

Outcome<ModelTimes> time_model(const LoadedModel& file, const TimeChoice& choice) {
  const double opened = now_ms();
  auto loaded = LoadedSession::create(file, choice.execution, choice.ops);
  if (!loaded) return loaded.failure();
  ModelTimes times;
  times.load_ms = now_ms() - opened;
  times.needs = loaded->needs();
  Session& session = **loaded;
  times.isa = isa_in_use(session);
  times.threads = choice.execution.executor.width;
  const std::vector<double> runs = time_runs(session, choice.repeats);
  times.min_ms = runs.front();
  times.median_ms = median_of(runs);
  const std::vector<double> of_layers =
      choice.layers ? time_layers(session, choice.repeats) : std::vector<double>();
  const Model& model = session.model();
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const int64_t macs = macs_of(model, model.node(n));
    times.macs += macs;
    if (choice.layers)
      times.layers.push_back({session.kernel_name(n), of_layers[static_cast<size_t>(n)], macs});
  }
  return times;
}

Json json_of(const ModelTimes& times, const Model& model) {
  Json layers = Json::array();
  for (size_t n = 0; n < times.layers.size(); ++n) {
    const NodeInfo node = model.node(static_cast<int32_t>(n));
    const LayerTime& layer = times.layers[n];
    layers.push_back({{"node", n},
                      {"name", node.name},
                      {"op", op_name(node.op)},
                      {"kernel", layer.kernel},
                      {"ms", layer.ms},
                      {"macs", layer.macs}});
  }
  return {{"isa", times.isa},
          {"threads", times.threads},
          {"min_ms", times.min_ms},
          {"median_ms", times.median_ms},
          {"load_ms", times.load_ms},
          {"packed_bytes", times.needs.packed_bytes},
          {"in_place_bytes", times.needs.in_place_bytes},
          {"layers", layers}};
}

}  // namespace intaglio::tools
